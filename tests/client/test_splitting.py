"""Entries are found wherever a listing is cut, and one that ends early is told."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_client import UnreadableAnswer
from penchant_client.exchange import Splitter

TEXTS = st.text(st.sampled_from('a"\\[]{},: é\n\x00'), max_size=6)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
ENTRIES = st.one_of(st.lists(TEXTS, max_size=6), st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=6))


def parts_of(body: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted({cut % (len(body) + 1) for cut in cuts}), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(places)]


def found_in(parts: list[bytes]) -> list[Any]:
    splitter = Splitter()
    found = [json.loads(entry) for part in parts for entry in splitter.feed(part)]
    splitter.end()
    return found


@given(
    entries=ENTRIES,
    source=TEXTS,
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
    indent=st.sampled_from([None, 1]),
    is_ascii=st.booleans(),
)
def test_entries_are_the_same_wherever_the_listing_is_cut(
    entries: list[Any], source: str, cuts: list[int], indent: int | None, *, is_ascii: bool
) -> None:
    listing = {"source": source, "count": 3, "content": entries}
    body = json.dumps(listing, indent=indent, ensure_ascii=is_ascii).encode()

    assert found_in(parts_of(body, cuts)) == entries
    assert found_in([bytes([byte]) for byte in body]) == entries


@given(entries=ENTRIES, length=st.integers(1, 10_000))
def test_a_listing_that_ends_early_is_told(entries: list[Any], length: int) -> None:
    body = json.dumps({"content": entries}).encode()

    with pytest.raises(UnreadableAnswer, match="ended in the middle"):
        found_in([body[: -(length % len(body)) or -1]])


def test_what_was_given_out_is_let_go() -> None:
    splitter = Splitter()
    list(splitter.feed(b'{"content":['))

    for number in range(1_000):
        assert list(splitter.feed(b'{"id":"%d"},' % number)) == [b'{"id":"%d"}' % number]
        assert len(splitter._rest) < 20

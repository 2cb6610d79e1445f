"""Stored pieces are read by the kernel as the definition in Python reads them, whatever stands in them."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cache import KERNELS
from penchant.attributes import Attribute, AttributeType
from penchant.index import Strings, build_segment, engine
from penchant.index.kernel_samples import READING
from penchant.live import decoding
from penchant.live.compiling import load_kernels
from penchant.live.decoding import segment_of_changes
from penchant.storage import PieceChange
from penchant.wire import decode_stored_piece, decode_submission
from strategies import examples

TEXT = st.characters(codec="utf-8", exclude_categories=["C"])
NAMES = st.text(TEXT, min_size=1, max_size=4) | st.sampled_from(
    ["genre", 'a"b', "back\\slash", "é", "a/b", "a", "]}", "weight"]
)
KEYWORDS = st.lists(
    NAMES | st.fixed_dictionaries({"key": NAMES}, optional={"weight": st.sampled_from([0, 1, 2, 300, 10_000])}),
    max_size=6,
    unique_by=lambda item: item if isinstance(item, str) else item["key"],
)
CATEGORIES: st.SearchStrategy[Any] = KEYWORDS | st.dictionaries(NAMES, KEYWORDS, max_size=2)
PIECES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"categories": st.dictionaries(NAMES, CATEGORIES, max_size=4)},
    optional={
        "label": st.text(TEXT, max_size=5),
        "filters": st.fixed_dictionaries(
            {},
            optional={
                "catalogs": st.lists(st.sampled_from(["x", "y"]), max_size=3),
                "availableFrom": st.just("2026-01-02T03:04:05+01:00"),
                "availableUntil": st.just("2027-01-01T00:00:00Z"),
                "free": st.just("1"),
            },
        ),
        "extras": st.fixed_dictionaries({"categories": st.just({"genre": ["x"]}), "language": NAMES}),
    },
)

ATTRIBUTES = (Attribute(AttributeType.KEYWORD, "/language"),)


@pytest.fixture(autouse=True)
def _kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(decoding, "LEAST_READ", 1)
    engine.use({READING: load_kernels(KERNELS, READING)})
    yield
    engine.use({})


def stored(pieces: list[dict[str, Any]]) -> list[PieceChange]:
    """Return pieces as they are stored, their ids with what JSON escapes, in no order."""
    named = [piece | {"id": f'{len(pieces) - place}"é'} for place, piece in enumerate(pieces)]
    encoded = decode_submission(json.dumps(named).encode()).pieces
    return [PieceChange(each.id, False, place, each.body) for place, each in enumerate(encoded)]


def expected(changes: list[PieceChange], attributes: tuple[Attribute, ...] = ()) -> dict[str, Any]:
    pieces = [decode_stored_piece(each.body, each.first_submitted_at, attributes) for each in changes]
    return build_segment(pieces, Strings.of(map(str, attributes))).arrays()


def read_by_kernel(changes: list[PieceChange]) -> int:
    found = decoding._read(sorted(changes, key=lambda change: change.id), ())  # what it leaves, nobody tells
    assert found is not None
    return len(found[0].ids)


def assert_same(arrays: dict[str, Any], others: dict[str, Any]) -> None:
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype, name
        assert np.array_equal(array, others[name]), name


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=8), st.sampled_from([(), ATTRIBUTES]))
def test_a_segment_is_the_same_with_the_kernel(pieces: list[dict[str, Any]], attributes: tuple[Attribute, ...]) -> None:
    changes = stored(pieces)

    found = segment_of_changes(changes, attributes, Strings.of(map(str, attributes)))

    assert_same(found.arrays(), expected(changes, attributes))


def test_what_most_catalogues_hold_is_read_by_the_kernel() -> None:
    weighted: list[Any] = [{"key": "é", "weight": 85.0}, {"key": "b", "weight": 0}, {"key": "c"}, "d"]
    pieces: list[dict[str, Any]] = [
        {"label": 'A "label"', "categories": {"genre": ["noir", "drama"], "none": []}, "filters": {"catalogs": ["x"]}},
        {"categories": {"tag": weighted}, "extras": {"genre": 1}},
        {"categories": {}},
    ]
    changes = stored(pieces)

    assert read_by_kernel(changes) == 3
    assert_same(segment_of_changes(changes).arrays(), expected(changes))


@pytest.mark.parametrize(
    "categories",
    (
        {"genre": ["a", "a"]},
        {"genre": [{"weight": 5}, "b"]},
        {"deep": {"er": ["a"]}},
        {"genre": ["back\\slash"]},
    ),
    ids=str,
)
def test_what_is_unusual_is_decoded_by_the_definition(categories: dict[str, Any]) -> None:
    changes = stored([{"categories": {"genre": ["a", "c"]}}, {"categories": categories}])

    assert read_by_kernel(changes) == 1
    assert_same(segment_of_changes(changes).arrays(), expected(changes))


def test_json_written_otherwise_is_decoded_by_the_definition() -> None:
    body = json.dumps({"id": "p", "categories": {"genre": ["a", {"key": "b", "weight": 3}]}}).encode()
    changes = [PieceChange("p", False, 7, body)]

    assert read_by_kernel(changes) == 0
    assert_same(segment_of_changes(changes).arrays(), expected(changes))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=3), st.data())
def test_damaged_text_is_never_read_past_its_end(pieces: list[dict[str, Any]], data: st.DataObject) -> None:
    bodies = []
    for change in stored(pieces):
        cut = data.draw(st.integers(0, len(change.body)))
        bodies.append(change.body[:cut] + data.draw(st.sampled_from([b"", b'"', b"9", b"{", b"}"])))
    starts = np.cumsum([0, *map(len, bodies)])

    read = engine.read_pieces(b"".join([*bodies, b"\0"]), starts, decoding._FORM)

    assert read is not None
    for begin, end, place in zip(starts[:-1], starts[1:], read[0].filters, strict=True):
        assert place[0] == -1 or begin < place[0] < place[1] <= end

"""Filters: what they let through is what a full scan finds, whatever led to a snapshot."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filters_reference import ATTRIBUTES, FILTERS, PIECE, holds
from penchant.live.array_files import Stamp, read_file, write_file
from penchant.live.segment_files import SEGMENT
from penchant.model import SourceSettings
from penchant.wire.attributes import decode_stored_marks
from penchant.wire.filters import decode_filter
from penchant.wire.stored import decode_stored_piece
from penchant_engine.attributes import Attribute, AttributeFilter, AttributeType, mark_of, numbered
from penchant_engine.index import Filter, Snapshot, Strings
from penchant_engine.index.masks import MAX_MASKS
from penchant_engine.index.snapshot import has_attributes, mark
from penchant_engine.model import IndexedPiece
from strategies import examples

NAMED = {key: Attribute(AttributeType(each["type"]), each["pointer"]) for key, each in ATTRIBUTES.items()}
NUMBERED = numbered(NAMED.values())
TABLE = Strings.of(map(str, NUMBERED))
PIECES = st.dictionaries(st.sampled_from([f"p{number}" for number in range(12)]), PIECE, min_size=1)
PHASES = st.lists(st.tuples(PIECES, st.lists(st.sampled_from(["p0", "p1", "p2"]), max_size=2)), min_size=1, max_size=3)
HISTORIES = st.sampled_from(["apart", "merged", "file", "marked anew"])


def body(piece_id: str, piece: dict[str, Any]) -> bytes:
    return json.dumps({"id": piece_id} | piece).encode()


def stored(piece_id: str, piece: dict[str, Any], attributes: tuple[Attribute, ...]) -> IndexedPiece:
    return decode_stored_piece(body(piece_id, piece), 0, attributes)


def filter_of(clause: dict[str, Any]) -> AttributeFilter:
    return decode_filter(json.dumps(clause), SourceSettings(attributes=NAMED))


def shown(snapshot: Snapshot, matching: AttributeFilter) -> set[str]:
    """Return the live pieces that a filter lets through."""
    return {
        piece_id
        for part in snapshot.parts
        for piece_id, allowed in zip(part.segment.ids, part.allowed(Filter(moment=1, matching=matching)), strict=True)
        if allowed
    }


def made(phases: list[Any], attributes: tuple[Attribute, ...]) -> tuple[Snapshot, dict[str, Any]]:
    """Return the snapshot of some changes in parts that stay apart, and the pieces that it has."""
    snapshot, pieces = Snapshot.empty(), dict[str, Any]()
    table = Strings.of(map(str, attributes))
    for submitted, deleted in phases:
        pieces = {key: piece for key, piece in (pieces | submitted).items() if key not in deleted}
        changes = {key: stored(key, piece, attributes) for key, piece in submitted.items()}
        snapshot = snapshot.apply(changes | dict.fromkeys(deleted), attributes=table, max_merged=0)
    return snapshot, pieces


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(PHASES, FILTERS, HISTORIES)
def test_a_filter_lets_through_what_it_holds_for(
    tmp_path_factory: pytest.TempPathFactory, phases: list[Any], clause: dict[str, Any], history: str
) -> None:
    snapshot, pieces = made(phases, NUMBERED[:2] if history == "marked anew" else NUMBERED)
    if history == "marked anew":
        batches = [{key: decode_stored_marks(body(key, pieces[key]), NUMBERED)} for key in sorted(pieces, reverse=True)]
        snapshot = mark(snapshot, TABLE, batches)
    elif history != "apart":
        segment = snapshot.merged()
        if history == "file":
            path = tmp_path_factory.mktemp("files") / "a.segment"
            write_file(SEGMENT, path, Stamp(*range(len(Stamp._fields))), segment)
            segment = read_file(SEGMENT, path, Stamp(*range(len(Stamp._fields))))
        snapshot = Snapshot.of_segment(segment)

    assert not pieces or has_attributes(snapshot, TABLE)
    assert shown(snapshot, filter_of(clause)) == {key for key, piece in pieces.items() if holds(clause, piece)}


@given(PHASES)
def test_marking_anew_gives_the_arrays_of_a_build(phases: list[Any]) -> None:
    old, pieces = made(phases, NUMBERED[3:])

    marks = [{key: decode_stored_marks(body(key, piece), NUMBERED)} for key, piece in pieces.items()]
    anew = mark(old, TABLE, marks).merged().arrays()

    built = made([(pieces, [])], NUMBERED)[0].merged().arrays() if pieces else anew
    assert {name: array.tolist() for name, array in anew.items()} == {
        name: array.tolist() for name, array in built.items()
    }


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_marks_of_numbers_sort_as_the_numbers_do(numbers: list[float]) -> None:
    marks = [mark_of(3, number) for number in numbers]

    assert sorted(numbers) == [number for _, number in sorted(zip(marks, numbers, strict=True))]
    assert len(set(marks)) == len(set(numbers))


def test_as_many_masks_are_kept_as_may_be_and_those_used_last() -> None:
    snapshot, _ = made([({"p0": {"categories": {"genre": ["noir"]}, "extras": {"price": 1}}}, [])], NUMBERED)
    (part,) = snapshot.parts
    filters = [Filter(moment=1, matching=filter_of({"key": "price", "lt": number})) for number in range(MAX_MASKS + 1)]

    first, second = (part.allowed(each) for each in filters[:2])
    for each in filters[2:]:
        assert part.allowed(filters[0]) is first
        part.allowed(each)

    assert part.allowed(filters[0]) is first
    assert part.allowed(filters[1]) is not second
    assert part.nbytes - part.segment.nbytes <= (MAX_MASKS + 4) * len(part.segment)

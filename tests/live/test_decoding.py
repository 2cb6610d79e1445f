"""Many stored pieces are read as one is by the definition, whatever stands in them."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.live.decoding import PieceReader
from penchant.storage import PieceChange
from penchant.wire import decode_submission
from penchant.wire.stored import decode_stored_piece
from penchant_engine.attributes import Attribute, AttributeType
from penchant_engine.index import Strings
from penchant_engine.index.building import build_segment
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


def stored(pieces: list[dict[str, Any]]) -> list[PieceChange]:
    """Return pieces as they are stored, their ids with what JSON escapes, in no order."""
    named = [piece | {"id": f'{len(pieces) - place}"é'} for place, piece in enumerate(pieces)]
    encoded = decode_submission(json.dumps(named).encode()).pieces
    return [PieceChange(each.id, False, place, each.body) for place, each in enumerate(encoded)]


def expected(changes: list[PieceChange], attributes: tuple[Attribute, ...] = ()) -> dict[str, Any]:
    pieces = [decode_stored_piece(each.body, each.first_submitted_at, attributes) for each in changes]
    return build_segment(pieces, Strings.of(map(str, attributes))).arrays()


def read(changes: list[PieceChange], attributes: tuple[Attribute, ...] = (), batch: int = 1_000) -> dict[str, Any]:
    """Return the arrays of the segment that a reader makes of changes, read so many at a time."""
    reader = PieceReader(attributes, Strings.of(map(str, attributes)))
    for begin in range(0, len(changes), batch):
        reader.add(changes[begin : begin + batch])
    segment = reader.segment()
    assert segment is not None
    return segment.arrays()


def assert_same(arrays: dict[str, Any], others: dict[str, Any]) -> None:
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype, name
        assert np.array_equal(array, others[name]), name


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=8), st.sampled_from([(), ATTRIBUTES]), st.integers(1, 8))
def test_pieces_make_the_segment_of_their_definition(
    pieces: list[dict[str, Any]], attributes: tuple[Attribute, ...], batch: int
) -> None:
    changes = stored(pieces)

    assert_same(read(changes, attributes, batch), expected(changes, attributes))


@pytest.mark.parametrize(
    "categories",
    (
        {"genre": ["a", "a"]},
        {"genre": ["a", {"key": "a", "weight": 3}, "a", "b", {"key": "c", "weight": 0}, {"weight": 5}]},
        {"genre": [{"key": "é", "weight": 85.0}, {"key": "b"}], "none": []},
        {"deep": {"er": ["a", {"key": "b", "weight": 2}], "est": {"x": ["a"]}}, "deep/er": ["a"]},
    ),
    ids=str,
)
def test_repeated_weighted_and_nested_keywords_are_read(categories: dict[str, Any]) -> None:
    changes = stored([{"categories": {"genre": ["a", "c"]}}, {"categories": categories}])

    assert_same(read(changes), expected(changes))


def test_filters_that_pieces_share_are_theirs() -> None:
    catalogs = [[f"c{place % 11}", "all"][: 1 + place % 2] for place in range(60)]
    changes = stored([{"categories": {}, "filters": {"catalogs": each}} for each in catalogs])

    assert_same(read(changes, batch=25), expected(changes))


def test_json_written_otherwise_is_read() -> None:
    body = json.dumps({"id": "p", "categories": {"genre": ["a", {"key": "b", "weight": 3}]}}).encode()
    changes = [PieceChange("p", False, 7, body)]

    assert_same(read(changes), expected(changes))

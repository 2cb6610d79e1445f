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
from penchant.index import Strings, TermReader, build_segment, engine, reading
from penchant.index.kernel_samples import READING
from penchant.live import decoding
from penchant.live.compiling import load_kernels
from penchant.live.decoding import PieceReader
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


def read(changes: list[PieceChange], attributes: tuple[Attribute, ...] = (), batch: int = 1_000) -> dict[str, Any]:
    """Return the arrays of the segment that a reader makes of changes, read so many at a time."""
    reader = PieceReader(attributes, Strings.of(map(str, attributes)))
    for begin in range(0, len(changes), batch):
        reader.add(changes[begin : begin + batch])
    segment = reader.segment()
    assert segment is not None
    return segment.arrays()


def read_by_kernel(changes: list[PieceChange]) -> int:
    return len(changes) - len(PieceReader()._read(changes))  # what it leaves, nobody tells


def assert_same(arrays: dict[str, Any], others: dict[str, Any]) -> None:
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype, name
        assert np.array_equal(array, others[name]), name


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=8), st.sampled_from([(), ATTRIBUTES]), st.integers(1, 8))
def test_a_segment_is_the_same_with_the_kernel(
    pieces: list[dict[str, Any]], attributes: tuple[Attribute, ...], batch: int
) -> None:
    changes = stored(pieces)

    assert_same(read(changes, attributes, batch), expected(changes, attributes))


@pytest.mark.parametrize("has_kernel", (True, False))
def test_a_reader_takes_more_terms_than_it_has_room_for_at_first(
    monkeypatch: pytest.MonkeyPatch, *, has_kernel: bool
) -> None:
    monkeypatch.setattr(reading, "LEAST_ROOM", 2)
    pieces = [{"categories": {"tag": [f"keyword {n} of {place % 7}" for n in range(place)]}} for place in range(20)]
    changes = stored(pieces)
    if not has_kernel:
        engine.use({})

    assert_same(read(changes, batch=3), expected(changes))


def test_filters_are_told_apart_beyond_what_a_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FILTER_SLOTS", 4)
    catalogs = [[f"c{place % 11}", "all"][: 1 + place % 2] for place in range(60)]
    changes = stored([{"categories": {}, "filters": {"catalogs": each}} for each in catalogs])

    assert_same(read(changes, batch=25), expected(changes))


def test_what_most_catalogues_hold_is_read_by_the_kernel() -> None:
    weighted: list[Any] = [{"key": "é", "weight": 85.0}, {"key": "b", "weight": 0}, {"key": "c"}, "d"]
    pieces: list[dict[str, Any]] = [
        {"label": 'A "label"', "categories": {"genre": ["noir", "drama"], "none": []}, "filters": {"catalogs": ["x"]}},
        {"categories": {"tag": weighted}, "extras": {"genre": 1}},
        {"categories": {}},
    ]
    changes = stored(pieces)

    assert read_by_kernel(changes) == 3
    assert_same(read(changes), expected(changes))


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
    assert_same(read(changes), expected(changes))


def test_json_written_otherwise_is_decoded_by_the_definition() -> None:
    body = json.dumps({"id": "p", "categories": {"genre": ["a", {"key": "b", "weight": 3}]}}).encode()
    changes = [PieceChange("p", False, 7, body)]

    assert read_by_kernel(changes) == 0
    assert_same(read(changes), expected(changes))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=3), st.data())
def test_damaged_text_is_never_read_past_its_end(pieces: list[dict[str, Any]], data: st.DataObject) -> None:
    bodies = []
    for change in stored(pieces):
        cut = data.draw(st.integers(0, len(change.body)))
        bodies.append(change.body[:cut] + data.draw(st.sampled_from([b"", b'"', b"9", b"{", b"}"])))
    starts = np.cumsum([0, *map(len, bodies)])

    pairs = TermReader().read(b"".join([*bodies, b"\0"]), starts, decoding._FORM)

    assert pairs is not None
    for begin, end, place in zip(starts[:-1], starts[1:], pairs.filters, strict=True):
        assert place[0] == -1 or begin < place[0] < place[1] <= end

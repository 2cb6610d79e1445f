"""A scan finds in a segment what the node finds there, and lets no number of another segment near a kernel."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filters_reference import ATTRIBUTES, EXTRAS, FILTERS
from live.conftest import numbered as alike
from penchant.attributes import Attribute, AttributeType, numbered
from penchant.index import (
    Audience,
    AudienceWeights,
    BlendFactors,
    BlendQuery,
    Filter,
    FloatArray,
    ListSpec,
    MeanQuery,
    OverlapQuery,
    PartQuery,
    PersonVector,
    PiecePosition,
    Popularity,
    SharedQuery,
    Snapshot,
    SparseShares,
    Strings,
    key_of,
)
from penchant.index.layout import FARTHEST, NOWHERE
from penchant.index.part import Part
from penchant.index.standing import count_ahead_in
from penchant.live.array_files import Stamp
from penchant.live.shard_messages import (
    BestRows,
    BrokenMessage,
    LiveRows,
    PopularChanges,
    PopularShares,
    RowKey,
    RowsAhead,
    ScanAnswer,
    ScanOutcome,
    ScanRequest,
)
from penchant.live.shard_scan import ShardScan
from penchant.live.shard_server import KEPT_SHARES, KEPT_STATES, ScannedSegment
from penchant.live.shard_shares import PopularNames
from penchant.model import Algorithm, IndexedPiece, Term
from penchant.wire import decode_filter, decode_stored_piece
from strategies import CATALOGUES, CATEGORY_WEIGHTS, KEYWORDS, PIECE_IDS, examples

STAMP = Stamp(source_id=7, created_at=5, incarnation=1, epoch=2, version=3)
NAMED = {key: Attribute(AttributeType(each["type"]), each["pointer"]) for key, each in ATTRIBUTES.items()}
NUMBERED = numbered(NAMED.values())
TABLE = Strings.of(map(str, NUMBERED))
NOW = Filter(moment=1)
NAMES = PopularNames()
DETAILS = st.lists(
    st.fixed_dictionaries(
        {
            "extras": EXTRAS,
            "filters": st.sampled_from([{}, {"catalogs": ["site"]}, {"availableUntil": "2030-01-01T00:00:00Z"}]),
        }
    ),
    min_size=11,
    max_size=11,
)
CHOSEN = st.builds(
    Filter,
    moment=st.sampled_from([1, 1 << 50]),
    catalogs=st.sampled_from([None, frozenset({"site"}), frozenset({"no"})]),
    matching=st.none() | FILTERS.map(lambda clause: decode_filter(json.dumps(clause), NAMED)),
    blacklisted=st.sampled_from([frozenset(), frozenset({"p1", "p2"})]),
    omitted=st.sampled_from([frozenset(), frozenset({"p3"})]),
)

TERMS = st.builds(Term, st.sampled_from(["genre", "tag", "deep/er"]), KEYWORDS)
FACTORS = st.sampled_from([0.0, 0.2, 1.0])
SHARES = st.dictionaries(PIECE_IDS, st.sampled_from([-0.4, 1e-9, 0.1, 0.7]), max_size=6)
WEIGHTS_OF_ONE = st.dictionaries(PIECE_IDS, st.sampled_from([-9, 1, 3, 1 << 19, (1 << 20) + 5]), max_size=6)
PEOPLE = st.fixed_dictionaries(
    {
        "taste": st.dictionaries(TERMS, st.sampled_from([-3.25, 0.1, 1.0, 7.5]), min_size=2, max_size=8),
        "norm": st.sampled_from([0.0, 3.0, 5.0]),
        "liked": SHARES,
        "popular": SHARES,
        "credits": SHARES,
        "median": st.sampled_from([0.0, 0.3, 2.0]),
        "seen": st.frozensets(PIECE_IDS, max_size=3),
        "blending": st.builds(BlendFactors, FACTORS, FACTORS, FACTORS, total=st.sampled_from([0.7, 1.0])),
        "fill": st.booleans(),
    }
)


def indexed(piece: dict[str, Any]) -> IndexedPiece:
    return decode_stored_piece(json.dumps(piece).encode(), 0, NUMBERED)


@settings(deadline=None, max_examples=examples(60))
@given(CATALOGUES, DETAILS, CATALOGUES, CHOSEN, CATEGORY_WEIGHTS, st.sampled_from([1, 3, 30]))
def test_a_scan_finds_what_the_node_finds(
    pieces: list[Any], details: list[Any], later: list[Any], shown: Filter, weights: dict[str, float], take: int
) -> None:
    snapshot = cut_and_changed(pieces, details, later)
    held = {part.origin: ScannedSegment(part.segment) for part in snapshot.parts}

    for each in ids_of(snapshot):
        for algorithm in Algorithm:
            require_same(held, snapshot.asked(each, algorithm, weights), snapshot, shown, take)


@settings(deadline=None, max_examples=examples(100))
@given(st.tuples(CATALOGUES, DETAILS, CATALOGUES), CHOSEN, CATEGORY_WEIGHTS, PEOPLE, st.sampled_from([1, 3, 300]))
def test_a_scan_for_a_person_finds_what_the_node_finds(
    versions: Any, shown: Filter, weights: dict[str, float], person: dict[str, Any], take: int
) -> None:
    snapshot = cut_and_changed(*versions)
    held = {part.origin: ScannedSegment(part.segment) for part in snapshot.parts}
    terms = tuple(sorted(person["taste"]))
    vector = PersonVector(values={term: person["taste"][term] for term in terms}, norm=person["norm"])
    wanted = ListSpec(
        shown=shown,
        blending=person["blending"],
        category_weights=weights,
        take=take,
        fill=person["fill"],
        seen=tuple(part.excluded(Filter(moment=1, omitted=person["seen"])) for part in snapshot.parts),
    )

    require_same(held, OverlapQuery(terms, fill=person["fill"]), snapshot, shown, take)
    for liked, shares in ((person["liked"], person["popular"]), ({}, person["liked"])):
        floors = arrays_of(snapshot, person["credits"])
        popular = Popularity(shares=arrays_of(snapshot, shares), floors=floors, median=person["median"])
        alike = tuple(map(SparseShares.of, arrays_of(snapshot, liked)))
        query = BlendQuery(snapshot, vector, popular, alike, wanted)
        require_same(held, query, snapshot, shown, take)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.tuples(CATALOGUES, DETAILS, CATALOGUES), CHOSEN, CATEGORY_WEIGHTS, WEIGHTS_OF_ONE, st.sampled_from([1, 3, 30])
)
def test_a_scan_by_what_people_like_finds_what_the_node_finds(
    versions: Any, shown: Filter, weights: dict[str, float], row: dict[str, int], take: int
) -> None:
    snapshot = cut_and_changed(*versions)
    held = {part.origin: ScannedSegment(part.segment) for part in snapshot.parts}

    for each in ids_of(snapshot)[:3]:
        shared = audience_of(each, row).shared_with(each)
        for algorithm in Algorithm:
            content = snapshot.asked(each, algorithm, weights)
            require_same(held, SharedQuery(shared, content), snapshot, shown, take)
            require_same(held, MeanQuery(shared, content), snapshot, shown, take)


def audience_of(liked: str, row: dict[str, int]) -> Audience:
    """Return an audience of which likes of one piece say so much of others, in units of W, and nothing else does."""
    ids = sorted({liked, *row})
    targets = [number for number, each in enumerate(ids) if each in row]
    weights = replace(
        AudienceWeights.none(),
        ids=Strings.of(ids),
        starts=np.array([0 if number <= ids.index(liked) else len(targets) for number in range(len(ids) + 1)]),
        targets=np.array(targets, dtype=np.uint32),
        values=np.array([row[ids[each]] for each in targets], dtype=np.int32),
        people=np.full(len(targets), 3, dtype=np.uint8),
    )
    return Audience(None, weights, 1)


def arrays_of(snapshot: Snapshot, values: dict[str, float]) -> tuple[FloatArray, ...]:
    """Return by part what each piece has, 0 for those that are not named."""
    return tuple(np.array([values.get(each, 0.0) for each in part.segment.ids]) for part in snapshot.parts)


def cut_and_changed(pieces: list[Any], details: list[Any], later: list[Any]) -> Snapshot:
    """Return pieces in three segments of a file, of which some have gone since, and others came."""
    first = {piece["id"]: indexed(piece | more) for piece, more in zip(pieces, details, strict=False)}
    base = Snapshot.empty().apply(first, attributes=TABLE)
    changes = {piece["id"]: indexed(piece) if number % 2 else None for number, piece in enumerate(later)}
    return Snapshot.of_file(base.split(3), tuple(STAMP)).apply(changes, attributes=TABLE)


def require_same(
    held: dict[Any, ScannedSegment], query: PartQuery, snapshot: Snapshot, shown: Filter, take: int
) -> None:
    """Compare what a shard finds in each part with what the node does."""
    scan = ShardScan.of(query, snapshot, NAMES)
    for part in snapshot.parts:
        if part.origin is not None:
            choice = take, query.limit
            assert scanned(held[part.origin], scan, part, shown, choice) == query.best_in(part, shown, *choice)
            require_same_standings(held[part.origin], scan, part, shown)


def require_same_standings(held: ScannedSegment, scan: ShardScan, part: Part, shown: Filter) -> None:
    """Compare the key of a part's last live piece, and how many come before it and others, with what the node finds."""
    row = int(np.flatnonzero(part.live)[-1])
    piece_id = part.segment.ids[row]
    key = key_of(Snapshot([part]), piece_id, scan.query.scan)
    if part not in scan.measures:
        assert key is None
        return
    found = answered(held, scan, part, scan.key_request(1, part, row)).keys
    assert np.frombuffer(found, dtype=np.int64).tolist() == ([] if key is None else [key])
    for position in (
        PiecePosition(shown, key or 0, piece_id),
        PiecePosition(shown, key or 0, ""),
        PiecePosition(shown, 1, "p3"),
    ):
        counted = answered(held, scan, part, scan.ahead_request(1, part, position)).count
        assert counted == count_ahead_in(part, position, scan.query.scan)


def ids_of(snapshot: Snapshot) -> list[str]:
    rows = [(part, row) for part in snapshot.parts for row in np.flatnonzero(part.live).tolist()]
    return [part.segment.ids[row] for part, row in rows]


def scanned(
    held: ScannedSegment, scan: ShardScan, part: Any, shown: Filter, choice: tuple[int, int]
) -> list[tuple[int, str]]:
    """Return what a shard finds."""
    if part not in scan.measures:
        return []
    answer = answered(held, scan, part, scan.request(1, part, shown, choice))
    keys, rows = (np.frombuffer(each, dtype=np.int64) for each in (answer.keys, answer.rows))
    found: list[tuple[int, str]] = part.named(keys, rows)
    return found


def answered(held: ScannedSegment, scan: ShardScan, part: Part, request: ScanRequest) -> ScanAnswer:
    """Return the answer of a shard that may have to be told which pieces are gone, and what is popular."""
    answer = held.scan(request)
    while states := scan.states(part, answer):
        for state in states:
            held.note(state)
        answer = held.scan(request)
    assert answer.outcome is ScanOutcome.FOUND
    return answer


def halves(version: int = 0) -> Snapshot:
    """Return twenty pieces that are alike by turns, in two segments of one file."""
    pieces = {f"p{number}": indexed(alike(number + version) | {"id": f"p{number}"}) for number in range(20)}
    return Snapshot.of_file(Snapshot.empty().apply(pieces).split(2), tuple(STAMP))


def requests_for(snapshot: Snapshot) -> tuple[ScanRequest, ScanRequest]:
    """Return scans of the first segment, by what is like a piece, and by what suits a person."""
    part = snapshot.parts[0]
    near = ShardScan.of(snapshot.asked("p1", Algorithm.JACCARD, {}), snapshot, NAMES)
    suited = ShardScan.of(blend_for(snapshot), snapshot, NAMES)
    return near.request(1, part, NOW, (9, FARTHEST)), suited.request(1, part, NOW, (9, NOWHERE))


def blend_for(snapshot: Snapshot, popular: float | None = None, median: float = 0.0) -> BlendQuery:
    """Return a query for a person who likes the keywords of one piece, where the first of each part is so popular.

    With ``None`` nothing is popular.
    """
    terms = snapshot.terms_of("p1") or {}
    liked = [SparseShares.of(np.arange(len(part.segment)) % 3 / 4) for part in snapshot.parts]
    numbers = [np.arange(len(part.segment)) for part in snapshot.parts]
    shared = Popularity.without_credits([np.zeros(len(each)) for each in numbers])
    if popular is not None:
        shared = Popularity(
            shares=tuple(np.where(each, 0.25, popular) for each in numbers),
            floors=tuple(each / 8 for each in numbers),
            median=median,
        )
    return BlendQuery(
        snapshot,
        PersonVector(values={term: float(weight) for term, weight in sorted(terms.items())}, norm=2.0),
        shared,
        liked,
        ListSpec(shown=NOW, blending=BlendFactors(0.5, 0.3, 0.2, 1.0), category_weights={}, take=9, fill=True),
    )


def test_a_shard_remembers_some_states_of_a_segment() -> None:
    held, request = ScannedSegment(halves().parts[0].segment), requests_for(halves())[0]

    for number in range(KEPT_STATES):
        held.note(LiveRows((*STAMP, 2), 0, bytes([number]), np.array([0], dtype=np.uint32).tobytes()))

    assert held.scan(request).outcome is ScanOutcome.MISSING_ROWS
    with pytest.raises(BrokenMessage):
        held.note(LiveRows((*STAMP, 2), 0, b"x", np.array([20], dtype=np.uint32).tobytes()))


def test_a_shard_remembers_what_is_popular_by_some_states() -> None:
    snapshot = halves()
    part, held = snapshot.parts[0], ScannedSegment(snapshot.parts[0].segment)
    # One of those that are kept are the floors.
    queries = [blend_for(snapshot, popular=number / 16) for number in range(1, KEPT_SHARES + 1)]
    scans = [ShardScan.of(query, snapshot, NAMES) for query in queries]
    choice = 9, NOWHERE

    for scan in scans:
        assert held.scan(scan.request(1, part, NOW, choice)).outcome is ScanOutcome.MISSING_SHARES
        assert scanned(held, scan, part, NOW, choice) == scan.query.best_in(part, NOW, *choice)
    assert held.scan(scans[1].request(1, part, NOW, choice)).outcome is ScanOutcome.FOUND
    assert held.scan(scans[0].request(1, part, NOW, choice)).outcome is ScanOutcome.MISSING_SHARES
    with pytest.raises(BrokenMessage):
        held.note(PopularShares((*STAMP, 2), 0, b"x", np.zeros(3).tobytes()))
    for rows, count in (([20], 1), ([1, 0], 2), ([0], 2)):
        packed = np.array(rows, dtype=np.uint32).tobytes()
        with pytest.raises(BrokenMessage):
            held.note(PopularChanges((*STAMP, 2), 0, b"", b"x", packed, np.zeros(count).tobytes()))


def test_a_shard_is_told_what_has_changed_of_what_it_holds() -> None:
    snapshot = halves()
    part, held, choice = snapshot.parts[0], ScannedSegment(snapshot.parts[0].segment), (30, NOWHERE)

    def told(popular: float, median: float, to: ScannedSegment) -> list[type]:
        scan = ShardScan.of(blend_for(snapshot, popular, median), snapshot, NAMES)
        kinds = [type(each) for each in scan.states(part, to.scan(scan.request(1, part, NOW, choice)))]
        assert scanned(to, scan, part, NOW, choice) == scan.query.best_in(part, NOW, *choice)
        return kinds

    assert told(0.5, 1.0, held) == [PopularShares, PopularShares]
    assert told(0.6, 1.0, held) == [PopularChanges]
    assert told(0.6, 2.0, held) == []
    assert told(0.5, 2.0, held) == []
    assert told(0.7, 2.0, ScannedSegment(part.segment)) == [PopularShares, PopularShares]
    assert told(0.8, 2.0, held) == [PopularChanges]


def test_changes_of_what_a_shard_has_forgotten_are_none() -> None:
    snapshot = halves()
    part, held = snapshot.parts[0], ScannedSegment(snapshot.parts[0].segment)

    held.note(PopularChanges((*STAMP, 2), 0, b"before", b"x", b"", b""))

    scan = ShardScan.of(blend_for(snapshot, 0.5), snapshot, NAMES)
    assert held.scan(scan.request(1, part, NOW, (9, NOWHERE))).held == ()


WRONG_OF_ALL: list[dict[str, Any]] = [
    {"terms": np.array([0, 99], dtype=np.uint32).tobytes(), "values": np.zeros(2).tobytes()},
    {"terms": np.array([1, 0], dtype=np.uint32).tobytes(), "values": np.zeros(2).tobytes()},
    {"terms": b"\1"},
    {"values": b""},
    {"factors": ()},
    {"excluded": np.array([20], dtype=np.uint32).tobytes()},
    {"excluded": b"\1"},
    {"goal": BestRows(0, 1)},
    {"goal": BestRows(1 << 40, 1)},
    {"goal": BestRows(9, (1 << 62) + 1)},
    {"goal": RowKey(-1)},
    {"goal": RowKey(20)},
    {"goal": RowsAhead(0, -1)},
    {"goal": RowsAhead(0, 21)},
    {"goal": RowsAhead(1 << 62, 0)},
]
WRONG_NEAR: list[dict[str, Any]] = [
    {"terms": np.array([0, 99], dtype=np.uint32).tobytes(), "values": b"\1\1"},
    {"terms": np.array([1, 0], dtype=np.uint32).tobytes(), "values": b"\1\1"},
    {"values_type": "O"},
    {"mode": 3},
    {"goal": BestRows(9, FARTHEST + 1)},
]
WRONG_SUITED: list[dict[str, Any]] = [
    {"values": b"\1"},
    {"liked_rows": np.array([20], dtype=np.uint32).tobytes(), "liked": np.zeros(1).tobytes()},
    {"liked": np.zeros(1).tobytes()},
]


@pytest.mark.parametrize("wrong", ({"shares": b"\1"}, {"rows": b""}, {"rows": b"\xff\0\0\0"}), ids=str)
def test_shares_that_no_segment_has_are_refused(wrong: dict[str, Any]) -> None:
    snapshot = halves()
    part, held = snapshot.parts[0], ScannedSegment(snapshot.parts[0].segment)
    shared = audience_of("p1", {part.segment.ids[0]: 5}).shared_with("p1")
    for query in (SharedQuery, MeanQuery):
        scan = ShardScan.of(query(shared, snapshot.asked("p1", None, {})), snapshot, NAMES)
        request = scan.request(1, part, NOW, (9, NOWHERE))
        assert held.scan(request).outcome is ScanOutcome.FOUND
        measure: Any = request.measure
        own = {"shared": msgspec.structs.replace(measure.shared, **wrong)} if query is MeanQuery else wrong

        with pytest.raises(BrokenMessage):
            held.scan(msgspec.structs.replace(request, measure=msgspec.structs.replace(measure, **own)))


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(kind, wrong) for kind in (0, 1) for wrong in WRONG_OF_ALL + (WRONG_SUITED if kind else WRONG_NEAR)],
    ids=str,
)
def test_numbers_that_no_segment_has_never_reach_a_kernel(kind: int, wrong: dict[str, Any]) -> None:
    held = ScannedSegment(halves().parts[0].segment)
    request = requests_for(halves())[kind]
    assert held.scan(request).outcome is ScanOutcome.FOUND
    own = {name: value for name, value in wrong.items() if hasattr(request, name)}
    measured = {name: value for name, value in wrong.items() if name not in own}

    measure = msgspec.structs.replace(request.measure, **measured)

    with pytest.raises(BrokenMessage):
        held.scan(msgspec.structs.replace(request, measure=measure, **own))

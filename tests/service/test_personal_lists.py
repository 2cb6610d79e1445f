"""Is a varied list what a full sort of the catalogue gives, by few searches, whatever its limits are?"""

import gc
import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from answers import placed_taste, stored
from fill_reference import fill_place
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.storage import SourceHead
from penchant_engine.index import Audience, Snapshot, Strings, UserFeatures
from penchant_engine.index.best import Hits
from penchant_engine.index.boosting import availability_of
from penchant_engine.index.masks import Filter, rows_of
from penchant_engine.index.part import Part
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.order import OwnLikes
from penchant_engine.index.people.personal import OverlapQuery, liked_terms
from penchant_engine.index.people.popularity import PieceCounts
from penchant_engine.index.queries import best_of
from penchant_engine.lists import arranging
from penchant_engine.lists import ranking as ranking_module
from penchant_engine.lists.marks import marks_of
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.requests import ListDemands, ListRequest
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.model import DAY_MS, MAX_TAKE, Algorithm, Term
from penchant_engine.ranking import RankedPiece, demoted
from variety_reference import Tastes, Variety, chosen_one_by_one, listed_by_definition, unit_vectors

LIKED = tuple(Term(category, keyword) for category, keyword in (("genre", "a"), ("tag", "b"), ("tag", "c")))
KEYWORDS = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)
PIECES = st.lists(st.fixed_dictionaries({"genre": KEYWORDS, "tag": KEYWORDS}), max_size=40)
IDS = st.sampled_from([f"p{number}" for number in range(40)])
NOW = 2 * DAY_MS + 1
GRADES = st.dictionaries(IDS, st.integers(1, 16), max_size=5)
CALIBRATIONS = st.sampled_from([0.0, 0.0, 0.25, 1.0])
MOST = st.dictionaries(st.sampled_from(["genre", "tag", "none"]), st.integers(1, 3), max_size=2)


class CountedQuery(OverlapQuery):
    """Counts what each search takes of the first part."""

    def __init__(self, view: View) -> None:
        super().__init__(view.snapshot, liked_terms(view.snapshot, person_of(view).taste), fill=True)
        self.taken: list[int] = []

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        self.taken.append(take)
        return super().best_in(part, shown, take, limit)


def view_of(
    pieces: dict[str, Any], settings: SourceSettings, whitelist: tuple[str, ...] = (), days: Sequence[int] | None = None
) -> View:
    """Return a source in two segments, so that keywords of the first have other numbers in the second.

    Pieces are shown from some ``days`` on; without these, each from a day before the next one on.
    """
    snapshot, ids = Snapshot.empty(), list(pieces)
    shown_from = {each: DAY_MS * (-number if days is None else days[number]) for number, each in enumerate(ids)}
    for some in (ids[::2], ids[1::2]):
        changes = {each: stored({"id": each, "categories": pieces[each]}, shown_from[each]) for each in some}
        snapshot = snapshot.apply(changes, max_merged=0)
    head = SourceHead(
        source_id=1,
        account_id=1,
        name="s",
        incarnation=1,
        epoch=1,
        version=1,
        interactions_version=0,
        piece_count=len(pieces),
        created_at=0,
        changed_at=0,
    )
    return View(
        head=head,
        snapshot=snapshot,
        settings=settings,
        whitelist=whitelist,
        blacklist=(),
        blacklisted=frozenset(),
    )


def tastes_of(catalogue: dict[str, dict[str, list[str]]], grades: dict[str, int], calibration: float) -> Tastes | None:
    """Return how much of each tag there is in liked pieces."""
    amounts = dict[str, int]()
    for piece_id, grade in grades.items():
        own = catalogue.get(piece_id, {"tag": []})["tag"]
        for tag in own:
            amounts[tag] = amounts.get(tag, 0) + grade * 12 // len(own)
    return Tastes("tag", round(100 * calibration), amounts) if amounts and calibration else None


def person_of(view: View, grades: dict[str, int] | None = None) -> UserFeatures:
    """Return somebody whose taste is `LIKED`, and who likes pieces by these grades."""
    taste = placed_taste(view.snapshot, dict.fromkeys(LIKED, 1.0), norm=1.0)
    none = (np.zeros(0, dtype=np.int64),) * len(view.snapshot.parts)
    liked = sorted((grades or {}).items())
    parts, rows = view.snapshot.locate(Strings.of(each for each, _ in liked))
    values = np.asarray([grade for _, grade in liked], dtype=np.int64)
    own = [parts == number for number in range(len(view.snapshot.parts))]
    likes = OwnLikes.within(own, rows, values, np.zeros_like(values))
    return UserFeatures(taste=taste, likes=likes, seen=none, met=0)


def ranking_of(view: View, grades: dict[str, int] | None = None, **wanted: Any) -> PersonalRanking:
    """Return the list of that person by overlap."""
    request = ListRequest(user_id="u", algorithm=Algorithm.JACCARD, calibration_category="tag", **wanted)
    return PersonalRanking(view, request, NOW, person_of(view, grades), Audience(None, ItemItemModel.none()))


def somebody(view: View, grades: dict[str, int], hidden: frozenset[str]) -> UserFeatures:
    """Return a person who likes pieces by these grades, has seen them, and has hidden others."""
    segments = [part.segment for part in view.snapshot.parts]
    seen, out_of_sight = (tuple(rows_of(each, ids) for each in segments) for ids in (frozenset(grades), hidden))
    return replace(person_of(view, grades), seen=seen, hidden=out_of_sight)


ASKED: dict[str, Sequence[Any]] = {
    "person": (0, 1),
    "settings": (0, 1),
    "days": (0, 6),
    "fill": (True, False),
    "include_seen": (None, True),
    "unhidden": (frozenset(), frozenset({"p7"})),
    "algorithm": (None, Algorithm.COSINE),
}


@pytest.mark.parametrize("changed", ASKED)
def test_lists_do_not_depend_on_what_was_asked_for_before(changed: str) -> None:
    catalogue = {f"p{number}": {"genre": ["abcd"[number % 4]], "tag": ["abcd"[number % 3]]} for number in range(24)}
    first = view_of(catalogue, SourceSettings(), days=[number - 12 for number in range(24)])
    views = [first, replace(first, settings=SourceSettings(exclude_seen=False, new_piece_half_life_days=1))]
    people = [
        somebody(first, {"p0": 3, "p5": 9}, frozenset({"p3", "p7"})),
        somebody(first, {"p1": 16}, frozenset({"p2", "p7"})),
    ]
    counts = PieceCounts.of_rows(first.snapshot.parts[0].segment, np.arange(1.0, 13.0))
    audience, differing = Audience(counts, ItemItemModel.none()), 0

    def listed(asked: Mapping[str, Any], audience: Audience) -> Sequence[RankedPiece]:
        wanted = {name: asked[name] for name in ("fill", "include_seen", "unhidden", "algorithm")}
        request, now = ListRequest(user_id="u", **wanted), NOW + asked["days"] * DAY_MS
        return PersonalRanking(views[asked["settings"]], request, now, people[asked["person"]], audience).listed

    for values in itertools.product(*ASKED.values()):
        asked = dict(zip(ASKED, values, strict=True))
        before = listed(asked | {changed: ASKED[changed][asked[changed] == ASKED[changed][0]]}, audience)
        after = listed(asked, audience)
        differing += before != after
        assert after == listed(asked, Audience(counts, ItemItemModel.none()))

    assert differing


def test_the_figures_of_who_asked_last_are_not_kept_by_what_is() -> None:
    view = view_of({f"p{number}": {"genre": ["a"], "tag": ["b"]} for number in range(4)}, SourceSettings())
    audience, person = Audience(None, ItemItemModel.none()), person_of(view)
    known = ref(person)

    assert PersonalRanking(view, ListRequest(user_id="u"), NOW, person, audience).listed
    del person
    gc.collect()
    assert known() is None


@given(PIECES, IDS, MOST)
def test_no_list_is_longer_than_its_limits_may_leave_it(
    pieces: list[dict[str, list[str]]], about: str, most: dict[str, int]
) -> None:
    catalogue = {f"p{number}": each for number, each in enumerate(pieces)} | {about: {"genre": ["a"], "tag": ["b"]}}
    request = ListRequest(piece_id=about, demands=ListDemands(most=tuple(most.items())))
    ranking = SimilarRanking(view_of(catalogue, SourceSettings()), request, NOW)

    assert all(ranking.may_list(count) for count in range(len(ranking.arrangement.pieces) + 1))


def test_a_list_of_one_keyword_is_known_to_be_as_short_as_its_limit() -> None:
    catalogue = {f"p{number}": {"genre": ["a"], "tag": ["abcd"[number % 4]]} for number in range(40)}
    request = ListRequest(piece_id="p0", demands=ListDemands(most=(("genre", 3),)))
    ranking = SimilarRanking(view_of(catalogue, SourceSettings()), request, NOW)

    assert (ranking.may_list(3), ranking.may_list(4), len(ranking.arrangement.pieces)) == (True, False, 3)


def everything_in_order(ranking: PersonalRanking) -> list[RankedPiece]:
    """Return all pieces that may be shown, best first."""
    snapshot = ranking.view.snapshot
    ranked = best_of(snapshot.parts, ranking.query, ranking.shown, snapshot.piece_count)
    sinking = demoted([RankedPiece(piece_id, -key) for key, piece_id in ranked], ranking.request.sinking)

    def place(each: RankedPiece) -> tuple[int, bytes, str]:
        offer = availability_of(snapshot, each.id)
        assert offer is not None
        return fill_place(each.id, offer.available_from, NOW)

    neutral = sorted((each for each in sinking if each.units == 0), key=place)
    return [each for each in sinking if each.units > 0] + neutral + [each for each in sinking if each.units < 0]


@given(
    pieces=PIECES,
    most=MOST,
    diversity=st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    named=st.lists(IDS, max_size=3, unique=True),
    sinking=st.dictionaries(IDS, st.sampled_from([0.0, 0.2, 0.5]), max_size=4),
    fill=st.booleans(),
    days=st.lists(st.integers(-2, 3), min_size=40, max_size=40),
    calibration=CALIBRATIONS,
    grades=GRADES,
)
@example(  # the best six give the five of the list, and no sixth
    pieces=[{"genre": genre.split(), "tag": tag.split()} for genre, tag in zip("   a  a", " aa    ", strict=True)],
    most={"genre": 1},
    diversity=0.3,
    named=[],
    sinking={},
    fill=True,
    days=[0] * 40,
    calibration=0.0,
    grades={},
)
def test_a_list_is_that_of_the_whole_catalogue_in_order(
    *,
    pieces: list[dict[str, list[str]]],
    most: dict[str, int],
    diversity: float,
    named: list[str],
    sinking: dict[str, float],
    fill: bool,
    days: list[int],
    calibration: float,
    grades: dict[str, int],
) -> None:
    catalogue = {f"p{number}": categories for number, categories in enumerate(pieces)}
    view = view_of(catalogue, SourceSettings(max_per_value=most), tuple(named[:2]), days)
    mixed = {"diversity": diversity, "calibration": calibration}
    ranking = ranking_of(view, grades, take=5, **mixed, sinking=sinking, fill=fill, exclude=frozenset(named[2:]))
    ranked = everything_in_order(ranking)
    vectors = unit_vectors({each: view.snapshot.terms_of(each) or {} for each in catalogue})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arranging, "CANDIDATES", 6)
        patch.setattr(arranging, "MAX_TAKE", 5)
        patch.setattr(ranking_module, "MAX_TAKE", 5)
        found = ranking.arrangement.pieces

    tastes = tastes_of(catalogue, grades, calibration)
    varied = bool(most or diversity or tastes)
    candidates = 6 if varied else len(ranked)
    for place, each in enumerate(() if sinking else ranked):
        assert ranking.ahead(each.id) == place
    variety = Variety(diversity, most, vectors, ranked[:candidates], tastes)
    expected = listed_by_definition(ranked, view.whitelist, variety, take=5, candidates=candidates)
    assert [*found] == expected


@given(
    pieces=PIECES,
    most=MOST,
    diversity=st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    named=st.lists(IDS, max_size=3, unique=True),
    takes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    calibration=CALIBRATIONS,
    grades=GRADES,
)
def test_pages_are_what_one_choice_after_the_other_gives(
    *,
    pieces: list[dict[str, list[str]]],
    most: dict[str, int],
    diversity: float,
    named: list[str],
    takes: list[int],
    calibration: float,
    grades: dict[str, int],
) -> None:
    catalogue = {f"p{number}": categories for number, categories in enumerate(pieces)}
    view = view_of(catalogue, SourceSettings(max_per_value=most), tuple(named))
    mixed = {"diversity": diversity, "calibration": calibration}
    ranking = ranking_of(view, grades, take=takes[0], **mixed)
    ranked = everything_in_order(ranking)
    vectors = unit_vectors({each: view.snapshot.terms_of(each) or {} for each in catalogue})
    raised = [each for name in named for each in ranked[:5] if each.id == name and each.units > 0]

    # Blocks of five places, with all pieces among the candidates of each.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arranging, "MAX_TAKE", 5)
        patch.setattr(ranking_module, "MAX_TAKE", 5)
        found = [*ranking.listed]
        for take in itertools.islice(itertools.cycle(takes), 1, None):
            if not ranking.goes_on:
                break
            listed = marks_of(each.id for each in found)
            ranking = ranking_of(view, grades, take=take, **mixed, listed=listed)
            found += ranking.listed

    variety = Variety(diversity, most, vectors, ranked, tastes_of(catalogue, grades, calibration))
    expected = chosen_one_by_one(ranked, raised, variety, len(ranked))
    assert [each.id for each in found] == [each.id for each in expected]


def test_a_list_that_limits_never_let_fill_takes_few_searches_of_few_pieces() -> None:
    pieces = {f"p{number:04}": {"kind": [f"k{number % 2}"], "genre": [f"g{number % 7}"]} for number in range(2_000)}
    view = view_of(pieces, SourceSettings(max_per_value={"kind": 5}))
    ranking = ranking_of(view)
    query = ranking.query = CountedQuery(view)

    found = ranking.arrangement.pieces

    assert [each.id for each in found] == [f"p{number:04}" for number in range(10)]
    searches = len(query.taken) / len(view.snapshot.parts)
    assert searches <= MAX_TAKE
    assert max(query.taken) == arranging.CANDIDATES


@pytest.mark.slow
def test_each_search_adds_a_piece_where_every_piece_fills_a_keyword() -> None:
    """Hundreds of pieces share a keyword with the piece that was just listed, so that each search finds one more."""
    pieces = {f"p{genre:02}.{number:03}": {"genre": [f"g{genre:02}"]} for genre in range(40) for number in range(130)}
    view = view_of(pieces, SourceSettings(max_per_value={"genre": 1}))
    ranking = ranking_of(view)
    query = ranking.query = CountedQuery(view)

    found = ranking.arrangement.pieces

    assert [each.id for each in found] == [f"p{genre:02}.000" for genre in range(30)]
    assert ranking.goes_on
    # One more search tells that there is more to list.
    assert len(query.taken) == (MAX_TAKE + 1) * len(view.snapshot.parts)

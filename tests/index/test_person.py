"""A person's arrays are the definition, bit by bit: profile, likes, and what was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profile_reference
from answers import snapshot_of, stored
from penchant.model import SourceSettings
from penchant_engine.index import IntArray, InteractionArrays, Snapshot
from penchant_engine.index.compiled import engine
from penchant_engine.index.people.person import (
    EffectivePreferences,
    facts_of_pieces,
    profile_of_person,
    strongest_terms,
    user_features,
)
from penchant_engine.model import DAY_MS, InteractionType, Preferences, StoredInteraction, Term, most_likes
from strategies import CATALOGUES, CATEGORY_WEIGHTS, PIECE_IDS, examples

TODAY = 1_000
PORTIONS = st.sampled_from([None, 1, 25, 50, 58, 100])
EVENTS = st.lists(
    st.tuples(st.sampled_from(list(InteractionType)), PIECE_IDS, st.integers(0, 300), PORTIONS), max_size=12
)
STATED = st.dictionaries(
    st.builds(Term, st.sampled_from(["genre", "tag"]), st.sampled_from("abx")), st.sampled_from([-1.0, 0.5, 1.0])
)


@settings(max_examples=examples(100), deadline=None)
@given(catalogue=CATALOGUES, events=EVENTS, liking=STATED, weights=CATEGORY_WEIGHTS, half_life=st.sampled_from([0, 90]))
def test_a_person_is_the_definition(
    *,
    catalogue: list[dict[str, Any]],
    events: list[tuple[InteractionType, str, int, int | None]],
    liking: dict[Term, float],
    weights: dict[str, float],
    half_life: int,
) -> None:
    snapshot = both(catalogue)
    rules = SourceSettings(category_weights=weights, half_life_days=half_life)
    moments = sorted((TODAY * DAY_MS - age * DAY_MS // 3 for _, _, age, _ in events), reverse=True)
    interactions = [
        StoredInteraction(user_id="u", type=kind, piece_id=piece_id, occurred_at=moment, portion=portion)
        for (kind, piece_id, _, portion), moment in zip(events, moments, strict=True)
    ]
    arrays, said = InteractionArrays.of(interactions), Preferences(stated=liking)

    profile = profile_of_person(arrays, snapshot, rules, TODAY, said)
    figures = user_features(arrays, snapshot, rules, TODAY, said)

    counted = EffectivePreferences.of(said, snapshot, rules).stated
    expected = profile_reference.taste(
        interactions, terms_of=snapshot.terms_of, settings=rules, today=TODAY, stated=counted
    )
    assert list(profile.items()) == list(expected.items())
    assert named(snapshot, figures.seen) == {each for each in profile_reference.seen(interactions) if each in snapshot}
    likes = profile_reference.own_likes(interactions, rules, snapshot.__contains__, most_likes(snapshot.piece_count))
    assert named(snapshot, figures.likes.rows) == likes.keys()
    assert sorted(grade for own in figures.likes.grades for grade in own.tolist()) == sorted(likes.values())
    strongest = [term for term, score in sorted(expected.items(), key=lambda each: (-each[1], each[0])) if score > 0]
    for one in (snapshot, Snapshot.of_segment(snapshot.merged())):
        taste = user_features(arrays, one, rules, TODAY, said).taste
        assert list(strongest_terms(taste, one, rules)) == strongest
    assert (figures.stated, figures.met) == (
        counted,
        len({each.piece_id for each in interactions if each.piece_id in snapshot}) + len(counted),
    )


@settings(max_examples=examples(100), deadline=None)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(list(InteractionType)), PIECE_IDS, st.integers(0, 2_000), PORTIONS), max_size=40
    ),
    half_life=st.sampled_from([0, 90]),
    length=st.integers(0, 40),
    most=st.sampled_from([2, 1_000]),
    missing=st.sets(PIECE_IDS),
)
def test_what_is_compiled_of_a_person_is_what_numpy_makes(
    *,
    kernels: Mapping[Any, Any],
    events: list[tuple[InteractionType, str, int, int | None]],
    half_life: int,
    length: int,
    most: int,
    missing: set[str],
) -> None:
    assert kernels
    moments = sorted(((TODAY - age) * DAY_MS + age for _, _, age, _ in events), reverse=True)
    arrays = InteractionArrays.of(
        [
            StoredInteraction(user_id="u", type=kind, piece_id=piece_id, occurred_at=moment, portion=portion)
            for (kind, piece_id, _, portion), moment in zip(events, moments, strict=True)
        ]
    )
    rules, exists = SourceSettings(half_life_days=half_life), np.array([each not in missing for each in arrays.pieces])
    exists = exists.astype(np.bool_)

    found = facts_of_pieces(arrays, length, rules, TODAY, exists, most)

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(engine, "facts", lambda *_: None)
        expected = facts_of_pieces(arrays, length, rules, TODAY, exists, most)
    assert [column.tobytes() for column in found] == [column.tobytes() for column in expected]


@settings(max_examples=examples(100), deadline=None)
@given(
    events=st.lists(st.tuples(st.sampled_from(list(InteractionType)), PIECE_IDS, st.integers(0, 5)), max_size=12),
    most=st.integers(1, 12),
    looked_at=st.integers(0, 12),
)
def test_interactions_added_one_by_one_are_those_that_are_read(
    events: list[tuple[InteractionType, str, int]], most: int, looked_at: int
) -> None:
    snapshot = both([{"id": piece_id, "categories": {}} for piece_id in ("p0", "p4", "é")])
    stored_events = [
        StoredInteraction(user_id="u", type=kind, piece_id=piece_id, occurred_at=moment, version=version)
        for version, (kind, piece_id, moment) in enumerate(events, 1)
    ]
    grown = InteractionArrays.of([])

    for number, each in enumerate(stored_events):
        if number >= looked_at:
            grown.located(snapshot)
        for _ in range(2):
            grown = grown.adding(each.version, each.piece_id, each.type, each.occurred_at, most)

    kept = InteractionArrays.of(sorted(stored_events, key=lambda each: (-each.occurred_at, -each.version))[:most])
    assert (list(grown.pieces), grown.columns.tolist()) == (list(kept.pieces), kept.columns.tolist())
    for one, other in zip(grown.located(snapshot), snapshot.locate(kept.pieces), strict=True):
        assert one.tobytes() == other.tobytes()


def both(catalogue: list[dict[str, Any]]) -> Snapshot:
    """Return the snapshot of a catalogue in two segments."""
    return snapshot_of(catalogue[::2]).apply({each["id"]: stored(each) for each in catalogue[1::2]}, max_merged=0)


def named(snapshot: Snapshot, rows: Sequence[IntArray]) -> set[str]:
    """Return the ids of rows in each part."""
    return {part.segment.ids[int(row)] for part, own in zip(snapshot.parts, rows, strict=True) for row in own}

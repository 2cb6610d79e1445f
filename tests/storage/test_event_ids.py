"""Event ids, on both databases: each is of one person, those under the keys of earlier releases as well."""

import itertools
from collections.abc import Iterable
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, update
from sqlalchemy.event import listen, remove

from penchant.model import NewInteraction
from penchant.storage import EraseUser, InteractionReceipt, RecordInteractions, Storage, TakeBack
from penchant.storage.hashing import event_key, shared_event_key, source_id
from penchant.storage.schema import event_ids, interactions, sources
from penchant_engine.model import InteractionType
from storage.commands import done, erasing, of_user, submitting
from storage.sides import Sides, moved, moved_so_far, opened
from strategies import examples

Event = tuple[str, str]
"""A person and an event id."""

EVENTS = st.tuples(st.sampled_from("uvw"), st.sampled_from("ef"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.lists(EVENTS, min_size=1, max_size=5)),
        st.tuples(st.just("share"), st.lists(EVENTS, min_size=1, max_size=1)),
        st.tuples(st.just("erase"), st.lists(EVENTS, min_size=1, max_size=1)),
    ),
    max_size=8,
)
_sources = itertools.count()


@pytest.fixture
def account(storage: Storage) -> int:
    account = storage.accounts.ensure("one")
    done(storage, submitting(account))
    return account


def record(storage: Storage, account: int, piece: str, *events: Event, source: str = "s") -> InteractionReceipt:
    """Record an interaction with a piece for each person and event id."""
    new = [
        NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id=piece, occurred_at=5, event_id=event)
        for user, event in events
    ]
    return done(storage, RecordInteractions(account_id=account, source=source, interactions=new))


def recorded(outcome: InteractionReceipt) -> list[Event]:
    """Return the person and the piece of each answer."""
    return [(each.user_id, each.piece_id) for each in outcome.interactions]


def as_of_before(storage: Storage, account: int, *, source: str = "s") -> None:
    """Have a source be one that may hold event ids under keys of earlier releases."""
    with storage.keys._transactions.write() as connection:
        own = sources.c.source_id == source_id(account, source)
        connection.execute(update(sources).where(own).values(own_events=None))


def share(storage: Storage, account: int, event: Event, *, source: str = "s", under: str | None = None) -> None:
    """Give a person's event id the key that earlier releases gave it, or another id, whoever's it was."""
    as_of_before(storage, account, source=source)
    number = source_id(account, source)
    own = event_ids.c.event_key == event_key(number, *event)
    shared = shared_event_key(number, event[1] if under is None else under)
    with storage.keys._transactions.write() as connection:
        connection.execute(update(event_ids).where(own).values(event_key=shared))


def test_an_event_id_is_stored_once(storage: Storage, account: int) -> None:
    new = NewInteraction(user_id="u", type=InteractionType.WATCH, piece_id="a", occurred_at=5, event_id="e")
    other = NewInteraction(user_id="u", type=InteractionType.CLICK, piece_id="b", event_id="e")

    outcome = done(storage, RecordInteractions(account_id=account, source="s", interactions=[new, other, new]))
    again = done(storage, RecordInteractions(account_id=account, source="s", interactions=[other]))

    assert (outcome.duplicates, again.duplicates) == (2, 1)
    assert {(each.piece_id, each.type) for each in (*outcome.interactions, *again.interactions)} == {("a", new.type)}
    assert {each.occurred_at for each in (*outcome.interactions, *again.interactions)} == {5}


def test_what_is_new_beside_what_is_stored_takes_the_next_version(storage: Storage, account: int) -> None:
    record(storage, account, "a", ("u", "e"))
    outcome = record(storage, account, "b", ("u", "f"), ("u", "e"), ("v", "e"), ("u", "f"))

    assert outcome.duplicates == 2
    assert [(each.piece_id, each.version) for each in outcome.interactions] == [("b", 2), ("a", 1), ("b", 3), ("b", 2)]
    assert record(storage, account, "c", ("u", "f"), ("v", "e")).duplicates == 2
    assert storage.upkeep.check() == []


def test_an_event_id_under_the_key_of_before_is_of_its_person(storage: Storage, account: int) -> None:
    record(storage, account, "a", ("u", "e"))
    share(storage, account, ("u", "e"))

    assert recorded(record(storage, account, "b", ("v", "e"), ("u", "e"))) == [("v", "b"), ("u", "a")]
    assert recorded(record(storage, account, "c", ("v", "e"), ("u", "e"))) == [("v", "b"), ("u", "a")]
    assert of_user(storage, account, "u") == ["a"]


def test_what_a_person_did_first_is_answered_where_nodes_of_two_releases_have_stored_it(
    storage: Storage, account: int
) -> None:
    """A node of before, beside one of now, does not find what the latter has stored."""
    ids = [f"e{number}" for number in range(20)]
    record(storage, account, "first", *(("u", each) for each in ids))
    record(storage, account, "by theirs", *(("u", f"theirs of {each}") for each in ids))
    for each in ids:
        share(storage, account, ("u", f"theirs of {each}"), under=each)

    assert {*recorded(record(storage, account, "late", *(("u", each) for each in ids)))} == {("u", "first")}


def test_the_database_is_asked_the_same_whether_or_not_another_person_has_the_event_id(
    storage: Storage, account: int
) -> None:
    engine = storage.keys._transactions.database.writing_engine

    def sent(source: str, others: Iterable[Event], *, shared: bool = False) -> list[str]:
        done(storage, submitting(account, source=source))
        as_of_before(storage, account, source=source)
        record(storage, account, "a", *others, source=source)
        for event in others if shared else ():
            share(storage, account, event, source=source)
        found: list[str] = []

        def note(*executed: object) -> None:
            found.append(str(executed[2]))

        listen(engine, "before_cursor_execute", note)
        outcome = record(storage, account, "b", ("u", "e"), source=source)
        remove(engine, "before_cursor_execute", note)
        assert (outcome.duplicates, recorded(outcome)) == (0, [("u", "b")])
        return found

    without = sent("without", [("v", "f")])
    assert [each for each in without if "event_ids" in each]
    assert sent("own", [("v", "e")]) == without
    assert sent("shared", [("v", "e")], shared=True) == without


def test_event_ids_are_found_by_their_keys_however_many_there_are(storage: Storage, account: int) -> None:
    if not storage.quick_reads:
        pytest.skip("PostgreSQL goes by the sizes of the tables")
    engine, plans = storage.keys._transactions.database.writing_engine, list[str]()

    def explain(*executed: object) -> None:
        cursor, statement, parameters = executed[1:4]
        if "FROM event_ids" in str(statement):
            beside = cursor.connection.cursor()  # type: ignore[attr-defined]  # the driver's
            plans.extend(each[3] for each in beside.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    as_of_before(storage, account)
    listen(engine, "before_cursor_execute", explain)
    record(storage, account, "a", ("u", "e"), ("v", "e"))

    assert [each for each in plans if "event_ids" in each] == [
        "SEARCH event_ids USING INDEX sqlite_autoindex_event_ids_1 (source_id=? AND event_key=?)"
    ]
    assert [each for each in plans if "SCAN" in each] == []


def test_an_event_id_outlives_its_interaction_only_where_it_tells_whose_it_is(storage: Storage, account: int) -> None:
    record(storage, account, "a", ("u", "e"), ("u", "f"))
    share(storage, account, ("u", "f"))
    with storage.keys._transactions.write() as connection:
        connection.execute(delete(interactions))

    after = record(storage, account, "b", ("u", "e"), ("v", "e"), ("u", "f"))

    assert after.duplicates == 1
    assert [each.version for each in after.interactions] == [1, 3, 4]


def test_event_ids_are_their_people_s_on_the_other_side_of_a_move(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account))
        record(storage, account, "a", ("u", "e"), ("v", "f"), ("w", "e"))
        share(storage, account, ("u", "e"))
        moved_so_far(*sides)
        done(storage, erasing(account, "w"))
        record(storage, account, "b", ("v", "e"))
        share(storage, account, ("v", "f"))
    moved(*sides)

    with closing(opened(sides[1])) as storage:
        after = record(storage, account, "c", ("u", "e"), ("v", "e"), ("v", "f"), ("w", "e"), ("u", "f"))
        assert recorded(after) == [("u", "a"), ("v", "b"), ("v", "a"), ("w", "c"), ("u", "c")]


def test_what_was_taken_back_stays_so_on_the_other_side_of_a_move(sides: Sides) -> None:
    def take_back(storage: Storage, account: int, user: str, event: str) -> None:
        command = TakeBack(
            account_id=account, source="s", user_id=user, type=InteractionType.WATCH, piece_id="a", event_id=event
        )
        assert done(storage, command).deleted == 1

    with closing(opened(sides[0])) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account))
        record(storage, account, "a", ("u", "e"), ("u", "f"), ("v", "e"))
        take_back(storage, account, "u", "e")
        moved_so_far(*sides)
        take_back(storage, account, "v", "e")
    moved(*sides)

    with closing(opened(sides[1])) as storage:
        assert record(storage, account, "a", ("u", "e"), ("u", "f"), ("v", "e")).duplicates == 3
        assert [of_user(storage, account, user) for user in "uv"] == [["a"], []]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_each_person_s_event_is_stored_once_whatever_others_do(
    storage: Storage, account: int, steps: list[tuple[str, list[Event]]]
) -> None:
    """The definition: the first piece by person and event id, forgotten with the person."""
    source, first, shared = f"s{next(_sources)}", dict[Event, str](), dict[str, str]()
    done(storage, submitting(account, source=source))
    for number, (step, events) in enumerate(steps):
        user, event = events[0]
        if step == "record":
            expected = [(each[0], first.setdefault(each, str(number))) for each in events]
            assert recorded(record(storage, account, str(number), *events, source=source)) == expected
        elif step == "erase":
            done(storage, EraseUser(account_id=account, source=source, user_id=user))
            first = {each: piece for each, piece in first.items() if each[0] != user}
            shared = {each: owner for each, owner in shared.items() if owner != user}
        # A key of before is of one person alone.
        elif (user, event) in first and event not in shared:
            share(storage, account, (user, event), source=source)
            shared[event] = user

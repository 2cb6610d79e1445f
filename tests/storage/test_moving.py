"""From one database into another and back: the same rows, whatever happens on the way."""

from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from databases import new_database
from penchant.errors import PenchantError, Refused, StorageIncompatible
from penchant.model import DAY_MS, ListKind
from penchant.storage import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    EraseUser,
    MoveSide,
    ReplaceList,
    ReplaceSettings,
    Storage,
    move,
)
from penchant.storage.bodies import TRAINED_FROM
from penchant.storage.schema import SHARED_TABLES, metadata, pieces
from penchant.storage.upkeep.copying import SHARED, SOURCE_TABLES
from penchant.storage.upkeep.moving import PASSES
from storage.sides import SOURCES, Sides, different, edit, everything, fill, moved, moved_so_far, opened, preferring
from storage.test_conformance import done, submitting, watching
from strategies import examples


def epochs(storage: Storage) -> dict[str, int]:
    return {head.name: head.epoch for head in storage.sources.list_of(storage.accounts.ensure("one"))}


def test_there_and_back_the_answers_and_feeds_are_the_same(tmp_path: Path, postgresql: str) -> None:
    first, last = MoveSide(folder=tmp_path / "first"), MoveSide(folder=tmp_path / "last")
    middle = MoveSide(folder=tmp_path, url=new_database(postgresql))
    with closing(opened(first)) as storage:
        fill(storage)
        before, first_epochs = everything(storage), epochs(storage)

    moved(first, middle)
    with closing(opened(middle)) as storage:
        assert everything(storage) == before
        middle_epochs = epochs(storage)
    moved(middle, last)

    with closing(opened(last)) as storage:
        assert everything(storage) == before
        last_epochs = epochs(storage)
    assert before["problems"] == []
    assert len(before["s pieces"]) > TRAINED_FROM
    assert all(first_epochs[name] < middle_epochs[name] < last_epochs[name] for name in first_epochs)


def test_the_new_side_goes_on_with_changes(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = fill(storage)
        submitted = done(storage, submitting(account, "B"))
    moved(*sides)

    with closing(opened(sides[1])) as storage:
        assert done(storage, submitting(account, "B", "new")).version == submitted.version + 2
        assert done(storage, watching(account, "u", event="e")).duplicates == 1
        done(storage, submitting(account, source="deleted"))
        assert storage.keys.revoke("k", actor="later")
        assert [entry.action for entry in storage.accounts.list_audit()][:2] == ["key.revoke", "source.create"]
        assert storage.upkeep.check() == []


def test_every_table_is_copied() -> None:
    assert {*SHARED, *SOURCE_TABLES} == set(metadata.tables.values())
    assert {table.name for table in SHARED} == SHARED_TABLES


def test_an_empty_database_moves(sides: Sides) -> None:
    opened(sides[0]).close()
    assert moved(*sides) == []
    opened(sides[1]).close()


def change(storage: Storage, account: int) -> None:
    """Change what `fill` stored, in every way."""
    commands: list[Command] = [
        submitting(account, "B", "new", body=b'{"x":1}'),
        DeletePieces(account_id=account, source="s", ids=["9", "new"]),
        watching(account, "v", event="g"),
        preferring(account, "v", b""),
        preferring(account, "x"),
        EraseUser(account_id=account, source="s", user_id="u"),
        watching(account, "u", event="e"),
        EraseUser(account_id=account, source="s", user_id="w"),
        ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=["10"]),
        ReplaceSettings(account_id=account, source="s", settings=b"{}"),
        ClearPieces(account_id=account, source="cleared"),
        submitting(account, "z", source="cleared"),
        submitting(account, "z", source="deleted"),
        DeleteSource(account_id=account, source="empty"),
        submitting(account, "z", source="another"),
        AddUsage(account_id=account, month="2026-12", answers=1),
    ]
    for command in commands:
        done(storage, command)


@pytest.mark.slow
def test_changes_during_the_move_are_copied_too(sides: Sides) -> None:
    told: list[str] = []
    with closing(opened(sides[0])) as storage:
        account = fill(storage)

        def tell(line: str) -> None:
            told.append(line)
            if len(told) == SOURCES:
                change(storage, account)

        compared = move(*sides, served=False, tell=tell)
        now = everything(storage)

    assert not [each for each in compared if each.differs]
    assert told.count("one/s: copied") == 2
    assert not [line for line in told if "differed" in line]
    with closing(opened(sides[1])) as storage:
        assert everything(storage) == now


def test_of_a_source_that_was_copied_only_what_is_newer_is_copied_again(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = fill(storage)
    moved_so_far(*sides)
    with closing(opened(sides[0])) as storage:
        done(storage, submitting(account, "B"))
    edit(sides[1], update(pieces).where(pieces.c.piece_id == "10").values(body=b"kept"))

    assert moved_so_far(*sides) == ["one/s: copied"]
    assert different(*sides) == [("one/s", "pieces")]


def test_a_side_that_never_rests_is_not_moved(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account))
        told: list[str] = []

        def tell(line: str) -> None:
            told.append(line)
            done(storage, submitting(account, "a"))

        with pytest.raises(Refused, match="still being changed"):
            move(*sides, served=False, tell=tell)
    assert len(told) == PASSES
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(sides[1])
    assert moved(*sides) == ["one/s: copied"]
    opened(sides[1]).close()


@pytest.mark.slow
def test_while_the_old_side_is_served_the_move_is_not_finished(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = fill(storage)
    assert len(moved_so_far(*sides)) == SOURCES
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(sides[1])
    with closing(opened(sides[0])) as storage:
        done(storage, AddUsage(account_id=account, month="2026-11", answers=1))
        now = everything(storage)

    assert moved(*sides) == []
    with closing(opened(sides[1])) as storage:
        assert everything(storage) == now


@pytest.mark.slow
def test_what_housekeeping_has_removed_since_is_gone_on_the_new_side(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    moved_so_far(*sides)
    with closing(opened(sides[0])) as storage:
        assert storage.upkeep.purge(lambda _: 396)
        now = everything(storage)

    assert "one/s: differed, copied anew" in moved(*sides)
    with closing(opened(sides[1])) as storage:
        assert everything(storage) == now


@pytest.mark.slow
def test_a_deleted_source_that_was_purged_since_is_gone_on_the_new_side(sides: Sides) -> None:
    old, new = sides
    with closing(opened(old)) as storage:
        account = fill(storage)
        moved_so_far(old, new)
        now = max(head.changed_at for head in storage.sources.list_of(account)) + 8 * DAY_MS
        while storage.upkeep.purge(lambda _: 36_500, now=now):
            pass
        expected = everything(storage)
    moved(old, new)

    assert different(old, new) == []
    with closing(opened(new)) as storage:
        assert everything(storage) == expected
        assert done(storage, submitting(account, "x", source="deleted")).version > 2


def test_a_new_side_on_which_a_server_has_only_run_is_empty(sides: Sides) -> None:
    old, new = sides
    with closing(opened(old)) as storage:
        fill(storage)
        secret = storage.tag_secret()
    with closing(opened(new)) as storage:
        assert storage.tag_secret() != secret
    moved(old, new)

    with closing(opened(new)) as storage:
        assert storage.tag_secret() == secret


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sampled_from("abcd")),
        st.tuples(st.just("delete"), st.sampled_from("abcd")),
        st.tuples(st.just("watch"), st.sampled_from("uvw")),
        st.tuples(st.just("event"), st.sampled_from("uvw")),
        st.tuples(st.sampled_from(("say", "unsay", "erase")), st.sampled_from("uvw")),
        st.tuples(st.sampled_from(("clear", "drop", "move")), st.just("")),
    ),
    max_size=14,
)


def step_of(account: int, kind: str, what: str) -> Command:
    commands: dict[str, Command] = {
        "submit": submitting(account, what),
        "delete": DeletePieces(account_id=account, source="s", ids=[what]),
        "watch": watching(account, what),
        "event": watching(account, what, event=what),
        "say": preferring(account, what),
        "unsay": preferring(account, what, b""),
        "erase": EraseUser(account_id=account, source="s", user_id=what),
        "clear": ClearPieces(account_id=account, source="s"),
        "drop": DeleteSource(account_id=account, source="s"),
    }
    return commands[kind]


@pytest.mark.slow
@given(STEPS)
@settings(max_examples=examples(30), deadline=None)
def test_whatever_happens_between_two_runs_the_second_copies_just_that(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    home = tmp_path_factory.mktemp("sides")
    old, new = MoveSide(folder=home / "old"), MoveSide(folder=home / "new")
    with closing(opened(old)) as storage:
        account = storage.accounts.ensure("one")
        for kind, what in steps:
            if kind == "move":
                assert not [line for line in moved_so_far(old, new) if "differed" in line]
                assert different(old, new) == []
                continue
            with suppress(PenchantError):
                done(storage, step_of(account, kind, what))

        assert not [line for line in moved(old, new) if "differed" in line]

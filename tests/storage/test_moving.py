"""From one database into another and back: the same rows, whatever happens on the way, or a refusal."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from databases import new_database
from penchant.errors import PenchantError, Refused, StorageIncompatible
from penchant.model import ListKind
from penchant.storage import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    MoveSide,
    ReplaceList,
    ReplaceSettings,
    Storage,
    move,
)
from penchant.storage.bodies import TRAINED_FROM
from penchant.storage.databases.opening import open_database
from penchant.storage.schema import SHARED_TABLES, SOURCE_TABLES, interactions, metadata, pieces
from penchant.storage.upkeep.copying import copy_source, standings
from penchant.storage.upkeep.moving import PASSES
from penchant_engine.model import DAY_MS
from storage.commands import bodies, done, erasing, preferring, submit, submitting, watching
from storage.sides import ACCOUNT, SOURCES, Sides, different, edit, everything, fill, moved, moved_so_far, opened
from strategies import examples


def one_way(fixture: str) -> pytest.MarkDecorator:
    """Give a test the sides of one direction: what is compared and refused does not depend on which side is which."""
    return pytest.mark.parametrize(fixture, ("to PostgreSQL",), indirect=True)


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


def test_the_new_side_goes_on_with_changes(filled_sides: Sides) -> None:
    with closing(opened(filled_sides[0])) as storage:
        submitted = done(storage, submitting(ACCOUNT, "B"))
    moved(*filled_sides)

    with closing(opened(filled_sides[1])) as storage:
        assert done(storage, submitting(ACCOUNT, "B", "new")).version == submitted.version + 2
        assert done(storage, watching(ACCOUNT, "u", event="e")).duplicates == 1
        done(storage, submitting(ACCOUNT, source="deleted"))
        assert storage.keys.revoke("k", actor="later")
        assert [entry.action for entry in storage.accounts.list_audit()][:2] == ["key.revoke", "source.create"]
        assert storage.upkeep.check() == []


def test_every_table_is_copied() -> None:
    assert {*SHARED_TABLES, *SOURCE_TABLES} == set(metadata.tables.values())


def test_an_empty_database_moves(sides: Sides) -> None:
    opened(sides[0]).close()
    assert moved(*sides) == []
    opened(sides[1]).close()


def change(storage: Storage, account: int) -> None:
    """Change what `fill` stored, in every way."""
    commands: list[Command[Any]] = [
        submitting(account, "B", "new", body=b'{"x":1}'),
        DeletePieces(account_id=account, source="s", ids=["9", "new"]),
        watching(account, "v", event="g"),
        preferring(account, "v", b""),
        preferring(account, "x"),
        erasing(account, "u"),
        watching(account, "u", event="e"),
        erasing(account, "w"),
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


def test_changes_during_the_move_are_copied_too(filled_sides: Sides) -> None:
    told: list[str] = []
    with closing(opened(filled_sides[0])) as storage:

        def tell(line: str) -> None:
            told.append(line)
            if len(told) == SOURCES:
                change(storage, ACCOUNT)

        compared = move(*filled_sides, served=False, tell=tell)
        now = everything(storage)

    assert not [each for each in compared if each.differs]
    assert told.count("one/s: copied") == 2
    assert not [line for line in told if "differed" in line]
    with closing(opened(filled_sides[1])) as storage:
        assert everything(storage) == now


@one_way("filled_sides")
def test_of_a_source_that_was_copied_only_what_is_newer_is_copied_again(filled_sides: Sides) -> None:
    moved_so_far(*filled_sides)
    with closing(opened(filled_sides[0])) as storage:
        done(storage, submitting(ACCOUNT, "B"))
    edit(filled_sides[1], update(pieces).where(pieces.c.piece_id == "10").values(body=b"kept"))

    assert moved_so_far(*filled_sides) == ["one/s: copied"]
    assert different(*filled_sides) == [("one/s", "pieces")]


@one_way("sides")
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


def test_while_the_old_side_is_served_the_move_is_not_finished(filled_sides: Sides) -> None:
    assert len(moved_so_far(*filled_sides)) == SOURCES
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(filled_sides[1])
    with closing(opened(filled_sides[0])) as storage:
        done(storage, AddUsage(account_id=ACCOUNT, month="2026-11", answers=1))
        now = everything(storage)

    assert moved(*filled_sides) == []
    with closing(opened(filled_sides[1])) as storage:
        assert everything(storage) == now


def test_what_housekeeping_has_removed_since_is_gone_on_the_new_side(filled_sides: Sides) -> None:
    moved_so_far(*filled_sides)
    with closing(opened(filled_sides[0])) as storage:
        assert storage.upkeep.purge(lambda _: 396)
        now = everything(storage)

    assert "one/s: differed, copied anew" in moved(*filled_sides)
    with closing(opened(filled_sides[1])) as storage:
        assert everything(storage) == now


def test_a_deleted_source_that_was_purged_since_is_gone_on_the_new_side(filled_sides: Sides) -> None:
    old, new = filled_sides
    with closing(opened(old)) as storage:
        moved_so_far(old, new)
        now = max(head.changed_at for head in storage.sources.list_of(ACCOUNT)) + 8 * DAY_MS
        while storage.upkeep.purge(lambda _: 36_500, now=now):
            pass
        expected = everything(storage)
    moved(old, new)

    assert different(old, new) == []
    with closing(opened(new)) as storage:
        assert everything(storage) == expected
        assert done(storage, submitting(ACCOUNT, "x", source="deleted")).version > 2


def test_a_new_side_on_which_a_server_has_only_run_is_empty(filled_sides: Sides) -> None:
    old, new = filled_sides
    with closing(opened(old)) as storage:
        secret = storage.tag_secret()
    with closing(opened(new)) as storage:
        assert storage.tag_secret() != secret
    moved(old, new)

    with closing(opened(new)) as storage:
        assert storage.tag_secret() == secret


@one_way("filled_sides")
def test_a_row_that_differs_is_found(filled_sides: Sides) -> None:
    moved(*filled_sides)
    assert different(*filled_sides) == []

    edit(filled_sides[1], update(pieces).where(pieces.c.piece_id == "10").values(body=b"[]"))
    edit(filled_sides[1], update(interactions).where(interactions.c.user_id == "v").values(occurred_at=10**12 + 1))
    assert different(*filled_sides) == [("one/s", "pieces"), ("one/s", "interactions")]


@one_way("filled_sides")
def test_a_change_while_both_are_compared_is_seen(filled_sides: Sides) -> None:
    with closing(opened(filled_sides[0])) as storage:
        moved_so_far(*filled_sides)
        assert storage.upkeep.purge(lambda _: 396)

        def tell(line: str) -> None:
            if "differed" in line:
                done(storage, submitting(ACCOUNT, "late"))

        with pytest.raises(Refused, match="while both were compared"):
            move(*filled_sides, served=False, tell=tell)
    assert moved(*filled_sides) == ["one/s: copied"]


@one_way("filled_sides")
def test_nothing_is_copied_into_a_database_that_was_released(filled_sides: Sides) -> None:
    moved(*filled_sides)
    with (
        closing(open_database(filled_sides[0].folder, filled_sides[0].url)) as old,
        closing(open_database(filled_sides[1].folder, filled_sides[1].url)) as new,
    ):
        number = next(iter(standings(old)))

        with pytest.raises(Refused, match="has finished"):
            copy_source(old, new, number, anew=True)


@one_way("filled_sides")
def test_a_side_that_stays_different_is_not_released(filled_sides: Sides) -> None:
    damaging = update(pieces).where(pieces.c.piece_id == "10").values(body=b"[]")
    moved_so_far(*filled_sides)
    edit(filled_sides[1], damaging)

    compared = move(*filled_sides, served=False, tell=lambda _: edit(filled_sides[1], damaging))

    assert [(each.name, each.table) for each in compared if each.differs] == [("one/s", "pieces")]
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(filled_sides[1])


@one_way("sides")
def test_a_side_that_holds_something_is_no_target(sides: Sides) -> None:
    for side in sides:
        with closing(opened(side)) as storage:
            storage.accounts.ensure("somebody")

    with pytest.raises(Refused, match="not empty"):
        moved(*sides)
    with closing(opened(sides[1])) as storage:
        assert storage.upkeep.check() == []


@one_way("filled_sides")
def test_a_move_is_not_done_twice(filled_sides: Sides) -> None:
    moved(*filled_sides)

    with pytest.raises(Refused, match="not empty"):
        moved(*filled_sides)


@one_way("sides")
def test_two_databases_are_not_moved_into_one(sides: Sides, tmp_path: Path) -> None:
    other = MoveSide(folder=tmp_path / "other")
    for side in (sides[0], other):
        with closing(opened(side)) as storage:
            storage.accounts.ensure("somebody")
    moved_so_far(*sides)

    with pytest.raises(Refused, match="from another database"):
        moved(other, sides[1])


@one_way("sides")
def test_a_database_is_not_moved_into_itself(sides: Sides) -> None:
    with pytest.raises(Refused, match="same database"):
        moved(sides[0], sides[0])


@one_way("sides")
def test_the_target_of_an_unfinished_move_is_not_moved_on(sides: Sides, tmp_path: Path) -> None:
    opened(sides[0]).close()
    moved_so_far(*sides)

    with pytest.raises(StorageIncompatible, match="not finished"):
        moved(sides[1], MoveSide(folder=tmp_path / "third"))


def words(*sides: MoveSide) -> list[str]:
    """Return the command line of a move."""
    old, new = sides
    database = [] if old.url is None else ["--database", old.url]
    target = new.url or str(new.folder)
    return [sys.executable, "-m", "penchant", "move", "--data", str(old.folder), *database, "--to", target]


def full_pipe() -> tuple[int, int]:
    """Return a pipe that takes nothing more: who writes a line into it stays where he is."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b" " * 1024)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b" ")
    os.set_blocking(writing, True)
    return reading, writing


def wait_for_a_source(side: MoveSide) -> None:
    """Wait until a source has been copied."""
    deadline = time.monotonic() + 60
    with closing(open_database(side.folder, side.url, moving=True)) as database:
        while not standings(database):
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.stress
def test_a_move_that_is_killed_goes_on_where_it_was(sides: Sides) -> None:
    names = [f"s{number}" for number in range(5)]
    with closing(opened(sides[0])) as storage:
        account = storage.accounts.ensure("one")
        for name in names:
            submit(storage, account, bodies(1_500), source=name)
        before = everything(storage)
    reading, writing = full_pipe()
    moving = subprocess.Popen(words(*sides), stderr=writing, stdout=subprocess.DEVNULL)
    wait_for_a_source(sides[1])
    moving.kill()
    assert moving.wait(timeout=120) == -signal.SIGKILL
    os.close(reading)
    os.close(writing)
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(sides[1])

    again = subprocess.run(words(*sides), capture_output=True, text=True, timeout=100, check=False)

    assert again.returncode == 0, again.stderr
    assert "Moved" in again.stdout
    assert len(again.stderr.splitlines()) == len(names) - 1
    with closing(opened(sides[1])) as storage:
        assert everything(storage) == before


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


def step_of(account: int, kind: str, what: str) -> Command[Any]:
    commands: dict[str, Command[Any]] = {
        "submit": submitting(account, what),
        "delete": DeletePieces(account_id=account, source="s", ids=[what]),
        "watch": watching(account, what),
        "event": watching(account, what, event=what),
        "say": preferring(account, what),
        "unsay": preferring(account, what, b""),
        "erase": erasing(account, what),
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

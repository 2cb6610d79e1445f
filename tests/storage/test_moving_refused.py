"""What is not moved, and what is found where both sides are compared."""

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from penchant.errors import Refused, StorageIncompatible
from penchant.storage import (
    MoveSide,
    move,
)
from penchant.storage.databases.opening import open_database
from penchant.storage.schema import interactions, pieces
from penchant.storage.upkeep.copying import copy_source, standings
from storage.sides import Sides, different, edit, fill, moved, moved_so_far, opened
from storage.test_conformance import done, submitting

pytestmark = pytest.mark.slow


def test_a_row_that_differs_is_found(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    moved(*sides)
    assert different(*sides) == []

    edit(sides[1], update(pieces).where(pieces.c.piece_id == "10").values(body=b"[]"))
    edit(sides[1], update(interactions).where(interactions.c.user_id == "v").values(occurred_at=10**12 + 1))
    assert different(*sides) == [("one/s", "pieces"), ("one/s", "interactions")]


def test_a_row_that_is_damaged_on_the_way_is_copied_anew(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    moved_so_far(*sides)
    edit(sides[1], update(pieces).where(pieces.c.piece_id == "10").values(body=b"[]"))

    assert moved(*sides) == ["one/s: differed, copied anew"]


def test_a_change_while_both_are_compared_is_seen(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        account = fill(storage)
        moved_so_far(*sides)
        assert storage.upkeep.purge(lambda _: 396)

        def tell(line: str) -> None:
            if "differed" in line:
                done(storage, submitting(account, "late"))

        with pytest.raises(Refused, match="while both were compared"):
            move(*sides, served=False, tell=tell)
    assert moved(*sides) == ["one/s: copied"]


def test_nothing_is_copied_into_a_database_that_was_released(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    moved(*sides)
    with (
        closing(open_database(sides[0].folder, sides[0].url)) as old,
        closing(open_database(sides[1].folder, sides[1].url)) as new,
    ):
        number = next(iter(standings(old)))

        with pytest.raises(Refused, match="has finished"):
            copy_source(old, new, number, anew=True)


def test_a_side_that_stays_different_is_not_released(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    damaging = update(pieces).where(pieces.c.piece_id == "10").values(body=b"[]")
    moved_so_far(*sides)
    edit(sides[1], damaging)

    compared = move(*sides, served=False, tell=lambda _: edit(sides[1], damaging))

    assert [(each.name, each.table) for each in compared if each.differs] == [("one/s", "pieces")]
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(sides[1])


def test_a_side_that_holds_something_is_no_target(sides: Sides) -> None:
    for side in sides:
        with closing(opened(side)) as storage:
            storage.accounts.ensure("somebody")

    with pytest.raises(Refused, match="not empty"):
        moved(*sides)
    with closing(opened(sides[1])) as storage:
        assert storage.upkeep.check() == []


def test_a_move_is_not_done_twice(sides: Sides) -> None:
    with closing(opened(sides[0])) as storage:
        fill(storage)
    moved(*sides)

    with pytest.raises(Refused, match="not empty"):
        moved(*sides)


def test_two_databases_are_not_moved_into_one(sides: Sides, tmp_path: Path) -> None:
    other = MoveSide(folder=tmp_path / "other")
    for side in (sides[0], other):
        with closing(opened(side)) as storage:
            storage.accounts.ensure("somebody")
    moved_so_far(*sides)

    with pytest.raises(Refused, match="from another database"):
        moved(other, sides[1])


def test_a_database_is_not_moved_into_itself(sides: Sides) -> None:
    with pytest.raises(Refused, match="same database"):
        moved(sides[0], sides[0])


def test_the_target_of_an_unfinished_move_is_not_moved_on(sides: Sides, tmp_path: Path) -> None:
    opened(sides[0]).close()
    moved_so_far(*sides)

    with pytest.raises(StorageIncompatible, match="not finished"):
        moved(sides[1], MoveSide(folder=tmp_path / "third"))

"""Two databases, something in the first of them, and a move from it to the second."""

import functools
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from databases import new_database, prepare_file, prepared_database
from penchant.errors import Refused
from penchant.model import ListKind
from penchant.storage import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    InteractionQuery,
    MoveSide,
    ReplaceList,
    ReplaceSettings,
    Storage,
    compare_sides,
    move,
    open_storage,
)
from penchant.storage.bodies import TRAINED_FROM
from penchant.storage.databases.opening import open_database
from penchant.storage.databases.sqlite import FILE_NAME
from penchant.storage.hashing import account_id
from storage.commands import bodies, done, erasing, key_record, preferring, putting, submit, submitting, watching

Sides = tuple[MoveSide, MoveSide]


SOURCES = 4
"""Those that `fill` makes."""


def opened(side: MoveSide) -> Storage:
    return open_storage(folder=side.folder, database_url=side.url)


def moved(old: MoveSide, new: MoveSide, *, served: bool = False) -> list[str]:
    """Move, and return the lines that were told."""
    told: list[str] = []
    compared = move(old, new, served=served, tell=told.append)
    assert not [each for each in compared if each.differs]
    return told


def moved_so_far(old: MoveSide, new: MoveSide) -> list[str]:
    """Move as far as it goes while a server runs on the old side, and return the lines that were told."""
    told: list[str] = []
    with pytest.raises(Refused, match="still runs"):
        move(old, new, served=True, tell=told.append)
    return told


def different(old: MoveSide, new: MoveSide) -> list[tuple[str, str]]:
    return [(each.name, each.table) for each in compare_sides(old, new) if each.differs]


ACCOUNT = account_id("one")
"""The account that `fill` makes."""


def fill(storage: Storage) -> None:
    """Store something of every kind."""
    account = storage.accounts.ensure("one")
    for place, name in enumerate("kl"):
        storage.keys.create(key_record(account, name, created_at=place), actor="test")
    storage.keys.revoke("l", actor="test")
    submit(storage, account, bodies(TRAINED_FROM + 5))
    submit(storage, account, bodies(20, TRAINED_FROM))
    commands: list[Command[Any]] = [
        submitting(account, "B", "a", "é", "😀", "\uffee", "10", "9"),
        watching(account, "u", "v", at=10**12),
        watching(account, "u", piece="piece-00003", event="e"),
        watching(account, "w", event="f"),
        preferring(account, "w"),
        erasing(account, "w"),
        preferring(account, "u"),
        preferring(account, "v"),
        DeletePieces(account_id=account, source="s", ids=["a", "piece-00001"]),
        ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=["9", "B", "no"]),
        putting(account, "home", b"{}"),
        ReplaceSettings(account_id=account, source="s", settings=b'{"halfLifeDays":5}'),
        submitting(account, "x", source="cleared"),
        ClearPieces(account_id=account, source="cleared"),
        submitting(account, "y", source="cleared"),
        submitting(account, "x", source="deleted"),
        DeleteSource(account_id=account, source="deleted"),
        submitting(account, source="empty"),
        AddUsage(account_id=account, month="2026-11", answers=7),
    ]
    for command in commands:
        done(storage, command)


def filled_file(folder: Path) -> None:
    """Put a SQLite database with all that `fill` stores into a folder."""
    folder.mkdir(mode=0o700)
    (folder / FILE_NAME).write_bytes(_filled_file())


@functools.cache
def _filled_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        prepare_file(Path(folder))
        with closing(open_storage(folder=Path(folder))) as storage:
            fill(storage)
        return (Path(folder) / FILE_NAME).read_bytes()


def filled_database(postgresql: str) -> str:
    """Return the address of a new PostgreSQL database with all that `fill` stores."""
    return new_database(postgresql, template=_filled_template(postgresql))


@functools.cache
def _filled_template(postgresql: str) -> str:
    address = prepared_database(postgresql)
    with closing(open_storage(folder=Path(), database_url=address)) as storage:
        fill(storage)
    return address.partition("?")[0].rpartition("/")[2]


def everything(storage: Storage) -> dict[str, Any]:
    """Return what a database answers, to every question but that for epochs."""
    account = storage.accounts.ensure("one")
    answers: dict[str, Any] = {
        "keys": storage.keys.list_all(),
        "usage": storage.accounts.count_answers(account, "2026-11"),
        "audit": storage.accounts.list_audit(),
        "problems": storage.upkeep.check(),
    }
    for head in storage.sources.list_of(account):
        name = head.name
        with storage.pieces.open_page(account, name) as listing:
            answers[f"{name} pieces"] = [piece for batch in listing.batches for piece in batch]
        with storage.sources.follow_content(account, name, None) as feed:
            rows = [row for batch in feed.batches for row in batch]
            answers[f"{name} content"] = sorted(rows, key=lambda row: row.id)
        with storage.sources.follow_interactions(account, name, None) as recorded:
            answers[f"{name} interactions"] = [row for batch in recorded.batches for row in batch]
        answers[f"{name} head"] = head._replace(epoch=0)
        answers[f"{name} curation"] = storage.sources.read_curation(account, name)[1]
        for user in ("u", "v", "w"):
            query = InteractionQuery(user_id=user, since=0, limit=100)
            answers[f"{name} {user}"] = storage.people.read(head.source_id, query)
    return answers


def edit(side: MoveSide, statement: Any) -> None:
    """Change what is stored behind everybody's back."""
    database = open_database(side.folder, side.url, moving=True)
    with database.writing_engine.begin() as connection:
        assert connection.execute(statement).rowcount == 1
    database.close()

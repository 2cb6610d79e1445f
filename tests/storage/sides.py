"""Two databases, something in the first of them, and a move from it to the second."""

from typing import Any

import pytest

from penchant.errors import Refused
from penchant.model import ListKind
from penchant.storage import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    EraseUser,
    InteractionQuery,
    KeyRecord,
    MoveSide,
    PutPlacement,
    ReplaceList,
    ReplacePreferences,
    ReplaceSettings,
    Storage,
    compare_sides,
    move,
    open_storage,
)
from penchant.storage.bodies import TRAINED_FROM
from penchant.storage.databases.opening import open_database
from storage.test_bodies import bodies, submit
from storage.test_conformance import done, submitting, watching

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


def preferring(account: int, user: str, said: bytes = b'{"hidden":["a"]}') -> ReplacePreferences:
    return ReplacePreferences(account_id=account, source="s", user_id=user, preferences=said)


def fill(storage: Storage) -> int:
    """Store something of every kind, and return the account."""
    account = storage.accounts.ensure("one")
    for place, name in enumerate("kl"):
        record = KeyRecord(
            key_id=name, account_id=account, account="one", plan="full", admin=False, secret_hash=b"h", created_at=place
        )
        storage.keys.create(record, actor="test")
    storage.keys.revoke("l", actor="test")
    submit(storage, account, bodies(TRAINED_FROM + 5))
    submit(storage, account, bodies(20, TRAINED_FROM))
    commands: list[Command] = [
        submitting(account, "B", "a", "é", "😀", "\uffee", "10", "9"),
        watching(account, "u", "v", at=10**12),
        watching(account, "u", piece="piece-00003", event="e"),
        watching(account, "w", event="f"),
        preferring(account, "w"),
        EraseUser(account_id=account, source="s", user_id="w"),
        preferring(account, "u"),
        preferring(account, "v"),
        DeletePieces(account_id=account, source="s", ids=["a", "piece-00001"]),
        ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=["9", "B", "no"]),
        PutPlacement(
            account_id=account,
            source="s",
            name="home",
            body=b"{}",
            assignment=b"[]",
            after=0,
            max_versions=9,
            max_placements=9,
        ),
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
    return account


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

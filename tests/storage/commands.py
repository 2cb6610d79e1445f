"""What tests of storage do over and over: commands, and what is read back."""

import json
from typing import Any

from penchant.model import EncodedPiece, ListKind, NewInteraction
from penchant.storage import (
    Command,
    EditList,
    EraseUser,
    FeedCursor,
    InteractionQuery,
    KeyRecord,
    RecordInteractions,
    ReplacePreferences,
    Result,
    SourceHead,
    Storage,
    SubmitPieces,
)
from penchant_engine.model import InteractionType
from penchant_rows.storage.placements import PutPlacement

WORDS = ["harbour", "lantern", "meadow", "violin", "granite", "ember", "willow", "compass", "thistle", "anchor"]


def encoded(*ids: str, body: bytes = b"{}") -> list[EncodedPiece]:
    return [EncodedPiece(id=piece_id, body=body) for piece_id in ids]


def submitting(account: int, *ids: str, source: str = "s", body: bytes = b"{}", **limits: Any) -> SubmitPieces:
    return SubmitPieces(account_id=account, source=source, pieces=encoded(*ids, body=body), **limits)


def watching(
    account: int, *users: str, piece: str = "a", at: int | None = None, event: str | None = None
) -> RecordInteractions:
    new = [
        NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id=piece, occurred_at=at, event_id=event)
        for user in users
    ]
    return RecordInteractions(account_id=account, source="s", interactions=new)


def editing(account: int, piece_id: str, *, is_listed: bool, actor: str = "") -> EditList:
    return EditList(
        account_id=account, source="s", actor=actor, kind=ListKind.BLACKLIST, piece_ids=[piece_id], is_listed=is_listed
    )


def done(storage: Storage, command: Command[Result]) -> Result:
    return storage.submit(command).result(timeout=120)


def head(storage: Storage, account: int, source: str = "s") -> SourceHead:
    found = storage.sources.read_head(account, source)
    assert found is not None
    return found


def cursor(of: SourceHead, version: int | None = None) -> FeedCursor:
    at = of.version if version is None else version
    return FeedCursor(incarnation=of.incarnation, epoch=of.epoch, version=at)


def changes(storage: Storage, account: int, after: FeedCursor | None) -> tuple[bool, dict[str, bool]]:
    """Return whether the feed is complete, and for each row whether it is a deletion."""
    with storage.sources.follow_content(account, "s", after) as feed:
        return feed.complete, {row.id: row.deleted for batch in feed.batches for row in batch}


def listed(storage: Storage, account: int, **page: Any) -> list[str]:
    with storage.pieces.open_ids(account, "s", **page) as listing:
        return [piece.id for batch in listing.batches for piece in batch]


def of_user(storage: Storage, account: int, user: str, **query: Any) -> list[str]:
    asked = InteractionQuery(user_id=user, since=0, **({"limit": 100} | query))
    return [each.piece_id for each in storage.people.list_interactions(head(storage, account).source_id, asked)]


def bodies(count: int, first: int = 0) -> dict[str, bytes]:
    """Return bodies with much in common and something of their own."""
    return {
        f"piece-{number:05}": json.dumps(
            {"id": f"piece-{number:05}", "categories": {"tag": [f"{WORDS[number % 10]} {number}", *WORDS]}}
        ).encode()
        for number in range(first, first + count)
    }


def submit(storage: Storage, account: int, new: dict[str, bytes], source: str = "s") -> None:
    encoded = [EncodedPiece(id=piece_id, body=body) for piece_id, body in new.items()]
    done(storage, SubmitPieces(account_id=account, source=source, pieces=encoded))


def preferring(account: int, user: str, said: bytes = b'{"hidden":["a"]}') -> ReplacePreferences:
    return ReplacePreferences(account_id=account, source="s", user_id=user, preferences=said)


def erasing(account: int, user: str) -> EraseUser:
    return EraseUser(account_id=account, source="s", user_id=user)


def putting(account: int, name: str, body: bytes, *, after: int = 0) -> PutPlacement:
    return PutPlacement(
        account_id=account,
        source="s",
        actor="key",
        name=name,
        body=body,
        assignment=b"[]",
        after=after,
        max_versions=2,
        max_placements=2,
    )


def key_record(account: int, key_id: str, **others: Any) -> KeyRecord:
    """Return a key of the account "one", unless something else is said of it."""
    said: dict[str, Any] = {"plan": "full", "admin": False, "secret_hash": b"h", "created_at": 1} | others
    return KeyRecord(key_id=key_id, account_id=account, account="one", **said)

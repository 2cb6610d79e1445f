"""What people look through, the same on SQLite and on PostgreSQL: pages of pieces, labels, days."""

from collections.abc import Sequence

from penchant.model import DAY_MS, EncodedPiece, InteractionType, NewInteraction
from penchant.storage import (
    Command,
    DeletePieces,
    DeleteSource,
    EraseUser,
    RecordInteractions,
    ReplacePreferences,
    Storage,
    SubmitPieces,
)

DAY = 20_000


def done(storage: Storage, command: Command) -> None:
    storage.submit(command).result(timeout=120)


def account_with(storage: Storage, *ids: str) -> int:
    """Return an account whose source has these pieces, each with its id as body."""
    account = storage.accounts.ensure("one")
    pieces = [EncodedPiece(id=each, body=each.encode()) for each in ids]
    done(storage, SubmitPieces(account_id=account, source="s", pieces=pieces))
    return account


def watching(account: int, user: str, *days: int) -> RecordInteractions:
    new = [
        NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id="a", occurred_at=day * DAY_MS + 5)
        for day in days
    ]
    return RecordInteractions(account_id=account, source="s", interactions=new)


def read(storage: Storage, account: int, *, start: str = "", after: str | None = None, limit: int = 10) -> list[str]:
    with storage.pieces.open_from(account, "s", start=start, after=after, limit=limit) as batches:
        rows = [row for batch in batches for row in batch]
    assert all(row.body == row.id.encode() for row in rows)
    return [row.id for row in rows]


def test_pieces_are_read_from_an_id_on_by_code_points(storage: Storage) -> None:
    account = account_with(storage, "a", "B", "b", "é", "😀", "ba")
    done(storage, DeletePieces(account_id=account, source="s", ids=["b"]))

    assert read(storage, account) == ["B", "a", "ba", "é", "😀"]
    assert read(storage, account, start="b") == ["ba", "é", "😀"]
    assert read(storage, account, after="ba") == ["é", "😀"]
    assert read(storage, account, start="b", after="a", limit=2) == ["ba", "é"]
    assert read(storage, account, after="😀") == []


def test_some_pieces_are_read_together(storage: Storage) -> None:
    account = account_with(storage, "a", "b", "c")
    done(storage, DeletePieces(account_id=account, source="s", ids=["c"]))

    assert storage.pieces.read_some(account, "s", ["a", "c", "nothing"]) == {"a": b"a"}


def days(storage: Storage, account: int, *, since: int = DAY, limit: int = 100) -> Sequence[tuple[int, int]]:
    head = storage.sources.read_head(account, "s")
    assert head is not None
    return storage.people.count_by_day(head.source_id, since=since * DAY_MS, limit=limit)


def test_interactions_are_counted_by_utc_day_without_erasures(storage: Storage) -> None:
    account = account_with(storage, "a")
    done(storage, watching(account, "x", DAY - 1, DAY, DAY, DAY + 2))
    done(storage, watching(account, "y", DAY + 2))

    assert days(storage, account) == [(DAY, 2), (DAY + 2, 2)]
    done(storage, EraseUser(account_id=account, source="s", user_id="x"))
    assert days(storage, account) == [(DAY + 2, 1)]


def test_only_the_newest_interactions_are_counted_past_a_limit(storage: Storage) -> None:
    account = account_with(storage, "a")
    done(storage, watching(account, "x", DAY, DAY, DAY + 1, DAY + 2))

    assert days(storage, account, limit=3) == [(DAY, 1), (DAY + 1, 1), (DAY + 2, 1)]


def test_interactions_are_counted_until_a_moment(storage: Storage) -> None:
    account = account_with(storage, "a")
    done(storage, watching(account, "x", DAY, DAY + 1, DAY + 2))
    head = storage.sources.read_head(account, "s")
    assert head is not None

    counted = storage.people.count_by_day(head.source_id, since=DAY * DAY_MS, until=(DAY + 2) * DAY_MS, limit=10)

    assert counted == [(DAY, 1), (DAY + 1, 1)]


def test_interactions_of_a_deleted_source_are_not_counted(storage: Storage) -> None:
    account = account_with(storage, "a")
    done(storage, watching(account, "x", DAY))
    done(storage, DeleteSource(account_id=account, source="s"))
    account_with(storage, "a")

    assert days(storage, account) == []


def people(storage: Storage, account: int, beginning: str, *, since: int = DAY, newest: int = 100) -> list[str]:
    head = storage.sources.read_head(account, "s")
    assert head is not None
    return storage.people.list_beginning(head.source_id, beginning, since=since * DAY_MS, newest=newest, limit=3)


def test_people_are_found_by_the_beginning_of_their_ids(storage: Storage) -> None:
    account = account_with(storage, "a")
    for user in ("kim", "ki%", "ki_", "kim", "ki😀", "Kim", "k"):
        done(storage, watching(account, user, DAY))
    done(storage, watching(account, "kit", DAY - 1))
    done(storage, ReplacePreferences(account_id=account, source="s", actor="", user_id="kiss", preferences=b"{}"))

    assert people(storage, account, "ki") == ["ki%", "ki_", "kim"]
    assert people(storage, account, "kim") == ["kim"]
    assert people(storage, account, "ki%") == ["ki%"]
    assert people(storage, account, "kis") == ["kiss"]
    assert people(storage, account, "ki😀") == ["ki😀"]
    assert people(storage, account, "kit") == []
    assert people(storage, account, "k", newest=1) == ["kiss"]
    assert people(storage, account, "k", newest=2) == ["k", "kiss"]
    done(storage, EraseUser(account_id=account, source="s", user_id="kim"))
    done(storage, EraseUser(account_id=account, source="s", user_id="kiss"))
    assert people(storage, account, "kim") + people(storage, account, "kis") == []
    done(storage, DeleteSource(account_id=account, source="s"))
    account_with(storage, "a")
    assert people(storage, account, "k") == []

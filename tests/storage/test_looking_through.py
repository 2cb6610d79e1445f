"""What people look through, the same on SQLite and on PostgreSQL: pages of pieces, labels, days."""

from collections import Counter
from collections.abc import Sequence

from penchant.storage import DeletePieces, DeleteSource, Storage
from penchant_engine.model import DAY_MS
from storage.commands import done, erasing, head, preferring, submitting, watching

DAY = 20_000


def account_with(storage: Storage, *ids: str) -> int:
    """Return an account whose source has these pieces, each with its id as body."""
    account = storage.accounts.ensure("one")
    for each in ids:
        done(storage, submitting(account, each, body=each.encode()))
    return account


def watch(storage: Storage, account: int, user: str, *days: int) -> None:
    for day in days:
        done(storage, watching(account, user, at=day * DAY_MS + 5))


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


def test_the_newest_pieces_come_first_and_deleted_ones_not_at_all(storage: Storage) -> None:
    account = account_with(storage, "c", "b", "a", "gone", "b")
    done(storage, DeletePieces(account_id=account, source="s", ids=["gone"]))

    with storage.pieces.open_newest(account, "s", limit=2) as bodies:
        assert list(bodies) == [b"b", b"a"]
    with storage.pieces.open_newest(account, "s", limit=9) as bodies:
        assert list(bodies) == [b"b", b"a", b"c"]


def days(storage: Storage, account: int, **within: int) -> Sequence[tuple[int, int]]:
    within = {"since": DAY * DAY_MS, "limit": 100} | within
    counts = Counter[int]()
    for day, _, count in storage.people.count_by_type(head(storage, account).source_id, **within):
        counts[day] += count
    return sorted(counts.items())


def test_interactions_are_counted_by_utc_day_without_erasures(storage: Storage) -> None:
    account = account_with(storage, "a")
    watch(storage, account, "x", DAY - 1, DAY, DAY, DAY + 2)
    watch(storage, account, "y", DAY + 2)

    assert days(storage, account) == [(DAY, 2), (DAY + 2, 2)]
    assert days(storage, account, limit=3) == [(DAY, 1), (DAY + 2, 2)]
    assert days(storage, account, until=(DAY + 2) * DAY_MS) == [(DAY, 2)]
    done(storage, erasing(account, "x"))
    assert days(storage, account) == [(DAY + 2, 1)]


def test_interactions_of_a_deleted_source_are_not_counted(storage: Storage) -> None:
    account = account_with(storage, "a")
    watch(storage, account, "x", DAY)
    done(storage, DeleteSource(account_id=account, source="s"))
    account_with(storage, "a")

    assert days(storage, account) == []


def people(storage: Storage, account: int, beginning: str, *, since: int = DAY, newest: int = 100) -> list[str]:
    source_id = head(storage, account).source_id
    return storage.people.list_beginning(source_id, beginning, since=since * DAY_MS, newest=newest, limit=3)


def test_people_are_found_by_the_beginning_of_their_ids(storage: Storage) -> None:
    account = account_with(storage, "a")
    for user in ("kim", "ki%", "ki_", "kim", "ki😀", "Kim", "k"):
        watch(storage, account, user, DAY)
    watch(storage, account, "kit", DAY - 1)
    done(storage, preferring(account, "kiss"))

    assert people(storage, account, "ki") == ["ki%", "ki_", "kim"]
    assert people(storage, account, "kim") == ["kim"]
    assert people(storage, account, "ki%") == ["ki%"]
    assert people(storage, account, "kis") == ["kiss"]
    assert people(storage, account, "ki😀") == ["ki😀"]
    assert people(storage, account, "kit") == []
    assert people(storage, account, "k", newest=1) == ["kiss"]
    assert people(storage, account, "k", newest=2) == ["k", "kiss"]
    done(storage, erasing(account, "kim"))
    done(storage, erasing(account, "kiss"))
    assert people(storage, account, "kim") + people(storage, account, "kis") == []
    done(storage, DeleteSource(account_id=account, source="s"))
    account_with(storage, "a")
    assert people(storage, account, "k") == []

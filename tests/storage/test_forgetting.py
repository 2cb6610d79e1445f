"""What stays of people who were erased and of sources that were deleted, and for how long."""

import time

import pytest
from sqlalchemy import select, text

from penchant.storage import (
    DeletePieces,
    DeleteSource,
    Erasure,
    InteractionChange,
    InteractionQuery,
    SessionRecord,
    Storage,
)
from penchant.storage.hashing import user_key
from penchant.storage.parts import load_parts, tables_of
from penchant.storage.schema import counters, interactions, lists, metadata, sources
from penchant_engine.model import DAY_MS, StoredInteraction
from storage.commands import changes, cursor, done, erasing, head, key_record, of_user, preferring, submitting, watching
from storage.conftest import Opening

WEEK_MS = 7 * DAY_MS


@pytest.fixture
def account(storage: Storage) -> int:
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))
    return account


def followed(storage: Storage, account: int, version: int) -> tuple[bool, list[InteractionChange | Erasure]]:
    after = cursor(head(storage, account), version)
    with storage.sources.follow_interactions(account, "s", after) as feed:
        return feed.complete, [row for batch in feed.batches for row in batch]


def purge_all(storage: Storage, now: int, *, audit_days: int = 0, chunk: int = 1_000) -> None:
    while storage.upkeep.purge(lambda _: 396, audit_days=audit_days, now=now, chunk=chunk):
        pass


def count_rows(opening: Opening) -> dict[str, int]:
    names = [*metadata.tables, *(table.name for table in tables_of(load_parts(), of_sources=True))]
    with opening.beside() as connection:
        found = {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in names}
    return {name: count for name, count in found.items() if count}


def exported(storage: Storage, account: int, user: str) -> list[StoredInteraction]:
    query = InteractionQuery(user_id=user, since=0, limit=100)
    return storage.people.list_interactions(head(storage, account).source_id, query)


def test_to_erase_who_never_was_leaves_nothing(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, watching(account, "u"))
    before, rows = head(storage, account), count_rows(opening)

    outcomes = [done(storage, erasing(account, user)) for user in ("never", "neither")]

    assert [outcome.interactions_version for outcome in outcomes] == [before.interactions_version] * 2
    assert head(storage, account) == before
    assert count_rows(opening) == rows


def test_to_erase_again_leaves_nothing_more(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, watching(account, "u"))
    first = done(storage, erasing(account, "u"))
    rows = count_rows(opening)

    assert done(storage, erasing(account, "u")) == first
    assert count_rows(opening) == rows


def test_the_row_of_an_erasure_does_not_show_the_hash_of_the_person(
    opening: Opening, storage: Storage, account: int
) -> None:
    done(storage, watching(account, "u", "v"))
    keys = [user_key(head(storage, account).source_id, user) for user in ("u", "v")]
    for user in ("u", "v"):
        done(storage, erasing(account, user))
    with opening.beside() as connection:
        stored = [bytes(key) for key in connection.execute(select(interactions.c.user_key)).scalars()]

    complete, rows = followed(storage, account, 2)

    assert not complete
    assert rows == [Erasure(version=3, user_key=keys[0]), Erasure(version=4, user_key=keys[1])]
    assert len(stored) == 2
    assert not set(stored) & set(keys)


def test_the_secret_stays_with_the_database(opening: Opening) -> None:
    first = opening()
    account = first.accounts.ensure("one")
    done(first, submitting(account, "a"))
    done(first, watching(account, "u"))
    done(first, erasing(account, "u"))
    before = followed(first, account, 1)
    first.close()

    again = opening()
    assert followed(again, account, 1) == before
    again.close()


def test_erasures_are_purged_after_a_week_and_older_cursors_rebuild(storage: Storage, account: int) -> None:
    done(storage, watching(account, "u", "v"))
    erased = done(storage, erasing(account, "u"))
    recorded = head(storage, account)
    now = recorded.changed_at

    purge_all(storage, now + WEEK_MS - DAY_MS)
    assert len(followed(storage, account, 2)[1]) == 1
    purge_all(storage, now + WEEK_MS + DAY_MS)

    complete, rows = followed(storage, account, erased.interactions_version - 1)
    assert complete
    assert [type(row) for row in rows] == [InteractionChange]
    assert followed(storage, account, erased.interactions_version) == (False, [])
    assert storage.upkeep.check() == []


def test_erasures_are_found_by_an_index_of_their_own(opening: Opening, storage: Storage, account: int) -> None:
    if not storage.quick_reads:
        pytest.skip("PostgreSQL goes by the size of the table")
    with opening.beside() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT version FROM interactions"
            f" WHERE source_id = {head(storage, account).source_id} AND type = 0 AND occurred_at < 5"
        ).all()

    assert "erasures_by_age" in plan[0][3]


def test_a_deleted_source_is_purged_after_a_week_and_its_versions_never_go_back(
    opening: Opening, storage: Storage, account: int
) -> None:
    done(storage, submitting(account, "b", "c"))
    done(storage, watching(account, "u", event="e"))
    before = head(storage, account)
    deleted = done(storage, DeleteSource(account_id=account, source="s"))

    purge_all(storage, before.changed_at + WEEK_MS - DAY_MS)
    assert count_rows(opening)["counters"] == 2
    purge_all(storage, before.changed_at + WEEK_MS + DAY_MS)
    rows = count_rows(opening)
    assert not {table.name for table in (sources, counters, lists, interactions)} & rows.keys()
    assert rows.keys() == {"accounts", "audit"}

    assert done(storage, submitting(account, "d")).version > deleted.version
    after = head(storage, account)
    assert after.incarnation > before.incarnation
    with storage.sources.follow_content(account, "s", cursor(before)) as feed:
        assert feed.complete
        assert [row.id for batch in feed.batches for row in batch] == ["d"]
    assert done(storage, watching(account, "u", event="e")).duplicates == 0
    assert storage.upkeep.check() == []


def test_a_source_that_was_made_again_is_not_purged(storage: Storage, account: int) -> None:
    deleted = done(storage, DeleteSource(account_id=account, source="s"))
    done(storage, submitting(account, "b"))
    purge_all(storage, head(storage, account).changed_at + 3 * WEEK_MS)

    assert head(storage, account).piece_count == 1
    assert head(storage, account).version == deleted.version + 1


def test_event_ids_are_kept_as_they_were_given_and_go_with_the_person(
    opening: Opening, storage: Storage, account: int
) -> None:
    done(storage, watching(account, "u", event="order 4711"))
    done(storage, watching(account, "u"))

    assert [each.event_id for each in exported(storage, account, "u")] == [None, "order 4711"]
    done(storage, erasing(account, "u"))
    assert exported(storage, account, "u") == []
    assert "event_ids" not in count_rows(opening)


def test_preferences_go_when_they_are_removed_and_with_the_person(
    opening: Opening, storage: Storage, account: int
) -> None:
    before = head(storage, account)
    for leave in (preferring(account, "u", b""), erasing(account, "u")):
        done(storage, preferring(account, "u"))
        assert storage.people.read_preferences(before.source_id, "u")
        done(storage, leave)
        assert storage.people.read_preferences(before.source_id, "u") == b""
        assert "preferences" not in count_rows(opening)

    # Who has said something and done nothing is erased for other processes as well.
    assert head(storage, account).erased_at == head(storage, account).interactions_version
    assert followed(storage, account, before.interactions_version)[1] == [
        Erasure(version=4, user_key=user_key(before.source_id, "u"))
    ]


def test_whoever_follows_learns_who_said_something_and_that_something_is_gone(storage: Storage, account: int) -> None:
    source_id = head(storage, account).source_id
    done(storage, watching(account, "u"))
    done(storage, preferring(account, "u"))
    done(storage, preferring(account, "v"))

    changes = storage.people.list_recorded(source_id, after=0, until=3)
    assert [(each.user_key, each.piece_id) for each in changes.interactions] == [(user_key(source_id, "u"), "a")]
    assert changes.user_ids == {"u"}
    assert changes.stated == [user_key(source_id, user) for user in "uv"]
    assert changes.is_whole
    assert storage.people.list_recorded(source_id, after=2, until=3).stated == changes.stated[1:]
    done(storage, preferring(account, "v", b""))
    assert not storage.people.list_recorded(source_id, after=3, until=4).is_whole
    assert not storage.people.list_recorded(source_id, after=0, until=3).is_whole


def test_preferences_of_a_deleted_source_count_for_nothing_and_are_purged(
    opening: Opening, storage: Storage, account: int
) -> None:
    source_id = head(storage, account).source_id
    for user in "uvw":
        done(storage, preferring(account, user))
    done(storage, DeleteSource(account_id=account, source="s"))
    done(storage, submitting(account, "a"))
    assert storage.people.read_preferences(source_id, "u") == b""
    version = head(storage, account).interactions_version
    assert done(storage, preferring(account, "w", b"")).interactions_version == version
    assert done(storage, preferring(account, "v")).interactions_version == version + 1

    purge_all(storage, head(storage, account).changed_at, chunk=1)

    assert count_rows(opening)["preferences"] == 1
    assert storage.people.read_preferences(source_id, "v")


def test_the_audit_log_is_kept_for_its_days_and_the_older_entries_go_first(storage: Storage, account: int) -> None:
    for key_id in ("a", "b", "c"):
        storage.keys.create(key_record(account, key_id), actor="test")
    now = int(time.time() * 1000)
    subjects = ["c", "b", "a", "s"]

    purge_all(storage, now + 9 * DAY_MS, audit_days=10)
    assert [entry.subject for entry in storage.accounts.list_audit()] == subjects
    purge_all(storage, now + 1_000 * DAY_MS)
    assert [entry.subject for entry in storage.accounts.list_audit()] == subjects
    assert storage.upkeep.purge(lambda _: 396, audit_days=10, now=now + 11 * DAY_MS, chunk=3) == 3
    assert [entry.subject for entry in storage.accounts.list_audit()] == ["c"]
    purge_all(storage, now + 11 * DAY_MS, audit_days=10)
    assert storage.accounts.list_audit() == []


def test_keys_that_have_ended_stay_listed_as_long_as_the_audit_log(storage: Storage, account: int) -> None:
    now = int(time.time() * 1000)
    ends = {"active": None, "expires later": now + 20 * DAY_MS, "revoked": None}
    ends |= dict.fromkeys(("expired", "expired, then revoked"), now - 30 * DAY_MS)
    for key_id, expires_at in ends.items():
        storage.keys.create(key_record(account, key_id, expires_at=expires_at), actor="test")
    for key_id in ("revoked", "expired, then revoked"):
        storage.keys.revoke(key_id, actor="test")

    def listed(day: int, audit_days: int) -> set[str]:
        purge_all(storage, now + day * DAY_MS, audit_days=audit_days, chunk=1)
        return {key.key_id for key in storage.keys.list_all()}

    assert len(listed(1_000, audit_days=0)) == 5
    assert listed(0, audit_days=10) == {"active", "expires later", "revoked", "expired, then revoked"}
    assert listed(11, audit_days=10) == {"active", "expires later"}
    assert listed(29, audit_days=10) == {"active", "expires later"}
    assert listed(31, audit_days=10) == {"active"}


def test_sessions_go_when_they_are_over(storage: Storage) -> None:
    for name, ends_at in ((b"first", 1_000), (b"second", 2_000)):
        storage.sessions.begin(SessionRecord(name, "key", seen_at=0, ends_at=ends_at))

    purge_all(storage, 1_500)

    assert [storage.sessions.find(each) is None for each in (b"first", b"second")] == [True, False]


def test_housekeeping_removes_what_is_past_its_life(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a", "b"))
    done(storage, DeletePieces(account_id=account, source="s", ids=["a"]))
    before = head(storage, account)
    done(storage, watching(account, "u", at=10 * DAY_MS, event="old"))
    done(storage, watching(account, "u", at=15 * DAY_MS, event="new"))
    far = before.changed_at + 30 * DAY_MS

    days = far // DAY_MS - 12
    assert storage.upkeep.purge(lambda _: days, now=far) == 2
    assert of_user(storage, account, "u") == ["a"]
    assert done(storage, watching(account, "u", event="old")).duplicates == 0
    assert done(storage, watching(account, "u", event="new")).duplicates == 1
    assert changes(storage, account, cursor(before, version=1)) == (True, {"b": False})
    assert storage.upkeep.check() == []

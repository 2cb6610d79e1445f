"""Accounts, their keys and what they use, the same on every database."""

from dataclasses import replace

from penchant.storage import AddUsage, DeleteSource, Storage
from storage.commands import done, key_record, submitting


def test_keys_are_found_listed_and_revoked(storage: Storage, account: int) -> None:
    record = key_record(account, "k")
    storage.keys.create(record, actor="test")

    assert storage.keys.find("k") == record
    assert storage.keys.find("no") is None
    assert storage.keys.revoke("k", actor="test")
    assert not storage.keys.revoke("k", actor="test")
    assert [key.revoked_at is not None for key in storage.keys.list_all()] == [True]
    assert [entry.action for entry in storage.accounts.list_audit(account_id=account)] == ["key.revoke", "key.create"]


def test_a_key_goes_over_to_another_plan_once(storage: Storage, account: int) -> None:
    record = key_record(account, "k")
    storage.keys.create(record, actor="test")

    assert storage.keys.set_plan("k", "basic", actor="other")
    assert not storage.keys.set_plan("k", "basic", actor="other")
    assert not storage.keys.set_plan("no", "basic", actor="other")
    assert storage.keys.find("k") == replace(record, plan="basic")
    entries = [(entry.action, entry.actor, entry.subject) for entry in storage.accounts.list_audit(account_id=account)]
    assert entries == [("key.plan", "other", "k"), ("key.create", "test", "k")]


def test_usage_adds_up(storage: Storage, account: int) -> None:
    for answers in (2, 3):
        done(storage, AddUsage(account_id=account, month="2026-11", answers=answers))

    assert storage.accounts.count_answers(account, "2026-11") == 5
    assert storage.accounts.count_answers(account, "2026-12") == 0


def test_usage_of_accounts_tells_what_each_has_now_by_name(storage: Storage, account: int) -> None:
    done(storage, AddUsage(account_id=account, month="2026-11", answers=2))
    done(storage, submitting(account, "a", "b"))
    done(storage, submitting(account, "c", source="t"))
    done(storage, submitting(account, "d", source="gone"))
    done(storage, DeleteSource(account_id=account, source="gone"))
    storage.accounts.ensure("zz-idle")

    rows = storage.accounts.list_usage("2026-11")

    assert [(row.answers, row.sources, row.pieces) for row in rows] == [(2, 2, 3), (0, 0, 0)]
    assert [row.account_id for row in rows] == [account, storage.accounts.find("zz-idle")]
    assert [row.answers for row in storage.accounts.list_usage("2026-12", account_id=account)] == [0]


def test_an_account_is_found_only_once_it_was_made(storage: Storage) -> None:
    assert storage.accounts.find("later") is None
    assert storage.accounts.ensure("later") == storage.accounts.find("later")

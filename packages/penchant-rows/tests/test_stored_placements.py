"""Placements as both databases keep them: versions in turn, bounded, gone with their source."""

import pytest

from penchant.errors import UnknownSource
from penchant.storage import Storage
from penchant_rows.errors import PlacementChanged, TooManyPlacements
from penchant_rows.storage.placements import DeletePlacement, PlacementStore
from storage.commands import done, head, putting, submitting


def in_force(storage: Storage, account: int) -> list[tuple[str, bytes]]:
    return [
        (row.name, row.body) for row in storage.store(PlacementStore).list_in_force(head(storage, account).source_id)
    ]


def test_a_version_follows_the_one_in_force_and_no_other(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    first = done(storage, putting(account, "home", b"1")).version
    second = done(storage, putting(account, "home", b"2", after=first)).version

    with pytest.raises(PlacementChanged):
        done(storage, putting(account, "home", b"3", after=first))

    number = head(storage, account).source_id
    assert storage.sources.read_curation(account, "s")[1].parts["rows"] == {"home": second}
    assert [row.version for row in storage.store(PlacementStore).list_versions(number, "home")] == [second, first]
    row = storage.store(PlacementStore).read(number, "home", first)
    assert row is not None
    assert (row.body, row.actor) == (b"1", "key")


def test_versions_and_placements_are_bounded(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    version = 0
    for body in (b"1", b"2", b"3"):
        version = done(storage, putting(account, "é", body, after=version)).version
    done(storage, putting(account, "B", b"b"))

    with pytest.raises(TooManyPlacements):
        done(storage, putting(account, "c", b"c"))

    rows = storage.store(PlacementStore).list_versions(head(storage, account).source_id, "é")
    assert [row.body for row in rows] == [b"3", b"2"]
    assert in_force(storage, account) == [("B", b"b"), ("é", b"3")]


def test_a_deleted_placement_leaves_nothing_and_its_name_begins_anew(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    first = done(storage, putting(account, "home", b"1")).version
    before = head(storage, account)

    assert done(storage, DeletePlacement(account_id=account, source="s", name="home")).version > before.version
    done(storage, DeletePlacement(account_id=account, source="s", name="home"))

    assert storage.store(PlacementStore).list_versions(before.source_id, "home") == []
    assert storage.store(PlacementStore).read_in_force(before.source_id, "home") is None
    assert done(storage, putting(account, "home", b"1")).version > first


def test_a_placement_is_of_a_source_that_is_there(storage: Storage, account: int) -> None:
    with pytest.raises(UnknownSource):
        done(storage, putting(account, "home", b"1"))


def test_the_audit_log_tells_of_placements(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, putting(account, "home", b"1"))
    done(storage, DeletePlacement(account_id=account, source="s", actor="key", name="home"))

    entries = [each for each in storage.accounts.list_audit(account_id=account) if each.action.startswith("placement")]
    assert [(each.actor, each.action, each.subject) for each in entries] == [
        ("key", "placement.delete", "s/home"),
        ("key", "placement.replace", "s/home"),
    ]

"""Pulls as both databases keep them: claimed by one, lost with their lease, removed while they are under way."""

import threading

import pytest

from penchant.errors import Refused
from penchant.storage import PullRecord, PullResult, Storage
from penchant.storage.pulls import KEPT_RUNS
from storage.conftest import Opening

LEASE_MS = 600_000


def record(account: int, name: str = "shop", source: str = "s") -> PullRecord:
    return PullRecord(name=name, account_id=account, account="one", source=source, body=b"{}")


def ended(begun_at: int = 1, *, has_failed: bool = False, pause_ms: int = LEASE_MS) -> PullResult:
    run = f"{begun_at}".encode()
    return PullResult(begun_at=begun_at, run=run, has_failed=has_failed, state=b"state", pause_ms=pause_ms)


def claim(storage: Storage, holder: str, *, lease_ms: int = LEASE_MS, due: bool = True) -> bool:
    return storage.pulls.claim("shop", holder, lease_ms=lease_ms, due=due)


def test_a_pull_is_due_until_somebody_claims_it_and_again_at_its_next_turn(storage: Storage, account: int) -> None:
    pulls = storage.pulls
    pulls.add(record(account), actor="me")
    assert pulls.list_due() == ["shop"]

    assert claim(storage, "a")
    assert not claim(storage, "b", due=False)
    assert pulls.list_due() == []
    assert pulls.finish("shop", "a", ended(has_failed=True))

    assert pulls.list_due() == []
    assert not claim(storage, "b")
    assert claim(storage, "b", due=False)
    found = pulls.find("shop")
    assert found is not None
    assert (found.account, found.state, found.failures, pulls.count_failing()) == ("one", b"state", 1, 1)
    assert pulls.finish("shop", "b", ended(pause_ms=0))
    assert (pulls.list_due(), pulls.count_failing()) == (["shop"], 0)


def test_a_lease_that_ran_out_is_another_ones_and_its_first_holder_stores_nothing(
    storage: Storage, account: int
) -> None:
    storage.pulls.add(record(account), actor="me")
    assert claim(storage, "a", lease_ms=0)

    assert storage.pulls.renew("shop", "a", lease_ms=LEASE_MS)
    assert not claim(storage, "b")
    assert storage.pulls.renew("shop", "a", lease_ms=0)
    assert claim(storage, "b")

    assert not storage.pulls.renew("shop", "a", lease_ms=LEASE_MS)
    storage.pulls.release("shop", "a")
    assert not storage.pulls.finish("shop", "a", ended())
    assert storage.pulls.renew("shop", "b", lease_ms=LEASE_MS)
    storage.pulls.release("shop", "b")
    assert claim(storage, "c")
    assert storage.pulls.list_runs("shop") == []


def test_of_many_that_claim_at_once_one_does(opening: Opening) -> None:
    nodes = [opening(), opening()]
    nodes[0].pulls.add(record(nodes[0].accounts.ensure("one")), actor="me")
    barrier, claimed = threading.Barrier(8), []

    def try_it(number: int) -> None:
        barrier.wait()
        if claim(nodes[number % 2], str(number)):
            claimed.append(number)

    threads = [threading.Thread(target=try_it, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for node in nodes:
        node.close()

    assert len(claimed) == 1


def test_a_pull_that_is_removed_while_it_is_under_way_is_nobodys(storage: Storage, account: int) -> None:
    storage.pulls.add(record(account), actor="me")
    assert claim(storage, "a")

    assert storage.pulls.remove("shop", actor="me")

    assert not storage.pulls.remove("shop", actor="me")
    assert not storage.pulls.renew("shop", "a", lease_ms=LEASE_MS)
    assert not storage.pulls.finish("shop", "a", ended())
    assert (storage.pulls.list_all(), storage.pulls.list_runs("shop")) == ([], [])
    assert [entry.action for entry in storage.accounts.list_audit()] == ["pull.remove", "pull.add"]


def test_the_last_runs_are_kept_and_names_are_given_once(storage: Storage, account: int) -> None:
    storage.pulls.add(record(account), actor="me")
    storage.pulls.add(record(account, "blog", "t"), actor="me")
    with pytest.raises(Refused, match="There is a pull of the name 'shop'"):
        storage.pulls.add(record(account), actor="me")
    for number in range(KEPT_RUNS + 5):
        assert claim(storage, "a", due=False)
        storage.pulls.finish("shop", "a", ended(number))

    runs = [int(run) for run in storage.pulls.list_runs("shop")]
    assert runs == [*range(KEPT_RUNS + 4, 4, -1)]
    assert [each.name for each in storage.pulls.list_all()] == ["blog", "shop"]
    assert [each.name for each in storage.pulls.list_of(account, "t")] == ["blog"]

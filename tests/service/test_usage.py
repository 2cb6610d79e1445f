"""Monthly quotas: exact across the workers of a node, whatever ends when."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from databases import opened_file
from penchant.clock import Clock
from penchant.errors import Overloaded, PenchantError, QuotaExceeded
from penchant.live import database as database_module
from penchant.live.background import Background, BackgroundTask
from penchant.live.database import AsyncStorage
from penchant.model import Plan
from penchant.service import usage as module
from penchant.service.access import Access
from penchant.service.rates import BUCKET_SLOTS, BUCKETS
from penchant.service.usage import Usage
from penchant.storage import Command, Result
from penchant.telemetry import Metrics

NOVEMBER = 1_795_000_000.0
MONTH = "2026-11"
QUOTA = 10


TESTS = Path(__file__).parents[1]
KILLED = """
import asyncio, os, pathlib, signal, sys
from service.test_usage import given, two_workers

async def end():
    os.kill(os.getpid(), signal.SIGKILL)

async def scene():
    async with two_workers(pathlib.Path(sys.argv[1])) as (usage, _, database):
        database.after = end
        await given(usage, 4)
        await usage.flush()

asyncio.run(scene())
"""
"""A worker that is killed between a commit and its last step."""


class Slow(AsyncStorage):
    """A database whose commits can be held up, before or after they are made."""

    def __init__(self, database: AsyncStorage) -> None:
        self.__dict__.update(database.__dict__)
        self.before: Callable[[], Awaitable[object]] = nothing
        self.after: Callable[[], Awaitable[object]] = nothing

    async def change_at_last(self, command: Command[Result]) -> Result:
        await self.before()
        outcome = await super().change_at_last(command)
        await self.after()
        return outcome


async def nothing() -> None:
    """Hold nothing up."""


def holding(held: asyncio.Event, reached: asyncio.Event) -> Callable[[], Awaitable[object]]:
    """Return what tells that a commit has come to it, and then holds the commit up."""

    async def hold() -> None:
        reached.set()
        await held.wait()

    return hold


@asynccontextmanager
async def two_workers(folder: Path) -> AsyncIterator[tuple[Usage, Usage, Slow]]:
    """Two countings over one folder and one database."""
    storage = opened_file(folder)
    database = Slow(AsyncStorage(storage, Metrics()))
    first, second = (Usage(database, folder, clock=Clock(seconds=lambda: NOVEMBER)) for _ in range(2))
    yield first, second, database
    first.close()
    second.close()
    database.close()
    storage.close()


def access(account: int = 7, *, quota: int | None = QUOTA) -> Access:
    plan = Plan(
        name="small",
        features=frozenset(),
        requests_per_second=None,
        sources=None,
        pieces_per_source=None,
        recommendations_per_month=quota,
    )
    return Access(key_id="k", account_id=account, plan=plan, admin=False)


async def given(usage: Usage, times: int) -> int:
    """Ask for answers; return how many were given."""
    count = 0
    for _ in range(times):
        try:
            await usage.reserve(access())
        except QuotaExceeded:
            continue
        count += 1
    return count


async def test_workers_give_exactly_the_quota_together(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        assert await given(first, 4) == 4
        assert await first.flush()
        assert await given(second, 3) == 3
        assert await given(first, 2) == 2
        assert await second.flush()
        assert await given(second, 5) == 1
        assert await given(first, 5) == 0
        assert await first.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == QUOTA


async def test_what_was_not_given_does_not_count(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        undo = await first.reserve(access(quota=1))
        with pytest.raises(QuotaExceeded) as refused:
            await second.reserve(access(quota=1))
        assert (refused.value.retry_after_s or 0) > 0
        await first.flush()
        undo()
        await second.reserve(access(quota=1))
        await second.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == 1


async def test_answers_of_one_turn_count_in_the_next(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, _database):
        for _ in range(QUOTA):
            await first.reserve(access(quota=None))
        await asyncio.sleep(0)
        with pytest.raises(QuotaExceeded):
            await second.reserve(access())


async def test_accounts_and_months_are_counted_apart(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        for account in (7, 8, 8):
            await first.reserve(access(account, quota=None))
        december = Usage(database, tmp_path, clock=Clock(seconds=lambda: NOVEMBER + 31 * 86_400))
        await december.reserve(access(quota=1))
        december.close()
        await second.flush()
        assert [database.storage.accounts.count_answers(account, MONTH) for account in (7, 8)] == [1, 2]
        assert database.storage.accounts.count_answers(7, "2026-12") == 1


@pytest.mark.parametrize("moment", ("before", "after"))
async def test_the_last_answers_wait_for_a_commit_under_way(tmp_path: Path, moment: str) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        held, reached = asyncio.Event(), asyncio.Event()
        setattr(database, moment, holding(held, reached))
        assert await given(first, QUOTA - 3) == QUOTA - 3
        flushing = asyncio.create_task(first.flush())
        await reached.wait()
        assert not await second.flush()

        asking = asyncio.create_task(given(second, 9))
        await asyncio.sleep(0.1)
        held.set()
        assert await asking == 3
        assert await flushing


async def test_an_endless_commit_is_answered_with_overloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNDECIDED_TIMEOUT_S", 0.05)

    async with two_workers(tmp_path) as (first, second, database):
        held, reached = asyncio.Event(), asyncio.Event()
        database.before = holding(held, reached)
        await given(first, QUOTA - 3)
        flushing = asyncio.create_task(first.flush())
        await reached.wait()
        assert await given(second, 3) == 3
        with pytest.raises(Overloaded):
            await second.reserve(access())
        held.set()
        await flushing


async def test_what_fails_to_be_counted_is_kept(tmp_path: Path) -> None:
    async def fail() -> None:
        raise PenchantError("no")

    async with two_workers(tmp_path) as (first, second, database):
        database.before = fail
        await given(first, 4)
        await first.flush()
        assert await given(second, QUOTA) == QUOTA - 4
        database.before = nothing
        await second.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == QUOTA


async def test_what_is_counted_late_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "CHANGE_TIMEOUT_S", 0.05)
    held, released = threading.Event(), threading.Event()

    async with two_workers(tmp_path) as (first, second, database):
        await given(first, 4)

        def hold() -> None:
            with database.storage._transactions.write():
                held.set()
                released.wait()

        holding = asyncio.create_task(asyncio.to_thread(hold))
        await asyncio.to_thread(held.wait)
        flushing = asyncio.create_task(first.flush())
        # Other changes are given up by then; this one is under way, and cannot be taken back.
        await asyncio.sleep(0.3)
        released.set()
        await asyncio.gather(holding, flushing)
        await second.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == 4


async def test_a_worker_that_ends_leaves_its_counts_to_the_others(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        gone = Usage(database, tmp_path, clock=Clock(seconds=lambda: NOVEMBER))
        assert await given(gone, 4) == 4
        gone.close()
        assert await given(first, QUOTA) == QUOTA - 4
        await second.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == QUOTA


async def test_repeated_answers_count_with_the_next_flush_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        for account in (7, 7, 8):
            first.give(access(account, quota=None))
        await first.count_given()
        assert [database.storage.accounts.count_answers(account, MONTH) for account in (7, 8)] == [2, 1]

        monkeypatch.setattr(module, "_number", lambda slot: slot[0] * BUCKETS + 7)
        for account in range(1, BUCKET_SLOTS + 1):
            await second.reserve(access(account, quota=None))
        first.give(access(99, quota=None))
        await first.count_given()
        assert database.storage.accounts.count_answers(99, MONTH) == 0
        await first.finish()
        assert database.storage.accounts.count_answers(99, MONTH) == 1


@pytest.mark.slow
async def test_what_a_killed_worker_was_counting_is_counted_once(tmp_path: Path) -> None:
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(tmp_path), env={"PYTHONPATH": f"{TESTS}:{TESTS / 'system'}"}
    )
    assert await killed.wait() == -9

    async with two_workers(tmp_path) as (first, second, database):
        asking = asyncio.create_task(given(first, QUOTA))
        await asyncio.sleep(0.1)
        await second.flush()
        assert await asking == QUOTA - 4
        await second.flush()
        assert database.storage.accounts.count_answers(7, MONTH) == QUOTA


def background(usage: Usage) -> Background:
    task = BackgroundTask(name="usage", interval_s=0.05, work=usage.count_given)
    running = Background([task], Metrics())
    running.start()
    return running


async def test_it_flushes_once_more_at_the_end(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (first, second, database):
        running = [(usage, background(usage)) for usage in (first, second)]
        await given(first, 2)
        # In a thread: the loop goes on, and flushes.
        await asyncio.to_thread(wait_until, lambda: database.storage.accounts.count_answers(7, MONTH) == 2)
        await given(second, 3)
        for usage, tasks in running:
            await tasks.close()
            await usage.finish()
        assert database.storage.accounts.count_answers(7, MONTH) == 5


async def test_what_is_left_is_counted_though_nobody_asks(tmp_path: Path) -> None:
    tries: list[int] = []

    async def fail_once() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise PenchantError("no")

    async with two_workers(tmp_path) as (first, _, database):
        gone = Usage(database, tmp_path, clock=Clock(seconds=lambda: NOVEMBER))
        assert await given(gone, 4) == 4
        gone.close()
        database.before = fail_once
        running = background(first)
        await asyncio.to_thread(wait_until, lambda: database.storage.accounts.count_answers(7, MONTH) == 4)
        await running.close()


async def test_more_accounts_than_a_bucket_has_room_for_are_overloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_number", lambda slot: slot[0] * BUCKETS + 7)

    async with two_workers(tmp_path) as (first, second, _):
        for account in range(1, BUCKET_SLOTS + 1):
            await first.reserve(access(account, quota=None))
        with pytest.raises(Overloaded):
            await second.reserve(access(99))
        await second.flush()
        await second.reserve(access(99))

"""Threads are shared by accounts: what one sends beyond its share waits, and nobody else's waits for it."""

import contextvars
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from acceptance.processes import wait_until
from clocks import SetClock
from penchant.live.database import (
    HEAVY_NICENESS,
    READING_THREADS,
    THREADS_AMONG_ACCOUNTS,
    AccountThreads,
    account_served,
)

PATIENCE_S = 60


def assert_set(event: threading.Event) -> None:
    """Wait for an event."""
    assert event.wait(PATIENCE_S)


class Works:
    """Works that go on until they are let end, for accounts."""

    def __init__(self, accounts: int = 2) -> None:
        self.threads = AccountThreads(READING_THREADS, monotonic=SetClock(1.0))
        for account in range(1, accounts + 1):
            contextvars.copy_context().run(self.threads.serve, account)
        self.ending = threading.Event()
        self.begun: list[int] = []

    def _work(self, account: int | None) -> None:
        self.begun.append(account or 0)
        assert_set(self.ending)

    def send(self, account: int | None, work: Callable[[], object] | None = None) -> Future[object]:
        served = account_served.set(account)
        try:
            return self.threads.submit(work or (lambda: self._work(account)))
        finally:
            account_served.reset(served)

    def end(self) -> None:
        self.ending.set()
        self.threads.close()


def test_the_work_of_an_account_beyond_its_threads_waits_while_anothers_is_done() -> None:
    works = Works()

    sent = [works.send(1) for _ in range(10 * READING_THREADS)]
    wait_until(lambda: len(works.begun) == THREADS_AMONG_ACCOUNTS)
    works.send(2, lambda: None).result(PATIENCE_S)
    begun = len(works.begun)
    works.end()

    assert begun == THREADS_AMONG_ACCOUNTS
    assert all(each.done() for each in sent)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own")
def test_the_event_loop_gets_a_processor_before_threads() -> None:
    works = Works()

    niceness = works.send(1, lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())).result(PATIENCE_S)
    works.end()

    assert niceness == min(19, os.getpriority(os.PRIO_PROCESS, os.getpid()) + HEAVY_NICENESS)


def test_an_account_that_is_alone_has_all_threads() -> None:
    works = Works(accounts=0)

    for _ in range(READING_THREADS):
        works.send(1)
    wait_until(lambda: len(works.begun) == READING_THREADS)
    works.end()


def test_accounts_take_turns_where_all_threads_are_busy() -> None:
    works, leaving = Works(), threading.Event()
    for _ in range(READING_THREADS - 2):
        works.send(None)
    for _ in range(2):
        works.send(None, lambda: assert_set(leaving))
    wait_until(lambda: len(works.begun) == READING_THREADS - 2)

    for account in (1, 1, 1, 1, 2):
        works.send(account)
    leaving.set()
    wait_until(lambda: len(works.begun) == READING_THREADS)
    begun = works.begun[READING_THREADS - 2 :]
    works.end()

    assert sorted(begun) == [1, 2]


def test_what_fails_or_is_given_up_leaves_its_thread_to_others() -> None:
    works = Works()
    for _ in range(THREADS_AMONG_ACCOUNTS):
        works.send(1)

    given_up = works.send(1)
    assert given_up.cancel()
    failed = works.send(1, lambda: 1 // 0)
    last = works.send(1)
    works.end()

    assert isinstance(failed.exception(), ZeroDivisionError)
    assert last.done()
    assert len(works.begun) == THREADS_AMONG_ACCOUNTS + 1

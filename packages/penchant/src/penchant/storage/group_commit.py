"""Group commit: many changes share one commit, and none waits for others to come.

A lane has a queue and one writer thread. While the writer commits a group, whatever is submitted gathers in the queue,
and is the next group: the slower the disk, the larger the groups. One group drawn, time going to the right:

    request a  |--queued--|======= commit of {a} =======|answer
    request b      |--------------- queued -------------|==== commit of {b, c} ====|answer
    request c                  |--------- queued -------|==== commit of {b, c} ====|answer
    writer                |======= commit of {a} =======|==== commit of {b, c} ====|

A change that may not be done (an unknown source) is answered with its error and does not disturb its group. Where the
transaction itself fails, each change is tried alone, so that one that the database refuses spoils no other's.

Measured on a disk with 2 ms per sync: one commit per request gives 434 a second, a group 12,600.
Interactions and submissions have a lane each (D9 of docs/decisions.md).
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from penchant.errors import ConnectionLost, Overloaded, PenchantError, StorageUnavailable
from penchant.storage.databases.opening import Transactions, now_ms
from penchant.storage.transaction import Command, Result, WriteTransaction
from penchant.telemetry import Metrics, log_failure, logger
from penchant.tracing import tracing

MAX_QUEUED = 10_000
"""Commands that may wait in a lane: at 5,000 a second, two seconds."""
MAX_QUEUED_BYTES = 256 * 1024 * 1024
"""Bodies that may wait in a lane, so that a burst of imports cannot fill the memory."""
MAX_GROUP = 1_000
MAX_GROUP_BYTES = 8 * 1024 * 1024
"""Bounds of one group, so that the lock goes round between processes and no answer waits long."""
CarryOut = Callable[[Sequence[Command[Any]]], list[Any]]
"""Returns the result of each command, or the error with which it is refused."""


class Waiter(Protocol):
    """Who waits for a command: a future, or what a lane may settle as one.

    It goes one of two ways, and never back:

    queued --(the request is given up)--> cancelled, never carried out
    queued --(its group begins)--> running --(the commit)--> done, with a result or an error
    """

    def set_running_or_notify_cancel(self) -> bool:
        """Return whether the command is still to be carried out: its group begins."""

    def set_result(self, result: Any, /) -> None:
        """Take the command's result, after the commit."""

    def set_exception(self, exception: PenchantError, /) -> None:
        """Take the error with which the command is refused."""


class _QueuedCommand(NamedTuple):
    """A command in a queue, and who waits for it."""

    command: Command[Any]
    size_bytes: int
    queued_at: float
    waiter: Waiter


class Lane:
    """One queue with one writer thread; commands of a source keep their order.

    A command that was given up while it waited is not carried out.
    """

    def __init__(self, name: str, carry_out: CarryOut, metrics: Metrics | None = None) -> None:
        self._name = name
        self._carry_out = carry_out
        self._queue_seconds = None if metrics is None else metrics.queue_seconds.labels(name)
        self._group_changes = None if metrics is None else metrics.group_changes.labels(name)
        self._queue: queue.SimpleQueue[_QueuedCommand | None] = queue.SimpleQueue()
        self._bytes = 0
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"penchant-write-{name}", daemon=True)
        self._thread.start()

    def submit(self, command: Command[Result]) -> Future[Result]:
        """Queue a command; the future is done after its group's commit.

        Raises:
            Overloaded: the queue is full.
        """
        future = Future[Result]()
        self.enqueue(command, future)
        return future

    def enqueue(self, command: Command[Any], waiter: Waiter) -> None:
        """Queue a command; its waiter is told what came of it after its group's commit, in the lane's thread.

        Raises:
            Overloaded: the queue is full.
        """
        size = command.size_bytes
        with self._guard:
            # The bound may be passed by as many commands as there are threads here: each is queued after the lock.
            # One body above the bound is taken where no other waits: otherwise it could never be stored.
            full = self._queue.qsize() >= MAX_QUEUED
            if full or (self._bytes and self._bytes + size > MAX_QUEUED_BYTES):
                raise Overloaded("Too many changes are waiting; send this one again soon.", retry_after_s=1)
            self._bytes += size
        self._queue.put(_QueuedCommand(command, size, time.monotonic(), waiter))

    @property
    def queued(self) -> tuple[int, int]:
        """How many changes wait, and the size of their bodies; one that is being committed waits no more."""
        return self._queue.qsize(), self._bytes

    def close(self) -> None:
        """Commit what is queued and end the thread."""
        # Behind everything that is queued by now: the end waits its turn as a command does.
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Commit groups until the queue ends with ``None``: the loop of the writer thread.

        Whatever happens to a group, those who wait for it are told and the loop goes on.
        """
        while (first := self._queue.get()) is not None:
            # From here on a future cannot be cancelled: a command is never carried out and yet answered as cancelled.
            group = [each for each in self._gather(first) if each.waiter.set_running_or_notify_cancel()]
            if not group:
                continue
            if self._queue_seconds is not None and self._group_changes is not None:
                self._queue_seconds.observe(time.monotonic() - first.queued_at)
                self._group_changes.observe(len(group))
            try:
                with tracing.span("commit") as tell:
                    tell({"penchant.lane": self._name, "penchant.changes": len(group)})
                    results = self._carry_out([waiting.command for waiting in group])
            except Exception as error:  # noqa: BLE001  # the lane must outlive whatever a driver raises
                log_failure("a group of changes failed")
                unavailable = error if isinstance(error, PenchantError) else _unavailable()
                results = [unavailable] * len(group)
            for waiting, result in zip(group, results, strict=True):
                _settle(waiting.waiter, result)

    def _gather(self, first: _QueuedCommand) -> list[_QueuedCommand]:
        """Return a group: the first command and those that are queued behind it, up to the bounds of a group."""
        group = [first]
        size = first.size_bytes
        while len(group) < MAX_GROUP and size < MAX_GROUP_BYTES:
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                break
            if waiting is None:
                # The loop must see the end itself, after this group: so it goes back to the queue.
                self._queue.put(None)
                break
            group.append(waiting)
            size += waiting.size_bytes
        # Cancelled commands are still in the group, so that what `enqueue` added for them is taken off, too.
        with self._guard:
            self._bytes -= size
        return group


class GroupCommit:
    """Carries groups out: in one transaction, or one command after the other where that transaction fails.

    A transaction of PostgreSQL locks the counters of every source that it changes, until its commit. Two processes
    whose groups share sources would wait for each other for ever if one locked a, then b, and the other b, then a. So
    each group goes through its sources by ascending number; within a source the kinds ascend, as
    `WriteTransaction.lock_source` says.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def carry_out(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Return the result or the error of each command, in their order.

        Where the connection was lost none is tried again: the group may be stored, and each try may take long.
        """
        try:
            return self._commit(commands)
        except ConnectionLost as error:
            return [error] * len(commands)
        except Exception as error:
            if len(commands) == 1:
                if isinstance(error, PenchantError):
                    return [error]
                raise
            # The transaction was rolled back, so that nothing is stored twice by these.
            return [self._alone(command) for command in commands]

    def _alone(self, command: Command[Any]) -> Any:
        """Carry a command out in a transaction of its own; return its result or its error."""
        try:
            return self._commit([command])[0]
        except PenchantError as error:
            return error
        except Exception:  # noqa: BLE001  # one command's failure must not reach the others
            logger.exception("a change failed")
            return _unavailable()

    def _commit(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Carry out commands in one transaction; return a result for each, or the error of one that is refused.

        Raises:
            StorageUnavailable: the transaction failed; whether it was committed is certain only where the
                connection is still there.
        """
        results: dict[int, Any] = {}
        database = self._transactions.database
        with self._transactions.write() as connection:
            writing = WriteTransaction(connection, database, self._transactions.dictionaries, now_ms())
            for positions in in_source_order(commands):
                results |= zip(positions, _apply(writing, [commands[at] for at in positions]), strict=True)
            if any(command.forgets for command in commands):
                database.mark_erased()
        return [results[position] for position in range(len(commands))]


def _apply(transaction: WriteTransaction, commands: Sequence[Command[Any]]) -> Sequence[Any]:
    """Carry out one command, or those that are applied together; return the result or the error of each."""
    try:
        return transaction.apply(commands)
    except StorageUnavailable:
        # The transaction itself is lost, so that the commands before cannot be committed either.
        raise
    except PenchantError as error:
        return [error] * len(commands)


def in_source_order(commands: Sequence[Command[Any]]) -> list[list[int]]:
    """Return the positions of commands by ascending source: all processes lock counters in the same order.

    Those of a source and a class that `is_batched` come together where they follow each other, every other one alone.
    """
    runs: list[list[int]] = []
    orders = [command.order for command in commands]
    # The sort is stable: the commands of a source stay in the order in which they were queued.
    for position in sorted(range(len(commands)), key=orders.__getitem__):
        command = commands[position]
        if runs and command.is_batched:
            last = runs[-1][-1]
            if type(commands[last]) is type(command) and orders[last] == orders[position]:
                runs[-1].append(position)
                continue
        runs.append([position])
    return runs


def _settle(waiter: Waiter, result: Any) -> None:
    if isinstance(result, PenchantError):
        waiter.set_exception(result)
    else:
        waiter.set_result(result)


def _unavailable() -> StorageUnavailable:
    return StorageUnavailable(
        "The database did not take the change; it may or may not be stored. Send it again.", retry_after_s=1
    )

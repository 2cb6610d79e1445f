"""Crew: child processes that do the ranges of a plan; one that is lost costs the ranges that it had, and no others.

this process                                            a child
start --------------------------------------------->  opens the files
<-------------------------------------- `Ready`: how many ranges it takes at once
a range's number --------------------------------->  does it, or has a cluster do it
<----------------------------- `PartDone`, or `RangeFailure`, which ends all
its end, however it ended: its ranges are given out again, and another child is started
"""

import multiprocessing
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from penchant.cluster.plan import WorkPlan, mapped_files
from penchant.errors import Refused

MOST_LOSSES = 3
"""A range with which so many children were lost is given up: it kills whoever does it."""

ENDING_S = 1.0


class Ready(NamedTuple):
    """A child can begin, and takes so many ranges at once."""

    slots: int


class PartDone(NamedTuple):
    """What a range has become."""

    number: int
    content: bytes


class RangeFailure(NamedTuple):
    """A range, or the child itself, met an error that it would meet again."""

    detail: str


Message = Ready | PartDone | RangeFailure
Main = Callable[..., None]
"""What a child runs, with its end of the connection before its other arguments."""


@dataclass(slots=True, eq=False)
class _Child:
    process: BaseProcess
    connection: "Connection[Any, Any]"
    slots: int = 0
    under_way: set[int] = field(default_factory=set)


class Crew:
    """So many children, all of them alike."""

    def __init__(self, count: int, main: Main, *arguments: Any) -> None:
        self._count = count
        self._main = main
        self._arguments = arguments
        self._started = multiprocessing.get_context("spawn")

    def run(self, numbers: Iterable[int]) -> Generator[PartDone, None, None]:
        """Yield what ranges have become, each once, in the order in which they are done.

        Of a ``deque`` the next ones are taken while it is run: the caller may change it between two of them.

        Raises:
            Refused: a range cannot be done.
        """
        waiting = numbers if isinstance(numbers, deque) else deque(numbers)
        losses, children = Counter[int](), list[_Child]()
        failed_starts = 0
        try:
            while waiting or any(child.under_way for child in children):
                while len(children) < min(self._count, len(waiting) + len(children)):
                    children.append(self._start())
                by_connection = {child.connection: child for child in children}
                for connection in wait(list(by_connection)):
                    child = by_connection[connection]  # type: ignore[index]  # all of them are connections
                    message = _received(child)
                    if message is None:
                        failed_starts += not child.slots
                        children.remove(child)
                        _give_back(child, waiting, losses, failed_starts)
                    elif isinstance(message, PartDone):
                        child.under_way.discard(message.number)
                        yield message
                    elif isinstance(message, RangeFailure):
                        raise Refused(message.detail)
                    else:
                        child.slots = message.slots
                for child in children:
                    _hand_out(child, waiting)
        finally:
            for child in children:
                child.connection.close()
            for child in children:
                # Mostly it ends by itself, since nobody asks any more; not where it is in the middle of a range.
                child.process.join(ENDING_S)
                child.process.terminate()
                child.process.join()

    def _start(self) -> _Child:
        ours, theirs = multiprocessing.Pipe()
        process = self._started.Process(target=self._main, args=(theirs, *self._arguments), daemon=True)
        process.start()
        # With this copy open, the end of the child would not be seen.
        theirs.close()
        return _Child(process, ours)


def process_crew(plan: WorkPlan, folder: Path, workers: int) -> Crew:
    """Return a crew of processes of this machine, which map the files of a plan."""
    return Crew(workers, _do_ranges, plan, folder)


def _do_ranges(connection: "Connection[Any, Any]", plan: WorkPlan, folder: Path) -> None:
    """Do one range after the other, until nobody asks for more."""
    work = plan.prepare(mapped_files(plan, folder))
    connection.send(Ready(1))
    while True:
        try:
            number = connection.recv()
            connection.send(PartDone(number, work(*plan.bounds(number))))
        except (EOFError, BrokenPipeError):
            return


def _received(child: _Child) -> Message | None:
    """Return what a child sends; ``None`` where it has ended."""
    try:
        message: Message = child.connection.recv()
    except (EOFError, OSError):
        return None
    return message


def _hand_out(child: _Child, waiting: deque[int]) -> None:
    while waiting and len(child.under_way) < child.slots:
        number = waiting.popleft()
        child.under_way.add(number)
        try:
            child.connection.send(number)
        except OSError:
            # It has ended: its ranges are given out again when that is received.
            return


def _give_back(child: _Child, waiting: deque[int], losses: Counter[int], failed_starts: int) -> None:
    """Take back what a lost child had.

    Raises:
        Refused: a range was lost too often, or children cannot even start.
    """
    child.connection.close()
    child.process.join()
    losses.update(child.under_way)
    waiting.extendleft(sorted(child.under_way, reverse=True))
    if failed_starts >= MOST_LOSSES or max(losses.values(), default=0) >= MOST_LOSSES:
        raise Refused(
            f"A worker has ended {MOST_LOSSES} times, the last time with exit code {child.process.exitcode};"
            " its own words stand above. What is done is kept: the same command goes on from there."
        )

"""Executor: does the ranges of a plan, by processes of this machine or as tasks of a Ray cluster.

waiting --_submit--> under way, ``slots`` of them --future--> done, in any order

What is lost on the way is done again: a range of a lost process by another one, a task of a lost worker or node by
Ray's own retries. A range is a pure function, so that it does not matter how often it is done.
"""

import contextlib
import multiprocessing
import os
import socket
import threading
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penchant import __version__
from penchant.errors import Refused

Files = Mapping[str, Any]
"""The files of a plan by name, as buffers; they may be read alone."""
WORKS = frozenset(
    {
        "penchant_lab.list_work:prepare",
        "penchant_batch.lists:prepare",
        "penchant_batch.stand_ins:prepare",
    }
)
"""What a plan that is read from a file may name: whatever else stands there, nothing else is run."""
Work = Callable[[int, int], bytes]
"""Does the items from one number on, up to another: the same bytes wherever and however often it is called."""


class WorkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Work: ``count`` items, in ranges of ``size``.

    ``work`` names a function (``module:name``) that takes the files of these names and returns the `Work`.
    """

    work: str
    files: tuple[str, ...]
    count: int
    size: int

    @property
    def range_count(self) -> int:
        """How many ranges there are."""
        return (self.count + self.size - 1) // self.size

    @property
    def is_sound(self) -> bool:
        """Whether it names work of ours, and files that lie in its own folder."""
        return self.work in WORKS and all(Path(name).name == name != ".." for name in self.files)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return where a range begins and ends."""
        return number * self.size, min(self.count, (number + 1) * self.size)

    def prepare(self, files: Files) -> Work:
        """Return what does a range; takes as long as opening the files does."""
        module, _, name = self.work.partition(":")
        work: Work = getattr(import_module(module), name)(files)
        return work


def mapped_files(plan: WorkPlan, folder: Path) -> Files:
    """Return the files of a plan out of a folder, mapped."""
    return {name: np.memmap(folder / name, dtype=np.uint8, mode="c") for name in plan.files}


MOST_LOSSES = 3
"""A range with which so many processes were lost is given up: it kills whoever does it."""
AHEAD = 2
"""Tasks handed out for each CPU of a cluster: one under way, one waiting."""
MOST_RETRIES = 10
"""How often Ray gives a task to another worker when its own is lost: more losses are not of workers alone."""
CHECK_S, REACHED_S = 5.0, 5.0
"""How long nothing is done before one looks why, and how long a cluster has to be reached."""
LOST = (
    "The cluster is lost, or this machine's node of it. What is done is kept: the same command goes on from there, once"
    " the cluster is back, or with processes of this machine."
)


class Executor(ABC):
    """Does ranges, ``slots`` at a time; where one cannot be done, `run` and `gather` raise `Refused`."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._waiting = deque[int]()
        self._under_way: dict[Future[bytes], int] = {}
        self._done: dict[int, bytes] = {}

    def run(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield ranges with what they have become, each once, in the order in which they are done."""
        self._waiting.extend(numbers)
        while self._waiting or self._under_way:
            yield from self._next_done().items()

    def gather(self, needed: Sequence[int], likely: Iterable[int]) -> list[bytes]:
        """Return what ranges have become, in their order; what else is under way goes on.

        ``likely`` takes the place of what was likely before and is not begun. What is returned is forgotten.
        """
        begun = {*self._done, *self._under_way.values()}
        self._waiting = deque(number for number in dict.fromkeys((*needed, *likely)) if number not in begun)
        while any(number not in self._done for number in needed):
            self._done |= self._next_done()
        return [self._done.pop(number) for number in needed]

    @abstractmethod
    def close(self) -> None:
        """End what was started, also in the middle of a range."""

    @abstractmethod
    def _submit(self, number: int) -> Future[bytes]:
        """Begin a range."""

    def _next_done(self) -> dict[int, bytes]:
        """Return the ranges that are done next, if any soon, with as many under way meanwhile as there may be."""
        while self._waiting and len(self._under_way) < self._slots:
            number = self._waiting.popleft()
            self._under_way[self._submit(number)] = number
        futures, _ = wait(self._under_way, CHECK_S, FIRST_COMPLETED)
        return {self._under_way.pop(future): future.result() for future in futures}


class ProcessExecutor(Executor):
    """Processes of this machine, which map the files of a plan; each is asked by a thread that waits for it."""

    def __init__(self, plan: WorkPlan, folder: Path, processes: int) -> None:
        super().__init__(processes)
        self._arguments = plan, folder
        self._threads = ThreadPoolExecutor(processes)
        self._processes: dict[Connection[int, bytes], BaseProcess] = {}
        self._idle: list[Connection[int, bytes]] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._processes.values():
                process.terminate()
            self._is_closed = True
        self._threads.shutdown()
        for connection in list(self._processes):
            self._end(connection)

    def _submit(self, number: int) -> Future[bytes]:
        return self._threads.submit(self._do, number)

    def _do(self, number: int) -> bytes:
        """Have a process do a range, and another one where that ends before."""
        exit_code = None
        for _ in range(MOST_LOSSES):
            connection = self._take()
            try:
                connection.send(number)
                content = connection.recv_bytes()
            except (EOFError, OSError):
                exit_code = self._end(connection)
            else:
                self._idle.append(connection)
                return content
        raise Refused(
            f"A worker has ended {MOST_LOSSES} times, the last time with exit code {exit_code};"
            " its own words stand above. What is done is kept: the same command goes on from there."
        )

    def _take(self) -> "Connection[int, bytes]":
        """Return the connection to a process that does nothing: one that is there, or a new one."""
        with self._lock:
            if self._is_closed:
                raise Refused("The work was given up.")
            if self._idle:
                return self._idle.pop()
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(
                target=_do_ranges, args=(theirs, *self._arguments), daemon=True
            )
            process.start()
            # With this copy open, the end of the process would not be seen.
            theirs.close()
            self._processes[ours] = process
            return ours

    def _end(self, connection: "Connection[int, bytes]") -> int | None:
        """Return the exit code of a process that ends, or has ended."""
        with self._lock:
            process = self._processes.pop(connection)
            process.join()
            connection.close()
            return process.exitcode


def _do_ranges(connection: "Connection[bytes, int]", plan: WorkPlan, folder: Path) -> None:
    """Do one range after the other, until nobody asks for more."""
    work = plan.prepare(mapped_files(plan, folder))
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            connection.send_bytes(work(*plan.bounds(connection.recv())))


class RayExecutor(Executor):
    """Tasks of a cluster that this process drives: files travel once to each node, into its shared memory."""

    def __init__(self, plan: WorkPlan, folder: Path, address: str) -> None:
        require_cluster(address)
        self._plan, self._folder, self._address, self._ray = plan, folder, address, _ray()
        self._task = self._ray.remote(max_retries=MOST_RETRIES)(_do_task)
        self._connect()
        super().__init__(slots=max(1, AHEAD * self._cpus))

    def close(self) -> None:
        """Leave the cluster, which ends what is under way."""
        self._ray.shutdown()

    def _connect(self) -> None:
        try:
            self._ray.init(address=self._address, logging_level="error", log_to_driver=False)
            # Tasks get them in a list: what is an argument by itself a node keeps for ever if this process is killed
            # while the task is under way, and with seven tenths of its memory kept so it begins nothing any more.
            files = [self._ray.put(np.fromfile(self._folder / name, dtype=np.uint8)) for name in self._plan.files]
            self._cpus = self._count_cpus()
        except Exception as error:
            self._ray.shutdown()
            raise Refused(f"The cluster at {self._address} cannot be used: {error}") from error
        self._arguments = uuid.uuid4().hex, __version__, self._plan, files

    def _submit(self, number: int) -> Future[bytes]:
        done: Future[bytes] = self._task.remote(*self._arguments, number).future()
        return done

    def _next_done(self) -> dict[int, bytes]:
        errors = self._ray.exceptions
        try:
            done = super()._next_done()
            if not done:
                self._check()
        except (OSError, errors.RayError) as error:
            # An error of a task is of the class that was raised there, too.
            is_loss = isinstance(error, OSError | errors.RaySystemError | errors.LocalRayletDiedError)
            if is_loss and not isinstance(error, errors.RayTaskError):
                raise Refused(LOST) from error
            raise Refused(f"The cluster could not do a range: {error}") from error
        return done

    def _check(self) -> None:
        """Begin anew what is under way where a node is gone; raise `Refused` where there is nobody to wait for.

        Ray waits for ever for a task of a node that is frozen, though it knows that the node is gone. A process that
        cannot reach its cluster it ends after a minute.
        """
        try:
            require_cluster(self._address)
        except Refused:
            raise Refused(LOST) from None
        cpus = self._count_cpus()
        if not cpus:
            raise Refused("The cluster has no CPU left that could do the work.")
        if cpus < self._cpus:
            self._waiting.extendleft(sorted(self._under_way.values(), reverse=True))
            self._under_way.clear()
            self._ray.shutdown()
            self._connect()

    def _count_cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))


_prepared: dict[str, Work] = {}
"""What a worker of a cluster has made of the files of the plan that it works on."""


def _do_task(name: str, release: str, plan: WorkPlan, files: list[Any], number: int) -> bytes:
    """Do a range, in a worker of the cluster; ``files`` are references to arrays of bytes.

    Raises:
        Refused: the node has another release, which might give other bytes.
    """
    if release != __version__:
        raise Refused(f"A node of the cluster has penchant {__version__}, where the work wants {release}.")
    work = _prepared.get(name)
    if work is None:
        _prepared.clear()
        work = _prepared[name] = plan.prepare(dict(zip(plan.files, _ray().get(files), strict=True)))
    return work(*plan.bounds(number))


def _ray() -> Any:
    import ray  # noqa: PLC0415  # an extra, which goes by the environment that it is first imported in

    return ray


def require_cluster(address: str) -> None:
    """Raise `Refused` where Ray is not installed, or nobody listens at an address; Ray is not imported."""
    if find_spec("ray") is None:
        raise Refused("A cluster needs Ray: install penchant-batch[ray], or leave the setting `cluster` out.")
    host, _, port = address.rpartition(":")
    try:
        # Ray itself goes on trying for minutes.
        socket.create_connection((host, int(port)), timeout=REACHED_S).close()
    except OSError as error:
        raise Refused(f"The cluster at {address} cannot be reached ({error}).") from None


def executor_of(plan: WorkPlan, folder: Path, cluster: str | None, processes: int | None = None) -> Executor:
    """Return who does the ranges of a plan: a cluster at an address, unless there is none or processes are asked for.

    Raises:
        Refused: as `require_executor`.
    """
    if cluster is not None and processes is None:
        return RayExecutor(plan, folder, cluster)
    return ProcessExecutor(plan, folder, processes or os.cpu_count() or 1)


def require_executor(cluster: str | None, processes: int | None) -> None:
    """Raise `Refused` where the work would go to a cluster that is not there: before minutes of reading."""
    if cluster is not None and processes is None:
        require_cluster(cluster)

"""Processes of a service: workers that answer, the builder behind them, and how each ends with its parent.

    server (supervises)
      |-- worker, worker, ...      answer requests; try again while the database is away
      |-- helper                   answers what workers relay, at low priority; from the first of it on
      |-- builder                  at low priority; decides what is to be built; from the first source on
      |-- building                 one at a time, for one file, then ends: the server opens nothing (D297)
      |-- compiling                at the lowest priority; once for a machine, then ends
      `-- opening                  makes the database where there is none, then ends

Each looks twice a second whether its parent is still there, and ends by itself where it is not.
"""

import asyncio
import contextlib
import functools
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection
from multiprocessing.connection import Connection, wait
from typing import Any

import uvloop

from penchant.bootstrap.folders import data_folder, index_folder, kernel_folder, start_log, storage_of
from penchant.bootstrap.services import open_services, process_metrics
from penchant.errors import PenchantError, Refused, StorageUnavailable, UnknownSource
from penchant.hooks import packages
from penchant.live.array_files import PublishedFile
from penchant.live.builder import BuildKind, FileBuilder, WeightsBuilder, build_for_ever, builder_lock, index_builders
from penchant.service import Services
from penchant.settings import CurrentSettings, NodeSettings, PublishedSettings, count_alone, metrics_folder
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics, log_failure, logger
from penchant.tracing import send_spans
from penchant.web.application import Application
from penchant.web.relay import Relay, serve_relayed
from penchant_engine.compiling import are_compiled, compile_kernels

BUILDER_NICENESS = 10
COMPILER_NICENESS = 19
HELPER_NICENESS = 5
"""How much later than the workers the helper gets a processor: their answers are the ones that others wait for."""
_SOURCE_GONE = 3
"""What a building process ends with whose source was deleted meanwhile."""
_FORKING = multiprocessing.get_context("fork")
OPENING_PAUSE_S = 1.0
"""Pause between the tries of a worker to open a database that is away, or a folder on a full disk."""
SWITCH_S = 0.001
"""How long a thread of a worker may hold the interpreter while the event loop waits for it.

Python's own 5 ms, one turn after the other, is what all answers would wait for behind a tenant's heavy request.
"""
COLLECTING = 10_000, 20, 50
"""When a worker, or an import, looks for garbage in its three generations: by Python's own 700, 10, 10 half a hundred
times as often, once in a hundred with nobody answered for up to 80 ms, since a decoded submission is a hundred thousand
objects."""
PARENT_CHECK_S = 0.5
"""How often a worker looks whether the process that started it is still there, and for changed settings."""


def web_application(settings: NodeSettings, *, clock: Callable[[], float] = time.time) -> Application:
    """Return the ASGI application of these settings; it opens the database when the server starts it."""
    return Application(
        functools.partial(open_services, CurrentSettings(settings), clock=clock),
        settings,
    )


class BuilderCall:
    """Calls the builder, from any process of a service; it stays called.

    ``called`` is a descriptor that can be read from once it is.
    """

    def __init__(self) -> None:
        self.called, self._calling = os.pipe()
        os.set_blocking(self._calling, False)

    def has_come(self) -> bool:
        """Return whether the builder is called."""
        return bool(wait([self.called], timeout=0))

    def call(self) -> None:
        """Call the builder; again is fine."""
        # Full of calls it has one.
        with contextlib.suppress(BlockingIOError):
            os.write(self._calling, b".")


def open_apart(settings: NodeSettings) -> Storage:
    """Open the database as `storage_of`; one that is still to be made is so by a process of its own.

    What that takes to import, 12 MiB, would stay as long as the service.
    """
    try:
        return storage_of(settings, make=False)
    except Refused:
        making = _FORKING.Process(target=_make_database, args=(settings,))
        making.start()
        making.join()
        # What failed there fails here, too.
        return storage_of(settings)


def _make_database(settings: NodeSettings) -> None:
    with contextlib.suppress(PenchantError):
        storage_of(settings).close()


def worker_application(
    settings: NodeSettings, parent: int, call_builder: Callable[[], None], relay: Relay | None = None
) -> Application:
    """Return the application as a worker process runs it: with logging, and ending with its parent."""
    current = _start_process(settings, parent)
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(*COLLECTING)
    if settings.tracing_endpoint is not None:
        send_spans(settings.tracing_endpoint)
    return Application(
        functools.partial(_opened_when_possible, current, call_builder),
        settings,
        relay,
    )


@contextlib.asynccontextmanager
async def _opened_when_possible(current: CurrentSettings, call_builder: Callable[[], None]) -> AsyncIterator[Services]:
    """Open everything once it can be opened: a worker that ended instead would take the whole server with it.

    The server opens the database itself before it starts workers, so that what is wrong from the start is told.
    """
    while True:
        async with contextlib.AsyncExitStack() as opened:
            try:
                services = await opened.enter_async_context(open_services(current, call_builder=call_builder))
            except StorageUnavailable:
                log_failure("cannot start yet")
            else:
                yield services
                return
        await asyncio.sleep(OPENING_PAUSE_S)


def run_helper(settings: NodeSettings, parent: int, call_builder: Callable[[], None], listening: socket.socket) -> None:
    """Answer what workers relay, behind them, until this process is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(HELPER_NICENESS)
    application = worker_application(settings, parent, call_builder)

    async def serve() -> None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        async with application.opened():
            await serve_relayed(application.behind_policy, listening, ended)

    uvloop.run(serve())


def run_builder(settings: NodeSettings, parent: int, tasks: Connection) -> None:
    """Build the files of the index until this process is ended; what a builder process runs, behind those that answer.

    Building is done by processes of their own, which take their memory with them when they end: `fork_builds` at the
    other end of ``tasks`` has files built.
    """
    os.nice(BUILDER_NICENESS)
    with contextlib.closing(storage_of(settings)) as storage:
        current = start_child(settings, parent)
        metrics = process_metrics()
        builders = builders_of(storage, settings, metrics, functools.partial(build_apart, tasks, current))
        lock = builder_lock(data_folder(settings))
        build_for_ever([*builders.values()], lock, metrics, lambda: storage.mark)


def build_apart(
    tasks: Connection, current: CurrentSettings, kind: str, head: SourceHead, published: PublishedFile | None
) -> None:
    """Have `fork_builds` build a file; a `BuildKind` from ``kind`` on.

    Raises:
        UnknownSource: the source was deleted meanwhile.
        ChildProcessError: what built it failed.
    """
    tasks.send((current.now, kind, head, published))
    ended: int = tasks.recv()
    if ended == _SOURCE_GONE:
        raise UnknownSource("The source was deleted while its file was built.")
    # Killed for want of memory, for example: an error here, so that the builder goes on and tries again later.
    if ended:
        raise ChildProcessError(f"building ended with {ended}")


def fork_builds(tasks: Connection, ending: Collection[Any]) -> None:
    """Build what `build_apart` sends, each in a process, until one of ``ending`` is ready.

    Such a process is forked, so that it need not import anything, by one that has opened no database.
    """
    # Who sent a task may have ended before what came of it is sent.
    with contextlib.suppress(EOFError, OSError):
        while wait([tasks, *ending]) == [tasks]:
            settings, *task = tasks.recv()
            building = _FORKING.Process(target=_build, args=(settings, os.getpid(), *task), daemon=True)
            building.start()
            if wait([building.sentinel, *ending]) != [building.sentinel]:
                building.kill()
            building.join()
            tasks.send(building.exitcode)


def builders_of(
    storage: Storage, settings: NodeSettings, metrics: Metrics, build: BuildKind | None = None
) -> dict[str, FileBuilder[Any]]:
    """Return the builders of the files of a data folder by their kind, as `index_builders`."""
    return index_builders(storage, index_folder(settings), metrics, build, kernels=kernel_folder(settings))


def start_compiling(settings: NodeSettings) -> None:
    """Have a process of its own compile the kernels, unless they are compiled."""
    if not are_compiled(kernel_folder(settings)):
        compiling = _FORKING.Process(target=_compile, args=(settings, os.getpid()), daemon=True)
        compiling.start()
        # Joined in a thread, or it would stay a zombie while this one goes on for ever.
        threading.Thread(target=compiling.join, daemon=True).start()


def _compile(settings: NodeSettings, parent: int) -> None:
    start_child(settings, parent)
    # Behind what builds, too: numpy answers meanwhile, while a file that is not there yet is read by every worker.
    os.nice(COMPILER_NICENESS)
    compile_kernels(kernel_folder(settings))


def _build(settings: NodeSettings, parent: int, kind: str, head: SourceHead, published: PublishedFile | None) -> None:
    os.nice(BUILDER_NICENESS)
    count_alone()
    start_child(settings, parent)
    with contextlib.closing(storage_of(settings)) as storage:
        try:
            builder = builders_of(storage, settings, Metrics())[kind]
            if isinstance(builder, WeightsBuilder):
                builder.elsewhere = packages().stand_in_search(settings)
            builder.build(head, published)
        except UnknownSource:
            sys.exit(_SOURCE_GONE)


def start_child(settings: NodeSettings, parent: int) -> CurrentSettings:
    """Begin a process that works for the workers, and ends with the one that has started it; return its settings."""
    # A terminal sends Ctrl-C to all processes; a child ends with the one that started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _start_process(settings, parent)


def _start_process(settings: NodeSettings, parent: int) -> CurrentSettings:
    """Begin a process that another one has started: with logging, following its settings, ending with it."""
    os.umask(0o077)
    # A forked process has the handler of the one that started it, which would only note the signal.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Whoever hangs up on all processes means the one that started the others.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    published = PublishedSettings(settings, metrics_folder())
    # Started again after settings have changed, a worker goes by the changed ones.
    current = CurrentSettings(published.newer() or settings)
    start_log(current.now)
    current.on_change(start_log)
    threading.Thread(target=_follow_parent, args=(parent, current, published), daemon=True).start()
    return current


def _follow_parent(parent: int, current: CurrentSettings, published: PublishedSettings) -> None:
    """Go by what the parent publishes, and end when it is gone, however it went."""
    # An orphan is given another parent by the kernel.
    while os.getppid() == parent:
        try:
            settings = published.newer()
        except (OSError, ValueError):
            logger.exception("the changed settings cannot be read")
            settings = None
        if settings is not None:
            current.change(settings)
        time.sleep(PARENT_CHECK_S)
    # From a thread, anything milder would end only the thread.
    os._exit(1)

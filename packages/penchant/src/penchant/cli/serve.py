"""``penchant serve``: run the service in the foreground until SIGTERM, and read its settings anew on SIGHUP."""

import contextlib
import functools
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from penchant import __version__
from penchant.bootstrap import (
    BuilderCall,
    database_name,
    fork_builds,
    open_apart,
    run_builder,
    run_helper,
    shared_metrics,
    start_compiling,
    start_log,
    worker_application,
)
from penchant.cli import collecting_later
from penchant.cli.listening import require_certificate, require_free_port
from penchant.errors import InvalidSettings
from penchant.hooks import packages
from penchant.service.rates import connect_redis
from penchant.settings import NodeSettings, changed_settings, merge_settings, publish_settings
from penchant.telemetry import logger
from penchant.tracing import send_spans, tracing
from penchant.web.relay import Relay
from penchant.web.routes import interface_operations
from penchant_engine.compiling import import_loader

BACKPRESSURE = 16_384
"""Connections at once; the server counts idle ones too, so that its default locks everybody out."""
RESTART_PAUSE_S = 0.5
"""Pause before a builder or helper that has ended is replaced."""
KILL_TIMEOUT_S = 10
"""How long a stopping worker may finish its requests: a stalled body would hold it for ever."""


def run(settings: NodeSettings, reading: Callable[[], NodeSettings] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished.

    On SIGHUP the settings are read anew by ``reading``; without one, a terminal that is closed ends the service.
    """
    with collecting_later():
        sources = _check_start(settings)
        if sources:
            # A service without any searches nothing yet.
            import_loader()
        # What is imported by now is so once, and its pages are shared (D88 of docs/decisions.md). No database is open,
        # and the threads that there will be only wait in the kernel: no fork copies a lock that one of them holds.
        multiprocessing.set_start_method("fork", force=True)
        # What little garbage there is stays: to look for it takes a fifteenth of the start.
        gc.freeze()
    start_log(settings)
    address = settings.address
    _say(
        settings,
        f"penchant listens on {address} (version {__version__}; {database_name(settings)}; sources: {sources}; "
        f"workers: {settings.workers})",
        address=address,
        version=__version__,
        database=database_name(settings),
        sources=sources,
        workers=settings.workers,
    )
    server = server_of(settings)
    call = BuilderCall()
    if sources:
        call.call()
    with shared_metrics(settings) as folder, processes_behind(settings, folder, call) as relay:
        hang_up = (
            server.signal_handler_interrupt if reading is None else SettingsReloader(reading, settings, folder).ask
        )
        # By then the server has set a handler of its own, which would start all workers anew.
        server.on_startup(lambda: signal.signal(signal.SIGHUP, hang_up))
        loader = functools.partial(worker_application, settings, os.getpid(), call.call, relay)
        server.serve(target_loader=loader, wrap_loader=False)
    _say(settings, "penchant has ended: all that it acknowledged is stored")


def server_of(settings: NodeSettings) -> Any:
    """Return the server program that the settings ask for, whatever application it is to serve."""
    return Granian(
        "penchant",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        # Where the protocol is still to be recognised, no timeout runs: silent sockets would stay for ever.
        http=HTTPModes.http1,
        workers=settings.workers,
        websockets=False,
        backpressure=BACKPRESSURE,
        http1_settings=HTTP1Settings(header_read_timeout=round(settings.header_timeout_s * 1000)),
        log_enabled=False,
        ssl_cert=None if settings.tls_certificate is None else Path(settings.tls_certificate),
        ssl_key=None if settings.tls_key is None else Path(settings.tls_key),
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_TIMEOUT_S,
    )


def _check_start(settings: NodeSettings) -> int:
    """Raise here, as one clear message, what each worker would; return how many sources there are."""
    require_free_port(settings)
    require_certificate(settings)
    if settings.redis is not None:
        connect_redis(settings.redis)
    if settings.tracing_endpoint is not None:
        # Every process sends spans of its own.
        send_spans(settings.tracing_endpoint)
        tracing.close()
    # What packages bring may not fit together.
    interface_operations()
    packages().stand_in_search(settings)
    # The tools for agents take a second to import, and 24 MB, which all workers share.
    packages().mounts(settings)
    with contextlib.closing(open_apart(settings)) as storage:
        return len(storage.sources.list_large(0))


def _say(settings: NodeSettings, line: str, **fields: object) -> None:
    """Tell the operator a line, for people or as a line of the log."""
    if settings.log_format == "json":
        logger.info(line.partition(" (")[0], extra={"fields": fields})
    else:
        # A disk that is full ends no service, as no line of the log does.
        with contextlib.suppress(OSError):
            click.echo(line, err=True)


class SettingsReloader:
    """Reads the settings of a running service anew when asked to, in a thread of its own.

    What cannot be read or accepted leaves everything as it was. ``folder`` is where the processes of the service
    count together.
    """

    def __init__(self, reading: Callable[[], NodeSettings], settings: NodeSettings, folder: Path) -> None:
        self._reading = reading
        self._settings = settings
        self._folder = folder
        self._asked = threading.Event()
        threading.Thread(target=self._run, name="penchant-reload", daemon=True).start()

    def ask(self, *_signal: object) -> None:
        """Have the settings read soon; what a signal's handler may do."""
        self._asked.set()

    def reload(self) -> None:
        """Read the settings now, publish those that may change, and log what became of the others."""
        try:
            read = self._reading()
            merged = merge_settings(self._settings, read)
            publish_settings(self._folder, merged)
        except (InvalidSettings, OSError) as error:
            # The message says what is wrong with the settings; a traceback would add nothing.
            logger.error("the settings stay as they were: %s", error)
            return
        changed = changed_settings(self._settings, merged)
        waiting = changed_settings(merged, read)
        self._settings = merged
        start_log(merged)
        logger.info("settings reloaded", extra={"fields": {"changed": changed}})
        if waiting:
            logger.warning("some changed settings want a restart", extra={"fields": {"waiting": waiting}})

    def _run(self) -> None:
        while True:
            self._asked.wait()
            # Cleared before reading: a signal that comes while the settings are read has them read once more.
            self._asked.clear()
            self.reload()


@contextlib.contextmanager
def processes_behind(settings: NodeSettings, folder: Path, call: BuilderCall) -> Iterator[Relay]:
    """Keep builder and helper running from when they are needed on, and give what workers relay to the helper by.

    It waits in a queue while the helper is started, or started again; ``call`` is for the builder.
    """
    with socket.socket(socket.AF_UNIX) as listening, contextlib.ExitStack() as opened:
        # Names of sockets are short, those of folders need not be.
        place = os.open(folder, os.O_RDONLY)
        opened.callback(os.close, place)
        path = f"/proc/self/fd/{place}/relay" if sys.platform == "linux" else str(folder / "relay")
        listening.bind(path)
        listening.listen(BACKPRESSURE)
        opened.enter_context(kept_process("builder", functools.partial(_run_builder, settings, call)))
        opened.enter_context(kept_process("helper", functools.partial(_run_helper, settings, listening, call)))
        yield Relay(path)


class ProcessKeeper:
    """Keeps a process running in a thread of its own: ``run`` starts one, and returns when it has ended.

    keeper thread   run --> (it ended) --> pause --> run
                     |
                     '--(``waking`` is ready)--> the thread ends, the process is told to
    """

    def __init__(self, name: str, run: Callable[["ProcessKeeper"], None]) -> None:
        # Sent to at the end, which wakes the thread that waits.
        self.waking, self._ended = multiprocessing.Pipe(duplex=False)
        self.ready = threading.Event()
        self._run = run
        self._process: multiprocessing.Process | None = None
        self._thread = threading.Thread(target=self._keep, name=f"penchant-{name}", daemon=True)

    def start(self) -> None:
        """Begin; return when the first process is forked, or nothing is until it is asked for something."""
        self._thread.start()
        # Not before: another fork would copy what this thread is in the middle of.
        self.ready.wait()

    def fork(self, target: Callable[..., None], *args: object) -> multiprocessing.Process:
        """Start the process; what ``run`` does for each of them."""
        self._process = multiprocessing.Process(target=target, args=args)
        self._process.start()
        self.ready.set()
        return self._process

    def end(self) -> None:
        """End it all."""
        self._ended.send(None)
        self._thread.join()
        if self._process is not None:
            self._process.terminate()
            self._process.join(KILL_TIMEOUT_S)
            self._process.kill()

    def _keep(self) -> None:
        self._run(self)
        while not self.waking.poll(RESTART_PAUSE_S):
            self._run(self)


@contextlib.contextmanager
def kept_process(name: str, run: Callable[[ProcessKeeper], None]) -> Iterator[None]:
    """Keep a process running until the block ends."""
    keeper = ProcessKeeper(name, run)
    keeper.start()
    try:
        yield
    finally:
        keeper.end()


def _run_builder(settings: NodeSettings, call: BuilderCall, keeper: ProcessKeeper) -> None:
    """Run the builder from when it is called on, and fork what it has built."""
    start_compiling(settings)
    if not call.has_come():
        keeper.ready.set()
        if keeper.waking in multiprocessing.connection.wait([keeper.waking, call.called]):
            return
    tasks, of_builder = multiprocessing.Pipe()
    with tasks:
        with of_builder:
            builder = keeper.fork(run_builder, settings, os.getpid(), of_builder)
        ending = keeper.waking, builder.sentinel
        fork_builds(tasks, ending)
        multiprocessing.connection.wait(ending)


def _run_helper(settings: NodeSettings, listening: socket.socket, call: BuilderCall, keeper: ProcessKeeper) -> None:
    """Run the helper from the first request that is relayed to it: most services never have one."""
    keeper.ready.set()
    if keeper.waking not in multiprocessing.connection.wait([keeper.waking, listening]):
        helper = keeper.fork(run_helper, settings, os.getpid(), call.call, listening)
        multiprocessing.connection.wait([keeper.waking, helper.sentinel])

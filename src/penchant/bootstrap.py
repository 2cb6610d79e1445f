"""Where is everything opened and wired together? Here, once for each process, and closed in reverse."""

import asyncio
import contextlib
import functools
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from penchant.errors import PenchantError, StorageUnavailable
from penchant.live.admission import Admission
from penchant.live.array_files import Published
from penchant.live.builder import build_for_ever, builder_lock
from penchant.live.compiling import Compiling, compile_kernels
from penchant.live.database import Database
from penchant.live.election import Election
from penchant.live.index_builders import index_builders
from penchant.live.likes_files import LikesFiles
from penchant.live.segment_files import SegmentFiles
from penchant.live.segments import Segments
from penchant.live.stored_likes import StoredLikes
from penchant.live.views import Limits, Views
from penchant.model import SourceSettings
from penchant.service import Services
from penchant.service.access import AccessControl
from penchant.service.administration import Administration
from penchant.service.browsing import Browsing
from penchant.service.content import Content
from penchant.service.curation import Curation
from penchant.service.explanations import Explanations
from penchant.service.health import Health
from penchant.service.measuring import Measuring
from penchant.service.node_rates import NodeRates
from penchant.service.people import People
from penchant.service.previews import Previews
from penchant.service.rates import SharedRates
from penchant.service.recommend import Recommender
from penchant.service.usage import Usage
from penchant.settings import (
    CurrentSettings,
    PublishedSettings,
    Settings,
    counting_alone,
    metrics_folder,
    set_metrics_folder,
)
from penchant.storage import Pooling, SourceHead, Storage, open_storage
from penchant.telemetry import Metrics, logger, start_logging
from penchant.tracing import send_spans, tracing
from penchant.web.application import Application
from penchant.wire import decode_settings

HOUSEKEEPING_INTERVAL_S = 600.0
"""How often rows past their life are removed: well within the day that the interface allows."""
HOUSEKEEPING_PAUSE_S = 0.05
"""Pause between chunks, so that housekeeping never holds up changes."""
HOUSEKEEPING_LOCK = "housekeeping.lock"
ELECTION_INTERVAL_S = 10.0
"""How often the other processes look whether housekeeping needs a new one."""
RATES_FILE = "rates.map"
METRICS_FOLDER = "metrics"
METRICS_LOCK = "lock"
INDEX_FOLDER = "index"
KERNEL_FOLDER = "kernels"
BUILDER_NICENESS = 10
OPENING_PAUSE_S = 1.0
"""Pause between the tries of a worker to open a database that is away, or a folder on a full disk."""
PARENT_CHECK_S = 0.5
"""How often a worker looks whether the process that started it is still there, and for changed settings."""


def retention_days(settings: bytes) -> int:
    """Return how long interactions are kept under settings as stored."""
    return (decode_settings(settings) if settings else SourceSettings()).retention_days


def storage_of(settings: Settings, metrics: Metrics | None = None) -> Storage:
    """Open the database that the settings name; ``metrics`` tell of its queues and connections."""
    pooling = Pooling(connections=settings.database_connections, timeout_s=settings.database_timeout_s)
    return open_storage(folder=Path(settings.data), database_url=settings.database, pooling=pooling, metrics=metrics)


def data_folder(settings: Settings) -> Path:
    """Return the data folder, made for its owner only if it is missing.

    Raises:
        StorageUnavailable: it cannot be made.
    """
    folder = Path(settings.data)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"The data folder {folder} cannot be made ({error.strerror}).") from error
    return folder


def index_folder(settings: Settings) -> Path:
    """Return where the files of the index are kept."""
    return Path(settings.data) / INDEX_FOLDER


def kernel_folder(settings: Settings) -> Path:
    """Return where compiled kernels are kept."""
    return Path(settings.kernel_folder or Path(settings.data) / KERNEL_FOLDER)


@contextlib.asynccontextmanager
async def open_services(current: CurrentSettings, *, has_builder: bool = False) -> AsyncIterator[Services]:
    """Open everything that requests need, with housekeeping in the background, and close it at the end.

    With a builder beside it, segment files are mapped and its compiled kernels are used; without, all is built
    here, and numpy searches.

    Raises:
        StorageUnavailable, StorageIncompatible: the database cannot be used.
    """
    settings = current.now
    folder = data_folder(settings)
    metrics = _metrics()
    rates = SharedRates(folder / RATES_FILE)
    try:
        storage = storage_of(settings, metrics)
    except PenchantError:
        rates.close()
        raise
    segments, likes = Segments(metrics), StoredLikes(metrics)
    compiling = None
    if has_builder:
        segments = Segments(metrics, SegmentFiles(index_folder(settings)), builder_lock(folder))
        likes = StoredLikes(metrics, LikesFiles(index_folder(settings)), builder_lock(folder))
        compiling = Compiling(kernel_folder(settings))
    services = wire(current, storage, rates, segments, likes, metrics)
    election = Election(folder / HOUSEKEEPING_LOCK)
    endless = (
        services.usage.run(),
        services.views.run(),
        services.measuring.run(),
        _keep_house(services, election),
    )
    tasks = [asyncio.create_task(each) for each in endless]
    try:
        yield services
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if compiling is not None:
            compiling.close()
        services.health.close()
        await services.access.close()
        services.database.close()
        election.close()
        services.usage.close()
        rates.close()
        storage.close()
        tracing.close()


def wire(
    current: CurrentSettings,
    storage: Storage,
    rates: SharedRates,
    segments: Segments,
    likes: StoredLikes,
    metrics: Metrics,
) -> Services:
    """Return the services over an open database."""
    database = Database(storage, metrics)
    settings = current.now
    node_rates = None if settings.redis is None else NodeRates(settings.redis, metrics)
    views = Views(database, metrics, segments, _limits(settings), stored_likes=likes)
    admission = Admission(body_bytes=settings.body_memory_bytes, delay_s=settings.longest_delay_s)

    def adopt(changed: Settings) -> None:
        views.limits = _limits(changed)
        admission.delay_s = changed.longest_delay_s

    current.on_change(adopt)
    recommender = Recommender(database, views)
    access = AccessControl(database, current, rates, node_rates=node_rates)
    return Services(
        current=current,
        metrics=metrics,
        database=database,
        admission=admission,
        views=views,
        access=access,
        usage=Usage(database, data_folder(settings)),
        content=Content(database, views, metrics),
        people=People(database, views, metrics),
        curation=Curation(database),
        recommender=recommender,
        explanations=Explanations(database, recommender),
        previews=Previews(database, views, recommender),
        administration=Administration(database, current),
        measuring=Measuring(storage, views, access, metrics),
        browsing=Browsing(database, views, metrics),
        health=Health(metrics),
    )


def _limits(settings: Settings) -> Limits:
    return Limits(
        min_version_timeout_s=settings.min_version_timeout_s,
        stale_reads_s=settings.stale_reads_s,
        memory_bytes=settings.index_memory_bytes or _machine_memory() // 2 // settings.workers,
    )


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _metrics() -> Metrics:
    try:
        return Metrics(metrics_folder())
    except OSError as error:
        raise StorageUnavailable(f"The metrics cannot be kept ({error.strerror}).") from error


async def _keep_house(services: Services, election: Election) -> None:
    """Remove what no answer needs any more, a chunk at a time, for ever, in one process of a data folder."""
    while True:
        try:
            if not election.try_win():
                await asyncio.sleep(ELECTION_INTERVAL_S)
                continue
            while removed := await services.database.in_thread(services.database.storage.purge, retention_days):
                services.metrics.rows_purged.inc(removed)
                await asyncio.sleep(HOUSEKEEPING_PAUSE_S)
        except Exception:  # noqa: BLE001  # housekeeping must survive whatever the database does
            services.metrics.failures.labels("housekeeping").inc()
            logger.exception("housekeeping failed")
        await asyncio.sleep(HOUSEKEEPING_INTERVAL_S)


@contextlib.contextmanager
def shared_metrics(settings: Settings) -> Iterator[Path]:
    """Let the workers that are started meanwhile count together, in a fresh folder inside the data folder: this one.

    Folders that killed services left behind are removed. Several services may share a data folder, so each holds
    a lock in its own.

    Raises:
        StorageUnavailable: the folder cannot be made.
    """
    home = data_folder(settings) / METRICS_FOLDER
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        for left_behind in home.iterdir():
            _remove_if_left_behind(left_behind)
        folder, lock = _locked_folder(home)
    except OSError as error:
        raise StorageUnavailable(f"The folder {home} cannot be written ({error.strerror}).") from error
    set_metrics_folder(folder)
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(home: Path) -> tuple[Path, Election]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=home))
        lock = Election(folder / METRICS_LOCK)
        if lock.try_win():
            return folder, lock
        # Another service took it for one left behind, between its making and its locking.


def _remove_if_left_behind(folder: Path) -> None:
    if not (folder / METRICS_LOCK).exists():
        return
    lock = Election(folder / METRICS_LOCK)
    if lock.try_win():
        shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def web_application(settings: Settings, *, has_builder: bool = False) -> Application:
    """Return the ASGI application of these settings; it opens the database when the server starts it."""
    return _application(CurrentSettings(settings), has_builder=has_builder)


def _application(current: CurrentSettings, *, has_builder: bool) -> Application:
    return Application(
        functools.partial(open_services, current, has_builder=has_builder),
        base_path=current.now.base_path,
        cors_origins=current.now.cors_origins,
    )


def worker_application(settings: Settings, parent: int) -> Application:
    """Return the application as a worker process runs it: with logging, and ending with its parent."""
    current = _start_process(settings, parent)
    if settings.tracing_endpoint is not None:
        send_spans(settings.tracing_endpoint)
    return Application(
        functools.partial(_opened_when_possible, current),
        base_path=settings.base_path,
        cors_origins=settings.cors_origins,
    )


@contextlib.asynccontextmanager
async def _opened_when_possible(current: CurrentSettings) -> AsyncIterator[Services]:
    """Open everything once it can be opened: a worker that ended instead would take the whole server with it.

    The server opens the database itself before it starts workers, so that what is wrong from the start is told.
    """
    while True:
        async with contextlib.AsyncExitStack() as opened:
            try:
                services = await opened.enter_async_context(open_services(current, has_builder=True))
            except StorageUnavailable as error:
                logger.warning("cannot start yet: %s", error.detail)
            else:
                yield services
                return
        await asyncio.sleep(OPENING_PAUSE_S)


def run_builder(settings: Settings, parent: int) -> None:
    """Build the files of the index until this process is ended; what a builder process runs, behind those that answer.

    Compiling and building are done by processes of their own, which take their memory with them when they end.
    """
    _start_helper(settings, parent)
    os.nice(BUILDER_NICENESS)
    started = multiprocessing.get_context("spawn")
    with contextlib.closing(storage_of(settings)) as storage:

        def build(kind: str, head: SourceHead, published: Published | None) -> None:
            building = started.Process(target=_build, args=(settings, os.getpid(), kind, head, published))
            with counting_alone():
                building.start()
            building.join()
            if building.exitcode:
                raise ChildProcessError(f"building ended with {building.exitcode}")

        compiling = started.Process(target=_compile, args=(settings, os.getpid()))
        compiling.start()
        threading.Thread(target=compiling.join, daemon=True).start()
        metrics = _metrics()
        builders = index_builders(storage, index_folder(settings), metrics, build)
        build_for_ever([*builders.values()], builder_lock(data_folder(settings)), metrics)


def _compile(settings: Settings, parent: int) -> None:
    _start_helper(settings, parent)
    compile_kernels(kernel_folder(settings))


def _build(settings: Settings, parent: int, kind: str, head: SourceHead, published: Published | None) -> None:
    _start_helper(settings, parent)
    with contextlib.closing(storage_of(settings)) as storage:
        index_builders(storage, index_folder(settings), Metrics())[kind].build(head, published)


def _start_helper(settings: Settings, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _start_process(settings, parent)


def _start_process(settings: Settings, parent: int) -> CurrentSettings:
    """Begin a process that another one has started: with logging, following its settings, ending with it."""
    os.umask(0o077)
    # Whoever hangs up on all processes means the one that started the others.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    published = PublishedSettings(settings, metrics_folder())
    current = CurrentSettings(published.newer() or settings)
    start_logging(current.now.log_level, current.now.log_format)
    current.on_change(lambda changed: start_logging(changed.log_level, changed.log_format))
    threading.Thread(target=_follow_parent, args=(parent, current, published), daemon=True).start()
    return current


def _follow_parent(parent: int, current: CurrentSettings, published: PublishedSettings) -> None:
    """Go by what the parent publishes, and end when it is gone, however it went."""
    while os.getppid() == parent:
        try:
            settings = published.newer()
        except (OSError, ValueError):
            logger.exception("the changed settings cannot be read")
            settings = None
        if settings is not None:
            current.change(settings)
        time.sleep(PARENT_CHECK_S)
    os._exit(1)

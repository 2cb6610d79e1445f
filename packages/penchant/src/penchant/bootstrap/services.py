"""Services of a process: everything that requests need, opened, wired together, and closed in reverse."""

import asyncio
import contextlib
import functools
import gc
import os
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from penchant.bootstrap.folders import data_folder, index_folder, kernel_folder, storage_of
from penchant.clock import Clock
from penchant.errors import PenchantError, StorageUnavailable
from penchant.hooks import packages
from penchant.live.admission import AccountLoads, Admission
from penchant.live.audience_files import LikesFiles, WeightsFiles
from penchant.live.background import Background, BackgroundTask
from penchant.live.builder import FirstSource, builder_lock
from penchant.live.counting import StoredLikes
from penchant.live.database import AsyncStorage, give_way
from penchant.live.election import Election
from penchant.live.heads import SourceWatch
from penchant.live.keyword_writer import KeywordTasks, KeywordWriter
from penchant.live.people_cache import PeopleCache
from penchant.live.segment_files import SegmentFiles, Segments
from penchant.live.views import ViewLimits, Views
from penchant.service import Services
from penchant.service.access import AccessControl
from penchant.service.content import Content
from penchant.service.health import CatalogueHealth
from penchant.service.health_reports import HealthReports
from penchant.service.lists.answer_cache import AnswerCache
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.serving import Lists
from penchant.service.measuring import GaugeUpdater
from penchant.service.people import People
from penchant.service.rates import NodeCounts, NodeRates
from penchant.service.usage import Usage
from penchant.settings import (
    CurrentSettings,
    NodeSettings,
    metrics_folder,
)
from penchant.telemetry import Metrics
from penchant.tracing import tracing
from penchant.wire.settings import stored_retention_days
from penchant_engine.compiling import KernelCompiler
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.engine import SearchThreads

HOUSEKEEPING_PAUSE_S = 0.05
"""Pause between chunks, so that housekeeping never holds up changes."""
HOUSEKEEPING_LOCK = "housekeeping.lock"
Call = Callable[[], None]
"""Has the builder started."""


@contextlib.asynccontextmanager
async def open_services(
    current: CurrentSettings, *, call_builder: Call | None = None, clock: Callable[[], float] = time.time
) -> AsyncIterator[Services]:
    """Open everything that requests need, with housekeeping in the background, and close it at the end.

    With a builder beside it, called when there is a source, segment files are mapped and compiled kernels used;
    without, all is built here, and numpy searches. ``clock`` tells requests the seconds since 1970 UTC.

    Raises:
        StorageUnavailable, StorageIncompatible: the database cannot be used.
    """
    settings = current.now
    folder = data_folder(settings)
    metrics = process_metrics()
    rates = NodeCounts.open(folder)
    try:
        storage = storage_of(settings, metrics)
    except PenchantError:
        rates.close()
        raise
    segments, likes = Segments(metrics), StoredLikes(metrics)
    compiling = None
    if call_builder is not None:
        files = index_folder(settings)
        segments = Segments(metrics, SegmentFiles(files), builder_lock(folder))
        likes = StoredLikes(metrics, LikesFiles(files), builder_lock(folder), WeightsFiles(files))
        compiling = KernelCompiler(kernel_folder(settings), loaded=_set_aside)
        if storage.sources.list_large(0):
            compiling.begin()
    searching = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="penchant-search")
    engine.share(SearchThreads(os.cpu_count() or 1, searching.map))
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(initializer=give_way))
    database = AsyncStorage(storage, metrics)
    views = Views(database, metrics, segments, _limits(settings), stored_likes=likes)
    services = wire(current, database, rates, views, metrics, clock)
    election = Election(folder / HOUSEKEEPING_LOCK)
    background = Background(background_tasks(services, election, call_builder), metrics)
    background.start()
    if call_builder is not None:
        _set_aside()
    try:
        yield services
    finally:
        await background.close()
        await services.content.words.close()
        # The last answers are counted into storage, which is still open.
        await services.usage.finish()
        services.metrics.add_requests()
        if compiling is not None:
            compiling.close()
        services.of(CatalogueHealth).close()
        await services.access.close()
        services.database.close()
        engine.share(None)
        searching.shutdown()
        election.close()
        services.usage.close()
        rates.close()
        storage.close()
        tracing.close()


def background_tasks(services: Services, election: Election, call_builder: Call | None = None) -> list[BackgroundTask]:
    """Return what runs in a process that answers, beside requests; ``election`` is for what one of a node does."""
    views = services.views
    watch = SourceWatch(services.database, (views, services.lists.inputs.people))
    building = [] if call_builder is None else [FirstSource(services.database, call_builder).look]
    return [
        # So long after an answer it is counted in the database, together with those that came meanwhile.
        BackgroundTask(name="usage", interval_s=1.0, work=services.usage.count_given),
        *(BackgroundTask(name="builder", interval_s=1.0, work=look) for look in building),
        BackgroundTask(name="gauges", interval_s=1.0, work=services.of(GaugeUpdater).measure),
        BackgroundTask(name="adopting", interval_s=5.0, work=views.adopt),
        BackgroundTask(name="refreshing", interval_s=5.0, work=views.refresh),
        BackgroundTask(name="erasures", interval_s=5.0, work=watch.look),
        BackgroundTask(name="words", interval_s=60.0, work=services.content.words.look, elected=election),
        # What was erased is in no file a second after the last read that began before it.
        BackgroundTask(
            name="erased-log", interval_s=0.5, work=functools.partial(_forget_log, services), elected=election
        ),
        # Well within the day after which the interface promises that rows past their life are gone.
        BackgroundTask(
            name="housekeeping", interval_s=600.0, work=functools.partial(_keep_house, services), elected=election
        ),
        *packages().background(services, election),
    ]


def _set_aside() -> None:
    """Have the garbage collector pass over what there is now: modules and kernels stay as long as the process.

    A full collection would look through all of it, while no request is answered: 110 ms on a busy core, a few
    milliseconds without.
    """
    gc.collect()
    gc.freeze()


def _access(
    database: AsyncStorage, current: CurrentSettings, rates: NodeCounts, metrics: Metrics, clock: Clock
) -> AccessControl:
    redis = current.now.redis
    node_rates = None if redis is None else NodeRates(redis, metrics)
    return AccessControl(database, current, rates, node_rates=node_rates, clock=clock)


def wire(
    current: CurrentSettings,
    database: AsyncStorage,
    rates: NodeCounts,
    views: Views,
    metrics: Metrics,
    clock: Callable[[], float],
) -> Services:
    """Return the services over an open database."""
    settings, present = current.now, Clock(seconds=clock)
    people_cache = PeopleCache(database, limit_bytes=settings.person_memory_bytes, recent_changes=views.recent_changes)
    inputs = LiveInputs(database, views, people=people_cache, clock=clock)
    lists = Lists(database, inputs, AnswerCache(limit_bytes=settings.answer_memory_bytes))
    words = KeywordTasks(database, KeywordWriter(database.storage))
    admission = _admission(current, views, database.loads)
    return Services(
        current=current,
        clock=present,
        metrics=metrics,
        database=database,
        admission=admission,
        views=views,
        access=_access(database, current, rates, metrics, present),
        usage=Usage(database, data_folder(settings), clock=present),
        content=Content(database, views, metrics, current, words),
        people=People(database, views, metrics, cache=people_cache, clock=present),
        lists=lists,
    )


def _admission(current: CurrentSettings, views: Views, loads: AccountLoads) -> Admission:
    """Return what lets requests in, and have the views know of it what they need."""
    admission = Admission(body_bytes=current.now.body_memory_bytes, delay_s=current.now.longest_delay_s, loads=loads)

    def adopt(changed: NodeSettings) -> None:
        views.limits = _limits(changed)
        admission.delay_s = changed.longest_delay_s

    # All else reads `current` with each request.
    current.on_change(adopt)
    return admission


def _limits(settings: NodeSettings) -> ViewLimits:
    machine_memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return ViewLimits(
        min_version_timeout_s=settings.min_version_timeout_s,
        stale_reads_s=settings.stale_reads_s,
        memory_bytes=settings.index_memory_bytes or machine_memory // 2 // settings.workers,
    )


def process_metrics() -> Metrics:
    """Return the metrics of this process, added to those of its service where that shares a folder.

    Raises:
        StorageUnavailable: the folder cannot be written.
    """
    try:
        return Metrics(metrics_folder())
    except OSError as error:
        raise StorageUnavailable(f"The metrics cannot be kept ({error.strerror}).") from error


async def _keep_house(services: Services) -> None:
    """Remove what no answer needs any more, a chunk at a time."""
    purge = services.database.storage.upkeep.purge
    audit_days = services.current.now.audit_retention_days
    while removed := await services.database.in_thread(purge, stored_retention_days, audit_days=audit_days):
        services.metrics.rows_purged.inc(removed)
        await asyncio.sleep(HOUSEKEEPING_PAUSE_S)
    heads = await services.database.in_thread(services.database.storage.sources.list_large, 0)
    await asyncio.to_thread(services.of(HealthReports).forget_others, heads)


async def _forget_log(services: Services) -> None:
    """Empty the write-ahead log where it may hold what was erased, and tell what of it could not be emptied yet."""
    upkeep, metrics = services.database.storage.upkeep, services.metrics
    kept = upkeep.erased_log()
    if kept is not None and await services.database.in_thread(upkeep.forget_log):
        kept = None
    metrics.erased_log_bytes.set(0 if kept is None else kept.size_bytes)
    metrics.erased_log_seconds.set(0 if kept is None else kept.seconds)

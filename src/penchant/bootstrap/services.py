"""Services of a process: everything that requests need, opened, wired together, and closed in reverse."""

import asyncio
import contextlib
import gc
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

from penchant.bootstrap.folders import data_folder, index_folder, kernel_folder, storage_of
from penchant.errors import PenchantError, StorageUnavailable
from penchant.index import engine
from penchant.index.engine import SearchThreads
from penchant.live.admission import Admission
from penchant.live.builder import builder_lock
from penchant.live.compiling import KernelCompiler
from penchant.live.connections import limit_connections
from penchant.live.database import AsyncStorage
from penchant.live.election import Election
from penchant.live.likes_files import LikesFiles
from penchant.live.people_cache import PeopleCache
from penchant.live.segment_files import SegmentFiles
from penchant.live.segments import Segments
from penchant.live.stored_likes import StoredLikes
from penchant.live.views import ViewLimits, Views
from penchant.live.weights_files import WeightsFiles
from penchant.service import Services
from penchant.service.access import AccessControl
from penchant.service.administration import Administration
from penchant.service.audience_health import AudienceHealth
from penchant.service.browsing import SourceBrowser
from penchant.service.changes import Changes
from penchant.service.content import Content
from penchant.service.curation import Curation
from penchant.service.curves import CurveCounter
from penchant.service.decoding import BodyDecoder
from penchant.service.explanations import Explanations
from penchant.service.health import CatalogueHealth
from penchant.service.impressions import Impressions
from penchant.service.list_ids import ListIds
from penchant.service.maps import CatalogueMaps
from penchant.service.measuring import GaugeUpdater
from penchant.service.node_rates import NodeRates
from penchant.service.people import People
from penchant.service.placement_lists import ListMakers, PlacementLists
from penchant.service.placement_previews import PlacementPreviews
from penchant.service.placements import Placements
from penchant.service.plain_lists import PlainLists
from penchant.service.previews import Previews
from penchant.service.prospects import Prospects
from penchant.service.rates import NodeCounts
from penchant.service.recommend import Recommender
from penchant.service.results import Results
from penchant.service.revisits import RevisitLists
from penchant.service.searching import SourceSearch
from penchant.service.shares import AccountShares, page_shares
from penchant.service.similar_answers import SimilarAnswers
from penchant.service.usage import Usage
from penchant.service.variant_guard import VariantGuard
from penchant.settings import (
    CurrentSettings,
    NodeSettings,
    metrics_folder,
)
from penchant.telemetry import Metrics, logger
from penchant.tracing import tracing
from penchant.wire import stored_retention_days

HOUSEKEEPING_INTERVAL_S = 600.0
"""How often rows past their life are removed: well within the day that the interface allows."""
HOUSEKEEPING_PAUSE_S = 0.05
"""Pause between chunks, so that housekeeping never holds up changes."""
HOUSEKEEPING_LOCK = "housekeeping.lock"
ELECTION_INTERVAL_S = 10.0
"""How often the other processes look whether housekeeping needs a new one."""


@contextlib.asynccontextmanager
async def open_services(
    current: CurrentSettings, *, has_builder: bool = False, clock: Callable[[], float] = time.time
) -> AsyncIterator[Services]:
    """Open everything that requests need, with housekeeping in the background, and close it at the end.

    With a builder beside it, segment files are mapped and its compiled kernels are used; without, all is built
    here, and numpy searches. ``clock`` is what requests take for the present, in seconds since 1970 UTC.

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
    if has_builder:
        files = index_folder(settings)
        segments = Segments(metrics, SegmentFiles(files), builder_lock(folder))
        likes = StoredLikes(metrics, LikesFiles(files), builder_lock(folder), WeightsFiles(files))
        compiling = KernelCompiler(kernel_folder(settings), loaded=_set_aside)
    searching = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="penchant-search")
    engine.share(SearchThreads(os.cpu_count() or 1, searching.map))
    database = AsyncStorage(storage, metrics)
    views = Views(database, metrics, segments, _limits(settings), stored_likes=likes)
    services = wire(current, database, rates, views, metrics, clock)
    election = Election(folder / HOUSEKEEPING_LOCK)
    tasks = [asyncio.create_task(each) for each in _endless(services, election)]
    if has_builder:
        _set_aside()
    try:
        yield services
    finally:
        # First what works by itself: `Usage.run` counts its last answers when it is cancelled, into open storage.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if compiling is not None:
            compiling.close()
        _end_helpers(services)
        await services.access.close()
        services.database.close()
        engine.share(None)
        searching.shutdown()
        election.close()
        services.usage.close()
        rates.close()
        storage.close()
        tracing.close()


def _endless(services: Services, election: Election) -> Iterator[Coroutine[Any, Any, None]]:
    """Yield what works in the background until it is cancelled."""
    yield services.usage.run()
    yield services.views.run()
    yield services.measuring.run()
    yield services.people_cache.run()
    yield services.prospects.run()
    yield _keep_house(services, election)
    yield limit_connections(services.settings, services.metrics)


def _set_aside() -> None:
    """Have the garbage collector pass over what there is now: modules and kernels stay as long as the process.

    A full collection would look through all of it, while no request is answered: 110 ms on a busy core, a few
    milliseconds without.
    """
    gc.collect()
    gc.freeze()


def wire(
    current: CurrentSettings,
    database: AsyncStorage,
    rates: NodeCounts,
    views: Views,
    metrics: Metrics,
    clock: Callable[[], float],
) -> Services:
    """Return the services over an open database."""
    settings = current.now
    node_rates = None if settings.redis is None else NodeRates(settings.redis, metrics)
    admission = Admission(body_bytes=settings.body_memory_bytes, delay_s=settings.longest_delay_s)

    def adopt(changed: NodeSettings) -> None:
        views.limits = _limits(changed)
        admission.delay_s = changed.longest_delay_s

    # All else reads `current` with each request; these keep a copy, renewed here.
    current.on_change(adopt)
    people_cache = PeopleCache(database, limit_bytes=settings.person_memory_bytes, recent_changes=views.recent_changes)
    recommender = Recommender(database, views, people=people_cache, clock=clock)
    similar_answers = SimilarAnswers(recommender, limit_bytes=settings.answer_memory_bytes)
    access = AccessControl(database, current, rates, node_rates=node_rates, clock=clock)
    list_ids, content = ListIds(database.storage.list_secret(), clock=clock), Content(database, views, metrics, current)
    measuring = GaugeUpdater(
        database.storage, views, metrics, access=access, answers=similar_answers, people=people_cache
    )
    return Services(
        current=current,
        metrics=metrics,
        database=database,
        admission=admission,
        decoder=BodyDecoder(database),
        views=views,
        access=access,
        usage=Usage(database, data_folder(settings), clock=clock),
        content=content,
        changes=Changes(database, views, content, metrics),
        people=People(database, views, metrics, cache=people_cache, clock=clock),
        people_cache=people_cache,
        curation=Curation(database),
        recommender=recommender,
        similar_answers=similar_answers,
        previews=Previews(database, views, recommender),
        prospects=Prospects(database, views, recommender, metrics),
        **_lists(database, views, recommender, VariantGuard(database, clock=clock), metrics),
        administration=Administration(database, current),
        measuring=measuring,
        **_pages(database, views, metrics, clock),
        list_ids=list_ids,
        impressions=Impressions(database, list_ids, metrics, clock=clock),
        results=Results(database, clock=clock),
        tag_secret=database.storage.tag_secret(),
    )


class _PageServices(TypedDict):
    """The services of the dashboard alone."""

    browsing: SourceBrowser
    search: SourceSearch
    health: CatalogueHealth
    maps: CatalogueMaps
    curves: CurveCounter
    audience_health: AudienceHealth


def _pages(database: AsyncStorage, views: Views, metrics: Metrics, clock: Callable[[], float]) -> _PageServices:
    health = CatalogueHealth(metrics, clock=clock)
    return _PageServices(
        browsing=SourceBrowser(database, views, metrics, clock=clock),
        search=SourceSearch(database, clock=clock),
        health=health,
        maps=CatalogueMaps(views, health, metrics, clock=clock),
        curves=CurveCounter(database, clock=clock),
        audience_health=AudienceHealth(views, clock=clock),
    )


class _ListServices(TypedDict):
    """The services of lists that are not a person's own, of reasons, and of placements, which show any of them."""

    page_shares: AccountShares
    explanations: Explanations
    plain_lists: PlainLists
    revisits: RevisitLists
    placements: Placements
    placement_lists: PlacementLists
    placement_previews: PlacementPreviews


def _lists(
    database: AsyncStorage, views: Views, recommender: Recommender, guard: VariantGuard, metrics: Metrics
) -> _ListServices:
    plain_lists, revisits = PlainLists(database, views, recommender), RevisitLists(database, recommender)
    placements = Placements(database)
    shares = page_shares()
    explanations = Explanations(database, recommender, shares)
    makers = ListMakers(recommender, explanations, plain_lists, revisits)
    placement_lists = PlacementLists(placements, makers, guard, metrics)
    return _ListServices(
        page_shares=shares,
        explanations=explanations,
        plain_lists=plain_lists,
        revisits=revisits,
        placements=placements,
        placement_lists=placement_lists,
        placement_previews=PlacementPreviews(placements, placement_lists),
    )


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


def _end_helpers(services: Services) -> None:
    """End the threads that look at whole catalogues."""
    services.health.close()
    services.maps.close()


async def _keep_house(services: Services, election: Election) -> None:
    """Remove what no answer needs any more, a chunk at a time, for ever, in one process of a data folder."""
    purge = services.database.storage.upkeep.purge
    while True:
        try:
            # The winner keeps the lock until its process ends; the others try again now and then.
            if not election.try_win():
                await asyncio.sleep(ELECTION_INTERVAL_S)
                continue
            audit_days = services.current.now.audit_retention_days
            while removed := await services.database.in_thread(purge, stored_retention_days, audit_days=audit_days):
                services.metrics.rows_purged.inc(removed)
                await asyncio.sleep(HOUSEKEEPING_PAUSE_S)
        except Exception:  # noqa: BLE001  # housekeeping must survive whatever the database does
            services.metrics.failures.labels("housekeeping").inc()
            logger.exception("housekeeping failed")
        await asyncio.sleep(HOUSEKEEPING_INTERVAL_S)

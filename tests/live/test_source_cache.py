"""What is cached of sources survives whatever happens between two awaits of one request."""

import asyncio
import contextlib
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from live.conftest import Sources
from penchant.errors import IndexNotReady, UnknownSource
from penchant.live import segment_files, source_cache, views
from penchant.live.audience_files import LikesFiles
from penchant.live.builder import Builder, FileBuilder, LikesBuilder, builder_lock
from penchant.live.counting import StoredLikes
from penchant.live.database import AsyncStorage
from penchant.live.heads import SourceWatch
from penchant.live.segment_files import SegmentFiles, Segments
from penchant.live.views import View, ViewLimits, Views
from penchant.storage import DeleteSource
from penchant.storage.databases.sqlite import SqliteDatabase
from penchant.telemetry import Metrics
from strategies import examples

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
TODAY = int(time.time()) // 86_400
NAMES = ("a", "b", "c")
HEAD_HALTS = ("before", "after")
"""Where a request halts while its source's head is read."""


@pytest.fixture(autouse=True)
def halting(small_files: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  # comes first
    monkeypatch.setattr(views, "WAIT_STEP_S", 0)
    # As on PostgreSQL: heads are read in threads, too.
    monkeypatch.setattr(SqliteDatabase, "quick_reads", False)


class HaltingStorage(AsyncStorage):
    """Storage whose thread hops end when a test says so: before and after each, requests halt in a queue."""

    def __init__(self, sources: Sources, metrics: Metrics) -> None:
        super().__init__(sources.storage, metrics)
        self.halted: list[asyncio.Future[None]] = []

    async def in_thread(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        await self._halt()
        try:
            return function(*args, **kwargs)
        finally:
            await self._halt()

    async def promptly(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return await self.in_thread(function, *args, **kwargs)

    async def _halt(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self.halted.append(future)
        await future


class Worker:
    """The views of one worker over an event loop that goes on step by step."""

    def __init__(self, sources: Sources, *, memory_bytes: int = 0) -> None:
        self.sources = sources
        self.metrics = Metrics()
        self.database = HaltingStorage(sources, self.metrics)
        files, builder = SegmentFiles(sources.folder / "index"), builder_lock(sources.folder)
        self.limits = ViewLimits(min_version_timeout_s=5, stale_reads_s=0, memory_bytes=memory_bytes)
        self.views = Views(
            self.database,
            self.metrics,
            Segments(self.metrics, files, builder),
            self.limits,
            stored_likes=StoredLikes(self.metrics, LikesFiles(sources.folder / "index"), builder),
        )
        self.watch = SourceWatch(self.database, [self.views])
        self.loop = asyncio.new_event_loop()

    def start(self, request: Awaitable[Result]) -> "asyncio.Future[Result]":
        """Begin a request, up to its first halt."""
        task = asyncio.ensure_future(request, loop=self.loop)
        self.settle()
        return task

    def settle(self) -> None:
        """Let all go on that does not halt."""
        self.loop.run_until_complete(_turns())

    def release(self, number: int) -> None:
        """Let one of the halted go on, up to its next halt."""
        halted = self.database.halted
        if halted:
            halted.pop(number % len(halted)).set_result(None)
        self.settle()

    def finish(self, request: Awaitable[Result]) -> Result:
        """Return the answer of a request, its halts released first."""
        task = self.start(request)
        while not task.done():
            self.release(-1)
        return task.result()

    def view(self, source: str) -> View:
        return self.finish(self.views.view(self.sources.account, source))

    def metric(self, name: str) -> float:
        return self.metrics.registry.get_sample_value(name) or 0.0

    def close(self) -> None:
        self.database.close()
        self.loop.close()


async def _turns() -> None:
    for _ in range(40):
        await asyncio.sleep(0)


@pytest.fixture
def worker(sources: Sources) -> Iterator[Worker]:
    with contextlib.closing(Worker(sources)) as opened:
        yield opened


def test_an_audience_of_a_source_that_was_let_go_disturbs_nobody(sources: Sources) -> None:
    for name in NAMES:
        sources.submit(1, 2, source=name)
    with contextlib.closing(Worker(sources, memory_bytes=1)) as worker:
        view = worker.view("a")
        worker.view("b")

        worker.finish(worker.views.audience(view, TODAY))

        assert worker.view("c").head.name == "c"
        assert worker.metric("penchant_loaded_sources") == 1


def test_a_source_that_is_let_go_while_its_head_is_read_comes_back(sources: Sources) -> None:
    for name in NAMES:
        sources.submit(1, 2, source=name)
    with contextlib.closing(Worker(sources, memory_bytes=1)) as worker:
        first = worker.view("a")
        other = worker.start(worker.views.view(sources.account, "b"))
        for _ in HEAD_HALTS:
            worker.release(0)
        waiting = worker.start(worker.views.view(sources.account, "a"))
        reading_head = worker.database.halted.pop()
        while not other.done():
            worker.release(0)
        reading_head.set_result(None)

        assert worker.finish(waiting).head == first.head


def test_all_who_wait_for_a_file_wait_for_it_together(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "AWAITED_PIECES", 2)
    sources.submit(*range(5))
    moments = itertools.count()
    with contextlib.closing(builder_lock(sources.folder)) as election, contextlib.closing(Worker(sources)) as worker:
        assert election.try_win()
        worker.views = Views(
            worker.database,
            worker.metrics,
            Segments(worker.metrics, SegmentFiles(sources.folder / "index"), election),
            ViewLimits(min_version_timeout_s=20, stale_reads_s=0),
            monotonic=lambda: float(next(moments)),
        )

        requests = [worker.start(worker.views.view(sources.account, "s")) for _ in range(10)]
        while not all(request.done() for request in requests):
            worker.release(0)

        assert all(isinstance(request.exception(), IndexNotReady) for request in requests)
        # One after the other they would take ten times 20.
        assert next(moments) < 60


def test_a_source_that_was_deleted_is_forgotten(sources: Sources, worker: Worker) -> None:
    sources.submit(1, 2)
    worker.view("s")
    sources.do(DeleteSource(account_id=sources.account, source="s"))
    before = worker.metric("penchant_loaded_bytes")

    with pytest.raises(UnknownSource):
        worker.finish(worker.views.head(sources.account, "s"))

    assert before > worker.metric("penchant_loaded_bytes") == worker.metric("penchant_loaded_sources") == 0


def test_sources_that_were_deleted_elsewhere_are_forgotten_unrequested(
    sources: Sources, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "CHECKED_AFTER_S", 0.0)
    for name in NAMES:
        sources.submit(1, 2, source=name)
        worker.view(name)
    sources.do(DeleteSource(account_id=sources.account, source="b"))
    sources.do(DeleteSource(account_id=sources.account, source="c"))
    sources.submit(1, source="c")

    worker.finish(worker.watch.look())

    assert worker.metric("penchant_loaded_sources") == 1
    assert worker.views.cached_version(sources.account, "a") == sources.head("a").version


def test_small_sources_count_and_are_bounded_in_number(
    sources: Sources, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_cache, "MAX_SOURCES", 2)
    for name in NAMES:
        sources.submit(source=name)
        worker.view(name)

    assert worker.metric("penchant_loaded_sources") == 2
    assert worker.metric("penchant_loaded_bytes") == 2 * source_cache.LEAST_BYTES
    assert worker.views.cached_version(sources.account, "a") is None


class RequestsBesideChanges(RuleBasedStateMachine):
    """Requests of a few sources that halt at each thread hop, while sources change, go and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.sources = Sources(Path(self.folder.name))
        self.worker = Worker(self.sources)
        files = self.sources.folder / "index"
        self.builders: list[FileBuilder[Any]] = [
            Builder(self.sources.storage, SegmentFiles(files), Metrics()),
            LikesBuilder(self.sources.storage, LikesFiles(files), Metrics()),
        ]
        self.requests: list[tuple[asyncio.Future[Any], str, int, int | None]] = []
        self.deletions = dict.fromkeys(NAMES, 0)
        self.pieces: dict[tuple[str, int], frozenset[str]] = {}
        self.numbers = itertools.count()

    @rule(name=st.sampled_from(NAMES))
    def submit(self, name: str) -> None:
        number = next(self.numbers)
        before = self._stored(name)
        self.sources.submit(number, source=name)
        self.pieces[name, self.sources.head(name).version] = before | {f"p{number}"}

    @rule(name=st.sampled_from(NAMES))
    def record(self, name: str) -> None:
        if self._exists(name):
            self.sources.record(f"u{next(self.numbers)}", "p1", source=name)

    @rule(name=st.sampled_from(NAMES))
    def delete_source(self, name: str) -> None:
        if self._exists(name):
            self.sources.do(DeleteSource(account_id=self.sources.account, source=name))
            self.deletions[name] += 1

    @rule(name=st.sampled_from(NAMES))
    def request_view(self, name: str) -> None:
        self._start(self.worker.views.view(self.sources.account, name), name)

    @rule(name=st.sampled_from(NAMES))
    def request_recommendation(self, name: str) -> None:
        self._start(self._recommend(name), name)

    @rule()
    def adopt(self) -> None:
        for builder in self.builders:
            builder.build_due()
        self._start(self.worker.views.adopt(), "")

    @rule()
    def forget_deleted(self) -> None:
        self._start(self.worker.watch.look(), "")

    @rule(name=st.sampled_from(NAMES))
    def forget(self, name: str) -> None:
        self.worker.views.forget(self.sources.account, name)

    @rule(memory_bytes=st.sampled_from([0, 1, 20_000]))
    def limit_memory(self, memory_bytes: int) -> None:
        self.worker.views.limits = ViewLimits(min_version_timeout_s=5, stale_reads_s=0, memory_bytes=memory_bytes)

    @precondition(lambda self: self.worker.database.halted)
    @rule(number=st.integers(0, 9))
    def release(self, number: int) -> None:
        self.worker.release(number)

    @invariant()
    def answers_are_right(self) -> None:
        for request, name, version, undeleted in self.requests:
            if request.done():
                self._check(request, name, version, undeleted)
        self.requests = [each for each in self.requests if not each[0].done()]

    @invariant()
    def sums_are_those_of_what_is_cached(self) -> None:
        cached = [
            version
            for name in NAMES
            if (version := self.worker.views.cached_version(self.sources.account, name)) is not None
        ]
        assert self.worker.metric("penchant_loaded_sources") == len(cached)
        assert self.worker.metric("penchant_loaded_bytes") >= len(cached) * source_cache.LEAST_BYTES

    def teardown(self) -> None:
        while self.worker.database.halted:
            self.worker.release(0)
            self.answers_are_right()
        assert not self.requests
        for name in NAMES:
            if self._exists(name):
                assert self.worker.view(name).head.version == self.sources.head(name).version
            self.worker.views.forget(self.sources.account, name)
        assert self.worker.metric("penchant_loaded_bytes") == 0
        self.worker.close()
        self.sources.storage.close()
        self.folder.cleanup()

    def _start(self, request: Awaitable[Any], name: str) -> None:
        existed = self._exists(name)
        version = self.sources.head(name).version if existed else 0
        started = self.worker.start(request)
        self.requests.append((started, name, version, self.deletions.get(name) if existed else None))

    async def _recommend(self, name: str) -> View:
        view = await self.worker.views.view(self.sources.account, name)
        audience = await self.worker.views.audience(view, TODAY)
        audience.popular(view.snapshot.parts, (1, 30.0), lambda: np.zeros(1))
        return view

    def _check(self, request: "asyncio.Future[Any]", name: str, version: int, undeleted: int | None) -> None:
        error = request.exception()
        if error is not None:
            assert isinstance(error, UnknownSource)
            assert undeleted != self.deletions.get(name)
        elif name:
            view = request.result()
            assert view.head.version >= version
            assert frozenset(view.snapshot.parts and _ids(view)) == self.pieces[name, view.head.version]

    def _exists(self, name: str) -> bool:
        return self.sources.storage.sources.read_head(self.sources.account, name) is not None

    def _stored(self, name: str) -> frozenset[str]:
        return self.pieces[name, self.sources.head(name).version] if self._exists(name) else frozenset()


def _ids(view: View) -> Iterator[str]:
    for part in view.snapshot.parts:
        yield from (each for number, each in enumerate(part.segment.ids) if part.live[number])


TestRequestsBesideChanges = pytest.mark.slow(RequestsBesideChanges.TestCase)
TestRequestsBesideChanges.settings = settings(
    max_examples=examples(25), stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

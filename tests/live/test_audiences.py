"""What workers count from files and the feed since is, bit by bit, what they count from SQL alone."""

import itertools
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK
from live.conftest import Sources, newest_file
from penchant.errors import PreviewTooLarge
from penchant.live import counting
from penchant.live.audience_files import LikesFiles
from penchant.live.builder import LikesBuilder, builder_lock
from penchant.live.counting import (
    MAX_LAG_S,
    QUICK_CHANGES,
    REST_RATIO,
    SAVED_S,
    AudienceCount,
    AudienceRequest,
    Audiences,
    StoredLikes,
)
from penchant.model import SourceSettings
from penchant.storage import DeleteSource
from penchant.storage.hashing import user_key
from penchant.telemetry import Metrics
from penchant_engine.index.people import tally
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.model import DAY_MS, DEFAULT_INTERACTION_WEIGHTS, InteractionType
from strategies import examples

TODAY = int(DAY_CLOCK()) // 86_400
"""Later than whatever the tests store by the real clock."""
PIECES = [f"p{number}" for number in range(1, 6)]
PEOPLE = ["ada", "bob", "cyd", "dan"]
KINDS = ["Watch", "RateLike", "RateDislike", "Click"]
RECORD = st.tuples(
    st.just("record"),
    st.sampled_from(PEOPLE),
    st.sampled_from(PIECES),
    st.sampled_from(KINDS),
    st.integers(0, 12),
    st.sampled_from([None, None, 0, 1, 50, 100]),
)
STEPS = st.lists(
    st.one_of(
        RECORD,
        RECORD,
        RECORD,
        st.tuples(st.just("erase"), st.sampled_from(PEOPLE)),
        st.tuples(st.sampled_from(["build", "look", "look", "restart", "next day", "flip", "purge"])),
    ),
    max_size=30,
)
KEPT_10_DAYS = SourceSettings(retention_days=10)
FLIPPED = SourceSettings(
    retention_days=10, interaction_weights={**DEFAULT_INTERACTION_WEIGHTS, InteractionType.CLICK: -1.0}
)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SMALLEST_LIKES", 2)
    monkeypatch.setattr(counting, "LEAST_INTERACTIONS", 3)
    monkeypatch.setattr(tally, "LEAST_MORE", 4)


@pytest.fixture
def likes_files(sources: Sources) -> LikesFiles:
    return LikesFiles(sources.folder / "index")


class Counter:
    """Counts as a worker does, with the files of a folder or without any."""

    def __init__(
        self,
        sources: Sources,
        files: LikesFiles | None = None,
        *,
        source: str = "s",
        monotonic: Callable[[], float] = time.monotonic,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.sources = sources
        self.source = source
        self.metrics = Metrics()
        stored = StoredLikes(self.metrics, files, builder_lock(sources.folder))
        self.audiences = Audiences(sources.storage, stored, monotonic, thread_time=thread_time)
        self.counted: AudienceCount | None = None

    def wanted(self, *, today: int = TODAY, of: SourceSettings = KEPT_10_DAYS) -> AudienceRequest:
        return AudienceRequest(head=self.sources.head(self.source), settings=of, today=today)

    def look(self, wanted: AudienceRequest | None = None, *, adopting: bool = False) -> AudienceCount:
        wanted = wanted or self.wanted()
        # As requests do: what is quickly counted puts nothing in order.
        quick = not adopting and self.audiences.is_quick(self.counted, wanted)
        self.counted = self.audiences.count(self.counted, wanted, adopting=adopting, quick=quick)
        return self.counted

    def answers(self, wanted: AudienceRequest | None = None, *, adopting: bool = False) -> list[Any]:
        """Return how many people like each piece."""
        counts = self.look(wanted, adopting=adopting).counts
        return [each.tolist() for each in counts.by_part(self.sources.rebuilt(self.source).parts, FullLike().grades)]

    def events(self, wanted: AudienceRequest) -> dict[str, Any]:
        """Return all that is counted, in one piece."""
        likes = self.look(wanted).tally.compacted(wanted.oldest_day)
        return {name: array.tolist() for name, array in likes.arrays().items()}


def prepared(sources: Sources, source: str = "s") -> None:
    sources.submit(1, 2, 3, 4, 5, source=source)
    sources.configure(KEPT_10_DAYS, source)


def at(days_ago: int) -> int:
    return (TODAY - days_ago) * DAY_MS + 1_000


def fill(sources: Sources) -> None:
    prepared(sources)
    for place, (person, piece) in enumerate(itertools.product(PEOPLE, PIECES[:3])):
        if place % 4:
            sources.record(person, piece, KINDS[place % 2], at=at(place % 9))


NAMES = itertools.count()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(60))
@given(steps=STEPS)
def test_a_worker_with_files_counts_as_one_from_sql_alone(
    sources: Sources, likes_files: LikesFiles, steps: list[tuple[Any, ...]]
) -> None:
    source, today, of = f"s{next(NAMES)}", TODAY, KEPT_10_DAYS
    prepared(sources, source)
    days = [today]
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=lambda: days[0] * 86_400)
    worker = Counter(sources, likes_files, source=source)
    begun = [("record", person, "p1", "Watch", 0, None) for person in PEOPLE]
    for step in [*begun, ("build",), *steps, ("restart",), ("look",), ("build",), ("look",), ("restart",), ("look",)]:
        match step:
            case "record", person, piece, kind, age, portion:
                sources.record(person, piece, kind, at=at(age), source=source, portion=portion)
            case "erase", person:
                sources.erase(person, source)
            case ("build",):
                builder.build_due()
            case ("restart",):
                worker = Counter(sources, likes_files, source=source)
            case ("next day",):
                today += 1
                days[0] = today
            case ("flip",):
                of = FLIPPED if of is KEPT_10_DAYS else KEPT_10_DAYS
                sources.configure(of, source)
            case ("purge",):
                sources.storage.upkeep.purge(lambda _: 10, now=today * DAY_MS)
            case _:
                alone = Counter(sources, source=source)
                wanted = worker.wanted(today=today, of=of)
                assert worker.answers(wanted, adopting=len(steps) % 2 == 0) == alone.answers(wanted)
    wanted = worker.wanted(today=today, of=of)
    assert worker.events(wanted) == Counter(sources, source=source).events(wanted)
    sources.do(DeleteSource(account_id=sources.account, source=source))


def test_a_worker_that_starts_reads_only_what_came_since_the_file(sources: Sources, likes_files: LikesFiles) -> None:
    fill(sources)
    assert LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK).build_due() == 1
    version = newest_file(likes_files, sources).stamp.version
    sources.record("eve", "p2")
    expected = Counter(sources).answers()

    with closing(sqlite3.connect(sources.folder / "penchant.db")) as connection, connection:
        connection.execute("DELETE FROM interactions WHERE version <= ?", (version,))
    worker = Counter(sources, likes_files)

    assert worker.answers() == expected != Counter(sources).answers()
    assert worker.metrics.registry.get_sample_value("penchant_likes_mapped_total") == 1


@pytest.mark.slow
def test_a_few_interactions_more_of_the_same_day_are_quickly_counted(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "LEAST_MORE", 1_000)
    fill(sources)
    worker = Counter(sources, monotonic=itertools.repeat(0.0).__next__)
    first = worker.look()

    sources.record("eve", "p2")
    assert worker.audiences.is_quick(first, worker.wanted())
    assert not worker.audiences.is_quick(first, worker.wanted(today=TODAY + 1))
    assert not worker.audiences.is_quick(first, worker.wanted(of=FLIPPED))
    assert not worker.audiences.is_quick(None, worker.wanted())
    for _ in range(QUICK_CHANGES):
        sources.record("eve", "p2")
    assert not worker.audiences.is_quick(first, worker.wanted())


def test_what_is_due_to_be_put_in_order_is_not_quick(sources: Sources) -> None:
    fill(sources)
    worker = Counter(sources, monotonic=itertools.repeat(0.0).__next__)
    first = worker.look()

    for piece in PIECES:
        sources.record("eve", piece)

    assert not worker.audiences.is_quick(first, worker.wanted())


@pytest.mark.parametrize("where", (0.0, 0.2, 0.5, 0.9))
def test_a_damaged_file_is_counted_anew(sources: Sources, likes_files: LikesFiles, where: float) -> None:
    fill(sources)
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK)
    builder.build_due()
    published = newest_file(likes_files, sources)
    content = bytearray(published.path.read_bytes())
    for place in range(int(len(content) * where), int(len(content) * where) + 100):
        content[place] ^= 0x40
    published.path.write_bytes(content)

    assert Counter(sources, likes_files).answers() == Counter(sources).answers()
    assert builder.build_due() == 1
    assert likes_files.read(newest_file(likes_files, sources)) is not None


def test_a_file_from_before_a_restore_is_not_counted_on(sources: Sources, tmp_path: Path) -> None:
    fill(sources)
    sources.storage.close()
    shutil.copytree(sources.folder, tmp_path / "backup")
    lost = Sources(sources.folder)
    for number in range(9):
        lost.record(f"lost{number}", "p5")
    LikesBuilder(lost.storage, LikesFiles(tmp_path / "index"), Metrics(), clock=DAY_CLOCK).build_due()
    lost.storage.close()
    restored, files = Sources(tmp_path / "backup"), LikesFiles(tmp_path / "index")

    assert Counter(restored, files).answers() == Counter(restored).answers()
    assert LikesBuilder(restored.storage, files, Metrics(), clock=DAY_CLOCK).build_due() == 1
    assert newest_file(files, restored).stamp.version == restored.head().interactions_version
    restored.storage.close()


def test_a_file_is_replaced_soon_after_a_person_is_erased(sources: Sources, likes_files: LikesFiles) -> None:
    fill(sources)
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK)
    builder.build_due()
    key = user_key(sources.head().source_id, "ada")
    before = likes_files.read(newest_file(likes_files, sources))
    assert before is not None
    assert before.person(key) is not None

    sources.erase("ada")
    assert Counter(sources, likes_files).answers() == Counter(sources).answers()
    deadline = time.monotonic() + 60
    while not builder.build_due() and time.monotonic() < deadline:
        time.sleep(0.02)

    after = likes_files.read(newest_file(likes_files, sources))
    assert after is not None
    assert after.person(key) is None


def test_a_file_is_replaced_at_midnight_only_if_something_expires(sources: Sources, likes_files: LikesFiles) -> None:
    prepared(sources)
    for person in PEOPLE:
        sources.record(person, "p1", at=at(8))
    today = [TODAY]
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=lambda: today[0] * 86_400)
    worker = Counter(sources, likes_files)

    assert builder.build_due() == 1
    built = []
    for days in range(1, 5):
        today[0] = TODAY + days
        wanted = worker.wanted(today=today[0])
        built.append(builder.build_due())
        assert worker.answers(wanted) == Counter(sources).answers(wanted)

    # The eighth day ago is kept for two days more.
    assert built == [0, 0, 1, 0]
    likes = likes_files.read(newest_file(likes_files, sources))
    assert likes is not None
    assert len(likes.pieces) == 0


def test_a_weight_that_changes_sign_needs_no_new_file(sources: Sources, likes_files: LikesFiles) -> None:
    fill(sources)
    sources.record("eve", "p1", "Click")
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK)
    builder.build_due()
    worker = Counter(sources, likes_files)
    before = worker.answers()

    sources.configure(FLIPPED)
    wanted = worker.wanted(of=FLIPPED)

    assert worker.answers(wanted) == Counter(sources).answers(wanted) != before
    assert builder.build_due() == 0


def test_large_bases_are_put_in_order_by_the_builder(
    sources: Sources, likes_files: LikesFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penchant.live.counting.BUILDERS_EVENTS", 1)
    fill(sources)
    builder = LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK)
    builder.build_due()
    with closing(builder_lock(sources.folder)) as elected:
        assert elected.try_win()
        worker = Counter(sources, likes_files)
        worker.look()
        for number in range(10):
            sources.record(f"new{number}", "p1")
            assert worker.answers() == Counter(sources).answers()
        stored = worker.look().stored
        assert stored is not None

        builder.build_due()
        newer = worker.look(adopting=True).stored

    assert newer is not None
    assert newer.version > stored.version


def test_a_small_base_is_put_in_order_by_the_worker(sources: Sources, likes_files: LikesFiles) -> None:
    fill(sources)
    LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK).build_due()
    worker = Counter(sources, likes_files)
    assert worker.look().stored is not None

    for number in range(10):
        sources.record(f"new{number}", "p1")
    assert worker.look().stored is None
    assert worker.answers() == Counter(sources).answers()


class CountCost:
    """The time of a thread, which goes on by as much as each count is to take."""

    def __init__(self, step: float) -> None:
        self.now = 100.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_count_that_took_long_rests_but_not_from_erasures(sources: Sources) -> None:
    fill(sources)
    worker = Counter(sources, monotonic=lambda: 1.0, thread_time=CountCost(2 * SAVED_S))
    counted = worker.look()
    sources.record("eve", "p1")

    assert counted.serves(worker.wanted(), 1.0)
    assert not counted.serves(worker.wanted(), 1.0 + MAX_LAG_S)
    sources.erase("eve")
    assert not counted.serves(worker.wanted(), 1.0)


def test_counts_rest_when_what_a_source_has_saved_up_is_used(sources: Sources) -> None:
    fill(sources)
    moments = [100.0]
    worker = Counter(sources, monotonic=lambda: moments[0], thread_time=CountCost(SAVED_S * 0.3))
    rested = [worker.look().rests_until > moments[0] for _ in range(4)]
    moments[0] += REST_RATIO * SAVED_S + MAX_LAG_S
    rested.append(worker.look().rests_until > moments[0])

    assert rested == [False, False, False, True, False]


def test_a_count_does_not_rest_where_little_is_counted(sources: Sources) -> None:
    fill(sources)
    worker = Counter(sources, monotonic=lambda: 1.0)
    counted = worker.look()
    assert counted.serves(worker.wanted(), 1.0)

    sources.record("eve", "p1")

    assert not counted.serves(worker.wanted(), 1.0)


def test_a_count_serves_its_day_its_settings_and_its_history(sources: Sources) -> None:
    fill(sources)
    worker = Counter(sources, monotonic=lambda: 1.0)
    counted = worker.look()

    assert not counted.serves(worker.wanted(today=TODAY + 1), 1.0)
    assert not counted.serves(worker.wanted(of=FLIPPED), 1.0)
    assert not counted.serves(worker.wanted(of=SourceSettings(retention_days=11)), 1.0)
    # Who asked just before midnight is served by the count of the next day.
    assert worker.look(worker.wanted(today=TODAY + 1)).serves(worker.wanted(), 1.0)
    sources.do(DeleteSource(account_id=sources.account, source="s"))
    fill(sources)
    assert not counted.serves(worker.wanted(), 1.0)


def test_a_bounded_count_may_start_from_a_file(sources: Sources, likes_files: LikesFiles) -> None:
    fill(sources)
    LikesBuilder(sources.storage, likes_files, Metrics(), clock=DAY_CLOCK).build_due()
    sources.record("eve", "p2")
    worker = Counter(sources, likes_files)

    counted = worker.audiences.count(None, worker.wanted(), most=1)

    assert counted.cursor.version == sources.head().interactions_version
    with pytest.raises(PreviewTooLarge):
        Counter(sources).audiences.count(None, worker.wanted(), most=1)

"""Views follow their sources, start from files where there are any, and stay within their memory."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from live.conftest import Sources
from penchant.errors import IndexNotReady, NotYetVisible, StorageUnavailable, UnknownSource
from penchant.live import audience_files, audience_follower, counting, segment_files
from penchant.live.audience_files import LikesFiles, StoredWeights
from penchant.live.audience_follower import AudienceFollower
from penchant.live.builder import Builder, LikesBuilder, builder_lock
from penchant.live.counting import StoredLikes
from penchant.live.database import AsyncStorage
from penchant.live.election import Election
from penchant.live.segment_files import SegmentFiles, Segments
from penchant.live.views import View, ViewLimits, Views
from penchant.storage import DeletePieces, DeleteSource
from penchant.storage.databases.sqlite import exclusive
from penchant.telemetry import Metrics
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.compiled import engine
from penchant_engine.model import Algorithm

pytestmark = pytest.mark.usefixtures("small_files")

LATER = 1 << 50


@pytest.fixture
def elected(sources: Sources) -> Iterator[Election]:
    """A builder that is there."""
    election = builder_lock(sources.folder)
    assert election.try_win()
    yield election
    election.close()


class Following:
    """Views as one worker holds them, asked synchronously."""

    def __init__(self, sources: Sources, files: SegmentFiles | None, *, memory_bytes: int = 0) -> None:
        self.metrics = Metrics()
        self.database = AsyncStorage(sources.storage, self.metrics)
        self.account = sources.account
        builder = None if files is None else builder_lock(sources.folder)
        limits = ViewLimits(min_version_timeout_s=0.3, stale_reads_s=0, memory_bytes=memory_bytes)
        likes = None if files is None else LikesFiles(sources.folder / "index")
        self.views = Views(
            self.database,
            self.metrics,
            Segments(self.metrics, files, builder),
            limits,
            stored_likes=StoredLikes(self.metrics, likes, builder),
        )

    def view(self, source: str = "s") -> View:
        return asyncio.run(self.views.view(self.account, source))

    def adopt(self) -> None:
        """Go over to newer files."""
        asyncio.run(self.views.adopt())

    def popular(self, source: str = "s") -> list[float]:
        """Return how popular each piece is, by the audience that a request sees."""
        view = self.view(source)
        audience = asyncio.run(self.views.audience(view, int(time.time()) // 86_400))
        return [
            share
            for shares in audience.popular(view.snapshot.parts, (1, 30.0), lambda: np.zeros(1)).shares
            for share in shares.tolist()
        ]

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


def nearest(snapshot: Snapshot, piece: str) -> list[tuple[str, float]]:
    shown = Filter(moment=LATER)
    found = snapshot.nearest(piece, shown, algorithm=Algorithm.COSINE, category_weights={}, take=30)
    return [(each.id, each.distance) for each in found]


def answers(view: View, piece: str = "p1") -> list[tuple[str, float]]:
    return nearest(view.snapshot, piece)


def expected(sources: Sources, source: str = "s", piece: str = "p1") -> list[tuple[str, float]]:
    return nearest(sources.rebuilt(source), piece)


def renamed(sources: Sources, table: str, name: str) -> None:
    with exclusive(sources.folder), closing(sqlite3.connect(sources.folder / "penchant.db")) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO {name}")


def test_the_lag_is_what_was_asked_for_and_is_not_there_yet(sources: Sources) -> None:
    sources.submit(1, 2, 3)
    following = Following(sources, None)
    first = following.view()
    sources.submit(4, 5)

    renamed(sources, "pieces", "away")
    with pytest.raises(StorageUnavailable):
        following.view()
    assert following.views.lag == sources.head().version - first.head.version == 2

    renamed(sources, "away", "pieces")
    following.view()
    assert following.views.lag == 0
    assert following.metric("penchant_merge_seconds_count") == 1


async def test_many_who_ask_at_once_share_one_catch_up(sources: Sources) -> None:
    sources.submit(*range(20))
    following = Following(sources, None)

    views = await asyncio.gather(*(following.views.view(sources.account, "s") for _ in range(50)))

    assert len({id(view) for view in views}) == 1
    assert following.metric("penchant_follow_seconds_count", feed="content") == 1


@pytest.mark.slow
def test_sources_asked_for_least_recently_are_let_go_and_come_back(sources: Sources) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        sources.submit(*range(50), source=name)
    one = Following(sources, None)
    one.view("s0")
    size = int(one.metric("penchant_loaded_bytes"))

    following = Following(sources, None, memory_bytes=3 * size + size // 2)
    for _ in range(2):
        for name in names:
            assert answers(following.view(name)) == expected(sources, name)
            assert following.metric("penchant_loaded_bytes") <= 3.5 * size

    assert following.metric("penchant_loaded_sources") == 3
    assert following.metric("penchant_sources_unloaded_total") == 2 * len(names) - 3
    kept = [following.view(name) for name in names[-3:]]
    assert kept == [following.view(name) for name in names[-3:]]
    assert following.metric("penchant_sources_unloaded_total") == 2 * len(names) - 3


def test_a_source_larger_than_the_memory_is_answered_alone(sources: Sources) -> None:
    for name in ("a", "b"):
        sources.submit(*range(50), source=name)
    following = Following(sources, None, memory_bytes=1)

    for name in ("a", "b", "a"):
        assert answers(following.view(name)) == expected(sources, name)
        assert following.metric("penchant_loaded_sources") == 1


@pytest.mark.usefixtures("elected")
def test_a_view_starts_from_a_file_and_adopts_newer_ones(
    builder: Builder, files: SegmentFiles, sources: Sources
) -> None:
    sources.submit(*range(20))
    builder.build_due()
    following = Following(sources, files)
    first = following.view()
    assert (first.base_version, answers(first)) == (20, expected(sources))

    sources.submit(30, 31)
    sources.delete(3)
    followed = following.view()
    assert (followed.base_version, answers(followed)) == (20, expected(sources))

    builder.build(sources.head(), None)
    assert following.view() is followed
    following.adopt()
    adopted = following.view()

    assert (adopted.base_version, len(adopted.snapshot.parts)) == (23, 1)
    assert answers(adopted) == expected(sources)
    following.adopt()
    assert following.view() is adopted


@pytest.mark.usefixtures("elected")
def test_a_large_source_waits_for_its_file(
    builder: Builder, files: SegmentFiles, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_files, "AWAITED_PIECES", 10)
    sources.submit(*range(20))
    following = Following(sources, files)

    with pytest.raises(IndexNotReady) as raised:
        following.view()
    assert raised.value.retry_after_s == 1

    builder.build_due()
    assert answers(following.view()) == expected(sources)


def test_without_a_builder_nobody_waits(files: SegmentFiles, sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "AWAITED_PIECES", 10)
    sources.submit(*range(20))

    assert answers(Following(sources, files).view()) == expected(sources)


@pytest.mark.usefixtures("elected")
def test_a_follower_leaves_large_merges_to_the_builder(
    files: SegmentFiles, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_files, "MAX_MERGED", 10)
    following = Following(sources, files)
    for first in range(0, 40, 8):
        sources.submit(*range(first, first + 8))
        sources.do(DeletePieces(account_id=sources.account, source="s", ids=[f"p{first}"]))
        assert answers(following.view(), f"p{first + 1}") == expected(sources, piece=f"p{first + 1}")

    assert len(following.view().snapshot.parts) > 1


def test_a_file_that_disappears_while_mapped_goes_on_answering(
    builder: Builder, files: SegmentFiles, sources: Sources, tmp_path: Path
) -> None:
    sources.submit(*range(20))
    builder.build_due()
    following = Following(sources, files)
    view = following.view()
    wanted = answers(view)
    assert wanted

    for path in (tmp_path / "data" / "index").rglob("*.segment"):
        path.unlink()

    assert answers(following.view()) == wanted


@pytest.fixture
def likes_builder(sources: Sources) -> LikesBuilder:
    """A source that people like, and the builder that counts them."""
    sources.submit(1, 2, 3)
    for person in range(5):
        sources.record(f"u{person}", f"p{1 + person % 2}")
    return LikesBuilder(sources.storage, LikesFiles(sources.folder / "index"), Metrics())


@pytest.mark.slow
@pytest.mark.usefixtures("elected")
def test_a_count_goes_over_to_a_file_that_is_published_later(
    likes_builder: LikesBuilder, files: SegmentFiles, sources: Sources
) -> None:
    following = Following(sources, files)
    before = following.popular()
    following.adopt()
    assert following.metric("penchant_likes_mapped_total") == 0

    likes_builder.build_due()
    following.adopt()
    following.adopt()
    assert following.metric("penchant_likes_mapped_total") == 1
    assert following.popular() == before

    for person in range(5):
        sources.record(f"v{person}", "p3")
    likes_builder.build(sources.head(), None)
    following.adopt()
    assert following.metric("penchant_likes_mapped_total") == 2
    assert following.popular() == Following(sources, None).popular() != before


@pytest.mark.usefixtures("elected", "likes_builder")
@pytest.mark.parametrize("built", ("builder", "likes_builder"))
def test_a_file_of_a_source_that_is_gone_is_not_adopted(
    request: pytest.FixtureRequest, files: SegmentFiles, sources: Sources, built: str
) -> None:
    following = Following(sources, files)
    following.popular()
    assert request.getfixturevalue(built).build_due() == 1
    sources.do(DeleteSource(account_id=sources.account, source="s"))

    following.adopt()

    with pytest.raises(UnknownSource):
        following.popular()


@pytest.mark.usefixtures("elected")
def test_a_large_source_has_no_audience_before_its_file(
    likes_builder: LikesBuilder, files: SegmentFiles, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "AWAITED_INTERACTIONS", 4)
    following = Following(sources, files)

    assert set(following.popular()) == {0.0}

    likes_builder.build_due()
    # The weights, whose figures count in popularity, are not there yet.
    assert max(following.popular()) == 1.0


@pytest.mark.usefixtures("likes_builder")
def test_without_a_builder_nobody_waits_for_an_audience(
    files: SegmentFiles, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "AWAITED_INTERACTIONS", 4)

    assert Following(sources, files).popular() == Following(sources, None).popular()


def lose_history(sources: Sources) -> None:
    """Begin another epoch, as after a promotion."""
    with exclusive(sources.folder), closing(sqlite3.connect(sources.folder / "penchant.db")) as connection:
        connection.execute("UPDATE sources SET epoch = epoch + 1")
        connection.commit()


@pytest.mark.parametrize("is_lost", (False, True))
def test_a_view_of_a_history_that_is_known_to_be_lost_is_not_shown_while_the_database_is_away(
    sources: Sources, *, is_lost: bool
) -> None:
    sources.submit(1, 2)
    following = Following(sources, None)
    following.views.limits = replace(following.views.limits, stale_reads_s=60)
    following.view()
    if is_lost:
        lose_history(sources)
    # A read that gets no view: its version is not there.
    with pytest.raises(NotYetVisible):
        asyncio.run(following.views.view(sources.account, "s", min_version=9))
    renamed(sources, "sources", "away")

    if is_lost:
        with pytest.raises(StorageUnavailable):
            following.view()
    else:
        assert following.view().stale


def test_an_audience_of_a_lost_history_is_not_shown_beside_a_view_of_the_new_one(sources: Sources) -> None:
    sources.submit(1, 2)
    sources.record("ada", "p1")
    following = Following(sources, None)
    following.views.limits = replace(following.views.limits, stale_reads_s=60)
    following.popular()
    # The history is lost between the head of a read and its catch-up.
    head = sources.head()._replace(version=9)
    lose_history(sources)
    seen = asyncio.run(following.views.view(sources.account, "s", known=head))
    assert seen.head.epoch == head.epoch + 1
    renamed(sources, "sources", "away")

    assert following.view().stale
    with pytest.raises(StorageUnavailable):
        following.popular()


def test_a_version_that_is_lost_with_its_history_is_not_taken_for_reached(sources: Sources) -> None:
    sources.submit(1, 2)
    following = Following(sources, None)
    head = sources.head()._replace(version=9)
    lose_history(sources)

    with pytest.raises(NotYetVisible):
        asyncio.run(following.views.view(sources.account, "s", min_version=9, known=head))


@pytest.mark.parametrize("is_late", (False, True))
async def test_weights_of_a_version_are_without_who_was_erased_before_it(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """Late is the fault that the model has as `late version`: their version is read when they are published."""
    sources.submit(1, 2)
    for person in ("ada", "bob"):
        sources.record(person, "p1")
    weigh, make = audience_files.weigh, AudienceFollower._make
    erased: list[int] = []

    def erasing(*given: Any) -> StoredWeights | None:
        made = weigh(*given)
        if not erased:
            sources.erase("ada")
            erased.append(sources.head().interactions_version)
        return made

    async def late(*given: Any) -> tuple[StoredWeights | None, int]:
        made, _ = await make(*given)
        return made, sources.head().interactions_version

    monkeypatch.setattr(audience_follower, "weigh", erasing)
    if is_late:
        monkeypatch.setattr(AudienceFollower, "_make", late)
    views, today = Following(sources, None).views, int(time.time()) // 86_400
    first = await views.audience(await views.view(sources.account, "s"), today, min_version=2)
    second = await views.audience(await views.view(sources.account, "s"), today, min_version=erased[0])

    assert first.figures.likes == 2
    assert second.figures.likes == (2 if is_late else 1)


@pytest.mark.parametrize("is_compared", (True, False))
def test_a_view_does_not_go_on_in_another_history(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, *, is_compared: bool
) -> None:
    """The fault that the model has as `epoch not compared`."""
    if not is_compared:
        monkeypatch.setattr(View, "is_of", lambda *_: True)
    sources.submit(1, 2)
    following = Following(sources, None)
    following.view()
    lose_history(sources)

    assert (following.view().head.epoch == sources.head().epoch) == is_compared


@pytest.mark.parametrize("limit", (3, 2))
async def test_numpy_makes_no_weights_of_a_large_catalogue_however_little_is_liked(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """It would hold all pairs of its pieces at once: 75 GiB of 100,000."""
    engine.use({})
    monkeypatch.setattr(engine, "MAX_DENSE", limit)
    sources.submit(1, 2, 3)
    sources.record("ada", "p1")
    views, today = Following(sources, None).views, int(time.time()) // 86_400
    view = await views.view(sources.account, "s")

    with contextlib.nullcontext() if limit == 3 else pytest.raises(NotYetVisible):
        assert (await views.audience(view, today, min_version=1)).figures.likes == 1

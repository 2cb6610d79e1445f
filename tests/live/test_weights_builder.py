"""The builder makes of files and feeds the weights that a worker makes by itself, bit by bit."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from live.conftest import Sources, newest_file
from penchant.live import counting, weighing
from penchant.live.audience_files import LikesFiles, StoredWeights, WeightsFiles
from penchant.live.builder import LikesBuilder, WeightsBuilder, builder_lock, index_builders
from penchant.live.counting import StoredLikes
from penchant.live.database import AsyncStorage
from penchant.live.segment_files import Segments
from penchant.live.views import ViewLimits, Views
from penchant.storage import DeleteSource
from penchant.telemetry import Metrics
from penchant_engine.index.compiled import engine
from penchant_engine.index.people import order
from penchant_engine.index.people.item_item import STAND_INS, FoundStandIns, StandInQuery
from penchant_engine.model import DAY_MS

LIMITS = ViewLimits(min_version_timeout_s=60, stale_reads_s=60)


@pytest.fixture(autouse=True)
def _searching(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small sources have files, and kernels are left as they were."""
    monkeypatch.setattr(counting, "SMALLEST_LIKES", 2)
    monkeypatch.setattr(WeightsBuilder, "_prepare_kernels", lambda _: None)
    monkeypatch.setattr(order, "DIRECTION_PRIOR", 1)
    yield
    engine.use({})


def filled(sources: Sources) -> None:
    sources.submit(*range(1, 9))
    for person in range(6):
        for piece in range(1, 9):
            if (person * piece) % 3 != 1:
                at = round(time.time() * 1000) - 3_600_000 + piece * 1_000 + person
                sources.record(f"u{person}", f"p{piece}", "RateLike" if person % 2 else "Play", at=at)


def built(sources: Sources, folder: Path) -> StoredWeights:
    files = WeightsFiles(folder)
    published = newest_file(files, sources)
    assert published.stamp.version == sources.head().interactions_version
    stored = files.read(published)
    assert stored is not None
    return stored


async def alone(sources: Sources) -> StoredWeights | None:
    """Return what a worker without a builder makes."""
    with closing(AsyncStorage(sources.storage, Metrics())) as database:
        views = Views(database, Metrics(), Segments(Metrics()), LIMITS)
        view = await views.view(sources.account, "s")
        await views.audience(view, views.today(view), min_version=view.head.interactions_version)
        cached = views._cache.find((sources.account, "s"))
        assert cached is not None
        return cached.weights.made


@pytest.mark.parametrize("start", ("sql", "likes file"))
async def test_a_file_has_the_weights_that_a_worker_makes(sources: Sources, start: str) -> None:
    folder = sources.folder / "index"
    filled(sources)
    if start == "likes file":
        LikesBuilder(sources.storage, LikesFiles(folder), Metrics()).build_due()
    sources.record("late", "p1")
    sources.erase("u1")
    builder = WeightsBuilder(sources.storage, folder, Metrics())

    assert [builder.build_due(), builder.build_due()] == [1, 0]

    made, theirs = await alone(sources), built(sources, folder)
    assert made is not None
    assert {name: array.tolist() for name, array in made.arrays().items()} == {
        name: array.tolist() for name, array in theirs.arrays().items()
    }
    assert len(theirs.weights.successors)
    assert theirs.origin.oldest_day * DAY_MS < sources.head().changed_at


def test_stand_ins_are_found_elsewhere_where_that_can_be(sources: Sources) -> None:
    filled(sources)
    builder = WeightsBuilder(sources.storage, sources.folder / "index", Metrics())
    asked = list[int]()

    def none_of(query: StandInQuery) -> FoundStandIns:
        asked.append(len(query.pieces))
        return np.full((len(query.pieces), STAND_INS), -1), np.zeros((len(query.pieces), STAND_INS))

    builder.elsewhere = none_of
    builder.build_due()

    assert asked == [8]
    assert len(built(sources, sources.folder / "index").weights.borrowers) == 0


def test_an_erasure_is_built_at_once_and_other_changes_after_a_rest(sources: Sources) -> None:
    filled(sources)
    builder = WeightsBuilder(sources.storage, sources.folder / "index", Metrics())
    builder.rest_ratio = 10**9
    builder.build_due()

    sources.record("late", "p1")
    after_a_like = builder.build_due()
    sources.erase("late")

    assert (after_a_like, builder.build_due()) == (0, 1)


async def test_a_worker_goes_over_to_the_builder_s_files(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "LOOK_S", 0.0)
    folder = sources.folder / "index"
    filled(sources)
    elected = builder_lock(sources.folder)
    assert elected.try_win()
    metrics, database = Metrics(), AsyncStorage(sources.storage, Metrics())
    stored = StoredLikes(metrics, LikesFiles(folder), builder_lock(sources.folder), WeightsFiles(folder))
    views = Views(database, metrics, Segments(metrics), LIMITS, stored_likes=stored)

    async def version() -> int:
        view = await views.view(sources.account, "s")
        return (await views.audience(view, views.today(view))).version

    before = await version()
    WeightsBuilder(sources.storage, folder, Metrics()).build_due()

    assert (before, await version()) == (0, sources.head().interactions_version)
    assert metrics.registry.get_sample_value("penchant_weights_mapped_total") == 1
    database.close()
    elected.close()


@pytest.mark.parametrize("kind", ("likes", "weights"))
def test_nothing_is_remembered_of_a_source_that_is_gone(sources: Sources, kind: str) -> None:
    folder = sources.folder / "index"
    filled(sources)
    builder = index_builders(sources.storage, folder, Metrics())[kind]
    assert isinstance(builder, LikesBuilder | WeightsBuilder)
    assert (builder.build_due(), builder.build_due()) == (1, 0)
    cached = len(builder._days)

    sources.do(DeleteSource(account_id=sources.account, source="s"))
    builder.build_due()

    assert (cached, len(builder._days), list(folder.glob("0*"))) == (1, 0, [])

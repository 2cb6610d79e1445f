"""Stand-ins found by an executor in ranges of pieces are those that one process finds, bit by bit."""

from pathlib import Path

import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant.errors import Refused
from penchant_batch import stand_ins as stand_in_ranges
from penchant_batch.executor import Executor, WorkPlan, executor_of
from penchant_batch.stand_ins import search_by
from penchant_engine.index import Segment
from penchant_engine.index.layout import LikeMatrix
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.likes import like_matrix
from people_tables import made

PIECES = 45


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some pieces are many, and a range has few of them."""
    monkeypatch.setattr(stand_in_ranges, "LEAST", PIECES)
    monkeypatch.setattr(stand_in_ranges, "RANGE", 10)


def liked(seed: int = 5) -> tuple[LikeMatrix, Segment]:
    """Return likes of few people, so that all pieces want stand-ins, and the catalogue."""
    random = np.random.default_rng(seed)
    segment = made(PIECES, random, 3).merged()
    pairs = np.unique(random.integers(0, 12 * PIECES, 150))
    return like_matrix(pairs // PIECES, pairs % PIECES, np.full(len(pairs), 4, dtype=np.uint8), PIECES), segment


def lists_of(weights: ItemItemModel) -> dict[str, list[object]]:
    return {name: array.tolist() for name, array in weights.arrays().items()}


@pytest.mark.slow
@pytest.mark.parametrize(("least", "ranges"), ((PIECES, [5]), (PIECES + 1, [])))
def test_ranges_of_many_pieces_give_the_weights_that_one_process_makes(
    monkeypatch: pytest.MonkeyPatch, least: int, ranges: list[int]
) -> None:
    monkeypatch.setattr(stand_in_ranges, "LEAST", least)
    likes, segment = liked()
    plans = list[WorkPlan]()

    def two_processes(plan: WorkPlan, folder: Path) -> Executor:
        plans.append(plan)
        return executor_of(plan, folder, None, 2)

    here = fit_item_item(likes, segment, {"a": 2.0})
    by_processes = fit_item_item(likes, segment, {"a": 2.0}, elsewhere=search_by(two_processes, KERNELS))

    assert [plan.range_count for plan in plans] == ranges
    assert len(here.borrowers) > PIECES
    assert lists_of(by_processes) == lists_of(here)


def test_without_a_cluster_that_answers_this_process_finds_them(caplog: pytest.LogCaptureFixture) -> None:
    likes, segment = liked()

    def nobody(_plan: WorkPlan, _folder: Path) -> Executor:
        raise Refused("The cluster cannot be reached.")

    weights = fit_item_item(likes, segment, {}, elsewhere=search_by(nobody, KERNELS))

    assert lists_of(weights) == lists_of(fit_item_item(likes, segment, {}))
    assert [record.getMessage() for record in caplog.records] == [
        "the cluster has found no stand-ins, so that this process does: The cluster cannot be reached."
    ]

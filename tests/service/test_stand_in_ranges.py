"""Stand-ins found by a crew in ranges of pieces are those that one process finds, bit by bit."""

from pathlib import Path

import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant.cluster import Crew, WorkPlan, process_crew
from penchant.errors import Refused
from penchant.index import AudienceWeights, Segment, build_weights
from penchant.index.grades import like_matrix
from penchant.index.layout import LikeMatrix
from penchant.service import stand_in_ranges
from penchant.service.stand_in_ranges import searching_by
from people_tables import made

PIECES, RANGE = 45, 10


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some pieces are many, and a range has few of them."""
    monkeypatch.setattr(stand_in_ranges, "LEAST", PIECES)
    monkeypatch.setattr(stand_in_ranges, "RANGE", RANGE)


def liked(seed: int = 5) -> tuple[LikeMatrix, Segment]:
    """Return likes of few people, so that all pieces want stand-ins, and the catalogue."""
    random = np.random.default_rng(seed)
    segment = made(PIECES, random, 3).merged()
    pairs = np.unique(random.integers(0, 12 * PIECES, 150))
    return like_matrix(pairs // PIECES, pairs % PIECES, np.full(len(pairs), 4, dtype=np.uint8), PIECES), segment


def lists_of(weights: AudienceWeights) -> dict[str, list[object]]:
    return {name: array.tolist() for name, array in weights.arrays().items()}


def test_ranges_of_pieces_give_the_weights_that_one_process_makes() -> None:
    likes, segment = liked()
    plans = list[WorkPlan]()

    def crew_of(plan: WorkPlan, folder: Path) -> Crew:
        plans.append(plan)
        return process_crew(plan, folder, 2)

    here = build_weights(likes, segment, {"a": 2.0})
    by_crew = build_weights(likes, segment, {"a": 2.0}, elsewhere=searching_by(crew_of, KERNELS))

    assert [(plan.count, plan.range_count) for plan in plans] == [(PIECES, 5)]
    assert len(here.borrowers) > PIECES
    assert lists_of(by_crew) == lists_of(here)


def test_few_pieces_are_nobody_else_s_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in_ranges, "LEAST", PIECES + 1)
    likes, segment = liked()
    plans = list[WorkPlan]()

    def crew_of(plan: WorkPlan, folder: Path) -> Crew:
        plans.append(plan)
        return process_crew(plan, folder, 1)

    assert lists_of(build_weights(likes, segment, {}, elsewhere=searching_by(crew_of, KERNELS))) == lists_of(
        build_weights(likes, segment, {})
    )
    assert plans == []


def test_without_a_cluster_that_answers_this_process_finds_them(caplog: pytest.LogCaptureFixture) -> None:
    likes, segment = liked()

    def crew_of(_plan: WorkPlan, _folder: Path) -> Crew:
        raise Refused("The cluster cannot be reached.")

    weights = build_weights(likes, segment, {}, elsewhere=searching_by(crew_of, KERNELS))

    assert lists_of(weights) == lists_of(build_weights(likes, segment, {}))
    assert [record.getMessage() for record in caplog.records] == [
        "the cluster has found no stand-ins, so that this process does: The cluster cannot be reached."
    ]

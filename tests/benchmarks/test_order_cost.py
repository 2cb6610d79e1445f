"""What does it cost to know what people like soon after what, beside the weights? Prints figures (``pytest -s``).

Likes are drawn: every second one goes on from the one before, by a step in the order of the catalogue, the others are
of popular pieces, at moments of chance. Pieces have no keywords, so that stand-ins take no time.
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant_engine.compiling import load_kernels
from penchant_engine.index.building import build_segment
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import SERVED
from penchant_engine.index.layout import LikeMatrix
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.likes import like_matrix
from penchant_engine.index.people.order import order_of, successor_rows
from penchant_engine.model import IndexedPiece

pytestmark = pytest.mark.slow

LIKES_EACH = 50
MIB = 2**20


def drawn_likes(pieces: int, likes: int) -> LikeMatrix:
    random = np.random.default_rng(0)
    people = likes // LIKES_EACH
    # The first ones are liked most, the last ones by few.
    popular = (pieces * random.random((people, LIKES_EACH)) ** 3).astype(np.int64)
    liked = random.permutation(pieces)[popular]
    for step in range(1, LIKES_EACH, 2):
        liked[:, step] = (liked[:, step - 1] + random.integers(1, 4, people)) % pieces
    moments = np.cumsum(random.integers(1, 10**9, (people, LIKES_EACH)), axis=1)
    owners = np.repeat(np.arange(people), LIKES_EACH)
    _, first = np.unique(owners << 32 | liked.ravel(), return_index=True)
    owners, liked, moments = owners[first], liked.ravel()[first], moments.ravel()[first]
    grades = random.choice(np.asarray([1, 4, 9, 16], dtype=np.uint8), len(owners))
    return like_matrix(owners, liked, grades, pieces, order_of(owners, moments))


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what work gives, its seconds of a core, and by how many MiB this process has grown at most."""
    before, used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = work()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return found, time.process_time() - used, grown / 1024


def kept_mib(weights: ItemItemModel, *names: str) -> float:
    return float(sum(getattr(weights, name).nbytes for name in names)) / MIB


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("pieces", "likes"), ((10_000, 500_000), (100_000, 10_000_000)))
def test_what_order_costs_beside_the_weights(pieces: int, likes: int) -> None:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in SERVED})
    matrix = drawn_likes(pieces, likes)
    catalogue = build_segment(IndexedPiece(id=f"p{number:06}", weights={}) for number in range(pieces))

    after, after_s, after_grown = measured(lambda: successor_rows(matrix))
    weights, all_s, all_grown = measured(lambda: fit_item_item(matrix, catalogue, {}))

    assert after.direction
    print(
        f"\n{pieces:,} pieces, {len(matrix.pieces):,} likes, direction {after.direction / 256:.2f}: "
        f"T {after_s:.2f} s, {len(after.pieces):,} cells, "
        f"{kept_mib(weights, 'successor_starts', 'successors', 'successor_values', 'successor_people'):.1f} MiB kept, "
        f"grew by {after_grown:.0f} MiB; W {all_s - after_s:.2f} s, {len(weights.targets):,} cells, "
        f"{kept_mib(weights, 'starts', 'targets', 'values', 'people'):.1f} MiB kept, both by {all_grown:.0f} MiB"
    )

"""Where half of the likes are full ones, weights and successors are those from before a like counted by its grade."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from kernel_cache import use_kernels
from penchant.settings import NodeSettings
from penchant_lab.commands.histories import HistoryOrigin
from penchant_lab.histories import Knowledge
from penchant_lab.served import audience_of, snapshot_of

pytestmark = pytest.mark.stress

FOLDER = os.environ.get("PENCHANT_DATASETS")
ARRAYS = (
    *("starts", "targets", "values", "people", "lent_starts", "borrowers", "lent_shares", "evidence"),
    *("successor_starts", "successors", "successor_values", "successor_people"),
)
BEFORE = {
    "movielens-small": "397098b34863ddf463abf4a61c50325e",
    "movietweetings-20k": "8956a476f01241d9534685794fce983b",
    "goodbooks-shelves": "ab99688f06a766f3d765bb1dfae59ad5",
    "goodbooks": "78aae43863d70c505c4b336fc3ea253e",
}
"""What a revision before gave for all that is in a set: the bytes of these arrays."""


@pytest.mark.skipif(FOLDER is None, reason="PENCHANT_DATASETS names no folder of real data sets")
@pytest.mark.parametrize("name", BEFORE)
def test_weights_of_real_sets_keep_their_bytes(name: str) -> None:
    use_kernels()
    folder = Path(FOLDER or "") / name
    files = (folder / "pieces.ndjson.gz", folder / "interactions.ndjson.gz")
    history = HistoryOrigin(settings=NodeSettings(), account="", pieces=files[0], interactions=files[1]).read()
    everything = Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), history.settings)

    audience = audience_of(everything, snapshot_of(everything))

    assert audience.figures.full_total == 16 * audience.figures.full_count
    digest = hashlib.sha256()
    for array in ARRAYS:
        digest.update(getattr(audience._weights, array).tobytes())
    assert digest.hexdigest()[:32] == BEFORE[name]

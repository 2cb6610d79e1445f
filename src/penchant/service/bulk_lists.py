"""Bulk lists: the lists of a range of people, as lines of JSON, each the body that the service would answer with."""

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from penchant.cluster import Files, Work
from penchant.index import engine
from penchant.index.kernel_samples import FINDING, RIDGE, Kind
from penchant.live.compiling import load_kernels
from penchant.service.bulk_inputs import BulkInputs, read_inputs
from penchant.service.bulk_placement_lists import PlacementMaker
from penchant.service.bulk_recommendations import RecommendationMaker
from penchant.service.requests import PersonalRequest
from penchant.wire import encode

Lines = Callable[[int, int], Iterator[bytes]]
"""Yields the lists of people from one number up to another, each as a line."""

COMPRESSION = 1
"""Level of gzip: higher ones take longer than making the lists, for a tenth less."""


class KernelChoice(NamedTuple):
    """The kernels that work searches with: those of a folder of the machine where it was planned."""

    folder: str
    kinds: tuple[Kind, ...]

    def use(self) -> None:
        """Search with them; on another machine with those of a folder for all such work there."""
        folder = Path(self.folder)
        here = folder if folder.exists() else Path(tempfile.gettempdir()) / f"penchant-kernels-{os.getuid()}"
        use_kernels(here, *self.kinds)


def prepare(files: Files) -> Work:
    """Return what makes the lists of a range of people, compressed by itself: gzip files joined are one."""
    inputs = read_inputs(files)
    (part,) = inputs.view.snapshot.parts
    weights = part.segment.posting_weights.dtype.char
    KernelChoice(inputs.context.kernels, (FINDING, RIDGE, ("d", weights), ("lists", weights))).use()
    lines = _recommendation_lines(inputs) if inputs.context.placement is None else _placement_lines(inputs)

    def work(begin: int, end: int) -> bytes:
        # Without time, so that equal lists give equal files.
        return gzip.compress(b"".join(lines(begin, end)), COMPRESSION, mtime=0)

    return work


def use_kernels(folder: Path, *kinds: Kind) -> None:
    """Search with the compiled kernels of a folder, compiled first where it has none."""
    engine.use({kind: load_kernels(folder, kind) for kind in kinds})


def _recommendation_lines(inputs: BulkInputs) -> Lines:
    """Return what makes the lines of people who are recommended something, as the source is."""
    request = PersonalRequest(user_id="", take=inputs.context.take)
    return RecommendationMaker(inputs, inputs.view, request).lines


def _placement_lines(inputs: BulkInputs) -> Lines:
    """Return what makes the lines of the lists of a placement."""
    maker = PlacementMaker(inputs)

    def lines(begin: int, end: int) -> Iterator[bytes]:
        for result in maker.find(begin, end):
            yield encode(result) + b"\n"

    return lines

"""Index builders: one for each kind of file of the index."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penchant.live.array_files import PublishedFile
from penchant.live.builder import Builder, FileBuilder
from penchant.live.likes_builder import LikesBuilder
from penchant.live.likes_files import LIKES, LikesFiles
from penchant.live.segment_files import SEGMENT, SegmentFiles
from penchant.live.weights_builder import WeightsBuilder
from penchant.live.weights_files import WEIGHTS
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics

BuildKind = Callable[[str, SourceHead, "PublishedFile | None"], None]
"""A function that builds a source's file of a kind, in a process of its own for example."""


def index_builders(
    storage: Storage,
    folder: Path,
    metrics: Metrics,
    build: BuildKind | None = None,
    *,
    kernels: Path | None = None,
) -> dict[str, FileBuilder[Any]]:
    """Return the builders of the files in a folder by their kind; without ``build`` they build by themselves.

    ``kernels`` is the folder of compiled kernels. Weights come last, since they are made from the other files.
    """

    def elsewhere(kind: str) -> Callable[[SourceHead, PublishedFile | None], None] | None:
        return None if build is None else functools.partial(build, kind)

    found: list[FileBuilder[Any]] = [
        Builder(storage, SegmentFiles(folder), metrics, elsewhere(SEGMENT.name), kernels=kernels),
        LikesBuilder(storage, LikesFiles(folder), metrics, elsewhere(LIKES.name)),
        WeightsBuilder(storage, folder, metrics, elsewhere(WEIGHTS.name), kernels=kernels),
    ]
    return {builder.kind: builder for builder in found}

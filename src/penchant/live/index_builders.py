"""Which builders does the index have? One for each kind of file."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penchant.live.array_files import Published
from penchant.live.builder import Builder, FileBuilder
from penchant.live.likes_builder import LikesBuilder
from penchant.live.likes_files import LikesFiles
from penchant.live.segment_files import SegmentFiles
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics

BuildKind = Callable[[str, SourceHead, "Published | None"], None]
"""What builds a file of a kind elsewhere."""


def index_builders(
    storage: Storage, folder: Path, metrics: Metrics, build: BuildKind | None = None
) -> dict[str, FileBuilder[Any]]:
    """Return the builders of the files in a folder by their kind; without ``build`` they build by themselves."""
    segments, likes = SegmentFiles(folder), LikesFiles(folder)
    if build is None:
        found: list[FileBuilder[Any]] = [Builder(storage, segments, metrics), LikesBuilder(storage, likes, metrics)]
    else:
        found = [
            Builder(storage, segments, metrics, functools.partial(build, segments.kind.name)),
            LikesBuilder(storage, likes, metrics, functools.partial(build, likes.kind.name)),
        ]
    return {builder.kind: builder for builder in found}

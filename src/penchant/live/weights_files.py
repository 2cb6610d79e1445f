"""Weights files: what the likes of a source say of its pieces, made from its interactions up to a version."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index import AudienceWeights, Likes, Snapshot, build_weights, makes_weights
from penchant.live.array_files import ArrayFiles, FileKind, PublishedFile
from penchant.model import SourceSettings
from penchant.storage import SourceHead

ORIGIN = "origin"


class WeightsOrigin(NamedTuple):
    """What weights were made from beside the interactions: the content's version, and the days that counted.

    ``first_day`` is the oldest day that any interaction was of.
    """

    content_version: int
    oldest_day: int
    first_day: int

    def is_current(self, head: SourceHead, oldest_day: int) -> bool:
        """Return whether the content of a head and this oldest day that counts would give the same."""
        if head.version != self.content_version or oldest_day < self.oldest_day:
            return False
        # A later day leaves out older interactions: the same weights, where there were none so old.
        return oldest_day == self.oldest_day or self.first_day >= oldest_day


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredWeights:
    """Weights, and what they were made from."""

    weights: AudienceWeights
    origin: WeightsOrigin

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return self.weights.arrays() | {ORIGIN: np.asarray(self.origin, dtype=np.int64)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "StoredWeights":
        """Return the weights of these arrays, as `arrays` names them."""
        return cls(weights=AudienceWeights.of_arrays(arrays), origin=WeightsOrigin(*arrays[ORIGIN].tolist()))


WEIGHTS = FileKind(
    name="weights", suffix=".weights", magic=b"penchant weights", format=2, of_arrays=StoredWeights.of_arrays
)


class WeightsFiles(ArrayFiles[StoredWeights]):
    """The weights files of a data folder; the version of their stamps is that of the interactions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, WEIGHTS)

    def origin(self, published: PublishedFile) -> WeightsOrigin | None:
        """Return what the weights of a file were made from; as `read_part`."""
        part = self.read_part(published, frozenset({ORIGIN}))
        return None if part is None else WeightsOrigin(*part[ORIGIN].tolist())


def weigh(
    likes: Likes,
    snapshot: Snapshot,
    settings: SourceSettings,
    content_version: int,
    oldest_day: int,
    *,
    threads: int = 1,
) -> StoredWeights | None:
    """Return the weights that likes and a catalogue give; ``None`` while numpy alone would take too long."""
    catalogue = snapshot.merged()
    matrix = likes.matrix(catalogue.ids, settings, oldest_day, threads=threads)
    if not makes_weights(int(np.count_nonzero(np.diff(matrix.piece_starts)))):
        return None
    return StoredWeights(
        weights=build_weights(matrix, catalogue, settings.category_factors, threads=threads),
        origin=WeightsOrigin(content_version, oldest_day, int(likes.first_day[0])),
    )

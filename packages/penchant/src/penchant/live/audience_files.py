"""Audience files: what people did with the pieces of a source, and the weights that say what one like tells of others.

Both are counted from the interactions up to a version, which is that of their stamps.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant.live.array_files import ArrayFiles, FileKind, PublishedFile, Stamp, stamp_of
from penchant.model import SourceSettings
from penchant.storage import Erasure, InteractionChange, InteractionsFeed, SourceHead
from penchant_engine.index import Likes, Snapshot, Tally
from penchant_engine.index.arrays import over_ranges
from penchant_engine.index.compiled.engine import can_fit_item_item
from penchant_engine.index.people.event_pages import EventPages
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item

LIKES = FileKind(name="likes", suffix=".likes", magic=b"penchant likes  ", format=3, of_arrays=Likes.of_arrays)


class KeptDays(NamedTuple):
    """From which UTC day on likes have all that was done, and the oldest day that any of it is of."""

    kept_from: int
    first_day: int

    def is_of_use(self, oldest_day: int) -> bool:
        """Return whether likes have all from this day on; otherwise they are made anew."""
        return oldest_day >= self.kept_from


def count_all(feeds: Sequence[InteractionsFeed], oldest_day: int) -> Likes:
    """Return the likes of all that is recorded up to the version of the first of some feeds of a source.

    Each feed is read by a thread. A later one may lack somebody's interactions, whose erasure is past that version: who
    goes on from there hears of it. There are no erasures to be counted, as they leave nothing of what came before them.
    """
    pages, begin, end = EventPages(oldest_day), feeds[0].after, feeds[0].head.interactions_version

    def read(cut: slice) -> None:
        for number in range(cut.start, cut.stop):
            first, last = (begin + (end - begin) * each // len(feeds) for each in (number, number + 1))
            for page in feeds[number].pages(first, last):
                pages.add(*page)

    over_ranges(len(feeds), len(feeds), read)
    return pages.likes(feeds[0].piece_ids, threads=len(feeds))


def count_feed(tally: Tally | None, feed: InteractionsFeed, oldest_day: int) -> Tally:
    """Return the tally after all of a feed; a complete feed starts from nothing.

    What it has counted before changes nothing.
    """
    if tally is None or feed.complete:
        return Tally(count_all([feed], oldest_day))
    for batch in feed.batches:
        # In the order of the feed: an erasure takes what came before it, and nothing of what comes after.
        changes: list[InteractionChange] = []
        for row in batch:
            if isinstance(row, Erasure):
                tally.record_all(changes)
                changes = []
                tally.erase(row.user_key)
            else:
                changes.append(row)
        tally.record_all(changes)
    return tally


class LikesFiles(ArrayFiles[Likes]):
    """The likes files of a data folder; the version of their stamps is that of the interactions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LIKES)

    def kept_days(self, published: PublishedFile) -> KeptDays | None:
        """Return which days a file has; as `read_part`."""
        part = self.read_part(published, frozenset(KeptDays._fields))
        return None if part is None else KeptDays(*(int(part[name][0]) for name in KeptDays._fields))


def likes_stamp_of(head: SourceHead) -> Stamp:
    """Return the stamp of the interactions that a source holds at this moment."""
    return stamp_of(head)._replace(version=head.interactions_version)


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


class StoredWeights(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Weights, and what they were made from."""

    weights: ItemItemModel
    origin: WeightsOrigin

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return self.weights.arrays() | {ORIGIN: np.asarray(self.origin, dtype=np.int64)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "StoredWeights":
        """Return the weights of these arrays, as `arrays` names them."""
        return cls(weights=ItemItemModel.of_arrays(arrays), origin=WeightsOrigin(*arrays[ORIGIN].tolist()))


WEIGHTS = FileKind(
    name="weights", suffix=".weights", magic=b"penchant weights", format=4, of_arrays=StoredWeights.of_arrays
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
    if not can_fit_item_item(snapshot.piece_count):
        return None
    catalogue = snapshot.merged()
    matrix = likes.matrix(catalogue.ids, settings, oldest_day, threads=threads)
    return StoredWeights(
        weights=fit_item_item(matrix, catalogue, settings.category_factors, threads=threads),
        origin=WeightsOrigin(content_version, oldest_day, int(likes.first_day[0])),
    )

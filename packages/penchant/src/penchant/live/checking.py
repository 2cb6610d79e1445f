"""Index check: compares each file of the index, array by array, with one built anew from the database."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from penchant.errors import UnknownSource
from penchant.live.array_files import ArrayFiles, ArrayRecord, Arrays, DamagedFile, PublishedFile, read_file
from penchant.live.audience_files import LikesFiles, StoredWeights, WeightsFiles
from penchant.live.builder import SMALLEST_FILE, LikesBuilder, WeightsBuilder, continued, counted, cursor_of
from penchant.live.counting import busy_sources
from penchant.live.segment_files import SegmentFiles
from penchant.storage import ContentFeed, FeedCursor, InteractionsFeed, SourceHead, Storage
from penchant.telemetry import Metrics
from penchant_engine.index import Likes, Segment, Snapshot

T = TypeVar("T", bound=ArrayRecord)
Feed = TypeVar("Feed", ContentFeed, InteractionsFeed)
Opened = Callable[[int, str, "FeedCursor | None"], AbstractContextManager[Feed]]


def index_problems(storage: Storage, folder: Path) -> Iterator[str]:
    """Yield a sentence for each file that is damaged, or with the changes since differs from the database.

    Files that are missing or replaced meanwhile are no problem: all that they save is time.

    Raises:
        StorageUnavailable: the folder cannot be written, where segments wait while they are compared.
    """
    spooled = SegmentFiles(folder).spooled
    builder = LikesBuilder(storage, LikesFiles(folder), Metrics())

    def segments_differ(head: SourceHead, published: PublishedFile, found: Segment) -> list[str]:
        def made(base: Snapshot | None, feed: ContentFeed) -> Arrays:
            return spooled(continued(base, feed, spooled).merged()).arrays()

        base = Snapshot.of_segment(found)
        return _differing(storage.sources.follow_content, head, (base, cursor_of(published, base)), made)

    def likes_differ(head: SourceHead, published: PublishedFile, likes: Likes) -> list[str]:
        oldest_day = builder.oldest_day(head)

        def made(base: Likes | None, feed: InteractionsFeed) -> Arrays:
            return counted(base, feed, oldest_day).arrays()

        # One that is of no use any more is replaced soon.
        if oldest_day < int(likes.kept_from[0]):
            return []
        return _differing(storage.sources.follow_interactions, head, (likes, cursor_of(published, likes)), made)

    weights = WeightsBuilder(storage, folder, Metrics())

    def weights_differ(head: SourceHead, published: PublishedFile, stored: StoredWeights) -> list[str]:
        is_of_head = published.stamp.version == head.interactions_version
        if not is_of_head or not stored.origin.is_current(head, builder.oldest_day(head)):
            return []
        again, of = weights.made(head)
        if of != head or again.origin.content_version != stored.origin.content_version:
            return []
        ours, theirs = stored.weights.arrays(), again.weights.arrays()
        return [name for name, array in theirs.items() if not np.array_equal(ours[name], array)]

    found = [
        *_problems(SegmentFiles(folder), storage.sources.list_large(SMALLEST_FILE), segments_differ),
        *_problems(LikesFiles(folder), busy_sources(storage), likes_differ),
    ]
    yield from found
    if not found:
        # Made from those files: a damaged one would be removed, where it is only to be named.
        yield from _problems(WeightsFiles(folder), busy_sources(storage), weights_differ)


def _problems(
    files: ArrayFiles[T], heads: Iterable[SourceHead], differing: Callable[[SourceHead, PublishedFile, T], list[str]]
) -> Iterator[str]:
    """Yield a sentence for each file of a kind that is damaged or differs from the database."""
    for head in heads:
        published = files.newest(head)
        if published is None:
            continue
        try:
            content = read_file(files.kind, published.path, published.stamp)
        except DamagedFile as error:
            yield f"Source {head.name}: {error}."
            continue
        except FileNotFoundError:
            continue
        names = differing(head, published, content)
        if names:
            yield f"Source {head.name}: {published.path.name} differs from the database in {', '.join(names)}."


def _differing(
    opened: Opened[Feed], head: SourceHead, start: tuple[Any, FeedCursor | None], made: Callable[[Any, Feed], Arrays]
) -> list[str]:
    """Return the names of the arrays that differ between a start with the feed since, and all of the feed."""
    base, since_then = start
    while True:
        with ExitStack() as stack:
            try:
                since, everything = (
                    stack.enter_context(opened(head.account_id, head.name, cursor)) for cursor in (since_then, None)
                )
            except UnknownSource:
                return []
            if since.head != everything.head:
                # A change was committed between the two.
                continue
            ours, theirs = made(base, since), made(None, everything)
            return [name for name, array in theirs.items() if not np.array_equal(ours[name], array)]

"""Do the files of the index hold what the database holds? Each is compared, array by array, with one built anew."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from penchant.errors import UnknownSource
from penchant.index import Likes, Segment
from penchant.live.array_files import ArrayFiles, Arrays, DamagedFile, HoldsArrays, Published, read_file
from penchant.live.builder import SMALLEST_FILE, continued, cursor_of
from penchant.live.likes_builder import SMALLEST_LIKES, LikesBuilder, counted
from penchant.live.likes_files import LikesFiles
from penchant.live.segment_files import SegmentFiles
from penchant.storage import ContentFeed, Cursor, InteractionsFeed, SourceHead, Storage
from penchant.telemetry import Metrics

T = TypeVar("T", bound=HoldsArrays)
Feed = TypeVar("Feed", ContentFeed, InteractionsFeed)
Opened = Callable[[int, str, "Cursor | None"], AbstractContextManager[Feed]]


def index_problems(storage: Storage, folder: Path) -> Iterator[str]:
    """Yield a sentence for each file that is damaged, or with the changes since differs from the database.

    Files that are missing or replaced meanwhile are no problem: all that they save is time.
    """
    builder = LikesBuilder(storage, LikesFiles(folder), Metrics())

    def segment_differs(head: SourceHead, published: Published, segment: Segment) -> list[str]:
        def made(base: Segment | None, feed: ContentFeed) -> Arrays:
            return continued(base, feed).merged().arrays()

        return _differing(storage.content_feed, head, (segment, cursor_of(published, segment)), made)

    def likes_differ(head: SourceHead, published: Published, likes: Likes) -> list[str]:
        counting = builder.counting(head)

        def made(base: Likes | None, feed: InteractionsFeed) -> Arrays:
            return counted(base, feed, counting).arrays()

        # One that is of no use any more is replaced soon; what caps left out may depend on people erased since.
        if likes.scope.capped or not counting.is_served_by(likes.scope):
            return []
        return _differing(storage.interactions_feed, head, (likes, cursor_of(published, likes)), made)

    yield from _problems(SegmentFiles(folder), storage.large_sources(SMALLEST_FILE), segment_differs)
    yield from _problems(LikesFiles(folder), storage.busy_sources(SMALLEST_LIKES), likes_differ)


def _problems(
    files: ArrayFiles[T], heads: Iterable[SourceHead], differing: Callable[[SourceHead, Published, T], list[str]]
) -> Iterator[str]:
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
    opened: Opened[Feed], head: SourceHead, start: tuple[Any, Cursor | None], made: Callable[[Any, Feed], Arrays]
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

"""Following: a view of a source brought up to date with its content feed, some thousands of changes at a time."""

import contextlib
import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from msgspec.structs import replace

from penchant.live.decoding import PieceReader
from penchant.live.segment_files import Segments
from penchant.model import SourceSettings
from penchant.storage import ContentFeed, FeedCursor, PieceChange, SourceCuration, SourceHead, Storage
from penchant.telemetry import Metrics
from penchant.wire import decode_stored_settings
from penchant.wire.attributes import decode_stored_marks
from penchant.wire.stored import AS_SUBMITTED, PieceReading
from penchant_engine.attributes import Attribute, numbered
from penchant_engine.index import Segment, Snapshot, Strings
from penchant_engine.index.building import merge_segments
from penchant_engine.index.layout import Mask
from penchant_engine.index.snapshot import Keep, Merge, has_attributes, is_read_as, mark
from penchant_engine.views import CatalogueView

READ_PIECES = 10_000
READ_BYTES = 8 * 1024 * 1024
"""Pieces, and bytes of their bodies, in memory at a time while a large source is loaded."""
APPLIED_PIECES = 1_000_000
"""Pieces that are made into one segment: what was read of them takes half as much beside it."""
KEPT_PIECES = 250_000
"""Pieces that are made into one segment where it is kept out of memory."""
MANY_PIECES = 20_000
"""Pieces after which the memory that reading them took is given back."""


class View(CatalogueView, frozen=True, kw_only=True):
    """A source at one version: its pieces, lists and settings, all of the same moment.

    ``base_version`` is that of the segment file it started from. ``stale`` tells that the database could not be
    asked whether there is something newer. ``parts`` is what packages keep beside it (``follow`` of
    a `StoragePart`), by their names. ``overridden`` are the settings of the source where a list has put others in their
    place. ``reading`` says what the keywords of the pieces are.
    """

    head: SourceHead
    settings: SourceSettings = msgspec.field(default_factory=SourceSettings)
    base_version: int = 0
    stale: bool = False
    parts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    overridden: SourceSettings | None = None
    reading: PieceReading = AS_SUBMITTED

    @property
    def source_settings(self) -> SourceSettings:
        """The settings of the source, by which what all people like is counted and weighed."""
        return self.settings if self.overridden is None else self.overridden

    def is_of(self, head: SourceHead) -> bool:
        """Return whether it is of the same history of the source, so that versions can be compared."""
        own = self.head
        return own.incarnation == head.incarnation and own.epoch == head.epoch

    def has_reached(self, head: SourceHead) -> bool:
        """Return whether it has all content of a head."""
        return self.is_of(head) and self.head.version >= head.version


class Follower:
    """Makes views from segment files and the content feed; synchronous, one view of a source at a time."""

    def __init__(self, storage: Storage, segments: Segments, metrics: Metrics) -> None:
        self._storage = storage
        self._segments = segments
        self._metrics = metrics

    def catch_up(self, view: View | None, head: SourceHead) -> View:
        """Return a source as it is committed now, going on from a view of it, or from a newer file where there is one.

            the view       --- changes since its version ------.
            a newer file   --- changes since its version -------+--> now
            nothing        --- all pieces, a complete feed ----'

        Raises:
            UnknownSource: it was deleted meanwhile.
        """
        snapshot, cursor, base_version = Snapshot.empty(), None, 0
        if view is not None and view.is_of(head):
            snapshot, base_version = view.snapshot, view.base_version
            cursor = FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=view.head.version)
        based = self._segments.base(head, base_version)
        if based is not None:
            snapshot, base_version = based.snapshot, based.version
            cursor = FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=base_version)
        with self._storage.sources.follow_content(head.account_id, head.name, cursor) as feed:
            # The feed alone decides whether it can lead on from the cursor; where not, nothing of the file is left.
            if feed.complete:
                base_version = 0
            snapshot = apply_feed(snapshot, feed, max_merged=self._segments.max_merged(), merge=self._merge)
            curation = feed.curation
            settings = decode_stored_settings(curation.settings)
            # In this thread, so that the first request after a change need not wait for the norms.
            snapshot.prepare(settings.category_factors)
            # The same set object, whose hash is known: segments look its rows up by it.
            kept = view is not None and view.blacklist == curation.blacklist
            return View(
                head=feed.head,
                snapshot=snapshot,
                settings=settings,
                whitelist=curation.whitelist,
                blacklist=curation.blacklist,
                blacklisted=view.blacklisted if kept and view is not None else frozenset(curation.blacklist),
                base_version=base_version,
                parts=curation.parts,
                reading=reading_of(curation),
            )

    def _merge(self, parts: Sequence[tuple[Segment, Mask]]) -> Segment:
        with self._metrics.merge_seconds.time():
            return merge_segments(parts)


def apply_feed(
    snapshot: Snapshot,
    feed: ContentFeed,
    *,
    max_merged: int | None = None,
    merge: Merge = merge_segments,
    keep: Keep | None = None,
) -> Snapshot:
    """Return the snapshot after all changes of a feed; a complete feed starts from nothing.

    With ``keep`` its own memory is that of `KEPT_PIECES`: of so many it makes a segment, which that puts elsewhere.

    Its pieces have marks of the attributes that the settings of the feed name: where these are others than before, all
    pieces are read once more. All begins anew where their keywords are read in another way.
    """
    reading = reading_of(feed.curation)
    if not feed.complete and not is_read_as(snapshot, reading.name):
        feed = replace(feed, complete=True, batches=feed.live())
    if feed.complete:
        snapshot = Snapshot.empty()
    attributes = numbered(decode_stored_settings(feed.curation.settings).attributes.values())
    wanted = Strings.of(map(str, attributes))
    # Where all pieces are to be marked anew, those of the feed get no marks before, and go by what the others have.
    is_marked = has_attributes(snapshot, wanted)
    marked_by = wanted if is_marked else snapshot.parts[0].segment.attributes
    reader = PieceReader(attributes if is_marked else (), marked_by, reading)
    replaced: list[str] = []
    limit, total = APPLIED_PIECES if keep is None else KEPT_PIECES, 0

    def applied() -> Snapshot:
        segment = reader.segment()
        if segment is not None and keep is not None:
            segment = keep(segment)
        return snapshot.replace(replaced, segment, max_merged=max_merged, merge=merge)

    with _portions_of(feed) as portions:
        for changes in portions:
            reader.add([change for change in changes if not change.deleted])
            # Each piece comes once in a feed: of a complete one nothing can be there already.
            replaced += [] if feed.complete else [change.id for change in changes]
            total += len(changes)
            if max(reader.count, len(replaced)) >= limit:
                snapshot, reader, replaced = applied(), reader.anew(), []
    if reader.count or replaced:
        snapshot, reader = applied(), reader.anew()
    if not is_marked:
        snapshot = mark(snapshot, wanted, _marks(feed, attributes))
    if total >= MANY_PIECES:
        _give_memory_back()
    return snapshot


@contextlib.contextmanager
def _portions_of(feed: ContentFeed) -> Iterator[Iterator[list[PieceChange]]]:
    """Give the portions of a feed; of a complete one each is read by a thread while the one before is worked on.

    At the end nothing is being read any more, whatever has failed.
    """
    portions = _portions(feed.batches)
    if not feed.complete:
        # Mostly small: it is over before a thread would have begun.
        yield portions
        return
    with ThreadPoolExecutor(1) as thread:
        yield _read_ahead(portions, thread)


def _read_ahead(portions: Iterator[list[PieceChange]], thread: ThreadPoolExecutor) -> Iterator[list[PieceChange]]:
    """Yield portions, which a thread reads one ahead."""
    following = thread.submit(next, portions, None)
    while (portion := following.result()) is not None:
        following = thread.submit(next, portions, None)
        yield portion


def _portions(batches: Iterable[Sequence[PieceChange]]) -> Iterator[list[PieceChange]]:
    """Yield all changes, as many at a time as may be in memory."""
    portion: list[PieceChange] = []
    size = 0
    for batch in batches:
        portion += batch
        size += sum(map(len, [change.body for change in batch]))
        if len(portion) >= READ_PIECES or size >= READ_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _marks(feed: ContentFeed, attributes: Sequence[Attribute]) -> Iterator[Mapping[str, Sequence[str]]]:
    """Yield the marks of all live pieces by id, batch by batch."""
    for batch in feed.live():
        yield {row.id: decode_stored_marks(row.body, attributes) for row in batch}


def reading_of(curation: SourceCuration) -> PieceReading:
    """Return how the keywords of a source's pieces are read."""
    return PieceReading(curation.words, decode_stored_settings(curation.settings).vocabulary)


def _trimming() -> Callable[[int], int] | None:
    """Return the C library's function that gives free memory back to the machine, where it has one."""
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


_trim = _trimming()


def _give_memory_back() -> None:
    """Give the memory of decoded pieces back: the allocator of threads keeps it, 46 MB after 100,000 pieces."""
    if _trim is not None:
        _trim(0)

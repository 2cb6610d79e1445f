"""Do the segment files hold what the database holds? Each is compared, array by array, with one built anew."""

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

from penchant.errors import UnknownSource
from penchant.index import Segment
from penchant.live.builder import SMALLEST_FILE, continued, cursor_of
from penchant.live.segment_files import DamagedSegment, Published, SegmentFiles, read_segment
from penchant.storage import SourceHead, Storage


def index_problems(storage: Storage, files: SegmentFiles) -> Iterator[str]:
    """Yield a sentence for each file that is damaged, or with the changes since differs from the database.

    Files that are missing or replaced meanwhile are no problem: all that they save is time.
    """
    for head in storage.large_sources(SMALLEST_FILE):
        published = files.newest(head)
        if published is None:
            continue
        try:
            segment = read_segment(published.path, published.stamp)
        except DamagedSegment as error:
            yield f"Source {head.name}: {error}."
            continue
        except FileNotFoundError:
            continue
        differing = _differing(storage, head, published, segment)
        if differing:
            yield f"Source {head.name}: {published.path.name} differs from the database in {', '.join(differing)}."


def _differing(storage: Storage, head: SourceHead, published: Published, segment: Segment) -> list[str]:
    """Return the names of the arrays that differ."""
    while True:
        with ExitStack() as stack:
            try:
                since, everything = (
                    stack.enter_context(storage.content_feed(head.account_id, head.name, cursor))
                    for cursor in (cursor_of(published, segment), None)
                )
            except UnknownSource:
                return []
            if since.head != everything.head:
                # A change was committed between the two.
                continue
            ours = continued(segment, since).merged().arrays()
            theirs = continued(None, everything).merged().arrays()
            return [name for name, array in theirs.items() if not np.array_equal(ours[name], array)]

"""Stored likes: the newest likes file of a source as workers start from it, where there is one that is of use."""

from dataclasses import dataclass

from penchant.index import Likes
from penchant.live.array_files import PublishedFile
from penchant.live.election import Election
from penchant.live.likes_files import KeptDays, LikesFiles
from penchant.live.weights_files import WeightsFiles
from penchant.storage import SourceHead
from penchant.telemetry import Metrics

AWAITED_INTERACTIONS = 1_000_000
"""Interactions from which a worker leaves the first count to the builder: fewer are counted in some two seconds."""
BUILDERS_EVENTS = 200_000
"""Events from which a worker leaves it to the builder to put them in order: some fifty milliseconds."""
ROOM = 4
"""Beside such a base so many times as much may gather as beside a smaller one, in case the builder is late."""

TRIES = 3
"""How often a file is looked for: one may be replaced between its finding and its reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLikes:
    """Likes out of a file, mapped, and the version of the interactions that they are of."""

    likes: Likes
    version: int


class StoredLikes:
    """The likes files as workers use them; without ``files`` they count all by themselves.

    ``weights`` are the files that the builder makes from them.
    """

    def __init__(
        self,
        metrics: Metrics,
        files: LikesFiles | None = None,
        builder: Election | None = None,
        weights: WeightsFiles | None = None,
    ) -> None:
        self._metrics = metrics
        self._files = files
        self._builder = builder
        self.weights = weights

    def is_awaited(self, head: SourceHead, oldest_day: int) -> bool:
        """Return whether a source has so many interactions that its file, which is not there, is worth waiting for."""
        if self._files is None or head.interactions_version < AWAITED_INTERACTIONS:
            return False
        return self._newest(head, oldest_day) is None and self.has_builder

    def room(self, likes: Likes) -> int:
        """Return how much may gather beside a base, as `Tally.popularity` takes it."""
        return ROOM if len(likes.pieces) >= BUILDERS_EVENTS and self.has_builder else 1

    def newer(self, head: SourceHead, oldest_day: int, than: MappedLikes | None) -> PublishedFile | None:
        """Return a file that is of use and newer than what came out of another one."""
        found = self._newest(head, oldest_day)
        if found is None or than is None:
            return None if found is None else found[0]
        published, days = found
        # Of one version a file that keeps fewer days is newer: it was built on a later day.
        is_newer = (published.stamp.version, days.kept_from) > (than.version, int(than.likes.kept_from[0]))
        return published if is_newer else None

    def base(self, head: SourceHead, oldest_day: int, than: MappedLikes | None) -> MappedLikes | None:
        """Return what is in a file that is `newer`."""
        for _ in range(TRIES):
            published = self.newer(head, oldest_day, than)
            if published is None or self._files is None:
                break
            likes = self._files.read(published)
            # Looked up once more: the file read need not be the one whose days were looked at.
            if likes is not None and oldest_day >= int(likes.kept_from[0]):
                self._metrics.likes_mapped.inc()
                return MappedLikes(likes=likes, version=published.stamp.version)
        return None

    @property
    def has_builder(self) -> bool:
        """Whether there are files, and a process that builds them."""
        return self._files is not None and self._builder is not None and self._builder.is_won_by_anyone()

    def _newest(self, head: SourceHead, oldest_day: int) -> tuple[PublishedFile, KeptDays] | None:
        for _ in range(TRIES):
            published = None if self._files is None else self._files.newest(head)
            if published is None or self._files is None:
                break
            days = self._files.kept_days(published)
            # None: it was replaced or found damaged, so another look.
            if days is not None:
                return (published, days) if days.is_of_use(oldest_day) else None
        return None

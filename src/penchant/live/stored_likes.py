"""What does a count of who likes what start from? From the newest likes file, where there is one that is of use."""

from dataclasses import dataclass

from penchant.index import Likes, Scope
from penchant.live.array_files import Published
from penchant.live.election import Election
from penchant.live.likes_files import Counting, LikesFiles
from penchant.storage import SourceHead
from penchant.telemetry import Metrics

AWAITED_INTERACTIONS = 1_000_000
"""Interactions from which a worker waits for the builder: fewer are counted from SQL in some two seconds."""
BUILDERS_PAIRS = 200_000
"""Pairs from which a worker leaves it to the builder to put them in order: some fifty milliseconds."""
ROOM = 4
"""There it lets so many times as much gather beside its base as elsewhere, in case the builder is late."""

TRIES = 3
"""How often a file is looked for: one may be replaced between its finding and its reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Likes out of a file, mapped, and the version of the interactions that they are of."""

    likes: Likes
    version: int


class StoredLikes:
    """The likes files as workers use them; without ``files`` they count all by themselves."""

    def __init__(self, metrics: Metrics, files: LikesFiles | None = None, builder: Election | None = None) -> None:
        self._metrics = metrics
        self._files = files
        self._builder = builder

    def is_awaited(self, head: SourceHead, counting: Counting) -> bool:
        """Return whether a source has so many interactions that its file, which is not there, is worth waiting for."""
        if self._files is None or head.interactions_version < AWAITED_INTERACTIONS:
            return False
        return self._newest(head, counting) is None and self._is_built()

    def room(self, likes: Likes) -> int:
        """Return how much may gather beside a base, as `Tally.audience` takes it."""
        return ROOM if len(likes.pieces) >= BUILDERS_PAIRS and self._files is not None and self._is_built() else 1

    def newer(self, head: SourceHead, counting: Counting, than: Stored | None) -> Published | None:
        """Return a file that is of use and newer than what came out of another one."""
        found = self._newest(head, counting)
        if found is None or than is None:
            return None if found is None else found[0]
        published, scope = found
        is_newer = (published.stamp.version, scope.kept_from) > (than.version, than.likes.scope.kept_from)
        return published if is_newer else None

    def base(self, head: SourceHead, counting: Counting, than: Stored | None) -> Stored | None:
        """Return what is in a file that is `newer`."""
        for _ in range(TRIES):
            published = self.newer(head, counting, than)
            if published is None or self._files is None:
                break
            likes = self._files.read(published)
            if likes is not None and counting.is_served_by(likes.scope):
                self._metrics.likes_mapped.inc()
                return Stored(likes=likes, version=published.stamp.version)
        return None

    def _newest(self, head: SourceHead, counting: Counting) -> tuple[Published, Scope] | None:
        for _ in range(TRIES):
            published = None if self._files is None else self._files.newest(head)
            if published is None or self._files is None:
                break
            scope = self._files.scope(published)
            if scope is not None:
                return (published, scope) if counting.is_served_by(scope) else None
        return None

    def _is_built(self) -> bool:
        return self._builder is not None and self._builder.is_won_by_anyone()

"""Where does it lie who likes what? In files of arrays, each counted from a source's interactions up to a version."""

from dataclasses import dataclass
from pathlib import Path

from penchant.index import SCOPE_ARRAYS, Likes, Scope, Tally
from penchant.live.array_files import ArrayFiles, Kind, Published, Stamp, read_arrays, stamp_of
from penchant.model import RATINGS, InteractionType, SourceSettings
from penchant.storage import InteractionsFeed, SourceHead

LIKES = Kind(name="likes", suffix=".likes", magic=b"penchant likes  ", format=1, of_arrays=Likes.of_arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What is counted: the types of interaction that speak for a piece, from a UTC day on."""

    positive: frozenset[InteractionType]
    oldest_day: int

    @classmethod
    def under(cls, settings: SourceSettings, today: int) -> "Counting":
        """Return what counts under a source's settings on a day: retention goes by UTC dates."""
        positive = frozenset(kind for kind, weight in settings.interaction_weights.items() if weight > 0)
        return cls(positive=positive, oldest_day=today - settings.retention_days)

    @property
    def names(self) -> list[str]:
        """The names of the types."""
        return sorted(kind.value for kind in self.positive)

    def is_served_by(self, scope: Scope) -> bool:
        """Return whether likes of this scope can be counted on."""
        return scope.serves(self.names, self.oldest_day)

    def apply(self, tally: Tally | None, feed: InteractionsFeed) -> Tally:
        """Return the tally after all of a feed; a complete feed starts from nothing.

        What it has counted before changes nothing.
        """
        if tally is None or feed.complete:
            tally = Tally.empty(self.names, self.oldest_day)
        # Whether it is positive, and whether a rating is a like, by type: to hash a type takes longer than to count.
        told = {
            kind: (kind in self.positive, kind is InteractionType.RATE_LIKE if kind in RATINGS else None)
            for kind in self.positive | RATINGS
        }
        for batch in feed.batches:
            for row in batch:
                if row.type is None:
                    tally.erase(row.user_key)
                elif (found := told.get(row.type)) is not None:
                    positive, rating = found
                    tally.record(row.user_key, row.piece_id, row.occurred_at, positive=positive, rating=rating)
        return tally


class LikesFiles(ArrayFiles[Likes]):
    """The likes files of a data folder; the version of their stamps is that of the interactions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LIKES)
        self._scopes: dict[Path, tuple[tuple[int, int], Scope]] = {}

    def scope(self, published: Published) -> Scope | None:
        """Return what a file was counted of, read once from each; as `read` where it cannot be used."""
        return self._sound(published, lambda: self._read_scope(published))

    def _read_scope(self, published: Published) -> Scope:
        made = published.path.stat()
        # A file may be replaced by one of the same version, since a day has passed or a setting changed.
        identity = made.st_ino, made.st_mtime_ns
        known = self._scopes.get(published.path)
        if known is None or known[0] != identity:
            arrays = read_arrays(LIKES, published.path, published.stamp, SCOPE_ARRAYS)
            known = identity, Scope.of_arrays(arrays)
            # Never changed in place: threads of a worker may look at the same moment.
            kept = {path: each for path, each in self._scopes.items() if path.exists()}
            self._scopes = kept | {published.path: known}
        return known[1]


def likes_stamp_of(head: SourceHead) -> Stamp:
    """Return the stamp of the interactions that a source holds at this moment."""
    return stamp_of(head)._replace(version=head.interactions_version)

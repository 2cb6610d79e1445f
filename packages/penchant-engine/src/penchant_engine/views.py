"""Views: pieces at one moment, with the settings, lists and knowledge under which they are ranked."""

import msgspec

from penchant_engine.errors import UnknownPiece
from penchant_engine.index import Filter, Snapshot
from penchant_engine.model import RankingSettings


class CatalogueView(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of a source at one moment, with what its lists go by.

    ``blacklisted`` is the blacklist as a set: the same object while the list stays, so that its rows are looked up
    once. With ``known_at`` who asks knows of no piece that is not available at that moment (ms since 1970 UTC).
    """

    snapshot: Snapshot
    settings: RankingSettings = msgspec.field(default_factory=RankingSettings)
    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    blacklisted: frozenset[str] = frozenset()
    known_at: int | None = None

    def knows(self, piece_id: str) -> bool:
        """Return whether there is a piece, for who asks."""
        if self.known_at is None:
            return piece_id in self.snapshot
        return self.snapshot.shows(piece_id, Filter(moment=self.known_at))

    def require(self, piece_id: str) -> None:
        """Raise `UnknownPiece` unless there is a piece, for who asks."""
        if not self.knows(piece_id):
            raise UnknownPiece("The source has no piece with this id.")

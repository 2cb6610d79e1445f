"""Standings: the keys of single pieces by what a list is searched by, and how many others are better.

Each takes a scan, which is made once: hurdles, score and rank of a piece are asked for one after the other. Shard
processes may have been asked before (`service.shard_listings`).
"""

from penchant.index import Booster, Snapshot, key_of
from penchant.service.personal_lists import ListSearch


class Standings:
    """How pieces of a snapshot stand by the search of a list, whatever keeps them out of it."""

    def __init__(self, snapshot: Snapshot, search: ListSearch, booster: Booster) -> None:
        self._snapshot = snapshot
        self._search = search
        self._booster = booster
        self._keys: dict[str, int | None] = {}
        self._ahead: dict[str, int] = {}

    def note(self, piece_id: str, key: int | None, ahead: int | None) -> None:
        """Remember what is known of a piece: its key without boosts, and how many are better."""
        self._keys[piece_id] = key
        if ahead is not None:
            self._ahead[piece_id] = ahead

    def key(self, piece_id: str) -> int | None:
        """Return the key of a piece without boosts; ``None`` where the search never finds it."""
        if piece_id not in self._keys:
            self._keys[piece_id] = key_of(self._snapshot, piece_id, self._search.query.scan)
        return self._keys[piece_id]

    def boosted_key(self, piece_id: str) -> int | None:
        """Return the key of a piece as the list counts it; ``None`` as `key`."""
        key = self.key(piece_id)
        return None if key is None else self._booster.key(self._snapshot, piece_id, key)

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces are better than one; 0 where the search never finds that."""
        if piece_id not in self._ahead:
            key, (query, shown) = self.key(piece_id), self._search
            if key is None:
                return 0
            self._ahead[piece_id] = self._booster.count_ahead(self._snapshot, piece_id, key, shown, query.scan)
        return self._ahead[piece_id]

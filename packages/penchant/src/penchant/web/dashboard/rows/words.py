"""What kinds of rows are called."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from penchant.model import PlacementKind


class KindWords(NamedTuple):
    """What a kind of row is called, and what it shows."""

    name: str
    sentence: str


KIND_WORDS: Mapping[PlacementKind, KindWords] = MappingProxyType(
    {
        PlacementKind.RECOMMENDATIONS: KindWords("For a person", "What fits what each one liked, best first."),
        PlacementKind.BECAUSE: KindWords("Because you liked …", "One liked piece, named, and what goes with it."),
        PlacementKind.KEYWORD: KindWords("More of a keyword", "The best of one keyword that the person likes."),
        PlacementKind.SIMILAR: KindWords("Beside a piece", "What goes with the piece on the page."),
        PlacementKind.POPULAR: KindWords("Popular", "What most people turned to lately."),
        PlacementKind.NEW: KindWords("Newest", "What came in last."),
        PlacementKind.AGAIN: KindWords("Go on", "What the person has begun, or comes back to."),
        PlacementKind.PICKS: KindWords("Your picks", "Pieces that you choose, in your order or each person's."),
    }
)

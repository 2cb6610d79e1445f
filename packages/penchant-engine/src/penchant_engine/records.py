"""Lists as the library returns them, and where a piece stands in one."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from penchant_engine.frames import Library, frame_of
from penchant_engine.lists.reasons import Reasons


class ListedPiece(NamedTuple):
    """A piece of a list; ``score`` is a distance from 0, the nearest, to 1. ``why`` is there where it was asked for."""

    id: str
    score: float
    why: Reasons | None = None


class PieceList(list[ListedPiece]):
    """A list, the best piece first; ties stand by ascending id."""

    def __init__(self, pieces: Iterable[ListedPiece] = ()) -> None:
        super().__init__(pieces)

    @property
    def ids(self) -> list[str]:
        """The ids alone."""
        return [each.id for each in self]

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the list as a frame with the columns ``rank``, from 1, ``id`` and ``score``, as `frame_of`."""
        scores = [each.score for each in self]
        return frame_of({"rank": [*range(1, len(self) + 1)], "id": self.ids, "score": scores}, library)


class Obstacle(NamedTuple):
    """What keeps a piece out of a list, by its stable code, in a sentence."""

    code: str
    detail: str


class PieceRank(NamedTuple):
    """Where any piece stands: its ``rank`` from 1, ``None`` where ``obstacles`` keep it out, and why it scores so."""

    rank: int | None
    score: float
    why: Reasons
    obstacles: tuple[Obstacle, ...] = ()

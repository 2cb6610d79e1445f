"""Opinions: what one person's own files say of each piece, which becomes one interaction.

Exports of one account say several things of the same piece: seen, seen again, rated, marked with a heart. As
interactions of their own they would add up, so that a film that was watched and disliked would count as nearly nothing.
"""

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

from penchant_engine.model import InteractionType
from penchant_import.drafts import (
    NO_TIME_REASON,
    UNTIMED_REASON,
    Draft,
    DraftKind,
    interaction_draft,
    problem_draft,
    type_of_rating,
)
from penchant_import.moments import excerpt, read_moment
from penchant_import.options import ImportOptions
from penchant_import.report import Notes

UNREADABLE_TIME_REASON = "no time that is understood; --time-format says how times are written"


class Attitude(enum.IntEnum):
    """How a person stands to a piece; of what is said of it the greatest counts."""

    PLANNED = 1
    STARTED = 2
    FINISHED = 3
    RATED = 4
    LIKED = 5


_TYPES = {
    Attitude.PLANNED: InteractionType.BOOKMARK,
    Attitude.STARTED: InteractionType.PLAY,
    Attitude.FINISHED: InteractionType.WATCH,
    Attitude.LIKED: InteractionType.RATE_LIKE,
}
"""What an attitude becomes; of a rating the rating decides."""


class _Opinion(NamedTuple):
    """The greatest attitude so far, where it is said, and when; ``latest`` is the last time of any.

    ``portion`` is what part of the piece it was, where that is told.
    """

    attitude: Attitude
    kind: InteractionType
    where: tuple[str, int]
    moment: str
    latest: str
    portion: float | None = None


class Opinions:
    """Collects what the person of ``--user`` said of pieces; costs some 500 bytes of memory a piece.

    Without that option what is said is noted as left out.
    """

    def __init__(self, options: ImportOptions, notes: Notes) -> None:
        self._options = options
        self._notes = notes
        self._by_piece: dict[str, _Opinion] = {}
        self._problems: list[Draft] = []

    def add(
        self,
        where: tuple[str, int],
        field: str,
        piece_id: str,
        attitude: Attitude,
        time: Any,
        kind: InteractionType | None = None,
    ) -> None:
        """Take what a field says of a piece; ``time`` is as the file has it, empty where it has none.

        ``kind`` is what it becomes where ``--type`` says so.
        """
        file, line = where
        if self._options.user is None:
            self._notes.left_out(file, field, "whose it is stands in no file; --user NAME says it", line)
            return
        try:
            moment = read_moment(time, self._options.time_format) or ""
        except ValueError:
            self._notes.left_out(
                file, field, UNTIMED_REASON if self._options.without_times else UNREADABLE_TIME_REASON, line
            )
            if not self._options.without_times:
                return
            moment = ""
        self._notes.mapped(file, field, "type")
        known = self._by_piece.get(piece_id)
        if known is None:
            self._by_piece[piece_id] = _Opinion(attitude, kind or _TYPES[attitude], where, moment, moment)
            return
        latest = max(moment, known.latest)
        if (attitude, moment) > (known.attitude, known.moment):
            self._by_piece[piece_id] = _Opinion(attitude, kind or _TYPES[attitude], where, moment, latest)
        else:
            self._by_piece[piece_id] = known._replace(latest=latest)

    def start(self, where: tuple[str, int], field: str, piece_id: str, time: Any, portion: float | None) -> None:
        """Take what a field says of a piece that was begun, and how far the person has come, where that is known."""
        self.add(where, field, piece_id, Attitude.STARTED, time)
        known = self._by_piece.get(piece_id)
        if portion and known is not None and known.where == where and known.attitude is Attitude.STARTED:
            self._by_piece[piece_id] = known._replace(portion=portion)

    def rate(self, where: tuple[str, int], field: str, piece_id: str, rating: Any, scale: float, time: Any) -> None:
        """Take a rating from 0 to ``scale``; one that is none is a problem of its row."""
        try:
            kind = type_of_rating(rating, scale)
        except ValueError:
            detail = f"Found {excerpt(rating)}; a rating from 0 to {scale:g} is accepted."
            self._problems.append(problem_draft(DraftKind.INTERACTION, where, field, detail))
            return
        self.add(where, field, piece_id, Attitude.RATED, time, kind)

    def drafts(self) -> Iterator[Draft]:
        """Yield what is wrong, then an interaction for each piece, in the order in which pieces were first named.

        An attitude without a time has that of the last thing that is known of the piece.
        """
        yield from self._problems
        for piece_id, opinion in self._by_piece.items():
            moment = opinion.moment or opinion.latest
            if not moment and not self._options.without_times:
                self._notes.left_out(opinion.where[0], opinion.kind.value, NO_TIME_REASON, opinion.where[1])
                continue
            time = ("", moment) if moment else None
            who = self._options.user, piece_id
            more = {"value": opinion.portion}
            yield interaction_draft(opinion.where, who=who, kind=opinion.kind, time=time, more=more)

"""Reports of evaluations: figures of methods with their intervals, for people and for machines."""

from collections.abc import Sequence

import msgspec

from penchant.evaluation.metrics import Estimate
from penchant.wire import encode

DECIMALS = 5


class MeanFigure(msgspec.Struct, frozen=True, rename="camel"):
    """A mean over people, with the bounds of its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate | None) -> "MeanFigure | None":
        """Return a figure of an estimate."""
        return None if estimate is None else cls(*(round(each, DECIMALS) for each in estimate))


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of some people, or of all with some relevant pieces; ``None`` where there are none."""

    people: int
    ndcg10: MeanFigure | None
    recall20: MeanFigure | None


class MethodFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of a method. All but ``cold_people`` are of people with known interactions.

    ``penchant_minus`` is by how much penchant's NDCG is greater, ``penchant_ratio`` how many times as great.
    ``cold_shown`` is the share of cold pieces among the entries of lists of 20.
    """

    name: str
    parameters: str
    seconds: float
    warm_people: GroupFigures
    cold_people: GroupFigures
    warm_pieces: GroupFigures
    cold_pieces: GroupFigures
    coverage10: float
    gini10: float
    novelty10: float
    cold_shown: float
    penchant_minus: MeanFigure | None = None
    penchant_ratio: MeanFigure | None = None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An evaluation: of what, how it was split, and what each method made of it.

    ``history`` and ``known_likes`` are what little was known of the source and of people, if so; ``shared`` counts the
    known interactions that count for everybody.
    """

    name: str
    split: str
    cold: float
    seed: int
    relevant: list[str]
    pieces: int
    people: int
    interactions: int
    held_out: int
    history: int | None
    known_likes: int | None
    shared: int
    cold_pieces: int
    warm_people_asked: int
    cold_people_asked: int
    methods: list[MethodFigures]
    notes: list[str]

    def method(self, name: str) -> MethodFigures | None:
        """Return the figures of a method."""
        return next((each for each in self.methods if each.name == name), None)


def as_json(report: msgspec.Struct | Sequence[msgspec.Struct]) -> bytes:
    """Return a report, or several as an array, for machines, on lines for people."""
    return msgspec.json.format(encode(msgspec.to_builtins(report))) + b"\n"

"""Results of placements as they are answered: what each variant showed, and what came of it."""

import msgspec
from msgspec import UNSET, UnsetType

from penchant.wire.frames import Record


class Interval(Record, frozen=True, kw_only=True):
    """A number with the interval that has it at all looks together, in 95 of 100 experiments."""

    value: float
    lower: float
    upper: float


class PositionCount(Record, frozen=True, kw_only=True):
    """What was shown at a position, and how much of it succeeded; ``null`` where it is not known, 31 is 31 and more."""

    position: int | None
    shown: int
    successes: int


class DayCount(Record, frozen=True, kw_only=True):
    """What was shown on a UTC day, and how much of it has succeeded since."""

    day: str
    shown: int
    successes: int


class ListShare(Record, frozen=True, kw_only=True):
    """The share that a variant has of the lists of known people, and the one that it should have."""

    value: float
    lower: float
    upper: float
    expected: float
    off: bool


class Doubt(Record, frozen=True, kw_only=True):
    """Why nothing is said of a difference that intervals show: too few people may have made it.

    ``code`` is ``few-people``: ten of them could have made this ``share`` of what a variant showed; or ``one-group``:
    one of 64 groups of people made it.
    """

    code: str
    share: float


class VariantResult(Record, frozen=True, kw_only=True, rename="camel"):
    """What a variant showed and what came of it.

    ``anonymous`` is how much of what was shown was for nobody in particular; rate and difference are those of the rest.
    ``doubt`` is there where intervals show a difference of which nothing is said.
    """

    variant: str
    lists: int
    shown: int
    anonymous: int
    successes: int
    interactions: dict[str, int]
    rate: Interval
    difference: Interval | None
    verdict: str
    doubt: Doubt | UnsetType = UNSET
    pieces: int | None
    coverage: float | None
    share: ListShare | None
    positions: list[PositionCount]
    days: list[DayCount]


class PlacementResults(Record, frozen=True, kw_only=True, rename="camel"):
    """The results of a placement from one UTC day to another, both included; ``counted`` is what success means.

    ``stopped`` are the variants that are certainly worse than the placement itself, in whose place that is shown.
    ``pieces_of_person`` is how many pieces of each person count for rates, where some were shown more.
    """

    placement: str
    first: str = msgspec.field(name="from")
    last: str = msgspec.field(name="to")
    base: str
    counted: str
    design_effect: float
    pieces_of_person: int | UnsetType = UNSET
    stopped: list[str]
    variants: list[VariantResult]

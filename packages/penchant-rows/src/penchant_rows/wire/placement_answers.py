"""Answers about placements: lists, what is stored of them, previews of drafts, and what came of what was shown."""

from typing import Annotated, Any, Generic

import msgspec
from msgspec import UNSET, UnsetType

from penchant.wire.answers import Moment, Problem, RecommendedPiece
from penchant.wire.explanations import KeywordShare, Move, MovingRule, PartShare, TermRest
from penchant.wire.fields import Record, ref, stated
from penchant_rows.model import PlacementKind


class PlacedWhy(Record, frozen=True, kw_only=True, rename="camel"):
    """Why a piece is in the list of a placement: the members that `SimilarWhy` or `PersonalWhy` has, by its kind.

    Lists that know nothing of a person, and what a person takes up again, have one part, with the name of their kind.
    """

    parts: list[PartShare] | UnsetType = UNSET
    terms: list[KeywordShare] | UnsetType = UNSET
    rest: TermRest | UnsetType = UNSET
    audience: float | UnsetType = UNSET
    rules: list[MovingRule]


class PlacedPiece(RecommendedPiece, frozen=True, kw_only=True, rename="camel", gc=False):
    """One entry of the list of a placement, with reasons where these were asked for.

    ``rule`` is `pin` or `quota` where one of these has put it there; ``displaced`` would stand there without it.
    """

    rule: str | UnsetType = UNSET
    displaced: str | UnsetType = UNSET
    why: PlacedWhy | UnsetType = UNSET


class UnmetRule(Record, frozen=True, kw_only=True):
    """A pin or a quota of a placement that a list does not meet, by its pointer, with the code of the reason."""

    rule: str
    why: str


class ListSeed(Record, frozen=True, kw_only=True, rename="camel"):
    """What a list is about: a piece that the person likes (with `include=label` its label), or a category's keyword."""

    content_id: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    keyword: str | UnsetType = UNSET


class PlacementResult(Record, frozen=True, kw_only=True, rename="camel"):
    """The list of a placement: whose variant it is of, and which kind of list it came to be.

    With reasons, ``category_weights`` are those by which it was made. ``seed`` is what the list is about, ``since``
    when the person last did something with that piece that speaks for it.
    """

    placement: str
    variant: str
    kind: PlacementKind
    user_id: str | None
    content_id: str | None
    seed: ListSeed | UnsetType = UNSET
    since: str | UnsetType = UNSET
    category_weights: dict[str, float] | UnsetType = UNSET
    content: list[PlacedPiece]
    unmet: list[UnmetRule] | UnsetType = UNSET


class PageEntry(Record, frozen=True, kw_only=True, rename="camel"):
    """One of the lists that were asked for at once, or what is wrong with the request for it.

    ``list_id`` and ``next`` are what the headers ``x-penchant-list`` and ``x-penchant-next`` say of a list that is
    asked for alone.
    """

    placement: str
    variant: str | UnsetType = UNSET
    kind: PlacementKind | UnsetType = UNSET
    content_id: str | None
    seed: ListSeed | UnsetType = UNSET
    since: str | UnsetType = UNSET
    list_id: str | UnsetType = UNSET
    category_weights: dict[str, float] | UnsetType = UNSET
    content: list[PlacedPiece] | UnsetType = UNSET
    unmet: list[UnmetRule] | UnsetType = UNSET
    next: str | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class PageResult(Record, frozen=True, kw_only=True, rename="camel"):
    """The lists of a page, in the order of the request; no piece is in two of them."""

    user_id: str | None
    lists: list[PageEntry]


class PlacementVersion(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """A version of a placement: when it was stored, with which key, and what it is.

    ``draft`` names the draft that it was published with, or that was taken back.
    """

    name: str
    version: int
    timestamp: Moment
    key_id: str
    draft: str | UnsetType = UNSET
    placement: Annotated[dict[str, Any], stated(ref("Placement"))]


class PieceSeen(Record, Generic[Moment], frozen=True, kw_only=True):
    """How often placements showed a piece since a moment, and how often that led to something."""

    since: Moment
    shown: int
    opened: int


class PlacementListing(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """The placements of a source as they are in force, ascending by name.

    ``seen`` is of the piece that was asked for, ``None`` where nothing was shown; it is left out while it is counted.
    """

    placements: list[PlacementVersion[Moment]]
    seen: PieceSeen[Moment] | UnsetType | None = UNSET


class PlacementHistory(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """The versions of a placement that are kept, newest first; the first is in force."""

    versions: list[PlacementVersion[Moment]]


class PreviewedPlacement(Record, frozen=True, kw_only=True, rename="camel"):
    """A person's list as it is and as it would be, with the variants that they are of; null where there is none.

    ``unmet`` is what the one that would be does not meet of its pins and quotas.
    """

    user_id: str | None
    variant_before: str | None
    variant_after: str
    before: list[PlacedPiece]
    after: list[PlacedPiece]
    moves: list[Move]
    unmet: list[UnmetRule] | UnsetType = UNSET


class PlacementPreview(Record, frozen=True, kw_only=True, rename="camel"):
    """Lists under a placement that is not stored, beside those of the one in force.

    ``fitting`` pieces may stand in it now, by its catalogs and its filter.
    """

    lists: list[PreviewedPlacement]
    fitting: int


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


class PinnedCount(Record, frozen=True, kw_only=True):
    """What pins showed, or what quotas raised, and what came of it."""

    shown: int
    successes: int
    interactions: dict[str, int]


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


class VariantStop(Record, frozen=True, kw_only=True):
    """When and why a variant was stopped: certainly ``worse``, or ``edited`` out of the placement ``by`` somebody.

    ``difference`` is that from the base by which it was stopped.
    """

    reason: str
    timestamp: str
    by: str | UnsetType = UNSET
    difference: Interval | UnsetType = UNSET


class CoursePoint(Record, frozen=True, kw_only=True):
    """The difference of a variant from the base by all that known people were shown until the end of a UTC day.

    ``shown`` is how many pieces that were, by both. Where the interval is 2 wide there was too little to say anything.
    """

    day: str
    shown: int
    value: float
    lower: float
    upper: float


class VariantResult(Record, frozen=True, kw_only=True, rename="camel"):
    """What a variant showed and what came of it.

    ``anonymous`` is how much of what was shown was for nobody in particular; rate and difference are those of the rest.
    ``doubt`` is there where intervals show a difference of which nothing is said, and ``course``, of a variant that is
    not the base, where it was asked for. What pins showed is ``pinned``, and
    in no other number but that of lists; what quotas raised is in all of them, and told apart in ``raised``.
    """

    variant: str
    lists: int
    shown: int
    anonymous: int
    successes: int
    interactions: dict[str, int]
    pinned: PinnedCount
    raised: PinnedCount | UnsetType = UNSET
    rate: Interval
    difference: Interval | None
    verdict: str
    doubt: Doubt | UnsetType = UNSET
    stop: VariantStop | UnsetType = UNSET
    pieces: int | None
    coverage: float | None
    share: ListShare | None
    positions: list[PositionCount]
    days: list[DayCount]
    course: list[CoursePoint] | UnsetType = UNSET


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


class CardPart(Record, frozen=True, kw_only=True):
    """What counts in a row, and which part of 1 it is."""

    part: str
    share: float


class CardWeek(Record, frozen=True, kw_only=True, rename="camel"):
    """What a row showed in a week, by figures of all people together; ``pinned`` is what editors pinned, in no other.

    ``complete`` is false where only a part of what was shown was counted. What there is nothing to tell of is null.
    """

    first: str = msgspec.field(name="from")
    last: str = msgspec.field(name="to")
    shown: int
    pinned: int
    complete: bool
    coverage: float | None
    popularity: float | None
    newness: float | None
    diversity: float | None
    shares: dict[str, dict[str, float]]


class PlacementCard(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """What a row is and does, for everybody: in words, and by figures of whole weeks, the newest first.

    ``least_people`` is to how many known people a week, or a value in it, was shown at least to be told at all.
    """

    placement: str
    title: str | UnsetType = UNSET
    purpose: str | UnsetType = UNSET
    kind: PlacementKind
    since: Moment
    changed_at: Moment
    counts: list[CardPart]
    rules: list[str]
    uses: list[str]
    retention_days: int
    control: list[str]
    least_people: int
    weeks: list[CardWeek]

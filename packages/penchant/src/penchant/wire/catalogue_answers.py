"""Answers about a source as a catalogue: what a search found, its categories and keywords, its health, its days."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from penchant.wire.administration import SteeringChange
from penchant.wire.answers import Moment
from penchant.wire.fields import Record
from penchant_engine.attributes import AttributeType

MatchPlace: TypeAlias = Literal["id", "label", "keyword", "text", "several"]


class OwnSource(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """A source of the account, and where it stands; ``indexed_version`` is null before its index was first read."""

    source: str
    pieces: int
    version: int
    indexed_version: int | None
    created_at: Moment
    updated_at: Moment


class OwnAccount(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """The account of a key, and a page of its ``count`` sources, ascending by name.

    ``key_names`` says who has the account's keys, by their ids, where that was said.
    """

    account: str
    key_names: Mapping[str, str]
    count: int
    sources: Sequence[OwnSource[Moment]]


class SteeringVersionAnswer(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """What settings or a list were from a version on: since when, by whom if that is known, and what changed.

    The ``settings``, or the list's ``content``, are there where this version alone is asked for.
    """

    version: int
    timestamp: Moment
    key_id: str | None
    actor_name: str | UnsetType = UNSET
    changes: Sequence[SteeringChange]
    settings: Mapping[str, Any] | UnsetType = UNSET
    content: Sequence[str] | UnsetType = UNSET


class SteeringListing(Record, Generic[Moment], frozen=True, kw_only=True):
    """The kept versions of settings or a list, newest first; the first is in force."""

    versions: Sequence[SteeringVersionAnswer[Moment]]


class MatchedPiece(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A piece that a search found: where the text is, and, where that is neither id nor label, the text it is in."""

    id: str
    label: str | None = None
    place: MatchPlace
    text: str = ""


class KeywordCount(Record, frozen=True, kw_only=True):
    """A keyword, and how many pieces have it."""

    category: str
    keyword: str
    pieces: int


class SearchAnswer(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a search found: a page of ``content``, ``users`` or ``keywords``, and how many there are of these in all.

    Where not everything was looked through, ``complete`` is false; ``after`` is there where a search can go on, and
    ``looked_at`` tells of how many pieces the texts were read.
    """

    kind: Literal["piece", "person", "keyword"]
    count: int
    complete: bool
    after: str | None = None
    looked_at: int = 0
    content: Sequence[MatchedPiece] = ()
    users: Sequence[str] = ()
    keywords: Sequence[KeywordCount] = ()


class PieceTitle(Record, frozen=True, kw_only=True):
    """A piece by its label."""

    id: str
    label: str


class TitleListing(Record, frozen=True, kw_only=True):
    """Some titles, of several pieces with the same one the first; see the operation for which."""

    titles: Sequence[PieceTitle]


class CategorySize(Record, frozen=True, kw_only=True):
    """A category, how many keywords it has, and how many pieces have one of them."""

    category: str
    keywords: int
    pieces: int


class CategoryListing(Record, frozen=True, kw_only=True):
    """A page of the categories, ascending, and how many there are."""

    count: int
    categories: Sequence[CategorySize]


class KeywordListing(Record, frozen=True, kw_only=True):
    """A page of the keywords, those of the most pieces first, and how many there are."""

    count: int
    keywords: Sequence[KeywordCount]


class CatalogSize(Record, frozen=True, kw_only=True):
    """A catalog, and how many pieces are in it."""

    catalog: str
    pieces: int


class CatalogListing(Record, frozen=True, kw_only=True):
    """A page of the catalogs, those of the most pieces first, and how many there are."""

    count: int
    catalogs: Sequence[CatalogSize]


class ExtrasExample(Record, frozen=True, kw_only=True):
    """A value of a member of extras, and how many of the pieces that were looked at have it."""

    value: Any
    pieces: int


class ExtrasField(Record, frozen=True, kw_only=True):
    """A member of extras by its JSON pointer: the type of most of its values, how many pieces have one, and some."""

    pointer: str
    type: AttributeType
    pieces: int
    examples: Sequence[ExtrasExample]


class ExtrasListing(Record, frozen=True, kw_only=True, rename="camel"):
    """The members of extras, by their pointers, in the ``looked_at`` newest pieces."""

    looked_at: int
    extras: Sequence[ExtrasField]


class KeywordName(Record, frozen=True, kw_only=True):
    """A keyword of a category."""

    category: str
    keyword: str


class OnceFinding(Record, frozen=True, kw_only=True):
    """How many keywords only one piece has, and some of them."""

    count: int
    examples: Sequence[KeywordName]


class VariantFinding(Record, frozen=True, kw_only=True):
    """How many groups of keywords differ in their spelling alone, and some of them, by how many pieces have each."""

    count: int
    examples: Sequence[Sequence[KeywordCount]]


class FlatFinding(Record, frozen=True, kw_only=True):
    """A category all of whose keywords have the same weight in every piece."""

    category: str
    weight: int
    keywords: int


class LonelyFinding(Record, frozen=True, kw_only=True, rename="camel"):
    """How many pieces share no keyword with another one, and some of them.

    ``words_only`` more would share none but for words of their texts.
    """

    count: int
    examples: Sequence[str]
    words_only: int


class UnreachedFinding(Record, frozen=True, kw_only=True):
    """How many pieces are in none of the lists looked at, of so many, and some of them: none until all is looked at."""

    count: int
    examples: Sequence[str]
    lists: int
    of: int
    done: bool


class UnseenFinding(Record, Generic[Moment], frozen=True, kw_only=True):
    """How many pieces that may be shown no placement showed since a moment, and some of them; ``shown`` others were."""

    count: int
    examples: Sequence[str]
    since: Moment
    shown: int


class PlayedFinding(Record, frozen=True, kw_only=True):
    """How often a piece was played from placements, and how often they showed it."""

    id: str
    played: int
    shown: int


class KeywordFindings(Record, frozen=True, kw_only=True, rename="camel"):
    """What was found about keywords; where there are too many, ``complete`` is false: of the first ``count``."""

    count: int
    complete: bool
    used_once: OnceFinding
    written_alike: VariantFinding
    one_weight: Sequence[FlatFinding]
    lonely: LonelyFinding


class CategoryTells(Record, frozen=True, kw_only=True):
    """How many times as alike pieces that one person likes are, by the keywords of a category alone."""

    category: str
    tells: float
    grade: Literal["much", "something", "little"]


class TypeShare(Record, frozen=True, kw_only=True):
    """How many likes are of a type of interaction, and the grade, of 16, of a whole one."""

    type: str
    count: int
    grade: int


class RowShare(Record, frozen=True, kw_only=True):
    """A placement, by its name and title, and how often what it showed was opened."""

    placement: str
    title: str
    opened: int


class TellingFall(Record, frozen=True, kw_only=True):
    """That keywords tell half of what they told a week ago: the days that took most, and what led to their likes."""

    before: float
    now: float
    days: Sequence[str]
    likes: int
    placements: Sequence[RowShare]


class LikeFindings(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is known of likes: how much keywords tell of them, whether their order does, what a full like is.

    ``pending`` interactions are not weighed yet; ``age_seconds`` is how old the weights are, ``same_gaps`` the share of
    times between likes that are the same. Each is left out where there is none.
    """

    count: int
    pending: int
    age_seconds: float | None = None
    tells: float
    grade: Literal["much", "something", "little"]
    categories: Sequence[CategoryTells] = ()
    people: int = 0
    of_people: int = 0
    direction: float
    degree: Literal["strongly", "somewhat", "hardly"]
    same_gaps: float | None = None
    counts_order: bool
    types: Sequence[TypeShare] = ()
    full_like: str = ""
    full_weight: float
    fall: TellingFall | None = None


class CatalogueFindings(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was found by now about a catalogue; what is still being found out is left out, and ``done`` is false.

    Where no package ``records_shown`` pieces, nothing is ever said of those that were not.
    """

    source: str
    version: int
    pieces: int
    made_at: Moment | None = None
    done: bool
    failed: bool = False
    records_shown: bool = True
    keywords: KeywordFindings | None = None
    unreached: UnreachedFinding | None = None
    unseen: UnseenFinding[Moment] | None = None
    most_played: Sequence[PlayedFinding] = ()
    likes: LikeFindings


class PlacementActivity(Record, frozen=True, kw_only=True):
    """How many lists and pieces were shown on a UTC day, and of these pieces how many were opened, and played."""

    lists: int
    shown: int
    opened: int
    played: int


class ActivityDay(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What happened on a UTC day: interactions by type, and what placements showed; each of them, if asked for."""

    day: str
    interactions: Mapping[str, int]
    lists: int
    shown: int
    opened: int
    played: int
    placements: Mapping[str, PlacementActivity] = {}


class ActivityListing(Record, frozen=True, kw_only=True):
    """What happened by UTC day, ascending, today the last; not ``complete`` where older interactions are left out."""

    days: Sequence[ActivityDay]
    complete: bool

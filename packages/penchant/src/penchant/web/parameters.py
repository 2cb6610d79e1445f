"""Query parameters: their names, how their values are read, and how the OpenAPI document describes them."""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from penchant.enrichment import enrichments
from penchant.model import MAX_ID_LENGTH
from penchant.web.query import Parameter, QueryParameters, integer
from penchant.wire import id_problem
from penchant.wire.attributes import MAX_COUNTED_VALUES
from penchant.wire.filters import MAX_FILTER_BYTES
from penchant.wire.settings import MAX_DAYS
from penchant.wire.stored import include_problem
from penchant.wire.syntax import hundredths_of
from penchant.wire.text import name_problem
from penchant.wire.times import parse_date
from penchant_engine.index.people.popularity import HALF_LIFE_DAYS
from penchant_engine.model import INTERACTION_TYPE_NAMES, MAX_TAKE, Algorithm, Basis, InteractionType

MAX_LISTED_INTERACTIONS = 1_000
"""Interactions in one page of a listing (interface, section 6)."""
MAX_LISTED_PEOPLE = 10_000
"""People in one list of people: as many as a mailing takes in some requests to who sends it."""
MAX_FOUND = 100
"""Hits in one page of a search: as many as a person looks through."""
MAX_LISTED_KEYWORDS = 1_000
"""Keywords in one page of a listing: those of most categories."""
MAX_ACTIVITY_DAYS = 366
"""Days of what happened in one answer: a year."""
MAX_EXCLUDED = 1_000
"""Ids that one request leaves out: some pages of lists that a person has been shown."""
MAX_CHANGE_WAIT_S = 25
"""How long a follower's request waits for a change: less than proxies allow, and than a service takes to end."""
_SHARE = re.compile(r"[0-9]*\.?[0-9]+\Z")
_ALGORITHMS = {
    "jaccard": Algorithm.JACCARD,
    "jaccard index": Algorithm.JACCARD,
    "cosine": Algorithm.COSINE,
    "cosine similarity": Algorithm.COSINE,
}
_TWO_WORDS = re.compile(r"(jaccard|cosine)[-_ ]?(index|similarity)")
_AUTO = "auto"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _read_algorithm(text: str) -> Algorithm:
    algorithm = _ALGORITHMS.get(_TWO_WORDS.sub(r"\1 \2", text.lower()))
    if algorithm is None:
        raise ValueError(f"Found another algorithm; accepted are {', '.join(_ALGORITHMS)}.")
    return algorithm


def _read_basis(text: str) -> Basis:
    try:
        return Basis(text)
    except ValueError:
        raise ValueError(f"Found another basis; accepted are {', '.join(each.value for each in Basis)}.") from None


def read_interaction_type(text: str) -> InteractionType:
    """Return the type of interaction of this exact name.

    Raises:
        ValueError: there is none.
    """
    try:
        return InteractionType(text)
    except ValueError:
        raise ValueError(f"Found another type; accepted are {INTERACTION_TYPE_NAMES}.") from None


def read_boolean(text: str) -> bool:
    """Return what a parameter says that is on or off."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError("Found another value; true, false, 1 and 0 are accepted.")
    return value


def _read_include(query: QueryParameters) -> tuple[str, ...]:
    names = query.separated("include")
    for name in names:
        problem = include_problem(name)
        if problem:
            raise ValueError(problem)
    return tuple(dict.fromkeys(names))


def _read_include_keywords(query: QueryParameters) -> tuple[str, ...]:
    names = query.separated("include")
    known = (*enrichments(), "terms")
    if any(name not in known for name in names):
        raise ValueError(f"Found another member; {' or '.join(known)} is accepted: pieces have the others anyway.")
    return tuple(dict.fromkeys(names))


def _read_automatic(text: str) -> str:
    if text != _AUTO:
        raise ValueError(f"Found another value; {_AUTO} is accepted.")
    return text


def read_id(text: str) -> str:
    """Return an id, of a person or a piece."""
    problem = id_problem(text)
    if problem:
        raise ValueError(problem)
    return text


def _read_name(text: str) -> str:
    problem = name_problem(text)
    if problem:
        raise ValueError(problem)
    return text


def _read_catalogs(query: QueryParameters) -> frozenset[str] | None:
    names = query.separated("catalogs")
    for name in names:
        problem = name_problem(name)
        if problem:
            raise ValueError(f"A catalog is not acceptable: {problem}")
    return frozenset(names) or None


def _read_excluded(query: QueryParameters) -> frozenset[str]:
    ids = query.numbered("exclude")
    if len(ids) > MAX_EXCLUDED:
        raise ValueError(f"Found {len(ids)} ids; up to {MAX_EXCLUDED} are accepted.")
    return frozenset(map(read_id, ids))


def _read_deleted(query: QueryParameters) -> list[str] | None:
    return [read_id(text) for text in query.numbered("id")] or None


def _read_form(text: str) -> str:
    if text != "generators":
        raise ValueError("Found another form; generators is accepted.")
    return text


def _read_kind(text: str) -> str:
    return _one_of(KIND, text)


def _read_known(text: str) -> str:
    return _one_of(KNOWN, text)


def _read_place(text: str) -> str:
    return _one_of(PLACE, text)


def _one_of(parameter: Parameter, text: str) -> str:
    accepted: Sequence[str] = parameter.schema["enum"]
    if text not in accepted:
        raise ValueError(f"Found another {parameter.name}; accepted are {', '.join(accepted)}.")
    return text


def _read_share(text: str) -> float:
    if not _SHARE.fullmatch(text) or float(text) > 1:
        raise ValueError("Found another value; a number from 0 to 1 is accepted.")
    return float(text)


def _read_portion(text: str) -> int:
    portion = hundredths_of(_read_share(text))
    if portion is None:
        raise ValueError("Found more than two decimals; a number from 0 to 1 with at most two is accepted.")
    return portion


def _old_take(read: Callable[[str], int], default: int) -> Parameter:
    """Return the old name of a parameter `limit`, which reads its values so."""
    return Parameter(
        name="take",
        description="The old name of `limit`, which wins over it.",
        schema={"type": "integer", "minimum": 1, "default": default},
        read=read,
        default=default,
        deprecated=True,
    )


def _bounds(what: str, *, most: int, default: int) -> tuple[Parameter, Parameter]:
    """Return the parameter of how many of something a page or list has, and its old name."""
    limit = Parameter(
        name="limit",
        description=f"How many {what} to return, 1 to {most:,} (more counts as {most:,}). Wins over `take`. "
        f"Default {default}.",
        schema={"type": "integer", "minimum": 1},  # no default, as in `LIMIT`
        read=lambda text: integer(text, least=1, most=most),
    )
    return limit, _old_take(limit.read, default)


def _limit(what: str, *, most: int, default: int) -> Parameter:
    """Return the parameter of how many of something a page has."""
    return Parameter(
        name="limit",
        description=f"How many {what} to return, 1 to {most:,}; more counts as {most:,}.",
        schema={"type": "integer", "minimum": 1, "default": default},
        read=lambda text: integer(text, least=1, most=most),
        default=default,
    )


VERSION_SCHEMA = {"type": "integer", "format": "int64", "minimum": 0}
"""Of versions, as answers have them: generated clients hand one on without converting it."""

TAKE = Parameter(
    name="take",
    description="How many entries to return, 1 to 30; more counts as 30.",
    schema={"type": "integer", "minimum": 1, "default": MAX_TAKE},
    read=lambda text: integer(text, least=1, most=MAX_TAKE),
    default=MAX_TAKE,
)
LIMIT = Parameter(
    name="limit",
    description="How many entries to return, 1 to 30; more counts as 30. Wins over `take`; without both, 30.",
    # No default: some generated clients send defaults, and this one would overrule a `take` that is meant.
    schema={"type": "integer", "minimum": 1},
    read=TAKE.read,
)
OLD_TAKE = _old_take(TAKE.read, MAX_TAKE)
CATALOGS = Parameter(
    name="catalogs",
    description="Only pieces in one of these catalogs: repeated, or separated by commas that are not encoded (`%2C` "
    "belongs to a name).",
    schema={"type": "array", "items": {"type": "string"}},
    read_all=_read_catalogs,
)
FILTER = Parameter(
    name="filter",
    description="Only pieces for which this holds, as JSON: a condition such as "
    '`{"category":"genre","any":["crime","noir"]}`, `{"catalogs":["tv"]}` or, by an attribute that settings name, '
    '`{"key":"year","gte":1990}`, or a group of them, `{"must":[…],"should":[…],"mustNot":[…]}`.',
    schema={"type": "string", "maxLength": MAX_FILTER_BYTES},
)
BOOST = Parameter(
    name="boost",
    description="What counts more or less, as JSON: a condition or group as in `filter` with a `factor` from 0.01 to "
    '100, `{"key":"language","any":["en"],"factor":1.5}`, or up to four of these in an array. Where it holds, s '
    "(1 - score) is multiplied.",
    schema={"type": "string", "maxLength": MAX_FILTER_BYTES},
)
ALGO = Parameter(
    name="algo",
    description="`jaccard` (also `jaccard index`) or `cosine` (also `cosine similarity`), in any case, with `-`, `_`, "
    "a space or nothing between the words. Without it cosine for a piece with a weighted keyword, otherwise jaccard.",
    schema={"type": "string", "enum": list(_ALGORITHMS)},
    read=_read_algorithm,
)
BY = Parameter(
    name="by",
    description="What similarity goes by: `content` (the pieces' keywords), `audience` (people who like this piece "
    "also like the others) or `both` (the mean).",
    schema={"type": "string", "enum": [each.value for each in Basis], "default": Basis.CONTENT.value},
    read=_read_basis,
    default=Basis.CONTENT,
)
AT = Parameter(
    name="at",
    description="The moment for availability and interactions: the end of this day, UTC; today means now.",
    schema={"type": "string", "format": "date"},
    read=parse_date,
)
INCLUDE_SEEN = Parameter(
    name="include-seen",
    description="Whether pieces that the person already knows may be recommended.",
    schema={"type": "boolean"},
    read=read_boolean,
)
INCLUDE = Parameter(
    name="include",
    description="What entries carry of their pieces: `label`, `extras`, `extras.NAME`, `catalogs`, `available`"
    f"{''.join(f', `{name}`' for name in enrichments())}; repeated, or separated by commas that are not encoded.",
    schema={"type": "array", "items": {"type": "string"}},
    read_all=_read_include,
)
INCLUDE_KEYWORDS = Parameter(
    name="include",
    description="; ".join(f"`{name}`: pieces come with {each.included}" for name, each in enrichments().items())
    + "; `terms`: with their keywords as lists go by them.",
    schema={"type": "array", "items": {"type": "string", "enum": [*enrichments(), "terms"]}},
    read_all=_read_include_keywords,
)
AUTOMATIC = tuple(
    Parameter(
        name=name,
        description=f"`{_AUTO}`: {each.explained}",
        schema={"type": "string", "enum": [_AUTO]},
        read=_read_automatic,
    )
    for name, each in enrichments().items()
    if each.automatic is not None
)
"""By which a submission makes a source whose pieces get keywords of packages."""
FILL = Parameter(
    name="fill",
    description="`false` leaves out pieces that nothing speaks for.",
    schema={"type": "boolean", "default": True},
    read=read_boolean,
    default=True,
)
EXCLUDE = Parameter(
    name="exclude",
    description="Leave out the piece with this id, in this request; may be repeated, up to 1,000 times.",
    schema={"type": "array", "items": {"type": "string"}, "maxItems": MAX_EXCLUDED},
    read_all=_read_excluded,
)
DELETED = Parameter(
    name="id",
    description="The id of a piece to delete; may be repeated. Without it and without a body all pieces go.",
    schema={"type": "array", "items": {"type": "string"}},
    read_all=_read_deleted,
)
DIVERSITY = Parameter(
    name="diversity",
    description="How much pieces are to be unlike each other, from 0 (the best ones) to 1.",
    schema={"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    read=_read_share,
    default=0.0,
)
CALIBRATION = Parameter(
    name="calibration",
    description="How much a list keeps the shares of the person's tastes, by a category, from 0 (not at all) to 1.",
    schema={"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    read=_read_share,
)
CALIBRATION_CATEGORY = Parameter(
    name="calibration-category",
    description="The category by whose keywords tastes and lists have shares.",
    schema={"type": "string"},
    read=_read_name,
)
EXPLAIN = Parameter(
    name="explain",
    description="`true` adds to each entry why it is there.",
    schema={"type": "boolean", "default": False},
    read=read_boolean,
    default=False,
)
CATEGORY = Parameter(
    name="category",
    description="The category whose keywords are wanted; needed.",
    schema={"type": "string"},
    read=_read_name,
)
CONTENT_ID = Parameter(
    name="content-id",
    description="Only interactions with this piece.",
    schema={"type": "string"},
    read=read_id,
)
TYPE = Parameter(
    name="type",
    description="Only interactions of this type.",
    schema={"type": "string", "enum": list(InteractionType)},
    read=read_interaction_type,
)
SKIP = Parameter(
    name="skip",
    description="How many leading entries to skip.",
    schema={"type": "integer", "minimum": 0, "default": 0},
    read=lambda text: integer(text, least=0),
    default=0,
)
PAGE_LIMIT = Parameter(
    name="limit",
    description="How many entries to return; without it, all.",
    schema={"type": "integer", "minimum": 1},
    read=lambda text: integer(text, least=1),
)
INTERACTIONS_LIMIT, INTERACTIONS_TAKE = _bounds("interactions", most=MAX_LISTED_INTERACTIONS, default=10)
PEOPLE_LIMIT, PEOPLE_TAKE = _bounds("people", most=MAX_LISTED_PEOPLE, default=100)
NEWEST = replace(
    PAGE_LIMIT, description="Only so many of the newest interactions, and so many of the newest lists; without it, all."
)
TIMESTAMP = Parameter(
    name="timestamp",
    description="When it happened (RFC 3339), at most 5 minutes ahead; without it, now.",
    schema={"type": "string", "format": "date-time"},
)
EVENT_ID = Parameter(
    name="event-id",
    description="Your id of the event: the same one of the same person is stored once, and answered alike.",
    schema={"type": "string"},
    read=read_id,
)
TAKEN_AT = Parameter(
    name="timestamp",
    description="When it happened (RFC 3339): what happened at this moment alone.",
    schema=TIMESTAMP.schema,
)
TAKEN_EVENT = Parameter(
    name="event-id",
    description="Your id of the event: that one alone.",
    schema=EVENT_ID.schema,
    read=read_id,
)
LIST = Parameter(
    name="list",
    description="The list that the person took it from, by its `x-penchant-list`; without it, the last one shown.",
    schema={"type": "string"},
)
VALUE = Parameter(
    name="value",
    description="What part of it was watched, read or listened to, with at most two decimals; without it, the whole.",
    schema={"type": "number", "minimum": 0, "maximum": 1},
    read=_read_portion,
)
CONFIRM = Parameter(
    name="confirm",
    description="The source's name once more, so that no slip deletes it.",
    schema={"type": "string"},
)
HALF_LIFE = Parameter(
    name="halfLifeDays",
    description="After how many days a person counts half: few of them tell what is popular lately, 0 for ever.",
    schema={"type": "integer", "minimum": 0, "maximum": MAX_DAYS, "default": HALF_LIFE_DAYS},
    read=lambda text: integer(text, least=0, most=MAX_DAYS),
)
NEWNESS = Parameter(
    name="halfLifeDays",
    description="At which age in days the score is one half; without it, the source's setting `newPieceHalfLifeDays`.",
    schema={"type": "integer", "minimum": 1, "maximum": MAX_DAYS},
    read=lambda text: integer(text, least=1, most=MAX_DAYS),
)
MIN_VERSION = Parameter(
    name="min-version",
    description="Wait until what is read has reached this version (also as header `x-penchant-min-version`).",
    schema=dict(VERSION_SCHEMA),
    read=lambda text: integer(text, least=0),
    default=0,
)
SINCE = Parameter(
    name="since",
    description="The version that the follower has reached; without it all pieces come.",
    schema=dict(VERSION_SCHEMA),
    read=lambda text: integer(text, least=0),
)
WAIT = Parameter(
    name="wait",
    description="How many seconds to wait for a change where there is none yet, up to 25; more counts as 25.",
    schema={"type": "integer", "minimum": 0, "default": 0},
    read=lambda text: integer(text, least=0, most=MAX_CHANGE_WAIT_S),
    default=0,
)
HISTORY = Parameter(
    name="history",
    description="The `history` of which that version is, as the feed named it; of another one all pieces come.",
    schema={"type": "string"},
)
KEPT_VERSION = Parameter(
    name="version",
    description="Only this version, with the settings or ids that it had.",
    schema=dict(VERSION_SCHEMA),
    read=lambda text: integer(text, least=0),
)
FOR = Parameter(
    name="for",
    description="`generators`: OpenAPI 3.0.3, in which a category's value has no type, for tools that take no unions.",
    schema={"type": "string", "enum": ["generators"]},
    read=_read_form,
)
AFTER = Parameter(
    name="after",
    description="Go on after what was listed: the `x-penchant-next` of the page before, with that page's parameters "
    "(`take`, `limit`, `include` and `explain` may differ).",
    schema={"type": "string"},
)
PIECE, PERSON = "piece", "person"
"""Kinds of what a search looks for, and keywords."""
KIND = Parameter(
    name="kind",
    description="What to look for: `piece`, `person` (needs the scope `personal`) or `keyword`.",
    schema={"type": "string", "enum": [PIECE, PERSON, "keyword"], "default": PIECE},
    read=_read_kind,
    default=PIECE,
)
SEARCHED = Parameter(
    name="q",
    description="What to look for: words of a piece, or the beginning of a person's id or of a keyword; needed "
    "but for people: without it come those who did most lately.",
    schema={"type": "string", "maxLength": MAX_ID_LENGTH},
    read=read_id,
)
KNOWN = Parameter(
    name="known",
    description="Only people with few (`little`: three at most) of the newest interactions, those of the fewest first, "
    "or with more (`well`); without `q`.",
    schema={"type": "string", "enum": ["little", "well"]},
    read=_read_known,
)
PLACE = Parameter(
    name="place",
    description="Only pieces whose id begins so (`id`; without `q` all) or whose label has the text in it, whatever "
    "its case (`label`), ascending by id, from the one past `after` on.",
    schema={"type": "string", "enum": ["id", "label"]},
    read=_read_place,
)
LOOK_AFTER = Parameter(
    name="after",
    description="Only what is found among pieces past this id: the `after` of an answer that is not complete.",
    schema={"type": "string"},
    read=read_id,
)
OF_CATEGORY = Parameter(
    name="category",
    description="Only keywords of this category, by its whole name.",
    schema={"type": "string"},
    read=_read_name,
)
BEGINNING = Parameter(
    name="q",
    description="Only keywords that begin so, in small or capital letters.",
    schema={"type": "string", "maxLength": MAX_ID_LENGTH},
    read=read_id,
    default="",
)
TYPED = replace(BEGINNING, description="What is typed of a title; without it come some titles to begin with.")
IN_CATEGORY = Parameter(
    name="category",
    description="Only keywords of this category; for pieces: only those that have exactly the keyword `q` of it.",
    schema={"type": "string"},
    read=_read_name,
)
WAITING = Parameter(
    name="wait",
    description="`false` does not wait for what is just being found out.",
    schema={"type": "boolean", "default": True},
    read=read_boolean,
    default=True,
)
OF_PLACEMENTS = Parameter(
    name="placements",
    description="`true` adds what each placement showed.",
    schema={"type": "boolean", "default": False},
    read=read_boolean,
    default=False,
)
FOUND_LIMIT = _limit("hits", most=MAX_FOUND, default=20)
KEYWORDS_LIMIT = _limit("keywords", most=MAX_LISTED_KEYWORDS, default=50)
EXAMPLES = Parameter(
    name="examples",
    description=f"How many values of each member, those of the most pieces, 1 to {MAX_COUNTED_VALUES}.",
    schema={"type": "integer", "minimum": 1, "default": 3},
    read=lambda text: integer(text, least=1, most=MAX_COUNTED_VALUES),
    default=3,
)
DAYS = Parameter(
    name="days",
    description=f"Of how many days, today the last, 1 to {MAX_ACTIVITY_DAYS}; more counts as {MAX_ACTIVITY_DAYS}.",
    schema={"type": "integer", "minimum": 1, "default": 30},
    read=lambda text: integer(text, least=1, most=MAX_ACTIVITY_DAYS),
    default=30,
)
PLAIN = (LIMIT, OLD_TAKE, CATALOGS, FILTER, BOOST, AT, EXCLUDE, INCLUDE)
"""What narrows any list."""
PERSONAL = (
    *(LIMIT, TAKE, CATALOGS, FILTER, BOOST, ALGO, AT, INCLUDE_SEEN, FILL, EXCLUDE),
    *(DIVERSITY, CALIBRATION, CALIBRATION_CATEGORY, INCLUDE),
)
"""What chooses a list for a person."""
NARROWING = (CATALOGS, FILTER, BOOST)
"""What needs the plan feature ``filters``."""

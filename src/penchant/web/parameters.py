"""Query parameters: their names, how their values are read, and how the OpenAPI document describes them.

Each `Parameter` both parses and describes itself, so that the OpenAPI document cannot drift from the code.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penchant.errors import Fault, InvalidInput
from penchant.model import INTERACTION_TYPE_NAMES, MAX_TAKE, Algorithm, Basis, InteractionType
from penchant.web.raw import QueryParameters, list_name
from penchant.wire import id_problem, name_problem, parse_date

MAX_LISTED_INTERACTIONS = 1_000
"""Interactions in one page of a listing (interface, section 6)."""
MAX_EXCLUDED = 1_000
"""Ids that one request leaves out: some pages of lists that a person has been shown."""
MAX_CHANGE_WAIT_S = 25
"""How long a follower's request waits for a change: less than proxies allow, and than a service takes to end."""
_SHARE = re.compile(r"[0-9]*\.?[0-9]+\Z")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
MAX_REMEMBERED_LENGTH = 200
"""Characters of a query whose values are remembered: what clients repeat is short."""
_LONGEST_INTEGER = 18
"""Digits that fit a 64-bit integer; longer ones count as that large."""
_ALGORITHMS = {
    "jaccard": Algorithm.JACCARD,
    "jaccard index": Algorithm.JACCARD,
    "cosine": Algorithm.COSINE,
    "cosine similarity": Algorithm.COSINE,
}
_TWO_WORDS = re.compile(r"(jaccard|cosine)[-_ ]?(index|similarity)")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


# Compared and hashed by identity: `_read_parameters` remembers by parameters, and schemas cannot be hashed.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameter:
    """A query parameter: its name, how its text is read (``ValueError`` says what is accepted), its schema.

    One that is a list is read by ``read_all`` from the whole query instead: it may be repeated, and spelt
    ``name[]`` or ``name[0]``.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any] = str
    read_all: Callable[[QueryParameters], Any] | None = None
    default: Any = None
    deprecated: bool = False

    def is_named(self, key: str) -> bool:
        """Return whether a key of a query means this parameter."""
        return key == self.name or (self.read_all is not None and list_name(key) == self.name)

    def value(self, query: QueryParameters) -> Any:
        """Return the parameter's value in this query, or the default where it is absent.

        Raises:
            ValueError: given twice, blank, or not acceptable.
        """
        if self.read_all is not None:
            return self.read_all(query)
        given = query.values(self.name)
        if not given:
            return self.default
        # Refused, since programs differ in which of two they take; so a proxy could understand another request.
        if len(given) > 1:
            raise ValueError("Given more than once; give it once.")
        if not given[0]:
            raise ValueError("The value is blank; leave the parameter out or give a value.")
        return self.read(given[0])


@dataclass(frozen=True, slots=True)
class Values:
    """The values of an operation's parameters, and the names in the query that it does not know."""

    known: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.known[name]


def read_parameters(parameters: Collection[Parameter], query: QueryParameters) -> Values:
    """Return the values of all parameters.

    Raises:
        InvalidInput: with a fault for every parameter that is not acceptable.
    """
    if sum(len(name) + len(value) for name, value in query.pairs) > MAX_REMEMBERED_LENGTH:
        return _read_parameters.__wrapped__(tuple(parameters), query)
    return _read_parameters(tuple(parameters), query)


@functools.lru_cache(maxsize=1_024)
def _read_parameters(parameters: tuple[Parameter, ...], query: QueryParameters) -> Values:
    """Return the values; remembered, since clients ask the same way again and again: 12 us less a request."""
    known: dict[str, Any] = {}
    faults = []
    for parameter in parameters:
        try:
            known[parameter.name] = parameter.value(query)
        except ValueError as error:
            faults.append(Fault(parameter=parameter.name, detail=str(error)))
    if faults:
        first = faults[0]
        raise InvalidInput(f"The parameter {first.parameter} is not acceptable: {first.detail}", faults=faults)
    return Values(known, ignored_names(parameters, query))


def ignored_names(parameters: Collection[Parameter], query: QueryParameters) -> tuple[str, ...]:
    """Return the names in a query that none of the parameters has."""
    if not query.pairs:
        return ()
    return tuple(key for key in query.names() if not any(parameter.is_named(key) for parameter in parameters))


def integer(text: str, *, least: int, most: int | None = None) -> int:
    """Return the integer that a text spells, cut to ``most``.

    Raises:
        ValueError: no integer, or less than ``least``.
    """
    if not _INTEGER.match(text):
        raise ValueError(f"Found a value that is no integer; an integer from {least} on is accepted.")
    # Cut, not refused: a number of a thousand digits is a large number, and Python would not convert any length.
    digits = text.lstrip("+-").lstrip("0")
    value = int(digits[:_LONGEST_INTEGER] or "0")
    if text.startswith("-"):
        value = -value
    if value < least:
        raise ValueError(f"Found {value}; an integer from {least} on is accepted.")
    return value if most is None else min(value, most)


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


def _read_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError("Found another value; true, false, 1 and 0 are accepted.")
    return value


def _read_id(text: str) -> str:
    problem = id_problem(text)
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
    return frozenset(map(_read_id, ids))


def _read_deleted(query: QueryParameters) -> list[str] | None:
    return [_read_id(text) for text in query.numbered("id")] or None


def _read_form(text: str) -> str:
    if text != "generators":
        raise ValueError("Found another form; generators is accepted.")
    return text


def _read_share(text: str) -> float:
    if not _SHARE.fullmatch(text) or float(text) > 1:
        raise ValueError("Found another value; a number from 0 to 1 is accepted.")
    return float(text)


TAKE = Parameter(
    name="take",
    description="How many entries to return, 1 to 30; more counts as 30.",
    schema={"type": "integer", "minimum": 1, "default": MAX_TAKE},
    read=lambda text: integer(text, least=1, most=MAX_TAKE),
    default=MAX_TAKE,
)
LIMIT = Parameter(
    name="limit",
    description="How many entries to return, 1 to 30; more counts as 30. Wins over `take`.",
    schema={"type": "integer", "minimum": 1, "default": MAX_TAKE},
    read=TAKE.read,
)
OLD_TAKE = Parameter(
    name="take",
    description="The old name of `limit`, which wins over it.",
    schema={"type": "integer", "minimum": 1, "default": MAX_TAKE},
    read=TAKE.read,
    default=MAX_TAKE,
    deprecated=True,
)
CATALOGS = Parameter(
    name="catalogs",
    description="Only pieces in one of these catalogs: repeated, or separated by commas that are not encoded (`%2C` "
    "belongs to a name).",
    schema={"type": "array", "items": {"type": "string"}},
    read_all=_read_catalogs,
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
    read=_read_boolean,
)
FILL = Parameter(
    name="fill",
    description="`false` leaves out pieces that nothing speaks for.",
    schema={"type": "boolean", "default": True},
    read=_read_boolean,
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
EXPLAIN = Parameter(
    name="explain",
    description="`true` adds to each entry why it is there.",
    schema={"type": "boolean", "default": False},
    read=_read_boolean,
    default=False,
)
CONTENT_ID = Parameter(
    name="content-id",
    description="Only interactions with this piece.",
    schema={"type": "string"},
    read=_read_id,
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
INTERACTIONS_LIMIT = Parameter(
    name="limit",
    description="How many interactions to return, 1 to 1,000; more counts as 1,000. Default 10.",
    schema={"type": "integer", "minimum": 1, "default": 10},
    read=lambda text: integer(text, least=1, most=MAX_LISTED_INTERACTIONS),
)
INTERACTIONS_TAKE = Parameter(
    name="take",
    description="The old name of `limit`, which wins over it.",
    schema={"type": "integer", "minimum": 1, "default": 10},
    read=INTERACTIONS_LIMIT.read,
    default=10,
    deprecated=True,
)
TIMESTAMP = Parameter(
    name="timestamp",
    description="When it happened (RFC 3339), at most 5 minutes ahead; without it, now.",
    schema={"type": "string", "format": "date-time"},
)
EVENT_ID = Parameter(
    name="event-id",
    description="Your id of the event: the same one is stored once, and answered alike.",
    schema={"type": "string"},
    read=_read_id,
)
CONFIRM = Parameter(
    name="confirm",
    description="The source's name once more, so that no slip deletes it.",
    schema={"type": "string"},
)
MIN_VERSION = Parameter(
    name="min-version",
    description="Wait until what is read has reached this version (also as header `x-penchant-min-version`).",
    schema={"type": "integer", "minimum": 0},
    read=lambda text: integer(text, least=0),
    default=0,
)
SINCE = Parameter(
    name="since",
    description="The version that the follower has reached; without it all pieces come.",
    schema={"type": "integer", "minimum": 0},
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
FOR = Parameter(
    name="for",
    description="`generators`: OpenAPI 3.0.3, in which a category's value has no type, for tools that take no unions.",
    schema={"type": "string", "enum": ["generators"]},
    read=_read_form,
)
PERSONAL = (LIMIT, TAKE, CATALOGS, ALGO, AT, INCLUDE_SEEN, FILL, EXCLUDE, DIVERSITY)
"""What chooses a list for a person."""

"""Submissions: every member of their pieces is checked, and becomes the bytes that reads return.

An entry of the body goes the short way where it can, and both ways give the same bytes:

    entry --> `read_plain` --(plain)------------------------------> bytes
                  |
                  +--(anything else)--> `_read_unusual` --(fine)--> bytes
                                             |
                                             +--(a fault)---------> noted with its pointer, and nothing is stored

A typed, strict decoder takes plain pieces, and they hold nothing unusual. One that is not plain is not wrong. Most are
plain, and to see that costs a third as much.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Generic

import msgspec
from msgspec import UNSET, UnsetType

from penchant.errors import TooManyEntries
from penchant.model import (
    MAX_ID_LENGTH,
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PIECES_PER_SUBMISSION,
    EncodedPiece,
    PieceLimits,
)
from penchant.wire.answers import Moment
from penchant.wire.fields import (
    ID_SCHEMA,
    NAME_SCHEMA,
    Body,
    Description,
    Example,
    Id,
    Json,
    Record,
    described,
    ref,
    stated,
)
from penchant.wire.stored import AS_SUBMITTED, PieceReading, decode_stored_piece
from penchant.wire.syntax import (
    MAX_FREE_DEPTH,
    UNREADABLE,
    Faults,
    decode_entry,
    decode_object,
    encode,
    has_long_number,
    is_deeper,
    kind_of,
    pointer,
    require_syntax,
    split_array,
)
from penchant.wire.text import RESERVED_IDS, id_problem, label_problem, name_problem, submitted_id_problem
from penchant.wire.times import complete_offset
from penchant_engine.model import MAX_WEIGHT, IndexedPiece
from penchant_engine.moments import parse_timestamp

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
_Label = Annotated[str, msgspec.Meta(max_length=MAX_LABEL_LENGTH)]
_Weight = Annotated[int, msgspec.Meta(ge=0, le=MAX_WEIGHT)]
_CONTROL = re.compile(rb'\\[^"\\]|\x7f|\xc2[\x80-\x9f]')
"""A control character in JSON as `encode` writes it; it may find one behind two backslashes that is none."""
_KEY = b'"key":'
"""What `encode` writes of a keyword with members, and nowhere in a text."""
_BACKSLASH, _DELETE, _BEFORE_C1 = b"\\\x7f\xc2"
"""What one of these begins with; to look for a byte is six times faster than for bytes."""


class Piece(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A piece as it is submitted and returned.

    A category holds keywords, plain (``"noir"``) or as objects (``{"key": "noir", "weight": 80}``), or further
    categories by name. ``filters`` may hold ``catalogs``, ``availableFrom`` and ``availableUntil``.
    """

    id: Annotated[
        str, described(ID_SCHEMA), Description("Unique in the source; neither '.' nor '..'."), Example("alien")
    ]
    label: Annotated[str | None, described({"type": "string", "maxLength": MAX_LABEL_LENGTH}), Example("Alien")] = None
    categories: Annotated[
        Mapping[str, Any],
        described(ref("Categories")),
        Example(
            {
                "genre": ["horror", {"key": "science fiction", "weight": 80}],
                "people": {"director": ["Ridley Scott"]},
            }
        ),
    ]
    filters: Annotated[
        Mapping[str, Any],
        described(ref("Filters")),
        Example({"catalogs": ["classics"], "availableFrom": "2026-01-01T00:00:00Z"}),
    ] = {}
    extras: Annotated[
        Mapping[str, Any],
        described({"type": "object"}),
        Description("Free-form; returned as it was sent."),
        Example({"year": 1979}),
    ] = {}


PIECE = Body(Piece, is_closed=False)
"""Members are read below, nearly all at once, where 19,000 pieces a second come."""


class IdList(Record, frozen=True, kw_only=True):
    """Ids, ascending; ``count`` is how many the source has, also where only some were asked for."""

    content: list[Id]
    count: Annotated[int, stated({"minimum": 0})]


class PieceWithWords(Piece, frozen=True, kw_only=True, omit_defaults=True):
    """A piece as it is returned, with the words of its texts, and its keywords as lists go by them, if asked for.

    ``terms`` are effective weights by category and keyword, the heaviest first.
    """

    words: Sequence[str] | UnsetType = UNSET
    terms: Mapping[str, Mapping[str, int]] | UnsetType = UNSET


class PiecesById(Record, frozen=True, kw_only=True):
    """Pieces in the order asked, each once, and the ids of those that there are none of."""

    content: list[PieceWithWords]
    missing: list[Id]


class ContentList(Record, Generic[Moment], frozen=True, kw_only=True):
    """Pieces, ascending by id, and when the source last changed."""

    content: list[Piece]
    source: str
    timestamp: Moment


def piece_schemas() -> dict[str, Json]:
    """Return the schemas of pieces as they are sent, as drafts, and as they are returned, by name."""
    sent = PIECE.schema()
    # A submitted member may be null where it may be left out; those of a returned piece never are.
    returned = {"label": {"type": "string"}, "filters": ref("Filters"), "extras": {"type": "object"}}
    either_id = {"oneOf": [ID_SCHEMA, {"type": "null"}]}
    moment = {"type": ["string", "null"], "format": "date-time"}
    keywords = {"type": "array", "items": {"oneOf": [ID_SCHEMA, ref("Keyword")]}}
    piece = sent | {
        "properties": sent["properties"] | returned,
        "required": ["id", "categories", "filters", "extras"],
    }
    weights = {"type": "object", "additionalProperties": {"type": "integer"}}
    asked = {
        "words": {"type": "array", "items": {"type": "string"}},
        "terms": {"type": "object", "additionalProperties": weights},
    }
    return {
        "Keyword": {
            "type": "object",
            "properties": {
                "key": either_id,
                "weight": {"type": ["integer", "null"], "minimum": 0, "maximum": MAX_WEIGHT},
            },
        },
        "Categories": {
            "type": "object",
            "description": "Category names to keywords, or to further categories.",
            "propertyNames": {"minLength": 1, "maxLength": MAX_NAME_LENGTH},
            "additionalProperties": {"oneOf": [keywords, ref("Categories")]},
        },
        "Filters": {
            "type": "object",
            "properties": {
                "catalogs": {"type": ["array", "null"], "items": NAME_SCHEMA},
                "availableFrom": moment,
                "availableUntil": moment,
            },
        },
        "SubmittedPiece": sent,
        "Draft": sent | {"properties": sent["properties"] | {"id": either_id}, "required": ["categories"]},
        "Piece": piece,
        "PieceWithWords": piece | {"properties": piece["properties"] | asked},
    }


class _PlainKeyword(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    key: _Id | None = None
    weight: _Weight | None = None


_PlainCategories = dict[_Name, list[_Id | _PlainKeyword]]
_Filters = dict[str, list[_Name] | str]


class _PlainPiece(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A piece in the order of the specification's members; an absent label is left out, an absent object is empty."""

    id: _Id
    label: _Label | None = None
    categories: _PlainCategories
    filters: _Filters | None = None
    extras: dict[str, Any] | None = None


_plain_decoder = msgspec.json.Decoder(_PlainPiece)


def read_plain(raw: msgspec.Raw, limits: PieceLimits) -> EncodedPiece | None:
    """Return a piece as it will be returned, or ``None`` if it is not plain."""
    if memoryview(raw).nbytes > limits.piece_bytes:
        return None
    try:
        piece = _plain_decoder.decode(raw)
    except UNREADABLE:
        return None
    # A default would be left out by the encoder: absent filters and extras are returned as empty objects.
    piece.filters = piece.filters or {}
    piece.extras = piece.extras or {}
    if (
        piece.id in RESERVED_IDS
        or sum(map(len, piece.categories.values())) > limits.keywords
        or not _is_plain_filters(piece.filters)
        or (piece.extras and is_deeper(piece.extras, MAX_FREE_DEPTH))
    ):
        return None
    encoded = encode(piece)
    if _KEY in encoded and _repeats_keyword(piece.categories):
        return None
    if _may_hold_control(encoded):
        piece.extras = None  # where control characters are welcome
        if _may_hold_control(encode(piece)):
            return None
    return EncodedPiece(id=piece.id, body=encoded)


def _repeats_keyword(categories: _PlainCategories) -> bool:
    """Return whether a keyword with members comes twice in a category, perhaps with two weights."""
    for items in categories.values():
        keys = [item.key for item in items if type(item) is _PlainKeyword]
        if keys and len(set(keys)) < len(keys):
            return True
    return False


def _is_plain_filters(filters: _Filters) -> bool:
    """Return whether the window holds times, and the catalogs are a list."""
    if isinstance(filters.get("catalogs"), str):
        return False
    for name in ("availableFrom", "availableUntil"):
        moment = filters.get(name)
        if moment is None:
            continue
        try:
            parse_timestamp(moment if isinstance(moment, str) else "")
        except ValueError:
            return False
    return True


def _may_hold_control(encoded: bytes) -> bool:
    may_have = _BACKSLASH in encoded or _DELETE in encoded or _BEFORE_C1 in encoded
    return may_have and _CONTROL.search(encoded) is not None


MAX_CATEGORY_DEPTH = 64
"""Levels of nested categories; at least 32 must work (interface, section 3)."""
DEFAULT_LIMITS = PieceLimits()
"""The limits of pieces where no settings say otherwise."""
MAX_IGNORED = 100
"""Left-out members that a receipt names (interface, section 3)."""
MAX_LOOKED_BYTES = 4 * 1024 * 1024
"""After so many bytes that were not plain no further faults are looked for: a second of work."""
_NO_ID = "draft"
"""What stands for the id of a draft without one while its members are checked."""
_LONGEST_PRINTED = 10**12
"""Numbers below are printed in a fault; longer ones are called a number."""
_PIECE_MEMBERS = frozenset(PIECE.members)
_KEYWORD_MEMBERS = frozenset({"key", "weight"})
_WINDOW_MEMBERS = ("availableFrom", "availableUntil")


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded submission: its pieces, distinct by id, and what its receipt says of it."""

    pieces: tuple[EncodedPiece, ...]
    accepted: int
    superseded: int
    ignored: tuple[str, ...]


class _SubmissionScan(msgspec.Struct):
    """State of one pass over a submission: faults, left-out members, and how many bytes took the long way."""

    limits: PieceLimits
    faults: Faults = msgspec.field(default_factory=Faults)
    ignored: list[str] = msgspec.field(default_factory=list)
    looked_bytes: int = 0

    def ignore(self, where: str, names: Iterator[str]) -> None:
        for name in names:
            if len(self.ignored) < MAX_IGNORED:
                self.ignored.append(where + pointer(name))


def decode_submission(body: bytes, limits: PieceLimits = DEFAULT_LIMITS, *, reads_plain: bool = True) -> Submission:
    """Return the pieces of a submission; of two with the same id the later.

    ``reads_plain`` lets plain pieces be read the short way, which changes nothing but the time that it takes.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces than one submission may hold.
        InvalidInput: a piece is not acceptable; every fault has its pointer.
    """
    entries = split_array(body, MAX_PIECES_PER_SUBMISSION, "pieces")
    # The typed decoder does not see that a number in ``extras`` is too long for a double.
    reads_plain = reads_plain and not has_long_number(body)
    scan = _SubmissionScan(limits=limits)
    pieces: dict[str, EncodedPiece] = {}
    for place, raw in enumerate(entries):
        piece = (read_plain(raw, limits) if reads_plain else None) or _read_unusual(raw, f"/{place}", scan)
        # Ended early, ``pieces`` is incomplete: but then there is a fault, and `raise_any` raises.
        if scan.faults.full() or (scan.faults.found and scan.looked_bytes > MAX_LOOKED_BYTES):
            break
        if piece is not None:
            # Taken out first, so that the later one stands where it was sent, not where the earlier one was.
            pieces.pop(piece.id, None)
            pieces[piece.id] = piece
    scan.faults.raise_any()
    return _submission(pieces, len(entries), scan)


def decode_draft(
    body: bytes, limits: PieceLimits = DEFAULT_LIMITS, reading: PieceReading = AS_SUBMITTED
) -> tuple[str | None, IndexedPiece]:
    """Return a piece that is not stored as the index would see it, its words too, and its id where it has one.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: it is not acceptable as a piece; every fault has its pointer.
    """
    require_syntax(body)
    scan = _SubmissionScan(limits=limits)
    given, piece = _read_draft(msgspec.Raw(body), "", scan)
    scan.faults.raise_any()
    stored = encode(piece)
    draft = decode_stored_piece(stored, 0, reading=reading, keywords=reading.keywords_of_unstored(stored))
    return (None, replace(draft, id="")) if given is None else (draft.id, draft)


def decode_drafts(
    body: bytes, most: int, limits: PieceLimits, read: Callable[[Mapping[str, Any], Faults], None]
) -> list[tuple[str | None, bytes]]:
    """Return pieces that are not stored: each one's id, where it has one, and its body as it would be stored.

    They are an array, or the member ``content`` of an object, whose members ``read`` sees.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces than are accepted.
        InvalidInput: something is not acceptable; every fault has its pointer.
    """
    is_array = body.lstrip()[:1] == b"["
    members = {"content": split_array(body, most, "pieces")} if is_array else decode_object(body)
    scan = _SubmissionScan(limits=limits)
    read(members, scan.faults)
    entries, where = members.get("content"), "" if is_array else "/content"
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        scan.faults.add("/content", f"Found {kind_of(entries)}; an array of pieces is accepted.")
        entries = ()
    if len(entries) > most:
        raise TooManyEntries(f"Found {len(entries)} pieces; up to {most} are accepted.")
    pieces = [_read_draft(each, f"{where}/{place}", scan) for place, each in enumerate(entries)]
    scan.faults.raise_any()
    return [(piece_id, encode(piece)) for piece_id, piece in pieces]


def _read_draft(entry: Any, where: str, scan: _SubmissionScan) -> tuple[str | None, Any]:
    """Return the id of a draft, where it has one, and the draft as a piece; what it must not be is noted."""
    if isinstance(entry, msgspec.Raw):
        entry = _decode_entry(entry, where, scan)
        if entry is UNSET:
            return None, None
    given = entry.get("id") if isinstance(entry, dict) else None
    # A draft needs no id, but is checked as a piece, which does.
    if isinstance(entry, dict) and given is None:
        entry = entry | {"id": _NO_ID}
    return given, _read_piece(entry, where, scan)


def _submission(pieces: dict[str, EncodedPiece], accepted: int, scan: _SubmissionScan) -> Submission:
    return Submission(
        pieces=tuple(pieces.values()),
        accepted=accepted,
        superseded=accepted - len(pieces),
        ignored=tuple(scan.ignored),
    )


def _read_unusual(raw: msgspec.Raw, where: str, scan: _SubmissionScan) -> EncodedPiece | None:
    """Return a piece, every member looked at, or ``None`` if it has a fault, which is noted."""
    count = len(scan.faults.found)
    entry = _decode_entry(raw, where, scan)
    if entry is UNSET:
        return None
    piece = _read_piece(entry, where, scan)
    return None if piece is None or len(scan.faults.found) > count else EncodedPiece(id=piece["id"], body=encode(piece))


def _decode_entry(raw: msgspec.Raw, where: str, scan: _SubmissionScan) -> Any:
    """Return an entry as Python values, or UNSET with its fault noted; nothing is made of one that is too large."""
    size, most = memoryview(raw).nbytes, scan.limits.piece_bytes
    if size > most:
        scan.faults.add(where, f"Found a piece of {size} bytes as JSON; up to {most} are accepted.")
        return UNSET
    scan.looked_bytes += size
    return decode_entry(raw, where, scan.faults)


def _read_piece(entry: Any, where: str, scan: _SubmissionScan) -> dict[str, Any] | None:
    """Return a piece as it will be returned, in the order of the specification's members."""
    if not isinstance(entry, dict):
        scan.faults.add(where, f"Found {kind_of(entry)}; an object with id and categories is accepted.")
        return None
    scan.ignore(where, (name for name in entry if name not in _PIECE_MEMBERS))
    piece: dict[str, Any] = {"id": _read_text(entry, "id", where, scan, submitted_id_problem)}
    if entry.get("label") is not None:
        piece["label"] = _read_text(entry, "label", where, scan, label_problem)
    piece["categories"] = _read_categories(entry, where, scan)
    piece["filters"] = _read_filters(entry, where, scan)
    piece["extras"] = _read_object(entry, "extras", where, scan)
    return piece


def _read_text(entry: dict[str, Any], name: str, where: str, scan: _SubmissionScan, problem_of: Any) -> str:
    """Return a member that must be a text, or "" with its fault noted; ``problem_of`` checks the text."""
    if name not in entry:
        scan.faults.add(f"{where}/{name}", f"The member {name} is missing; it is required.")
        return ""
    text = entry[name]
    if not isinstance(text, str):
        scan.faults.add(f"{where}/{name}", f"Found {kind_of(text)}; a string is accepted.")
        return ""
    problem = problem_of(text)
    if problem:
        scan.faults.add(f"{where}/{name}", problem)
    return text


def _read_object(entry: dict[str, Any], name: str, where: str, scan: _SubmissionScan) -> dict[str, Any]:
    """Return a free-form member, {} where it is absent or null, or where it has a fault, which is noted."""
    value = entry.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        scan.faults.add(f"{where}/{name}", f"Found {kind_of(value)}; an object is accepted.")
        return {}
    if is_deeper(value, MAX_FREE_DEPTH):
        scan.faults.add(f"{where}/{name}", f"Nested deeper than {MAX_FREE_DEPTH} levels, the most accepted.")
        return {}
    return value


def _read_categories(entry: dict[str, Any], where: str, scan: _SubmissionScan) -> dict[str, Any]:
    """Return the categories of a piece as they will be returned; faults are noted, those of limits too."""
    at = f"{where}/categories"
    value = entry.get("categories")
    if "categories" not in entry:
        scan.faults.add(at, "The member categories is missing; it is required.")
        return {}
    if not isinstance(value, dict):
        scan.faults.add(at, f"Found {kind_of(value)}; an object from category names to keywords is accepted.")
        return {}
    categories = _Categories(scan)
    read = _read_level(value, at, "", categories, depth=1)
    if categories.keywords > scan.limits.keywords:
        most = scan.limits.keywords
        scan.faults.add(at, f"Found {categories.keywords} keywords; a piece may have up to {most}.")
    return read


class _Categories(msgspec.Struct):
    """State of one pass over a piece: how many keywords it has, and their weights, to find contradictions."""

    scan: _SubmissionScan
    weights: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    keywords: int = 0


def _read_level(level: dict[str, Any], where: str, path: str, categories: _Categories, *, depth: int) -> dict[str, Any]:
    """Return the categories of a level, those below included, as they will be returned; faults are noted.

    ``path`` is the name of the level with a slash behind it, or "": two keywords of one name are the same only where
    their categories have the same path.
    """
    faults = categories.scan.faults
    read: dict[str, Any] = {}
    for name, value in level.items():
        at = where + pointer(name)
        problem = name_problem(name)
        if problem:
            faults.add(at, f"The category's name is not acceptable: {problem}")
        elif isinstance(value, list):
            read[name] = _read_keywords(value, at, path + name, categories)
        elif not isinstance(value, dict):
            faults.add(at, f"Found {kind_of(value)}; a list of keywords or an object of categories is accepted.")
        elif depth >= MAX_CATEGORY_DEPTH:
            faults.add(at, f"Nested deeper than {MAX_CATEGORY_DEPTH} levels, the most that is accepted.")
        else:
            read[name] = _read_level(value, at, f"{path}{name}/", categories, depth=depth + 1)
    return read


def _read_keywords(items: list[Any], where: str, category: str, categories: _Categories) -> list[Any]:
    """Return the keywords of a category as they will be returned; faults are noted."""
    read: list[Any] = []
    faults = categories.scan.faults
    categories.keywords += len(items)
    for place, item in enumerate(items):
        if isinstance(item, str):
            # By far the most frequent case, without a call: a printable text holds no control character.
            if item.isprintable() and 0 < len(item) <= MAX_ID_LENGTH:
                read.append(item)
                continue
            problem = id_problem(item)
            if problem:
                faults.add(f"{where}/{place}", problem)
            read.append(item)
        elif isinstance(item, dict):
            read.append(_read_keyword(item, f"{where}/{place}", category, categories))
        else:
            faults.add(f"{where}/{place}", f"Found {kind_of(item)}; a string or a keyword object is accepted.")
    return read


def _read_keyword(item: dict[str, Any], where: str, category: str, categories: _Categories) -> dict[str, Any]:
    """Return a keyword object as it will be returned, without members that none has; faults are noted.

    A weight of 0 counts as none (`wire.stored`), so that it cannot contradict another one.
    """
    scan = categories.scan
    if not item.keys() <= _KEYWORD_MEMBERS:
        scan.ignore(where, (name for name in item if name not in _KEYWORD_MEMBERS))
    keyword: dict[str, Any] = {}
    key, weight = item.get("key"), item.get("weight")
    if key is not None:
        keyword["key"] = _read_text(item, "key", where, scan, id_problem)
    if weight is None:
        return keyword
    if type(weight) is float and weight.is_integer():
        weight = int(weight)  # JSON Schema and data frames do not tell 85.0 from 85
    keyword["weight"] = weight
    if type(weight) is not int or not 0 <= weight <= MAX_WEIGHT:
        is_number = type(weight) in {int, float} and abs(weight) < _LONGEST_PRINTED
        shown = str(weight) if is_number else kind_of(weight)
        scan.faults.add(f"{where}/weight", f"Found {shown}; an integer from 0 to {MAX_WEIGHT} is accepted.")
    elif isinstance(key, str) and weight:
        known = categories.weights.setdefault((category, key), weight)
        if known != weight:
            scan.faults.add(
                f"{where}/weight",
                f"Found {weight}, after {known} for the same keyword; a keyword has one weight in a category.",
            )
    return keyword


def _read_filters(entry: dict[str, Any], where: str, scan: _SubmissionScan) -> dict[str, Any]:
    """Return the filters as they will be returned, free members as they came; faults of the three known are noted."""
    filters = _read_object(entry, "filters", where, scan)
    at = f"{where}/filters"
    catalogs = filters.get("catalogs")
    if catalogs is not None and not isinstance(catalogs, list):
        scan.faults.add(f"{at}/catalogs", f"Found {kind_of(catalogs)}; a list of strings is accepted.")
    elif catalogs is not None:
        for place, name in enumerate(catalogs):
            problem = name_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a string is accepted."
            if problem:
                scan.faults.add(f"{at}/catalogs/{place}", problem)
    for name in _WINDOW_MEMBERS:
        if filters.get(name) is not None:
            filters = filters | {name: _read_moment(filters[name], f"{at}/{name}", scan)}
    # A member that is null is returned as if it had not been sent; free members are returned as they came.
    absent = [name for name in ("catalogs", *_WINDOW_MEMBERS) if name in filters and filters[name] is None]
    return {name: value for name, value in filters.items() if name not in absent} if absent else filters


def _read_moment(value: Any, where: str, scan: _SubmissionScan) -> Any:
    """Return a time as it was sent, but with a whole offset: typed clients read it back; another value is a fault."""
    if not isinstance(value, str):
        scan.faults.add(where, f"Found {kind_of(value)}; an RFC 3339 time as a string is accepted.")
        return value
    moment = complete_offset(value)
    try:
        parse_timestamp(moment)
    except ValueError as error:
        scan.faults.add(where, str(error))
    return moment

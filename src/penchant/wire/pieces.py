"""Is a body a submission, what does it hold, and which bytes will reads return?"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.model import MAX_ID_LENGTH, MAX_PIECES_PER_SUBMISSION, MAX_WEIGHT, EncodedPiece, Piece
from penchant.wire.encoding import encode
from penchant.wire.plain import read_plain, split
from penchant.wire.stored import decode_stored_piece
from penchant.wire.syntax import MAX_FREE_DEPTH, UNREADABLE, Faults, decode, fail_at, is_deeper, kind_of, pointer
from penchant.wire.text import id_problem, label_problem, name_problem, submitted_id_problem
from penchant.wire.times import parse_timestamp

MAX_CATEGORY_DEPTH = 64
"""Levels of nested categories; at least 32 must work (interface, section 3)."""
MAX_IGNORED = 100
"""Left-out members that a receipt names (interface, section 3)."""
_NO_ID = "draft"
"""What stands for the id of a draft without one while its members are checked."""
_PIECE_MEMBERS = frozenset({"id", "label", "categories", "filters", "extras"})
_KEYWORD_MEMBERS = frozenset({"key", "weight"})
_WINDOW_MEMBERS = ("availableFrom", "availableUntil")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A decoded submission: its pieces, distinct by id, and what its receipt says of it."""

    pieces: tuple[EncodedPiece, ...]
    accepted: int
    superseded: int
    ignored: tuple[str, ...]


@dataclass(slots=True)
class _Reading:
    """What one pass over a submission gathers."""

    faults: Faults = field(default_factory=Faults)
    ignored: list[str] = field(default_factory=list)

    def ignore(self, where: str, names: Iterator[str]) -> None:
        for name in names:
            if len(self.ignored) < MAX_IGNORED:
                self.ignored.append(where + pointer(name))


def decode_submission(body: bytes) -> Submission:
    """Return the pieces of a submission; of two with the same id the later.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces than one submission may hold.
        InvalidInput: a piece is not acceptable; every fault has its pointer.
    """
    plain = decode_by_piece(body)
    return decode_as_whole(body) if plain is None else plain


def decode_by_piece(body: bytes) -> Submission | None:
    """Return the pieces of a submission, or ``None`` if it may have a fault, which `decode_as_whole` names."""
    raws = split(body)
    if raws is None or len(raws) > MAX_PIECES_PER_SUBMISSION:
        return None
    reading = _Reading()
    pieces: dict[str, EncodedPiece] = {}
    for place, raw in enumerate(raws):
        piece = read_plain(raw) or _read_unusual(raw, f"/{place}", reading)
        if piece is None:
            return None
        pieces.pop(piece.id, None)
        pieces[piece.id] = piece
    return _submission(pieces, len(raws), reading)


def decode_as_whole(body: bytes) -> Submission:
    """Return the pieces of a submission, every member looked at; raises as `decode_submission`."""
    entries = decode_entries(body, MAX_PIECES_PER_SUBMISSION, "pieces")
    reading = _Reading()
    pieces: dict[str, EncodedPiece] = {}
    for place, entry in enumerate(entries):
        piece = _read_piece(entry, f"/{place}", reading)
        if reading.faults.full():
            break
        if not reading.faults.found and piece is not None:
            pieces.pop(piece["id"], None)
            pieces[piece["id"]] = EncodedPiece(id=piece["id"], body=encode(piece))
    reading.faults.raise_any()
    return _submission(pieces, len(entries), reading)


def decode_draft(body: bytes) -> tuple[str | None, Piece]:
    """Return a piece that is not stored as the index would see it, and its id where it has one.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: it is not acceptable as a piece; every fault has its pointer.
    """
    entry, reading = decode(body), _Reading()
    given = entry.get("id") if isinstance(entry, dict) else None
    if isinstance(entry, dict) and given is None:
        entry = entry | {"id": _NO_ID}
    piece = _read_piece(entry, "", reading)
    reading.faults.raise_any()
    draft = decode_stored_piece(encode(piece), 0)
    return (None, replace(draft, id="")) if given is None else (draft.id, draft)


def _submission(pieces: dict[str, EncodedPiece], accepted: int, reading: _Reading) -> Submission:
    return Submission(
        pieces=tuple(pieces.values()),
        accepted=accepted,
        superseded=accepted - len(pieces),
        ignored=tuple(reading.ignored),
    )


def decode_entries(body: bytes, limit: int, what: str) -> list[Any]:
    """Return the entries of a JSON array.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than ``limit``.
        InvalidInput: no array.
    """

    def check(value: Any) -> None:
        if not isinstance(value, list):
            fail_at("", f"Found {kind_of(value)}; an array of {what} is accepted.")
        if len(value) > limit:
            raise TooManyEntries(
                f"Found {len(value)} entries; up to {limit} {what} are accepted in one request. Send several."
            )

    entries: list[Any] = decode(body, check)
    return entries


def _read_unusual(raw: msgspec.Raw, where: str, reading: _Reading) -> EncodedPiece | None:
    """Return a piece that is not plain, or ``None`` if it has a fault."""
    try:
        piece = _read_piece(msgspec.json.decode(raw), where, reading)
    except UNREADABLE:
        return None
    return None if piece is None or reading.faults.found else EncodedPiece(id=piece["id"], body=encode(piece))


def _read_piece(entry: Any, where: str, reading: _Reading) -> dict[str, Any] | None:
    """Return a piece as it will be returned, in the order of the specification's members."""
    if not isinstance(entry, dict):
        reading.faults.add(where, f"Found {kind_of(entry)}; an object with id and categories is accepted.")
        return None
    reading.ignore(where, (name for name in entry if name not in _PIECE_MEMBERS))
    piece: dict[str, Any] = {"id": _read_text(entry, "id", where, reading, submitted_id_problem)}
    if entry.get("label") is not None:
        piece["label"] = _read_text(entry, "label", where, reading, label_problem)
    piece["categories"] = _read_categories(entry, where, reading)
    piece["filters"] = _read_filters(entry, where, reading)
    piece["extras"] = _read_object(entry, "extras", where, reading)
    return piece


def _read_text(entry: dict[str, Any], name: str, where: str, reading: _Reading, problem_of: Any) -> str:
    if name not in entry:
        reading.faults.add(f"{where}/{name}", f"The member {name} is missing; it is required.")
        return ""
    text = entry[name]
    if not isinstance(text, str):
        reading.faults.add(f"{where}/{name}", f"Found {kind_of(text)}; a string is accepted.")
        return ""
    problem = problem_of(text)
    if problem:
        reading.faults.add(f"{where}/{name}", problem)
    return text


def _read_object(entry: dict[str, Any], name: str, where: str, reading: _Reading) -> dict[str, Any]:
    value = entry.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reading.faults.add(f"{where}/{name}", f"Found {kind_of(value)}; an object is accepted.")
        return {}
    if is_deeper(value, MAX_FREE_DEPTH):
        reading.faults.add(f"{where}/{name}", f"Nested deeper than {MAX_FREE_DEPTH} levels, the most accepted.")
        return {}
    return value


def _read_categories(entry: dict[str, Any], where: str, reading: _Reading) -> dict[str, Any]:
    at = f"{where}/categories"
    value = entry.get("categories")
    if "categories" not in entry:
        reading.faults.add(at, "The member categories is missing; it is required.")
        return {}
    if not isinstance(value, dict):
        reading.faults.add(at, f"Found {kind_of(value)}; an object from category names to keywords is accepted.")
        return {}
    return _read_level(value, at, "", _Categories(reading), depth=1)


@dataclass(slots=True)
class _Categories:
    """The weights seen so far in a piece, to find two different ones of the same keyword."""

    reading: _Reading
    weights: dict[tuple[str, str], int] = field(default_factory=dict)


def _read_level(level: dict[str, Any], where: str, path: str, categories: _Categories, *, depth: int) -> dict[str, Any]:
    faults = categories.reading.faults
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
    read: list[Any] = []
    faults = categories.reading.faults
    for place, item in enumerate(items):
        if isinstance(item, str):
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
    reading = categories.reading
    if not item.keys() <= _KEYWORD_MEMBERS:
        reading.ignore(where, (name for name in item if name not in _KEYWORD_MEMBERS))
    keyword: dict[str, Any] = {}
    key, weight = item.get("key"), item.get("weight")
    if key is not None:
        keyword["key"] = _read_text(item, "key", where, reading, id_problem)
    if weight is None:
        return keyword
    keyword["weight"] = weight
    if type(weight) is not int or not 0 <= weight <= MAX_WEIGHT:
        found = str(weight) if type(weight) is int and abs(weight) < 10**12 else kind_of(weight)
        reading.faults.add(f"{where}/weight", f"Found {found}; an integer from 0 to {MAX_WEIGHT} is accepted.")
    elif isinstance(key, str):
        known = categories.weights.setdefault((category, key), weight)
        if known != weight:
            reading.faults.add(
                f"{where}/weight",
                f"Found {weight}, after {known} for the same keyword; a keyword has one weight in a category.",
            )
    return keyword


def _read_filters(entry: dict[str, Any], where: str, reading: _Reading) -> dict[str, Any]:
    filters = _read_object(entry, "filters", where, reading)
    at = f"{where}/filters"
    catalogs = filters.get("catalogs")
    if catalogs is not None and not isinstance(catalogs, list):
        reading.faults.add(f"{at}/catalogs", f"Found {kind_of(catalogs)}; a list of strings is accepted.")
    elif catalogs is not None:
        for place, name in enumerate(catalogs):
            problem = name_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a string is accepted."
            if problem:
                reading.faults.add(f"{at}/catalogs/{place}", problem)
    for name in _WINDOW_MEMBERS:
        _check_moment(filters.get(name), f"{at}/{name}", reading)
    absent = [name for name in ("catalogs", *_WINDOW_MEMBERS) if name in filters and filters[name] is None]
    return {name: value for name, value in filters.items() if name not in absent} if absent else filters


def _check_moment(value: Any, where: str, reading: _Reading) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        reading.faults.add(where, f"Found {kind_of(value)}; an RFC 3339 time as a string is accepted.")
        return
    try:
        parse_timestamp(value)
    except ValueError as error:
        reading.faults.add(where, str(error))

"""Lists of ids in bodies: for deletions, the whitelist and the blacklist, and requests about several pieces."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Annotated, Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.model import MAX_LIST_LENGTH
from penchant.wire.fields import ID_SCHEMA, Body, Description, Example, Shape, number
from penchant.wire.syntax import (
    MAX_FAULTS,
    UNREADABLE,
    Faults,
    decode_entry,
    decode_object,
    fail_at,
    kind_of,
    split_array,
)
from penchant.wire.text import are_ids, id_problem, submitted_id_problem
from penchant_engine.model import MAX_TAKE

_text_decoder = msgspec.json.Decoder(str)
_texts_decoder = msgspec.json.Decoder(list[str])


def decode_ids(body: bytes) -> tuple[str, ...]:
    """Return the ids of a deletion's body; an empty array is none.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: an empty body, or no array of ids.
    """
    if not body.strip():
        fail_at("", "Found an empty body where the content type announces JSON; an array of ids is accepted.")
    return _read(body, None, unique=False)


def decode_list(body: bytes) -> tuple[str, ...]:
    """Return the ids of a whitelist or blacklist, in order.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than a list may hold.
        InvalidInput: no array of ids, or an id twice.
    """
    return _read(body, MAX_LIST_LENGTH, unique=True)


def decode_asked(body: bytes, limit: int) -> tuple[str, ...]:
    """Return the ids that one request asks about; the same one may come twice.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than ``limit``.
        InvalidInput: no array of ids.
    """
    return _read(body, limit, unique=False)


def _read(body: bytes, limit: int | None, *, unique: bool) -> tuple[str, ...]:
    faults = Faults()
    entries = _entries(body, limit, faults)
    check_ids(entries, "", faults, unique=unique)
    faults.raise_any()
    return tuple(entries)


def _entries(body: bytes, limit: int | None, faults: Faults) -> list[Any]:
    """Return the entries of an array: texts as values, all else as it came."""
    with contextlib.suppress(*UNREADABLE):
        # The short way, for arrays of texts alone. What it refuses is split first, so that each entry has its fault.
        texts = _texts_decoder.decode(body)
        if limit is None or len(texts) <= limit:
            return texts
    entries: list[Any] = []
    odd = 0
    for place, raw in enumerate(split_array(body, limit, "ids")):
        try:
            entries.append(_text_decoder.decode(raw))
        except UNREADABLE:
            entries.append(decode_entry(raw, f"/{place}", faults) if kind_of(raw) == "a string" else raw)
            odd += 1
        if odd >= MAX_FAULTS:
            break  # as many faults as an answer lists
    return entries


def check_ids(entries: Sequence[Any], where: str, faults: Faults, *, unique: bool) -> None:
    """Note what is wrong with the ids of an array at this place; ``unique`` ones are those of lists.

    UNSET stands for an entry whose fault is noted already.
    """
    if are_ids(entries, unique=unique):
        return
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        if faults.full():
            return
        if entry is msgspec.UNSET:
            continue
        if not isinstance(entry, str):
            faults.add(f"{where}/{place}", f"Found {kind_of(entry)}; a string is accepted.")
            continue
        problem = submitted_id_problem(entry) if unique else id_problem(entry)
        if problem:
            faults.add(f"{where}/{place}", problem)
        if unique and entry in seen:
            faults.add(f"{where}/{place}", "Found an id for the second time; each is accepted once.")
        seen.add(entry)


def ids(
    *, unique: bool = False, listed: int | None = None, into: Callable[[Iterable[str]], Collection[str]] = tuple
) -> Shape:
    """Return the shape of an array of ids, once each or not; the schema names ``listed`` as the most that are accepted.

    More than a list of the source may hold are too many entries of the whole body.
    """

    def read(value: Any, where: str, faults: Faults) -> Any:
        if not isinstance(value, list):
            return faults.refuse(where, f"Found {kind_of(value)}; an array of ids is accepted.")
        if listed is not None and len(value) > MAX_LIST_LENGTH:
            raise TooManyEntries(f"{where}: Found {len(value)} entries; up to {MAX_LIST_LENGTH} ids are accepted.")
        if are_ids(value, unique=unique):
            return into(value)
        check_ids(value, where, faults, unique=unique)
        return into(each for each in value if isinstance(each, str))

    most = {} if listed is None else {"maxItems": listed}
    return Shape(read, {"type": "array", "items": ID_SCHEMA, **most})


def _read_take(value: Any, where: str, faults: Faults) -> Any:
    if type(value) is int and value >= 1:
        return min(value, MAX_TAKE)
    shown = value if type(value) is int else kind_of(value)
    return faults.refuse(where, f"Found {shown}; 1 to {MAX_TAKE} is accepted.")


TAKE = Shape(_read_take, {"type": "integer", "minimum": 1})
"""How long a list is to be: more than the most is the most."""


MAX_RANKED = 500
"""Ids that one request has ranked, and that a list picks: a page of hits of a search, and some more."""


class RankWish(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces that somebody else chose, in their order, and how much of the order is to be the person's."""

    content: Annotated[tuple[str, ...], ids(unique=True, listed=MAX_RANKED), Example(["alien", "gravity"])]
    weight: Annotated[
        float,
        number(0, 1),
        Description("How much of the order is the person's; 0 leaves it as given."),
        Example(0.5),
    ] = 1.0


RANK_WISH = Body(RankWish)


def decode_rank_wish(body: bytes) -> RankWish:
    """Return the pieces that a body wants ranked.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more ids than are ranked at once.
        InvalidInput: a member is unknown or not acceptable, or an id comes twice; every fault has its pointer.
    """
    value = decode_object(body)
    content = value.get("content")
    if isinstance(content, list) and len(content) > MAX_RANKED:
        raise TooManyEntries(f"Found {len(content)} ids; up to {MAX_RANKED} are accepted.")
    return RANK_WISH.make(value)

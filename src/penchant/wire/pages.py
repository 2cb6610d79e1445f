"""Pages: which lists of placements a request asks for at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penchant.errors import TooManyEntries
from penchant.model import MAX_TAKE
from penchant.wire.lists import check_ids
from penchant.wire.syntax import Faults, decode_object, kind_of
from penchant.wire.text import id_problem

MAX_LISTS = 20
"""Lists of one page."""
MAX_EXCLUDED = 1_000
"""Ids that one request leaves out."""
_MEMBERS = ("user", "exclude", "lists")
_LIST_MEMBERS = ("placement", "content", "take")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One of the lists of a page: which placement, beside which piece, how long."""

    placement: str
    content_id: str | None
    take: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWish:
    """The lists of a page for a person, or for nobody; none of them has the excluded pieces."""

    user_id: str | None
    exclude: frozenset[str]
    lists: tuple[PageRow, ...]


def decode_page(body: bytes) -> PageWish:
    """Return the lists that a body asks for.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more lists, or excluded ids, than one request may have.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    faults = Faults()
    faults.only(value, _MEMBERS, "")
    entries = value.get("lists")
    if not isinstance(entries, list):
        faults.add("/lists", f"Found {kind_of(entries)}; an array of requests for lists is accepted.")
        entries = []
    given = value.get("exclude")
    exclude = [] if given is None else given
    if not isinstance(exclude, list):
        faults.add("/exclude", f"Found {kind_of(exclude)}; an array of ids is accepted.")
        exclude = []
    if len(entries) > MAX_LISTS or len(exclude) > MAX_EXCLUDED:
        found = f"Found {len(entries)} lists and {len(exclude)} excluded ids"
        raise TooManyEntries(f"{found}; up to {MAX_LISTS} and {MAX_EXCLUDED} are accepted.")
    check_ids(exclude, "/exclude", faults, unique=False)
    rows = tuple(_row(entry, f"/lists/{place}", faults) for place, entry in enumerate(entries))
    user_id = read_optional_id(value, "user", "", faults)
    faults.raise_any()
    return PageWish(user_id=user_id, exclude=frozenset(exclude), lists=rows)


def _row(entry: Any, where: str, faults: Faults) -> PageRow:
    if not isinstance(entry, dict):
        faults.add(where, f"Found {kind_of(entry)}; an object is accepted.")
        entry = {"placement": ""}
    faults.only(entry, _LIST_MEMBERS, where)
    placement = entry.get("placement")
    if not isinstance(placement, str):
        faults.add(f"{where}/placement", f"Found {kind_of(placement)}; the name of a placement is accepted.")
    content_id = read_optional_id(entry, "content", where, faults)
    return PageRow(placement=str(placement), content_id=content_id, take=read_take(entry, where, faults))


def read_optional_id(value: Mapping[str, Any], name: str, where: str, faults: Faults) -> str | None:
    """Return the id that a member may give, its fault noted."""
    given = value.get(name)
    if given is None:
        return None
    problem = id_problem(given) if isinstance(given, str) else f"Found {kind_of(given)}; an id is accepted."
    if problem:
        faults.add(f"{where}/{name}", problem)
    return str(given)


def read_take(value: Mapping[str, Any], where: str, faults: Faults) -> int:
    """Return how long a list is to be by the member `take`, its fault noted."""
    given = value.get("take")
    if given is None:
        return MAX_TAKE
    if type(given) is not int or given < 1:
        found = given if type(given) is int else kind_of(given)
        faults.add(f"{where}/take", f"Found {found}; 1 to {MAX_TAKE} is accepted.")
        return MAX_TAKE
    return min(given, MAX_TAKE)

"""Previews of placements: which draft a request wants to see, for whom, and beside what."""

from dataclasses import dataclass

from penchant.errors import InvalidInput, TooManyEntries
from penchant.wire.lists import check_ids
from penchant.wire.pages import read_optional_id, read_take
from penchant.wire.placements import BASE, PlacementSpec, placement_problem, read_placement
from penchant.wire.previews import MAX_PREVIEWED
from penchant.wire.syntax import Faults, decode_object, kind_of

_MEMBERS = ("name", "placement", "users", "content", "variant", "take")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementWish:
    """A draft of a placement, and whose lists are to be shown; those of nobody without ``users``.

    ``name`` is the placement in whose place the draft would be, ``variant`` the one that all of them are to see.
    """

    name: str
    spec: PlacementSpec
    users: tuple[str, ...]
    content_id: str | None
    variant: str | None
    take: int


def decode_placement_preview(body: bytes) -> PlacementWish:
    """Return what a body wishes to preview.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more people than one preview shows lists of.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    faults = Faults()
    faults.only(value, _MEMBERS, "")
    name = value.get("name")
    problem = placement_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a name is accepted."
    if problem:
        faults.add("/name", problem)
    users = [] if value.get("users") is None else value["users"]
    if not isinstance(users, list):
        faults.add("/users", f"Found {kind_of(users)}; an array of ids is accepted.")
        users = []
    if len(users) > MAX_PREVIEWED:
        raise TooManyEntries(f"Found {len(users)} users; up to {MAX_PREVIEWED} are accepted.")
    check_ids(users, "/users", faults, unique=False)
    content_id, take = read_optional_id(value, "content", "", faults), read_take(value, "", faults)
    spec, variant = _draft(value.get("placement"), faults), value.get("variant")
    if variant is not None and spec is not None and variant not in (BASE, *(each.name for each in spec.variants)):
        faults.add("/variant", f"Found no variant of the draft; accepted are their names and '{BASE}'.")
    faults.raise_any()
    assert spec is not None  # noqa: S101  # it has no fault
    return PlacementWish(
        name=str(name), spec=spec, users=tuple(users), content_id=content_id, variant=variant, take=take
    )


def _draft(value: object, faults: Faults) -> PlacementSpec | None:
    try:
        return read_placement(value, "/placement")
    except InvalidInput as error:
        for fault in error.faults:
            faults.add(fault.pointer or "", fault.detail)
        return None

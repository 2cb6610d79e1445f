"""Previews: which lists a request wants to see under other settings; members left out stay as they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant.errors import InvalidInput, TooManyEntries
from penchant.model import MAX_LIST_LENGTH, MAX_TAKE, SourceSettings
from penchant.wire.lists import check_ids
from penchant.wire.pages import read_take
from penchant.wire.settings import encode_settings, read_settings
from penchant.wire.syntax import Faults, decode_object, kind_of

MAX_PREVIEWED = 20
"""Pieces and people together that one preview shows lists of."""
_MEMBERS = ("settings", "whitelist", "blacklist", "pieces", "users", "take")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewWish:
    """What to preview: changes, whose lists, and how long these are. ``None`` leaves a list as it is.

    ``settings`` completes those in force by the members that were given.
    """

    settings: Callable[[SourceSettings], SourceSettings]
    whitelist: tuple[str, ...] | None = None
    blacklist: tuple[str, ...] | None = None
    pieces: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    take: int = MAX_TAKE


def decode_preview(body: bytes) -> PreviewWish:
    """Return what a body wishes to preview.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces and users, or ids on a list, than are accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    faults = Faults()
    faults.only(value, _MEMBERS, "")
    given = _settings(value, faults)
    lists = {name: _ids(value, name, faults) for name in ("whitelist", "blacklist", "pieces", "users")}
    take = read_take(value, "", faults)
    faults.raise_any()
    asked = len(lists["pieces"] or ()) + len(lists["users"] or ())
    if asked > MAX_PREVIEWED:
        raise TooManyEntries(f"Found {asked} pieces and users; up to {MAX_PREVIEWED} together are accepted.")
    return PreviewWish(
        settings=lambda current: _completed(current, given),
        whitelist=lists["whitelist"],
        blacklist=lists["blacklist"],
        pieces=lists["pieces"] or (),
        users=lists["users"] or (),
        take=take,
    )


def _settings(value: Mapping[str, Any], faults: Faults) -> Mapping[str, Any]:
    given = value.get("settings")
    if given is None:
        return {}
    try:
        # Alone, so that every fault is one of what was given.
        read_settings(given)
    except InvalidInput as error:
        for fault in error.faults:
            faults.add(f"/settings{fault.pointer}", fault.detail)
        return {}
    return dict(given)


def _completed(current: SourceSettings, given: Mapping[str, Any]) -> SourceSettings:
    # As JSON, member by member: a given one takes the place of the whole member in force, inner ones included.
    return read_settings(msgspec.json.decode(encode_settings(current)) | given) if given else current


def _ids(value: Mapping[str, Any], name: str, faults: Faults) -> tuple[str, ...] | None:
    given = value.get(name)
    if given is None:
        return None
    if not isinstance(given, list):
        faults.add(f"/{name}", f"Found {kind_of(given)}; an array of ids is accepted.")
        return None
    if len(given) > MAX_LIST_LENGTH:
        raise TooManyEntries(f"/{name}: Found {len(given)} entries; up to {MAX_LIST_LENGTH} ids are accepted.")
    check_ids(given, f"/{name}", faults, unique=name in {"whitelist", "blacklist"})
    return tuple(given)

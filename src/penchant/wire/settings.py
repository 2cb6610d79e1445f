"""Settings of a source as JSON: all members are optional, and those left out are at their defaults."""

from collections.abc import Mapping
from typing import Any, Literal

from penchant.model import (
    DEFAULT_INTERACTION_WEIGHTS,
    IMPRESSION_DAYS,
    MAX_TAKE,
    Blend,
    InteractionType,
    SourceSettings,
)
from penchant.wire.attributes import read_attributes, read_pointer
from penchant.wire.encoding import encode
from penchant.wire.syntax import Faults, decode_object, hundredths_of, kind_of, pointer
from penchant.wire.text import name_problem

Number = int | float

MAX_DAYS = 36_500
"""A hundred years (interface, section 7)."""
MAX_CATEGORY_WEIGHT = 100
MAX_INTERACTION_WEIGHT = 100
MAX_BLEND = 100
MAX_ATTRIBUTION_HOURS = 24 * IMPRESSION_DAYS
"""Bounds of the interface, sections 5 to 7."""
_MEMBERS = (
    "categoryWeights",
    "interactionWeights",
    "halfLifeDays",
    "retentionDays",
    "excludeSeen",
    "blend",
    "newPieceHalfLifeDays",
    "maxPerValue",
    "attributes",
    "attributionWindowHours",
    "imageAttribute",
    "publicExtras",
)
MAX_PUBLIC_EXTRAS = 1_000
"""Members of extras that pages may read, named one by one."""
_DEFAULTS = SourceSettings()
_BLEND_MEMBERS = ("content", "audience", "popularity")


def decode_settings(body: bytes) -> SourceSettings:
    """Return the settings in a body.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown or ill-typed members, each with its pointer.
    """
    return read_settings(decode_object(body))


def stored_retention_days(settings: bytes) -> int:
    """Return the retention of interactions, in days, under settings as they are stored; empty ones are the defaults."""
    return decode_settings(settings or b"{}").retention_days


def read_settings(found: Any) -> SourceSettings:
    """Return the settings in a decoded value; raises `InvalidInput` as `decode_settings`."""
    # Members with a fault get their default, so that reading goes on, and the answer names all faults at once.
    reader = _Reader()
    value = reader.object(found, "")
    reader.faults.only(value, _MEMBERS, "")
    settings = SourceSettings(
        category_weights=reader.category_weights(value),
        interaction_weights=reader.interaction_weights(value),
        half_life_days=reader.number(value, "halfLifeDays", "", least=0, most=MAX_DAYS, default=90),
        retention_days=reader.days(value, "retentionDays", default=396),
        exclude_seen=reader.boolean(value, "excludeSeen", default=True),
        blend=reader.blend(value),
        new_piece_half_life_days=reader.number(value, "newPieceHalfLifeDays", "", least=0, most=MAX_DAYS, default=30),
        max_per_value=reader.max_per_value(value),
        attributes=read_attributes(value.get("attributes", {}), "/attributes", reader.faults),
        attribution_hours=reader.hours(value, "attributionWindowHours", default=_DEFAULTS.attribution_hours),
        image_pointer=reader.pointer(value, "imageAttribute"),
        public_extras=reader.public_extras(value),
    )
    reader.faults.raise_any()
    return settings


def encode_settings(settings: SourceSettings) -> bytes:
    """Return settings as JSON, members in the interface's order; the last five only where they say something."""
    weights = settings.interaction_weights
    blend = settings.blend
    limits = {"maxPerValue": dict(settings.max_per_value)} if settings.max_per_value else {}
    attributes = {
        key: {"pointer": attribute.pointer, "type": attribute.type.value}
        for key, attribute in settings.attributes.items()
    }
    hours, public = settings.attribution_hours, settings.public_extras
    return encode(
        {
            "categoryWeights": dict(settings.category_weights),
            "interactionWeights": {kind.value: weights[kind] for kind in DEFAULT_INTERACTION_WEIGHTS},
            "halfLifeDays": settings.half_life_days,
            "retentionDays": settings.retention_days,
            "excludeSeen": settings.exclude_seen,
            "blend": {"content": blend.content, "audience": blend.audience, "popularity": blend.popularity},
            "newPieceHalfLifeDays": settings.new_piece_half_life_days,
            **limits,
            **({"attributes": attributes} if attributes else {}),
            **({"attributionWindowHours": hours} if hours != _DEFAULTS.attribution_hours else {}),
            **({"imageAttribute": settings.image_pointer} if settings.image_pointer is not None else {}),
            **({"publicExtras": public} if public is not None else {}),
        }
    )


class _Reader:
    """Reads members of settings, noting every fault on the way."""

    def __init__(self) -> None:
        self.faults = Faults()

    def object(self, value: Any, where: str) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self.faults.add(where, f"Found {kind_of(value)}; an object is accepted.")
        return {}

    def number(
        self, value: Mapping[str, Any], name: str, where: str, *, least: int, most: int, default: Number
    ) -> Number:
        found = value.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
            self.faults.add(
                f"{where}{pointer(name)}",
                f"Found {_shown(found)}; a number from {least} to {most} is accepted.",
            )
            return default
        return found

    def weight(self, value: Mapping[str, Any], name: str, where: str, *, least: int, most: int) -> Number:
        found = self.number(value, name, where, least=least, most=most, default=1)
        if hundredths_of(found) is None:
            self.faults.add(where + pointer(name), f"Found {found}; at most two decimals are accepted.")
        return found

    def days(self, value: Mapping[str, Any], name: str, *, default: int) -> int:
        found = value.get(name, default)
        if type(found) is not int or not 1 <= found <= MAX_DAYS:
            self.faults.add(pointer(name), f"Found {_shown(found)}; an integer from 1 to {MAX_DAYS} is accepted.")
            return default
        return found

    def hours(self, value: Mapping[str, Any], name: str, *, default: int) -> int:
        found = value.get(name, default)
        if type(found) is not int or not 1 <= found <= MAX_ATTRIBUTION_HOURS:
            detail = f"Found {_shown(found)}; an integer from 1 to {MAX_ATTRIBUTION_HOURS} is accepted."
            self.faults.add(pointer(name), detail)
            return default
        return found

    def boolean(self, value: Mapping[str, Any], name: str, *, default: bool) -> bool:
        found = value.get(name, default)
        if not isinstance(found, bool):
            self.faults.add(pointer(name), f"Found {kind_of(found)}; true or false is accepted.")
            return default
        return found

    def pointer(self, value: Mapping[str, Any], name: str) -> str | None:
        return read_pointer(value[name], pointer(name), self.faults) if name in value else None

    def public_extras(self, value: Mapping[str, Any]) -> tuple[str, ...] | Literal[True] | None:
        """Return what pages may read of extras: some members, all, or what is said elsewhere."""
        given = value.get("publicExtras", True)
        if given is True:
            return given if "publicExtras" in value else None
        is_names = isinstance(given, list) and all(isinstance(name, str) for name in given)
        if not is_names or len(given) > MAX_PUBLIC_EXTRAS or len(set(given)) < len(given):
            self.faults.add(
                "/publicExtras",
                f"Found {kind_of(given)}; true, or an array of up to {MAX_PUBLIC_EXTRAS} different names, is accepted.",
            )
            return None
        return tuple(given)

    def category_weights(self, value: Mapping[str, Any]) -> dict[str, Number]:
        where = "/categoryWeights"
        given = self.by_category(value, "categoryWeights")
        return {name: self.weight(given, name, where, least=0, most=MAX_CATEGORY_WEIGHT) for name in given}

    def by_category(self, value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        given = self.object(value.get(name, {}), f"/{name}")
        for category in given:
            for level in category.split("/"):
                problem = name_problem(level)
                if problem:
                    self.faults.add(f"/{name}{pointer(category)}", f"No category can be called so: {problem}")
                    break
        return given

    def max_per_value(self, value: Mapping[str, Any]) -> dict[str, int]:
        given = self.by_category(value, "maxPerValue")
        for category, most in given.items():
            if type(most) is not int or not 1 <= most <= MAX_TAKE:
                detail = f"Found {_shown(most)}; an integer from 1 to {MAX_TAKE} is accepted."
                self.faults.add(f"/maxPerValue{pointer(category)}", detail)
        return dict(given)

    def interaction_weights(self, value: Mapping[str, Any]) -> dict[InteractionType, Number]:
        where = "/interactionWeights"
        given = self.object(value.get("interactionWeights", {}), where)
        names = tuple(kind.value for kind in InteractionType)
        self.faults.only(given, names, where)
        most = MAX_INTERACTION_WEIGHT
        return {
            kind: self.weight(given, kind.value, where, least=-most, most=most) if kind.value in given else default
            for kind, default in DEFAULT_INTERACTION_WEIGHTS.items()
        }

    def blend(self, value: Mapping[str, Any]) -> Blend:
        where = "/blend"
        given = self.object(value.get("blend", {}), where)
        self.faults.only(given, _BLEND_MEMBERS, where)
        defaults = Blend()
        parts = {
            name: self.number(given, name, where, least=0, most=MAX_BLEND, default=getattr(defaults, name))
            for name in _BLEND_MEMBERS
        }
        if not any(parts.values()):
            self.faults.add(where, "Found 0 for every part; at least one has to count.")
        return Blend(**parts)


def _shown(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if abs(value) < MAX_DAYS**2 else "a large number"
    return kind_of(value)

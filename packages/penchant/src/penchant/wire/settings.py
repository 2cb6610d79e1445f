"""Settings of a source as JSON, and previews of them: all members are optional, those left out at their defaults.

A setting is a field of `Settings` here and of `SourceSettings`, under one name: what it must be, its place in the JSON,
its schema, its sample and its field in the dashboard's form follow from its annotation.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from penchant.errors import TooManyEntries
from penchant.hooks import packages
from penchant.model import MAX_LIST_LENGTH, SourceSettings
from penchant.vocabulary import Vocabulary
from penchant.wire.attributes import MAX_POINTER_LENGTH, read_attributes, read_pointer
from penchant.wire.fields import (
    BOOLEAN,
    Before,
    Body,
    BodyMember,
    Example,
    Json,
    Label,
    Number,
    Record,
    Shape,
    by_category,
    choice,
    integer,
    number,
    ref,
    weight,
)
from penchant.wire.lists import TAKE, ids
from penchant.wire.syntax import Faults, decode_object, encode, kind_of
from penchant.wire.vocabulary import VOCABULARY_SHAPE, VocabularySettings
from penchant_engine.attributes import MAX_ATTRIBUTES, AttributeType
from penchant_engine.model import DEFAULT_INTERACTION_WEIGHTS, MAX_TAKE, Blend, InteractionType, OrderUse

MAX_DAYS = 36_500
"""A hundred years (interface, section 7)."""
MAX_CATEGORY_WEIGHT = 100
MAX_INTERACTION_WEIGHT = 100
MAX_BLEND = 100
"""Bounds of the interface, sections 5 to 7."""
MAX_PUBLIC_EXTRAS = 1_000
"""Members of extras that pages may read, named one by one."""
_DEFAULTS = SourceSettings()


class BlendSettings(Record, frozen=True, kw_only=True):
    """How much each part counts in a recommendation; 0 to 100 each, not all 0."""

    content: Annotated[Number, number(0, MAX_BLEND), Label("Content")] = Blend().content
    audience: Annotated[Number, number(0, MAX_BLEND), Label("People with a like taste")] = Blend().audience
    popularity: Annotated[Number, number(0, MAX_BLEND), Label("Popularity")] = Blend().popularity


BLEND = Body(BlendSettings, takes_null=False)


def _read_blend(value: Any, where: str, faults: Faults) -> Blend:
    blend = Blend(**BLEND.read(value, where, faults))
    if not (blend.content or blend.audience or blend.popularity):
        faults.add(where, "Found 0 for every part; at least one has to count.")
    return blend


_WEIGHT = weight(-MAX_INTERACTION_WEIGHT, MAX_INTERACTION_WEIGHT)


def _read_interaction_weights(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        return faults.refuse(where, f"Found {kind_of(value)}; an object is accepted.")
    faults.only(value, tuple(InteractionType), where)
    return {
        kind: _WEIGHT.read(value[kind], f"{where}/{kind}", faults) if kind in value else default
        for kind, default in DEFAULT_INTERACTION_WEIGHTS.items()
    }


def _read_public_extras(value: Any, where: str, faults: Faults) -> tuple[str, ...] | Literal[True] | UnsetType:
    if value is True:
        return True
    is_names = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not is_names or len(value) > MAX_PUBLIC_EXTRAS or len(set(value)) < len(value):
        accepted = f"true, or an array of up to {MAX_PUBLIC_EXTRAS} different names, is accepted."
        return faults.refuse(where, f"Found {kind_of(value)}; {accepted}")
    return tuple(value)


_INTERACTION_WEIGHTS = Shape(
    _read_interaction_weights,
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {kind.value: _WEIGHT.schema for kind in InteractionType},
    },
    lambda weights: {kind: weights[kind] for kind in DEFAULT_INTERACTION_WEIGHTS},
)
_ATTRIBUTES = Shape(
    read_attributes,
    {
        "type": "object",
        "description": "Members of extras that lists can be filtered by.",
        "maxProperties": MAX_ATTRIBUTES,
        "additionalProperties": ref("Attribute"),
    },
    lambda attributes: {key: {"pointer": each.pointer, "type": each.type} for key, each in attributes.items()},
)
_IMAGE_POINTER = Shape(
    read_pointer,
    {
        "type": "string",
        "description": "A JSON pointer into extras: where the address of a piece's picture is.",
        "maxLength": MAX_POINTER_LENGTH,
    },
)
_PUBLIC_EXTRAS = Shape(
    _read_public_extras,
    {
        "description": "Members of extras that browser keys may read, or true for all; without it what "
        "`imageAttribute` names.",
        "oneOf": [
            {"const": True},
            {"type": "array", "items": {"type": "string"}, "maxItems": MAX_PUBLIC_EXTRAS, "uniqueItems": True},
        ],
    },
)


class AttributeSettings(Record, frozen=True, kw_only=True):
    """A member of pieces' extras that lists can be filtered by: its JSON pointer, and the type of its values."""

    pointer: str
    type: str


ATTRIBUTE_SCHEMA: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "pointer": {"type": "string", "maxLength": MAX_POINTER_LENGTH},
        "type": {"type": "string", "enum": list(AttributeType)},
    },
    "required": ["pointer", "type"],
}


def _interaction_weights() -> dict[str, Number]:
    return {kind.value: default for kind, default in DEFAULT_INTERACTION_WEIGHTS.items()}


class Settings(Record, frozen=True, kw_only=True, rename="camel"):
    """The settings of a source, by default those that a new one has.

    Those that are unset by default are shown only where they say something.
    """

    category_weights: Annotated[
        Mapping[str, Number],
        by_category(weight(0, MAX_CATEGORY_WEIGHT)),
        Example({"people/director": 2}),
        Label("Weights of categories"),
    ] = {}
    interaction_weights: Annotated[Mapping[str, Number], _INTERACTION_WEIGHTS, Label("Weights of interactions")] = (
        msgspec.field(default_factory=_interaction_weights)
    )
    half_life_days: Annotated[Number, number(0, MAX_DAYS), Example(60), Label("Half-life of interactions, days")] = (
        _DEFAULTS.half_life_days
    )
    retention_days: Annotated[int, integer(1, MAX_DAYS), Label("Interactions are kept, days")] = (
        _DEFAULTS.retention_days
    )
    exclude_seen: Annotated[bool, BOOLEAN, Example(True), Label("Leave out what a person knows already")] = (
        _DEFAULTS.exclude_seen
    )
    blend: Annotated[BlendSettings, Shape(_read_blend, BLEND.schema()), Label("Parts of recommendations")] = (
        BlendSettings()
    )
    new_piece_half_life_days: Annotated[Number, number(0, MAX_DAYS), Label("Half-life of newness, days")] = (
        _DEFAULTS.new_piece_half_life_days
    )
    order: Annotated[OrderUse, choice(OrderUse, "use of the order of likes"), Label("The order of likes")] = (
        _DEFAULTS.order
    )
    max_per_value: Annotated[Mapping[str, int] | UnsetType, by_category(integer(1, MAX_TAKE))] = UNSET
    attributes: Annotated[
        Mapping[str, AttributeSettings] | UnsetType,
        _ATTRIBUTES,
        Example({"year": {"pointer": "/year", "type": "integer"}}),
    ] = UNSET
    image_attribute: Annotated[
        str | UnsetType,
        _IMAGE_POINTER,
        Example("/images/0"),
        Label("Pointer to the picture's address in extras"),
    ] = UNSET
    public_extras: Annotated[Sequence[str] | bool | UnsetType, _PUBLIC_EXTRAS, Example(["images", "url"])] = UNSET
    vocabulary: Annotated[
        VocabularySettings | UnsetType,
        VOCABULARY_SHAPE,
        Example({"aliases": [{"from": ["genre/film noir"], "to": "genre/noir"}], "ignore": ["genre/other"]}),
        Label("Keywords that count as one"),
    ] = UNSET


SETTINGS = Body(Settings, takes_null=False)


@functools.cache
def brought_settings() -> Mapping[type[Record], Body[Any]]:
    """Return the settings that packages bring, by their records.

    Raises:
        BrokenPackage: two bring a setting of the same name.
    """
    return {record: Body(record, takes_null=False) for record in packages().source_settings(Settings)}


@functools.cache
def setting_members() -> Mapping[str, BodyMember]:
    """Return all settings by their JSON names: those of the service, then those of packages that name no place."""
    members = dict(SETTINGS.members)
    for body in brought_settings().values():
        for key, member in body.members.items():
            place = member.note(Before)
            at = len(members) if place is None else list(members).index(place.name)
            rows = list(members.items())
            members = dict([*rows[:at], (key, member), *rows[at:]])
    return members


def _in_place(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return members of settings in their order."""
    return {key: members[key] for key in setting_members() if key in members}


def settings_schema() -> Json:
    """Return the JSON schema of settings."""
    schema = SETTINGS.schema(last=["attributes"])
    for body in brought_settings().values():
        # A default would say to generators that they are always there.
        members = body.schema()["properties"].items()
        schema["properties"] |= {key: {name: each[name] for name in each if name != "default"} for key, each in members}
    return schema


def settings_sample() -> Json:
    """Return the sample of settings."""
    bodies = (SETTINGS, *brought_settings().values())
    return _in_place({key: value for body in bodies for key, value in body.sample().items()})


def decode_settings(body: bytes, unread: Mapping[str, Any] | None = None) -> SourceSettings:
    """Return the settings in a body; ``unread`` ones, which no installed package knows, stay as they are.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown or ill-typed members, each with its pointer.
    """
    return read_settings(decode_object(body), unread)


def decode_imported_settings(body: bytes, unread: Mapping[str, Any] | None = None) -> SourceSettings:
    """Return the settings in a body of another service, whose packages may be others: what none knows is kept, too.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: ill-typed members, each with its pointer.
    """
    value = decode_object(body)
    return read_settings(value, {**(unread or {}), **(unread_of(value) if isinstance(value, dict) else {})})


# A vocabulary of 20,000 keywords takes ten milliseconds, and every change of a source asks for its settings.
@functools.lru_cache(maxsize=64)
def decode_stored_settings(stored: bytes) -> SourceSettings:
    """Return settings as they are stored; empty ones are the defaults."""
    value = decode_object(stored or b"{}")
    return read_settings(value, unread_of(value))


def unread_of(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return those members of settings that no installed package knows."""
    return {key: members[key] for key in members.keys() - setting_members().keys()}


def stored_retention_days(stored: bytes) -> int:
    """Return the retention of interactions, in days, under settings as they are stored."""
    return decode_stored_settings(stored).retention_days


def read_settings(value: Any, unread: Mapping[str, Any] | None = None) -> SourceSettings:
    """Return the settings in a decoded value; raises `InvalidInput` as `decode_settings`."""
    faults, kept, given = Faults(), unread or {}, value
    if kept and isinstance(value, dict):
        # Given back as they were read.
        given = {key: each for key, each in value.items() if key not in kept or each != kept[key]}
    own = _read_members(given, "", faults)
    faults.raise_any()
    brought = {record: record(**members) for record, members in own.items() if record is not Settings}
    # Defaults that are stated say no more than those that are not.
    stated = {record: part for record, part in brought.items() if part != record()}
    return SourceSettings(**own[Settings], brought=stated, unread=kept)


def _read_members(value: Any, where: str, faults: Faults) -> dict[type[Record], dict[str, Any]]:
    """Return the members that are given, by the record that has them; faults are noted."""
    if not isinstance(value, dict):
        return {Settings: SETTINGS.read(value, where, faults)}
    faults.only(value, setting_members(), where)
    bodies: dict[type[Record], Body[Any]] = {Settings: SETTINGS, **brought_settings()}
    return {
        record: body.read({key: each for key, each in value.items() if key in body.members}, where, faults)
        for record, body in bodies.items()
    }


def encode_settings(settings: SourceSettings) -> bytes:
    """Return settings as JSON, members in the interface's order; those unset by default where they say something."""
    members = {}
    for key, member in SETTINGS.members.items():
        value = getattr(settings, member.name)
        if member.default is not UNSET or value != getattr(_DEFAULTS, member.name):
            members[key] = member.shape.write(value)
    for record, body in brought_settings().items():
        part = settings.of(record)
        for key, member in body.members.items():
            value = getattr(part, member.name)
            if value != member.default:
                members[key] = member.shape.write(value)
    return encode(_in_place(members) | dict(settings.unread))


def with_vocabulary(settings: SourceSettings, vocabulary: Vocabulary) -> SourceSettings:
    """Return settings with another vocabulary; raises `InvalidInput` where they could not be `PUT` so."""
    return decode_settings(encode_settings(replace(settings, vocabulary=vocabulary)), settings.unread)


MAX_PREVIEWED = 20
"""Pieces and people together that one preview shows lists of."""


def _read_changes(value: Any, where: str, faults: Faults) -> Any:
    _read_members(value, where, faults)
    return value if isinstance(value, dict) else UNSET


class PreviewWish(msgspec.Struct, frozen=True, kw_only=True):
    """What to preview: changes, whose lists, and how long these are. ``None`` leaves a list as it is.

    ``changes`` are settings, of which those that are left out stay as they are.
    """

    changes: Annotated[
        Mapping[str, Any], Shape(_read_changes, ref("Settings")), Example({"categoryWeights": {"genre": 2}})
    ] = msgspec.field(default_factory=dict, name="settings")
    whitelist: Annotated[tuple[str, ...] | None, ids(unique=True, listed=MAX_LIST_LENGTH)] = None
    blacklist: Annotated[tuple[str, ...] | None, ids(unique=True, listed=MAX_LIST_LENGTH)] = None
    pieces: Annotated[tuple[str, ...], ids(listed=MAX_PREVIEWED), Example(["alien"])] = ()
    users: Annotated[tuple[str, ...], ids(listed=MAX_PREVIEWED)] = ()
    take: Annotated[int, TAKE, Example(10)] = MAX_TAKE

    def settings(self, current: SourceSettings) -> SourceSettings:
        """Return the settings in force, completed by those that were given."""
        # As JSON, member by member: a given one takes the place of the whole member in force, inner ones included.
        if not self.changes:
            return current
        return read_settings(msgspec.json.decode(encode_settings(current)) | self.changes, current.unread)


PREVIEW = Body(PreviewWish)


def decode_preview(body: bytes) -> PreviewWish:
    """Return what a body wishes to preview.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces and users, or ids on a list, than are accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    wish = PREVIEW.decode(body)
    count = len(wish.pieces) + len(wish.users)
    if count > MAX_PREVIEWED:
        raise TooManyEntries(f"Found {count} pieces and users; up to {MAX_PREVIEWED} together are accepted.")
    return wish

"""Placements as JSON: which list a row of a page shows, under which settings, the variants of it, and whole pages.

The members of a placement are those of a source's settings and of requests for lists, under their names there. Those
that are left out are as the source has them. A variant has the members of its placement, but for those that it gives
itself; one that it gives as ``null`` is as the source has it.
"""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from penchant.errors import Fault, InvalidInput, TooManyEntries
from penchant.hooks import packages
from penchant.model import MAX_LABEL_LENGTH, SourceSettings
from penchant.wire.fields import (
    BOOLEAN,
    ID,
    ID_SCHEMA,
    NAME_SCHEMA,
    Body,
    Description,
    Example,
    Json,
    Label,
    Number,
    Record,
    Shape,
    choice,
    described,
    integer,
    is_number,
    ref,
    text,
)
from penchant.wire.filters import read_boosts, read_filter
from penchant.wire.lists import TAKE, check_ids, ids
from penchant.wire.settings import MAX_DAYS, MAX_PREVIEWED, SETTINGS
from penchant.wire.stored import include_problem
from penchant.wire.syntax import Faults, decode_object, encode, kind_of
from penchant.wire.text import RESERVED_IDS, id_problem, label_problem, name_problem
from penchant.wire.times import parse_sent_timestamp
from penchant_engine.model import MAX_TAKE, Basis, Blend
from penchant_rows.model import PickOrder, PlacementKind
from penchant_rows.wire.list_ids import MAX_LIST_NAMES_BYTES

MAX_PLACEMENTS = 100
"""Placements of a source: some for each page of a site."""
MAX_PLACEMENT_VERSIONS = 100
"""Versions of a placement that are kept, the one in force among them."""
BASE = "base"
"""What the placement itself is called where its variants have names."""
BUCKETS = 10_000
"""Of so many equal parts of all people variants have some: shares have four decimals."""
MAX_NAME_BYTES = MAX_LIST_NAMES_BYTES // 2
"""Bytes in the name of a placement or a variant: both together fit the id of a list."""
MAX_VARIANTS = 8
MAX_OWN_IDS = 1_000
"""Ids on a list of a placement's own: with 500 characters each they fit the limit of a body."""
MAX_PICKS = 500
"""Ids that a placement picks, as many as one request has ranked."""
MAX_ROWS = 5
"""Lists that one placement gives a page."""
MAX_CATALOGS = 100
MAX_LISTS = 20
"""Lists of one page."""
MAX_EXCLUDED = 1_000
"""Ids that one request leaves out."""
MAX_LIKED = 100
"""Pieces that somebody made up likes, for whom a page is."""
MAX_PINS = 10
MAX_QUOTAS = 3


@functools.cache
def kind_names() -> Sequence[str]:
    """Return the names of the kinds of lists: those that are always there, then those that packages bring."""
    # Not while modules are imported: packages import what they bring.
    return [*PlacementKind, *(each.name for each in packages().list_kinds())]


class StoredFaults(Faults):
    """Faults of what is stored, for which a kind of a package that is not installed any more is none."""


def _read_kind(value: Any, where: str, faults: Faults) -> Any:
    if isinstance(value, str) and (value in kind_names() or isinstance(faults, StoredFaults)):
        return PlacementKind(value) if value in set(PlacementKind) else value
    return faults.refuse(where, f"Found another kind of list; accepted are {', '.join(kind_names())}.")


def placement_problem(name: str) -> str | None:
    """Return what is wrong with the name of a placement or a variant, or ``None``."""
    if name in RESERVED_IDS:
        return "Found '.' or '..', which clients take for steps in a path; any other name is accepted."
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"Found {len(name.encode())} bytes in UTF-8; 1 to {MAX_NAME_BYTES} are accepted."
    return name_problem(name)


def _read_share(value: Any, where: str, faults: Faults) -> int:
    """Return of how many of `BUCKETS` parts a share is."""
    parts = value * BUCKETS if is_number(value) else -1
    if not 0 <= parts <= BUCKETS or abs(parts - round(parts)) > 1e-6:
        faults.add(where, "Found no share; a number from 0 to 1 with at most four decimals is accepted.")
        return 0
    return round(parts)


def _read_fraction(value: Any, where: str, faults: Faults) -> Any:
    if is_number(value) and 0 <= value <= 1:
        return float(value)
    return faults.refuse(where, "Found another value; a number from 0 to 1 is accepted.")


def _read_half_life(value: Any, where: str, faults: Faults) -> Any:
    if type(value) is int and 0 <= value <= MAX_DAYS:
        return value
    return faults.refuse(where, f"Found another value; an integer from 0 to {MAX_DAYS} is accepted.")


def _read_catalogs(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_CATALOGS:
        return faults.refuse(where, f"Found no array of 1 to {MAX_CATALOGS} names of catalogs.")
    for place, name in enumerate(value):
        _CATALOG.read(name, f"{where}/{place}", faults)
    return frozenset(name for name in value if isinstance(name, str))


def _own_ids(most: int) -> Shape:
    def read(value: Any, where: str, faults: Faults) -> Any:
        if not isinstance(value, list) or len(value) > most:
            return faults.refuse(where, f"Found no array of up to {most} ids.")
        check_ids(value, where, faults, unique=True)
        return tuple(each for each in value if isinstance(each, str))

    return Shape(read, {"type": "array", "items": ID_SCHEMA, "maxItems": most})


def _as_given(kind: type, accepted: str, schema: Json) -> Shape:
    """Return the shape of what is checked with the attributes of a source: here it only has to be of a kind."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if isinstance(value, kind):
            return value
        return faults.refuse(where, f"Found {kind_of(value)}; {accepted} is accepted.")

    return Shape(read, schema)


def _read_moment(value: Any, where: str, faults: Faults) -> Any:
    try:
        return parse_sent_timestamp(value if isinstance(value, str) else "")
    except ValueError:
        return faults.refuse(where, "Found no moment; a timestamp such as 2026-01-31T18:00:00Z (RFC 3339) is accepted.")


_MOMENT = Shape(_read_moment, {"type": "string", "format": "date-time"})
_POSITION = integer(1, MAX_TAKE)


class PlacementPin(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that stands at a position of the list, from 1; outside of its time there is no such pin."""

    piece_id: Annotated[str, ID] = msgspec.field(name="id")
    position: Annotated[int, _POSITION]
    begins: Annotated[int | None, _MOMENT] = msgspec.field(default=None, name="from")
    ends: Annotated[int | None, _MOMENT] = msgspec.field(default=None, name="until")


class PlacementQuota(msgspec.Struct, frozen=True, kw_only=True):
    """So many pieces at least that a filter holds for are among the first ``of``; the filter is as it was given."""

    filter: Annotated[Mapping[str, Any], _as_given(dict, "a filter", {"type": "object"})]
    at_least: Annotated[int, _POSITION] = msgspec.field(name="atLeast")
    of: Annotated[int, _POSITION]


_PIN, _QUOTA = Body(PlacementPin), Body(PlacementQuota)


def _read_entries(body: Body[Any], most: int, value: Any, where: str, faults: Faults) -> Any:
    """Return the records of an array; UNSET with the faults noted."""
    if not isinstance(value, list) or len(value) > most:
        kind = f"{len(value)} entries" if isinstance(value, list) else kind_of(value)
        return faults.refuse(where, f"Found {kind}; an array of up to {most} is accepted.")
    count = len(faults.found)
    entries = [body.read(entry, f"{where}/{place}", faults) for place, entry in enumerate(value)]
    return UNSET if len(faults.found) > count else tuple(body.record(**entry) for entry in entries)


def _read_pins(value: Any, where: str, faults: Faults) -> Any:
    pins: Any = _read_entries(_PIN, MAX_PINS, value, where, faults)
    for place, pin in enumerate(() if pins is UNSET else pins):
        if pin.piece_id in {each.piece_id for each in pins[:place]}:
            faults.add(f"{where}/{place}/id", "Found an id for the second time; a piece is pinned once.")
        if pin.position in {each.position for each in pins[:place]}:
            faults.add(f"{where}/{place}/position", "Found a position for the second time; it is for one piece.")
        if pin.begins is not None and pin.ends is not None and pin.begins >= pin.ends:
            faults.add(f"{where}/{place}/until", "Found a moment that is not after 'from'.")
    return pins


def _read_quotas(value: Any, where: str, faults: Faults) -> Any:
    quotas = _read_entries(_QUOTA, MAX_QUOTAS, value, where, faults)
    for place, quota in enumerate(() if quotas is UNSET else quotas):
        if quota.at_least > quota.of:
            faults.add(f"{where}/{place}/atLeast", f"Found {quota.at_least}, which is above 'of', {quota.of}.")
    return quotas


_PLACEMENT_NAME = text(placement_problem, "a name", {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES})
_CATALOG = text(name_problem, "a name", NAME_SCHEMA)
_KIND = Shape(_read_kind, {"type": "string", "enum": list(PlacementKind)})
_FRACTION = {"type": "number", "minimum": 0, "maximum": 1}
_OWN_IDS = _own_ids(MAX_OWN_IDS)
_TEXT = text(
    lambda given: label_problem(given) if given else "Found an empty text; leave the member out instead.",
    "a text",
    {"type": "string", "minLength": 1, "maxLength": MAX_LABEL_LENGTH},
)


class ListUse(msgspec.Struct, frozen=True):
    """The kinds of list which take account of a member; those without this note are for all."""

    kinds: frozenset[PlacementKind]


def _for(*kinds: PlacementKind) -> ListUse:
    return ListUse(frozenset(kinds))


_NEAR = _for(PlacementKind.SIMILAR, PlacementKind.BECAUSE)
_RECOMMENDED = _for(PlacementKind.RECOMMENDATIONS, PlacementKind.KEYWORD)
_SUITED = _for(PlacementKind.RECOMMENDATIONS, PlacementKind.KEYWORD, PlacementKind.PICKS)
_SEEDED = _for(PlacementKind.BECAUSE, PlacementKind.KEYWORD)
_KNOWING = ListUse(_SUITED.kinds | _SEEDED.kinds)
_PICKED = _for(PlacementKind.PICKS)
_RAISED = ListUse(frozenset(PlacementKind) - {PlacementKind.AGAIN, PlacementKind.PICKS})


class ListMembers(Record, frozen=True, kw_only=True, rename="camel"):
    """What a list is made by; what is left out is as the source has it. ``fallback`` is a kind of list."""

    algorithm: Annotated[str | UnsetType | None, choice(Basis, "algorithm"), _NEAR, Label("Alike by")] = UNSET
    blend: Annotated[
        Mapping[str, Number] | UnsetType | None,
        SETTINGS.members["blend"].shape,
        Example({"content": 1, "audience": 2, "popularity": 0.5}),
        _SUITED,
        Label("What counts"),
    ] = UNSET
    category_weights: Annotated[
        Mapping[str, Number] | UnsetType | None,
        SETTINGS.members["categoryWeights"].shape,
        ListUse(_NEAR.kinds | _SUITED.kinds),
        Label("Weight of categories"),
    ] = UNSET
    max_per_value: Annotated[
        Mapping[str, int] | UnsetType | None,
        SETTINGS.members["maxPerValue"].shape,
        Label("At most so many of the same"),
    ] = UNSET
    diversity: Annotated[Number | UnsetType | None, Shape(_read_fraction, _FRACTION), Label("How mixed")] = UNSET
    calibration: Annotated[
        Number | UnsetType | None,
        Shape(_read_fraction, _FRACTION),
        _SUITED,
        Description("How much a list keeps the shares of the person's tastes, by `calibrationCategory`."),
        Label("Keep the shares of tastes"),
    ] = UNSET
    calibration_category: Annotated[
        str | UnsetType | None,
        text(name_problem, "a name", NAME_SCHEMA),
        _SUITED,
        Description("The category by whose keywords tastes and lists have shares; `calibration` needs it."),
        Label("Shares by the category"),
    ] = UNSET
    rotation: Annotated[
        Number | UnsetType | None, Shape(_read_fraction, _FRACTION), _RECOMMENDED, Label("Change what was passed over")
    ] = UNSET
    exclude_seen: Annotated[
        bool | UnsetType | None,
        SETTINGS.members["excludeSeen"].shape,
        _KNOWING,
        Label("Leave out what a person knows already"),
    ] = UNSET
    half_life_days: Annotated[
        int | UnsetType | None,
        Shape(_read_half_life, {"type": "integer", "minimum": 0, "maximum": MAX_DAYS}),
        _for(PlacementKind.POPULAR, PlacementKind.NEW),
        Label("Half-life, days"),
    ] = UNSET
    catalogs: Annotated[
        Sequence[str] | UnsetType | None,
        Shape(_read_catalogs, {"type": "array", "items": NAME_SCHEMA, "minItems": 1, "maxItems": MAX_CATALOGS}),
        Label("Catalogs"),
    ] = UNSET
    filter: Annotated[
        Mapping[str, Any] | UnsetType | None,
        _as_given(dict, "a filter", {"type": "object"}),
        Description("Conditions on the attributes of pieces, as `filter=` of lists."),
        Label("Conditions"),
    ] = UNSET
    boosts: Annotated[
        Sequence[Mapping[str, Any]] | UnsetType | None,
        _as_given(list, "an array of boosts", {"type": "array", "items": {"type": "object"}}),
        Description("Conditions with a factor, as `boost=` of lists."),
        Label("Shown sooner or later"),
    ] = UNSET
    pins: Annotated[
        Sequence[Mapping[str, Any]] | UnsetType | None,
        Shape(_read_pins, {"type": "array", "items": ref("PlacementPin"), "maxItems": MAX_PINS}),
        Example([{"id": "alien", "position": 1, "until": "2099-01-01T00:00:00Z"}]),
        Label("Pinned"),
    ] = UNSET
    quotas: Annotated[
        Sequence[Mapping[str, Any]] | UnsetType | None,
        Shape(_read_quotas, {"type": "array", "items": ref("PlacementQuota"), "maxItems": MAX_QUOTAS}),
        Label("Always some of"),
    ] = UNSET
    whitelist: Annotated[Sequence[str] | UnsetType | None, _OWN_IDS, _RAISED, Label("Raised in this row")] = UNSET
    blacklist: Annotated[Sequence[str] | UnsetType | None, _OWN_IDS, Label("Hidden in this row")] = UNSET
    content: Annotated[
        Sequence[str] | UnsetType | None,
        _own_ids(MAX_PICKS),
        _PICKED,
        Description("The pieces that are picked, in their order; the kind `picks` needs them."),
        Label("The pieces, in their order"),
    ] = UNSET
    order: Annotated[
        str | UnsetType | None,
        choice(PickOrder, "order"),
        _PICKED,
        Description("Whether picked pieces stand as given, or as they suit the person; absent: as given."),
        Label("They stand"),
    ] = UNSET
    rows: Annotated[
        int | UnsetType | None,
        integer(1, MAX_ROWS),
        _SEEDED,
        Description("How many lists a page gets of it, each about something else; absent: one."),
        Label("Rows of a page, at most"),
    ] = UNSET
    series_category: Annotated[
        str | UnsetType | None,
        text(name_problem, "a name", NAME_SCHEMA),
        _for(PlacementKind.BECAUSE),
        Description("Of pieces that have the same keywords in this category a page has one list at most."),
        Label("One of each series, by the category"),
    ] = UNSET
    fallback: Annotated[str | UnsetType | None, _KIND, Example("popular"), Label("If it would be empty")] = UNSET


class PlacementVariant(ListMembers, frozen=True, kw_only=True, rename="camel"):
    """A variant of a placement, for a share of all people; what is `None` is as the source has it."""

    name: Annotated[str, _PLACEMENT_NAME]
    share: Annotated[Number, Shape(_read_share, _FRACTION)]
    kind: Annotated[str | UnsetType, _KIND] = UNSET


def _read_variants(value: Any, where: str, faults: Faults) -> Any:
    """Return variants as they were given; what they mean depends on their placement."""
    if isinstance(value, list) and len(value) <= MAX_VARIANTS:
        return value
    kind = f"{len(value)} entries" if isinstance(value, list) else kind_of(value)
    return faults.refuse(where, f"Found {kind}; an array of up to {MAX_VARIANTS} is accepted.")


class Placement(ListMembers, frozen=True, kw_only=True, rename="camel"):
    """What a row of a page shows, and to whom its variants are shown instead."""

    title: Annotated[
        str | UnsetType,
        _TEXT,
        Label("Title that people read"),
        Description("What the row is called where people see it; lists are the same without it."),
    ] = UNSET
    purpose: Annotated[
        str | UnsetType,
        _TEXT,
        Label("What the row is for, in a sentence"),
        Description("What the row is for, in its editor's words; its card tells it."),
    ] = UNSET
    kind: Annotated[str, _KIND, Example("recommendations"), Label("Kind of row")]
    experiment: Annotated[str | UnsetType, text(id_problem, "a text", ID_SCHEMA), Label("Name of the experiment")] = (
        UNSET
    )
    auto_stop: Annotated[
        bool | UnsetType,
        BOOLEAN,
        Description("Whether variants that are certainly worse are stopped; absent: by reports of servers alone."),
        Label("Stop a variant that is certainly worse"),
    ] = UNSET
    variants: Annotated[
        Sequence[PlacementVariant] | UnsetType,
        Shape(_read_variants, {"type": "array", "maxItems": MAX_VARIANTS, "items": ref("PlacementVariant")}),
        Example([{"name": "mixed", "share": 0.2, "diversity": 0.4}]),
        Label("Variants"),
    ] = UNSET


PLACEMENT = Body(Placement, takes_null=False, first=("title", "purpose", "kind"))
_VARIANT = Body(PlacementVariant, takes_null=False, first=("name", "share", "kind"))
_RULES = {key: member for key, member in PLACEMENT.members.items() if key in _VARIANT.members}
"""The members that a list is made by."""
_OF_SETTINGS = {
    key: member.name for key, member in SETTINGS.members.items() if key in _RULES and _RULES[key].shape is member.shape
}
"""The members that are settings of a source, with their fields; they are looked at first."""
_READING = (*_OF_SETTINGS, *(key for key in _RULES if key not in _OF_SETTINGS))


def placement_schemas() -> dict[str, Json]:
    """Return the schemas of placements and their variants by name."""
    behind = ("filter", "whitelist", "blacklist", "content", "order", "rows", "seriesCategory", "fallback")
    placement = PLACEMENT.schema(last=(*behind, "experiment", "autoStop", "variants"))
    variant = _VARIANT.schema(last=behind)
    for properties in (placement["properties"], variant["properties"]):
        properties |= {key: properties[key] | {"enum": kind_names()} for key in ("kind", "fallback")}
    # What is null is as the source has it, and no longer as the placement has it.
    either = {name: {"oneOf": [variant["properties"][name], {"type": "null"}]} for name in _RULES if name != "kind"}
    return {
        "PlacementPin": _PIN.schema(),
        "PlacementQuota": _QUOTA.schema(),
        "Placement": placement,
        "PlacementVariant": variant | {"properties": variant["properties"] | either},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRules:
    """What a list is made by; ``None`` leaves it to the source.

    ``filter`` and ``boosts`` are as they were given: what they mean depends on the attributes that the source has when
    a list is made. ``blacklisted`` is the blacklist as a set: the same object for as long as it is in force, so that
    its rows are looked up once. A kind that a package brings is its name alone.
    """

    kind: PlacementKind
    algorithm: Basis | None = None
    blend: Blend | None = None
    category_weights: Mapping[str, float] | None = None
    max_per_value: Mapping[str, int] | None = None
    diversity: float | None = None
    calibration: float | None = None
    calibration_category: str | None = None
    rotation: float | None = None
    exclude_seen: bool | None = None
    half_life_days: int | None = None
    catalogs: frozenset[str] | None = None
    filter: Mapping[str, Any] | None = None
    boosts: Sequence[Any] | None = None
    pins: Sequence[PlacementPin] | None = None
    quotas: Sequence[PlacementQuota] | None = None
    whitelist: tuple[str, ...] | None = None
    blacklist: tuple[str, ...] | None = None
    blacklisted: frozenset[str] | None = field(init=False)
    content: tuple[str, ...] | None = None
    order: PickOrder | None = None
    rows: int | None = None
    series_category: str | None = None
    fallback: PlacementKind | None = None

    def __post_init__(self) -> None:
        blacklisted = None if self.blacklist is None else frozenset(self.blacklist)
        object.__setattr__(self, "blacklisted", blacklisted)

    def settings(self, current: SourceSettings) -> SourceSettings:
        """Return the settings of a source with those of the list in their place."""
        own = {name: value for name in _OF_SETTINGS.values() if (value := getattr(self, name)) is not None}
        return replace(current, **own) if own else current

    @property
    def kinds(self) -> set[PlacementKind]:
        """The lists that may be shown."""
        return {self.kind} if self.fallback is None else {self.kind, self.fallback}


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant of a placement; ``share`` is how many of `BUCKETS` parts of all people see it."""

    name: str
    share: int
    rules: ListRules


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSpec:
    """A placement: ``members`` as they were given, and what they mean.

    By ``experiment`` people are told apart; ``None`` stands for the placement's name. ``auto_stop`` is whether variants
    that are certainly worse are stopped; ``None``: only where what keys of servers have reported shows it.
    """

    members: Mapping[str, Any]
    rules: ListRules
    experiment: str | None = None
    auto_stop: bool | None = None
    variants: tuple[Variant, ...] = field(default=())

    def rules_of(self, variant: str | None) -> ListRules:
        """Return what the list of a variant is made by; of an unknown one, and of ``None``, the placement's own."""
        if variant is None:
            return self.rules
        return next((each.rules for each in self.variants if each.name == variant), self.rules)


def decode_placement(body: bytes) -> PlacementSpec:
    """Return the placement in a body.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown or unacceptable members, each with its pointer.
    """
    return read_placement(decode_object(body))


def decode_stored_placement(body: bytes) -> PlacementSpec:
    """Return a placement that is stored, whose kind may be one of a package that is not installed any more."""
    return read_placement(decode_object(body), faults=StoredFaults())


def encode_placement(spec: PlacementSpec) -> bytes:
    """Return a placement as JSON: the members that were given, in the interface's order."""
    return encode(spec.members)


def read_placement(value: Any, where: str = "", faults: Faults | None = None) -> PlacementSpec:
    """Return the placement in a decoded value that is at a place of a body; raises `InvalidInput`."""
    faults = faults or Faults()
    spec: PlacementSpec = _read_spec(value, where, faults)
    faults.raise_any()
    return spec


def check_filters(spec: PlacementSpec, settings: SourceSettings, where: str = "") -> None:
    """Raise `InvalidInput` where filters and boosts do not fit the settings of a source, each with its pointer."""
    faults = Faults()
    entries = {where: spec.members}
    entries |= {f"{where}/variants/{place}": each for place, each in enumerate(spec.members.get("variants", ()))}
    for at, members in entries.items():
        given: list[tuple[str, Any, Callable[..., Any]]] = [
            (f"{at}/filter", members.get("filter"), read_filter),
            (f"{at}/boosts", members.get("boosts"), read_boosts),
        ]
        for place, quota in enumerate(members.get("quotas") or ()):
            given.append((f"{at}/quotas/{place}/filter", quota["filter"], read_filter))
        for pointer, value, read in given:
            if value is None:
                continue
            try:
                read(value, settings, pointer)
            except InvalidInput as error:
                for fault in error.faults:
                    faults.add(fault.pointer or pointer, fault.detail)
    faults.raise_any()


def _read_spec(value: Any, where: str, faults: Faults) -> Any:
    """Return the placement that is at a place of a body; UNSET with its faults noted."""
    count = len(faults.found)
    spec = _placement(value, where, faults) if isinstance(value, dict) else None
    if spec is None:
        faults.add(where, f"Found {kind_of(value)}; an object is accepted.")
    return spec if len(faults.found) == count else UNSET


def _placement(value: Mapping[str, Any], where: str, faults: Faults) -> PlacementSpec:
    faults.only(value, PLACEMENT.members, where)
    given = _rules(value, where, faults)
    if value.get("kind") is None:
        names = ", ".join(kind_names())
        faults.add(f"{where}/kind", f"Found nothing that says which list it is; accepted are {names}.")
    rules = ListRules(**({"kind": PlacementKind.POPULAR} | given))
    _require_members(value, rules, where, faults)
    variants = _variants(value, rules, where, faults)
    shown = set().union(rules.kinds, *(each.rules.kinds for each in variants))
    _require_use(value, shown, where, faults)
    others = PLACEMENT.read_members(value, ("experiment", "autoStop"), where, faults)
    PLACEMENT.read_members(value, ("title", "purpose"), where, faults)
    members = {key: value[key] for key in PLACEMENT.members if value.get(key) is not None}
    return PlacementSpec(members=members, rules=rules, variants=variants, **others)


def _rules(value: Mapping[str, Any], where: str, faults: Faults) -> dict[str, Any]:
    """Return the members of a list that are given, by their fields; those with a fault are left out."""
    return _VARIANT.read_members(value, _READING, where, faults)


def _variants(value: Mapping[str, Any], base: ListRules, where: str, faults: Faults) -> tuple[Variant, ...]:
    entries = PLACEMENT.read_members(value, ("variants",), where, faults).get("variants", ())
    variants: list[Variant] = []
    for number, entry in enumerate(entries):
        at = f"{where}/variants/{number}"
        if not isinstance(entry, dict):
            faults.add(at, f"Found {kind_of(entry)}; an object is accepted.")
            continue
        variants.append(_variant(entry, base, at, faults))
        if variants[-1].name in {BASE, *(each.name for each in variants[:-1])}:
            faults.add(f"{at}/name", f"Found a name for the second time; '{BASE}' is the placement itself.")
    if sum(each.share for each in variants) > BUCKETS:
        faults.add(f"{where}/variants", "Found shares of more than 1 together; they can be 1 at most.")
    return tuple(variants)


def _variant(entry: Mapping[str, Any], base: ListRules, where: str, faults: Faults) -> Variant:
    faults.only(entry, _VARIANT.members, where)
    # What is null is no longer as the placement has it.
    absent = {key for key in _RULES if key in entry and entry[key] is None}
    if "kind" in absent:
        faults.add(f"{where}/kind", f"Found null; accepted are {', '.join(kind_names())}.")
    unset: dict[str, Any] = dict.fromkeys(_RULES[key].name for key in absent - {"kind"})
    rules = replace(base, **(unset | _rules(entry, where, faults)))
    _require_use(entry, rules.kinds, where, faults)
    _require_members(entry, rules, where, faults)
    _VARIANT.read_member(entry, "name", where, faults)
    share = _VARIANT.read_member(entry, "share", where, faults)
    return Variant(name=str(entry.get("name")), share=share, rules=rules)


def _require_members(value: Mapping[str, Any], rules: ListRules, where: str, faults: Faults) -> None:
    """Note what a list needs and has not; of what is given with a fault its own reader has told."""
    is_picked, is_calibrated = PlacementKind.PICKS in rules.kinds, bool(rules.calibration)
    if value.get("content") is None and is_picked and rules.content is None:
        faults.add(f"{where}/content", "Found no ids; the kind picks needs those of the pieces that it shows.")
    if value.get("calibrationCategory") is None and is_calibrated and rules.calibration_category is None:
        faults.add(f"{where}/calibrationCategory", "Found no name; calibration needs the category that it goes by.")


def _require_use(value: Mapping[str, Any], kinds: Collection[PlacementKind], where: str, faults: Faults) -> None:
    """Note the members of which none of these lists takes account: nothing may be off in silence."""
    if not set(PlacementKind).issuperset(kinds):
        # What a list of a package takes account of it knows alone.
        return
    for key, member in _RULES.items():
        use = member.note(ListUse)
        if use is not None and value.get(key) is not None and use.kinds.isdisjoint(kinds):
            names = ", ".join(kind for kind in PlacementKind if kind in use.kinds)
            faults.add(f"{where}/{key}", f"No list that is shown takes account of this; it is for {names}.")


class PlacementWish(msgspec.Struct, frozen=True, kw_only=True):
    """A draft of a placement, and whose lists are to be shown; those of nobody without ``users``.

    ``name`` is the placement in whose place the draft would be, ``variant`` the one that all of them are to see.
    """

    name: Annotated[str, _PLACEMENT_NAME, Example("home")]
    spec: Annotated[PlacementSpec, Shape(_read_spec, ref("Placement")), Example(PLACEMENT.sample())] = msgspec.field(
        name="placement"
    )
    users: Annotated[tuple[str, ...], ids(listed=MAX_PREVIEWED), Example(["kim"])] = ()
    content_id: Annotated[str | None, ID] = msgspec.field(default=None, name="content")
    variant: Annotated[str | None, described(_PLACEMENT_NAME.schema)] = None
    take: Annotated[int, TAKE, Example(10)] = MAX_TAKE


PLACEMENT_WISH = Body(PlacementWish)


def decode_placement_preview(body: bytes) -> PlacementWish:
    """Return what a body wishes to preview.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more people than one preview shows lists of.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value, faults = decode_object(body), Faults()
    users = value.get("users")
    if isinstance(users, list) and len(users) > MAX_PREVIEWED:
        raise TooManyEntries(f"Found {len(users)} users; up to {MAX_PREVIEWED} are accepted.")
    members = PLACEMENT_WISH.read(value, "", faults, ("name", "users", "content", "take", "placement", "variant"))
    variant, spec = members.get("variant"), members.get("spec")
    if variant is not None and spec is not None and variant not in (BASE, *(each.name for each in spec.variants)):
        faults.add("/variant", f"Found no variant of the draft; accepted are their names and '{BASE}'.")
    faults.raise_any()
    return PlacementWish(**members)


class PageList(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A list of a page: of which placement, beside which piece, how long, and after what of it (``next``)."""

    placement: str
    content: str | None = None
    take: int | None = None
    after: str | None = None


class PageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One of the lists of a page: which placement, beside which piece, how long, and after what."""

    placement: Annotated[str, text(lambda _: None, "the name of a placement", _PLACEMENT_NAME.schema)]
    content_id: Annotated[str | None, ID] = msgspec.field(default=None, name="content")
    take: Annotated[int, TAKE] = MAX_TAKE
    after: Annotated[str | None, text(lambda _: None, "the next of a list", {"type": "string"})] = None


_ROW = Body(PageRow)


def _read_rows(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        return faults.refuse(where, f"Found {kind_of(value)}; an array of requests for lists is accepted.")
    rows = [_ROW.read(entry, f"{where}/{place}", faults) for place, entry in enumerate(value)]
    return UNSET if faults.found else tuple(PageRow(**row) for row in rows)


def _read_include(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        return faults.refuse(where, f"Found {kind_of(value)}; an array of names is accepted.")
    for place, name in enumerate(value):
        problem = include_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a string is accepted."
        if problem:
            faults.add(f"{where}/{place}", problem)
    return tuple(value)


class PageWish(msgspec.Struct, frozen=True, kw_only=True):
    """The lists of a page for a person, for somebody made up, or for nobody; none of them has the excluded pieces."""

    user_id: Annotated[str | None, ID, Example("kim")] = msgspec.field(default=None, name="user")
    exclude: Annotated[frozenset[str], ids(listed=MAX_EXCLUDED, into=frozenset), Example(["alien"])] = frozenset()
    lists: Annotated[
        tuple[PageRow, ...],
        Shape(_read_rows, {"type": "array", "items": _ROW.schema(), "maxItems": MAX_LISTS}),
        Example([{"placement": "home", "take": 10}]),
    ]
    include: Annotated[
        tuple[str, ...],
        Shape(_read_include, {"type": "array", "items": {"type": "string"}}),
        Description("What entries carry of their pieces, as the parameter of lists."),
        Example(["label"]),
    ] = ()
    liked: Annotated[
        tuple[str, ...] | None,
        ids(unique=True, listed=MAX_LIKED),
        Description("Pieces that somebody made up likes, for whom the lists are, without `user`."),
    ] = None


PAGE = Body(PageWish)


def decode_page(body: bytes) -> PageWish:
    """Return the lists that a body asks for.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more lists, or excluded ids, than one request may have.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    lists, excluded = (len(each) if isinstance(each := value.get(key), list) else 0 for key in ("lists", "exclude"))
    if lists > MAX_LISTS or excluded > MAX_EXCLUDED:
        problem = f"Found {lists} lists and {excluded} excluded ids"
        raise TooManyEntries(f"{problem}; up to {MAX_LISTS} and {MAX_EXCLUDED} are accepted.")
    # A body without lists is told so first.
    is_listed = isinstance(value.get("lists"), list)
    first = ("exclude", "lists") if is_listed else ("lists", "exclude")
    page = PAGE.make(value, (*first, "user", "include", "liked"))
    if page.liked is not None and (page.user_id is not None or len(page.liked) > MAX_LIKED):
        detail = f"Found a user, too, or more than {MAX_LIKED} pieces; one of both is for whom a page is."
        raise InvalidInput(detail, faults=[Fault(pointer="/liked", detail=detail)])
    return page

"""Placements as JSON: which list a row of a page shows, under which settings, and the variants of it.

The members of a placement are those of a source's settings and of requests for lists, under their names there. Those
that are left out are as the source has them. A variant has the members of its placement, but for those that it gives
itself; one that it gives as ``null`` is as the source has it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penchant.attributes import Attribute
from penchant.errors import InvalidInput
from penchant.model import Basis, Blend, PlacementKind, SourceSettings
from penchant.wire.encoding import encode
from penchant.wire.filters import read_boosts, read_filter
from penchant.wire.list_ids import MAX_LIST_NAMES_BYTES
from penchant.wire.lists import check_ids
from penchant.wire.settings import MAX_DAYS, read_settings
from penchant.wire.syntax import Faults, decode_object, fail_at, kind_of
from penchant.wire.text import RESERVED_IDS, id_problem, name_problem

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
MAX_CATALOGS = 100
_KINDS = ", ".join(PlacementKind)
_ALL = frozenset(PlacementKind)
_SIMILAR, _RECOMMENDED = frozenset({PlacementKind.SIMILAR}), frozenset({PlacementKind.RECOMMENDATIONS})
_USES: Mapping[str, frozenset[PlacementKind]] = {
    "kind": _ALL,
    "algorithm": _SIMILAR,
    "blend": _RECOMMENDED,
    "categoryWeights": _SIMILAR | _RECOMMENDED,
    "maxPerValue": _RECOMMENDED,
    "diversity": _RECOMMENDED,
    "rotation": _RECOMMENDED,
    "excludeSeen": _RECOMMENDED,
    "halfLifeDays": frozenset({PlacementKind.POPULAR, PlacementKind.NEW}),
    "catalogs": _ALL,
    "filter": _ALL,
    "boosts": _ALL,
    "whitelist": _ALL - {PlacementKind.AGAIN},
    "blacklist": _ALL,
    "fallback": _ALL,
}
"""The members that a list is made by, and the kinds of list which take account of them."""
_OF_SETTINGS = {
    "categoryWeights": "category_weights",
    "blend": "blend",
    "maxPerValue": "max_per_value",
    "excludeSeen": "exclude_seen",
}
"""The members that are settings of a source, with their fields."""
_MEMBERS = tuple(_USES)
_VARIANT_MEMBERS = ("name", "share", *_MEMBERS)
_PLACEMENT_MEMBERS = (*_MEMBERS, "experiment", "autoStop", "variants")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRules:
    """What a list is made by; ``None`` leaves it to the source.

    ``filter`` and ``boosts`` are as they were given: what they mean depends on the attributes that the source has when
    a list is made. ``blacklisted`` is the blacklist as a set: the same object for as long as it is in force, so that
    its rows are looked up once.
    """

    kind: PlacementKind
    algorithm: Basis | None = None
    blend: Blend | None = None
    category_weights: Mapping[str, float] | None = None
    max_per_value: Mapping[str, int] | None = None
    diversity: float | None = None
    rotation: float | None = None
    exclude_seen: bool | None = None
    half_life_days: int | None = None
    catalogs: frozenset[str] | None = None
    filter: Mapping[str, Any] | None = None
    boosts: Sequence[Any] | None = None
    whitelist: tuple[str, ...] | None = None
    blacklist: tuple[str, ...] | None = None
    blacklisted: frozenset[str] | None = None
    fallback: PlacementKind | None = None

    def settings(self, current: SourceSettings) -> SourceSettings:
        """Return the settings of a source with those of the list in their place."""
        own = {name: value for name in _OF_SETTINGS.values() if (value := getattr(self, name)) is not None}
        return replace(current, **own) if own else current

    @property
    def kinds(self) -> set[PlacementKind]:
        """The lists that may be shown."""
        return {self.kind} if self.fallback is None else {self.kind, self.fallback}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
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
        return next((each.rules for each in self.variants if each.name == variant), self.rules)


def placement_problem(name: str) -> str | None:
    """Return what is wrong with the name of a placement or a variant, or ``None``."""
    if name in RESERVED_IDS:
        return "Found '.' or '..', which clients take for steps in a path; any other name is accepted."
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"Found {len(name.encode())} bytes in UTF-8; 1 to {MAX_NAME_BYTES} are accepted."
    return name_problem(name)


def decode_placement(body: bytes) -> PlacementSpec:
    """Return the placement in a body.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown or unacceptable members, each with its pointer.
    """
    return read_placement(decode_object(body))


def encode_placement(spec: PlacementSpec) -> bytes:
    """Return a placement as JSON: the members that were given, in the interface's order."""
    return encode(spec.members)


def read_placement(value: Any, where: str = "") -> PlacementSpec:
    """Return the placement in a decoded value that is at a place of a body; raises `InvalidInput`."""
    if not isinstance(value, dict):
        fail_at(where, f"Found {kind_of(value)}; an object is accepted.")
    reader = _PlacementReader()
    spec = reader.placement(value, where)
    reader.faults.raise_any()
    return spec


def check_filters(spec: PlacementSpec, attributes: Mapping[str, Attribute], where: str = "") -> None:
    """Raise `InvalidInput` where filters and boosts do not fit the attributes of a source, each with its pointer."""
    faults = Faults()
    entries = {where: spec.members}
    entries |= {f"{where}/variants/{place}": each for place, each in enumerate(spec.members.get("variants", ()))}
    for at, members in entries.items():
        for name, read in (("filter", read_filter), ("boosts", read_boosts)):
            if members.get(name) is None:
                continue
            try:
                read(members[name], attributes, f"{at}/{name}")
            except InvalidInput as error:
                for fault in error.faults:
                    faults.add(fault.pointer or f"{at}/{name}", fault.detail)
    faults.raise_any()


class _PlacementReader:
    """Reads a placement, noting every fault on the way."""

    def __init__(self) -> None:
        self.faults = Faults()

    def placement(self, value: Mapping[str, Any], where: str) -> PlacementSpec:
        self.faults.only(value, _PLACEMENT_MEMBERS, where)
        given = self.rules(value, where)
        if value.get("kind") is None:
            self.faults.add(f"{where}/kind", f"Found nothing that says which list it is; accepted are {_KINDS}.")
        rules = ListRules(**({"kind": PlacementKind.POPULAR} | given))
        variants = self.variants(value.get("variants"), rules, where)
        shown = set().union(rules.kinds, *(each.rules.kinds for each in variants))
        self.require_use(value, shown, where)
        members = {name: value[name] for name in _PLACEMENT_MEMBERS if value.get(name) is not None}
        experiment = self.experiment(value.get("experiment"), where)
        auto_stop = self.flag(value.get("autoStop"), f"{where}/autoStop")
        return PlacementSpec(
            members=members, rules=rules, experiment=experiment, auto_stop=auto_stop, variants=variants
        )

    def rules(self, value: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the members of a list that are given, by their fields; those with a fault are left out."""
        readers = {
            "kind": self.kind,
            "algorithm": self.algorithm,
            "diversity": self.share_of_one,
            "rotation": self.share_of_one,
            "halfLifeDays": self.half_life,
            "catalogs": self.catalogs,
            "filter": self.filter,
            "boosts": self.boosts,
            "whitelist": self.ids,
            "blacklist": self.ids,
            "fallback": self.kind,
        }
        fields = {"halfLifeDays": "half_life_days"}
        given = self.settings(value, where)
        for name, read in readers.items():
            if value.get(name) is not None:
                count = len(self.faults.found)
                found = read(value[name], f"{where}/{name}")
                if len(self.faults.found) == count:
                    given[fields.get(name, name)] = found
        if "blacklist" in given:
            given["blacklisted"] = frozenset(given["blacklist"])
        return given

    def settings(self, value: Mapping[str, Any], where: str) -> dict[str, Any]:
        own = {name: value[name] for name in _OF_SETTINGS if value.get(name) is not None}
        try:
            settings = read_settings(own)
        except InvalidInput as error:
            for fault in error.faults:
                self.faults.add(f"{where}{fault.pointer}", fault.detail)
            return {}
        return {_OF_SETTINGS[name]: getattr(settings, _OF_SETTINGS[name]) for name in own}

    def variants(self, value: Any, base: ListRules, where: str) -> tuple[Variant, ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > MAX_VARIANTS:
            found = f"{len(value)} entries" if isinstance(value, list) else kind_of(value)
            self.faults.add(f"{where}/variants", f"Found {found}; an array of up to {MAX_VARIANTS} is accepted.")
            return ()
        variants: list[Variant] = []
        for number, entry in enumerate(value):
            at = f"{where}/variants/{number}"
            if not isinstance(entry, dict):
                self.faults.add(at, f"Found {kind_of(entry)}; an object is accepted.")
                continue
            variants.append(self.variant(entry, base, at))
            if variants[-1].name in {BASE, *(each.name for each in variants[:-1])}:
                self.faults.add(f"{at}/name", f"Found a name for the second time; '{BASE}' is the placement itself.")
        if sum(each.share for each in variants) > BUCKETS:
            self.faults.add(f"{where}/variants", "Found shares of more than 1 together; they can be 1 at most.")
        return tuple(variants)

    def variant(self, entry: Mapping[str, Any], base: ListRules, where: str) -> Variant:
        self.faults.only(entry, _VARIANT_MEMBERS, where)
        # What is null is no longer as the placement has it.
        absent = {name for name in _MEMBERS if name in entry and entry[name] is None}
        if "kind" in absent:
            self.faults.add(f"{where}/kind", f"Found null; accepted are {_KINDS}.")
        fields = {"halfLifeDays": "half_life_days"} | _OF_SETTINGS
        unset: dict[str, Any] = dict.fromkeys(fields.get(name, name) for name in absent - {"kind"})
        if "blacklist" in unset:
            unset["blacklisted"] = None
        rules = replace(base, **(unset | self.rules(entry, where)))
        self.require_use(entry, rules.kinds, where)
        name = entry.get("name")
        problem = placement_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a name is accepted."
        if problem:
            self.faults.add(f"{where}/name", problem)
        return Variant(name=str(name), share=self.share(entry.get("share"), f"{where}/share"), rules=rules)

    def share(self, value: Any, where: str) -> int:
        parts = value * BUCKETS if _is_number(value) else -1
        if not 0 <= parts <= BUCKETS or abs(parts - round(parts)) > 1e-6:
            self.faults.add(where, "Found no share; a number from 0 to 1 with at most four decimals is accepted.")
            return 0
        return round(parts)

    def require_use(self, value: Mapping[str, Any], kinds: Collection[PlacementKind], where: str) -> None:
        """Note the members of which none of these lists takes account: nothing may be off in silence."""
        for name, users in _USES.items():
            if value.get(name) is not None and users.isdisjoint(kinds):
                names = ", ".join(kind for kind in PlacementKind if kind in users)
                self.faults.add(f"{where}/{name}", f"No list that is shown takes account of this; it is for {names}.")

    def experiment(self, value: Any, where: str) -> str | None:
        problem = None
        if value is not None:
            problem = id_problem(value) if isinstance(value, str) else f"Found {kind_of(value)}; a text is accepted."
        if problem:
            self.faults.add(f"{where}/experiment", problem)
        return value if problem is None else None

    def flag(self, value: Any, where: str) -> bool | None:
        if value is None or isinstance(value, bool):
            return value
        self.faults.add(where, f"Found {kind_of(value)}; true or false is accepted.")
        return None

    def kind(self, value: Any, where: str) -> PlacementKind | None:
        if isinstance(value, str) and value in list(PlacementKind):
            return PlacementKind(value)
        self.faults.add(where, f"Found another kind of list; accepted are {_KINDS}.")
        return None

    def algorithm(self, value: Any, where: str) -> Basis | None:
        names = [each.value for each in Basis]
        if value in names:
            return Basis(value)
        self.faults.add(where, f"Found another algorithm; accepted are {', '.join(names)}.")
        return None

    def share_of_one(self, value: Any, where: str) -> float:
        if _is_number(value) and 0 <= value <= 1:
            return float(value)
        self.faults.add(where, "Found another value; a number from 0 to 1 is accepted.")
        return 0.0

    def half_life(self, value: Any, where: str) -> int:
        if type(value) is int and 0 <= value <= MAX_DAYS:
            return value
        self.faults.add(where, f"Found another value; an integer from 0 to {MAX_DAYS} is accepted.")
        return 0

    def catalogs(self, value: Any, where: str) -> frozenset[str]:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_CATALOGS:
            self.faults.add(where, f"Found no array of 1 to {MAX_CATALOGS} names of catalogs.")
            return frozenset()
        for place, name in enumerate(value):
            problem = name_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a name is accepted."
            if problem:
                self.faults.add(f"{where}/{place}", problem)
        return frozenset(name for name in value if isinstance(name, str))

    def filter(self, value: Any, where: str) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self.faults.add(where, f"Found {kind_of(value)}; a filter is accepted.")
        return {}

    def boosts(self, value: Any, where: str) -> Sequence[Any]:
        if isinstance(value, list):
            return value
        self.faults.add(where, f"Found {kind_of(value)}; an array of boosts is accepted.")
        return ()

    def ids(self, value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > MAX_OWN_IDS:
            self.faults.add(where, f"Found no array of up to {MAX_OWN_IDS} ids.")
            return ()
        check_ids(value, where, self.faults, unique=True)
        return tuple(each for each in value if isinstance(each, str))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Random placements that the interface accepts, under the attributes of `filters_reference`."""

from typing import Any

from hypothesis import strategies as st

from filters_reference import ATTRIBUTES, FILTERS
from penchant.errors import InvalidInput
from penchant.wire import decode_settings, encode
from penchant_rows.model import PlacementKind
from penchant_rows.wire.placements import PLACEMENT, ListUse, check_filters, decode_placement

SOURCE = decode_settings(encode({"attributes": ATTRIBUTES}))
PIECES = ["a", "b", "c c", 'ä, "quoted"']
_FRACTIONS = st.sampled_from([0, 0.25, 0.5, 1, 0.37, 1e-7])
_POSITIONS = st.integers(1, 30)
_MOMENTS = st.sampled_from(
    ["2026-01-31T18:00:00Z", "2026-01-31T18:30:01.5+02:00", "2026-02-01T00:00:00.000Z", "2026-03-01T23:59:59Z"]
)
_OWN_IDS = st.lists(st.sampled_from(PIECES), max_size=4, unique=True)
_FACTORED = st.tuples(FILTERS, st.sampled_from([0.01, 0.5, 1, 2, 2.0, 12.25])).map(
    lambda pair: pair[0] | {"factor": pair[1]}
)
_PINS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(PIECES), "position": _POSITIONS}, optional={"from": _MOMENTS, "until": _MOMENTS}
    ),
    max_size=3,
)
_QUOTAS = st.lists(
    st.fixed_dictionaries({"filter": FILTERS, "atLeast": st.integers(1, 3), "of": st.integers(3, 30)}), max_size=2
)
_AMOUNTS = st.dictionaries(st.sampled_from(["genre", "people/director", "tag, s"]), st.integers(1, 30), max_size=3)
_TEXTS = st.sampled_from(["For you", " two  spaces ", "a\nb", "c\r\nd\re", '"', "…"])
RULES: dict[str, st.SearchStrategy[Any]] = {
    "algorithm": st.sampled_from(["content", "audience", "both"]),
    "blend": st.fixed_dictionaries({"audience": st.sampled_from([1, 0.8])}, optional={"content": st.just(0)}),
    "categoryWeights": _AMOUNTS,
    "maxPerValue": _AMOUNTS,
    "diversity": _FRACTIONS,
    "calibration": _FRACTIONS,
    "calibrationCategory": st.just("genre"),
    "rotation": _FRACTIONS,
    "excludeSeen": st.booleans(),
    "halfLifeDays": st.integers(0, 400),
    "catalogs": st.lists(st.sampled_from(["books", "a, b", "screen"]), min_size=1, max_size=3),
    "filter": FILTERS,
    "boosts": st.lists(_FACTORED, max_size=3),
    "pins": _PINS,
    "quotas": _QUOTAS,
    "whitelist": _OWN_IDS,
    "blacklist": _OWN_IDS,
    "content": _OWN_IDS,
    "order": st.sampled_from(["given", "personal"]),
    "rows": st.integers(1, 5),
    "seriesCategory": st.just("series"),
    "fallback": st.sampled_from(list(PlacementKind)),
}
_VARIANT = st.fixed_dictionaries(
    {"name": st.sampled_from(["mixed", "new, er", "ö"]), "share": st.sampled_from([0, 0.1, 0.125, 0.0001, 0.3333, 1])},
    optional={"kind": st.sampled_from(list(PlacementKind))} | {key: st.none() | value for key, value in RULES.items()},
)
_MEMBERS = st.fixed_dictionaries(
    {"kind": st.sampled_from(list(PlacementKind))},
    optional=RULES
    | {
        "title": _TEXTS,
        "purpose": _TEXTS,
        "experiment": st.just("e"),
        "autoStop": st.booleans(),
        "variants": st.lists(_VARIANT, max_size=2),
    },
)


def _fitting(members: dict[str, Any]) -> dict[str, Any]:
    """Return members without those that the kind takes no account of, most of which would be refused."""
    kinds = {PlacementKind(each) for each in (members["kind"], members.get("fallback", members["kind"]))}
    uses = {key: member.note(ListUse) for key, member in PLACEMENT.members.items()}
    return {key: value for key, value in members.items() if not (use := uses[key]) or use.kinds & kinds}


def _accepted(members: dict[str, Any]) -> bool:
    try:
        check_filters(decode_placement(encode(members)), SOURCE)
    except InvalidInput:
        return False
    return True


PLACEMENTS = _MEMBERS.map(_fitting).filter(_accepted)

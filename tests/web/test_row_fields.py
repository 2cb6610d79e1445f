"""Placements as the fields of a form, and back."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from filters_reference import ATTRIBUTES, EXTRAS, FILTERS, holds
from penchant.errors import InvalidInput
from penchant.model import PlacementKind
from penchant.web.dashboard.rows.clauses import ClauseRow, filter_of, filter_rows, join_values, split_values
from penchant.web.dashboard.rows.fields import (
    COLUMNS,
    FieldContext,
    kept,
    read_fields,
    takes_part,
    widget_of,
    write_fields,
)
from penchant.wire import PLACEMENT, check_filters, decode_placement, decode_settings, encode

SOURCE = decode_settings(encode({"attributes": ATTRIBUTES}))
PIECES = ["a", "b", "c c", 'ä, "quoted"']
CONTEXT = FieldContext(
    attributes=SOURCE.attributes,
    names={"a": "Alien", "b": "Blade Runner"},
    ids={"Alien": "a", "Blade Runner": "b"},
    unknown={"No such title": "No piece is called so."},
)
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
_TEXTS = st.sampled_from(["For you", " two  spaces ", "a\nb", '"', "…"])
_RULES: dict[str, st.SearchStrategy[Any]] = {
    "algorithm": st.sampled_from(["content", "audience", "both"]),
    "blend": st.fixed_dictionaries({"audience": st.sampled_from([1, 0.8])}, optional={"content": st.just(0)}),
    "categoryWeights": _AMOUNTS,
    "maxPerValue": _AMOUNTS,
    "diversity": _FRACTIONS,
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
    optional={"kind": st.sampled_from(list(PlacementKind))} | {key: st.none() | value for key, value in _RULES.items()},
)
_MEMBERS = st.fixed_dictionaries(
    {"kind": st.sampled_from(list(PlacementKind))},
    optional=_RULES
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
    return {key: value for key, value in members.items() if takes_part(PLACEMENT.members[key], kinds)}


def _accepted(members: dict[str, Any]) -> bool:
    try:
        check_filters(decode_placement(encode(members)), SOURCE.attributes)
    except InvalidInput:
        return False
    return True


PLACEMENTS = _MEMBERS.map(_fitting).filter(_accepted)


def test_every_member_that_is_tried_here_is_one_of_a_placement() -> None:
    assert set(_RULES) | {"kind", "title", "purpose", "experiment", "autoStop", "variants"} == set(PLACEMENT.members)


@given(PLACEMENTS)
def test_a_form_of_a_placement_says_the_same_placement_to_the_last_byte(members: dict[str, Any]) -> None:
    read = read_fields(write_fields(members, CONTEXT), members, CONTEXT)

    assert read.faults == []
    assert encode({key: read.members[key] for key in members}) == encode(members)
    assert set(read.members) == set(members)


@given(PLACEMENTS, st.sampled_from(["title", "diversity", "kind", "pins"]))
def test_a_change_of_one_field_leaves_all_others_to_the_last_byte(members: dict[str, Any], changed: str) -> None:
    texts = write_fields(members, CONTEXT)
    if changed == "pins":
        row = {"piece": "Blade Runner", "position": "9", "from": "2026-05-01", "until": ""}
        texts |= {f"pins.{column}": [*texts[f"pins.{column}"], row[column]] for column in row}
    else:
        texts[changed] = {"title": ["New"], "diversity": ["0.123"], "kind": ["again"]}[changed]

    read = read_fields(texts, members, CONTEXT)

    assert read.faults == []
    others = {key: value for key, value in members.items() if key != changed}
    assert {key: encode(read.members[key]) for key in others} == {key: encode(others[key]) for key in others}
    if changed == "pins":
        assert read.members["pins"] == [
            *members.get("pins", []),
            {"id": "b", "position": 9, "from": "2026-05-01T00:00:00Z"},
        ]


@given(PLACEMENTS)
def test_a_form_alone_means_the_same_but_for_what_it_says_it_cannot_show(members: dict[str, Any]) -> None:
    alone = read_fields(write_fields(members, CONTEXT), {}, CONTEXT)

    shown = {key: value for key, value in members.items() if key not in kept(members, CONTEXT)}
    assume("seriesCategory" in shown or "seriesCategory" not in members)
    assert set(alone.members) == set(shown)
    says_nothing = {
        key: filter_rows(members[key], SOURCE.attributes) if key == "filter" else members[key] for key in members
    }
    assert all(says_nothing[key] in ([], {}) for key in set(members) - set(shown))
    rules, own = (
        decode_placement(encode(shown | _blank(members, shown))).rules,
        decode_placement(encode(alone.members | _blank(members, shown))).rules,
    )
    for name in ("kind", "blend", "diversity", "excludeSeen", "catalogs", "pins", "whitelist", "content", "fallback"):
        attribute = {"excludeSeen": "exclude_seen"}.get(name, name)
        assert getattr(own, attribute) == getattr(rules, attribute)


def _blank(members: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
    """Return the picks where there are none: the kind needs the member."""
    return {"content": []} if "content" in members and "content" not in shown else {}


@given(FILTERS, st.lists(EXTRAS, min_size=1, max_size=8))
def test_rows_of_a_filter_hold_for_the_same_pieces(given_filter: dict[str, Any], extras: list[dict[str, Any]]) -> None:
    rows = filter_rows(given_filter, SOURCE.attributes)
    read = filter_of(rows, SOURCE.attributes)[0] if rows else {}

    assert [holds(read, each) for each in extras] == [holds(given_filter, each) for each in extras]


@given(st.lists(st.text(max_size=8), max_size=4))
def test_values_with_commas_and_quotes_are_told_apart(values: list[str]) -> None:
    text = join_values(values)

    assert split_values(text) == values
    # Browsers take line breaks out of a field of one line.
    assert not {"\n", "\r"} & set(text)


@pytest.mark.parametrize(
    ("text", "values"),
    (("books, screen", ["books", "screen"]), (" a ,, b, ", ["a", "b"]), ('"a, b", c', ["a, b", "c"]), ('"a', ['"a'])),
)
def test_values_are_read_as_people_write_them(text: str, values: list[str]) -> None:
    assert split_values(text) == values


def test_a_filter_is_written_by_rows_as_people_read_it() -> None:
    given_filter = {
        "must": [{"key": "language", "any": ["en", "fr"]}, {"key": "age", "gte": 6, "lt": 12}, {"should": []}],
        "mustNot": [{"key": "tags", "any": ["war"]}, {"key": "free", "exists": False}],
    }

    assert filter_rows(given_filter, SOURCE.attributes) == [
        ClauseRow("language", "any", "en, fr"),
        ClauseRow("age", "gte", "6"),
        ClauseRow("age", "lt", "12"),
        ClauseRow("", "json", '{"should":[]}'),
        ClauseRow("tags", "none", "war"),
        ClauseRow("", "json", '{"mustNot":[{"key":"free","exists":false}]}'),
    ]


def test_what_only_a_form_can_have_wrong_is_told_at_its_row() -> None:
    texts = write_fields({"kind": "new"}, CONTEXT) | {
        "filter.attribute": ["language", ""],
        "filter.condition": ["any", "any"],
        "filter.value": ["en", "de"],
        "pins.piece": ["No such title"],
        "pins.position": ["1"],
        "quotas.condition": ["json"],
        "quotas.value": ["{"],
        "variants.others": ["[]"],
    }

    faults = read_fields(texts, {}, CONTEXT).faults

    assert sorted(str(each.pointer) for each in faults) == [
        "/filter/#1",
        "/pins/0/id",
        "/quotas/0",
        "/variants/0/others",
    ]


def test_a_field_that_a_page_does_not_show_stays_as_it_is() -> None:
    members = {"kind": "recommendations", "blend": {"audience": 1}, "filter": {"key": "age", "lt": 3}}

    assert read_fields({"kind": ["new"]}, members, CONTEXT).members == members | {"kind": "new"}


def test_every_member_has_a_label_and_a_field() -> None:
    widgets = {key: widget_of(member) for key, member in PLACEMENT.members.items()}

    assert all(member.label for member in PLACEMENT.members.values())
    assert {each for each in widgets.values() if each in COLUMNS} == set(COLUMNS)

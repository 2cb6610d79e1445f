"""Placements as the fields of a form, and back."""

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from filters_reference import ATTRIBUTES as GIVEN
from filters_reference import FILTERS, PIECE, holds
from penchant.wire import encode
from penchant_client.records import AttributeSettings
from penchant_desk.rows.clauses import (
    ConditionLine,
    filter_of,
    filter_rows,
    filter_words,
    join_values,
    split_values,
)
from penchant_desk.rows.fields import (
    COLUMNS,
    FormContext,
    begun_last,
    kept,
    read_fields,
    with_choices,
    write_fields,
)
from penchant_desk.rows.members import LABELS, MEMBERS
from penchant_desk.rows.words import difference_in_words
from penchant_rows.wire.placements import PLACEMENT, ListUse, decode_placement
from placements_given import PLACEMENTS, RULES

ATTRIBUTES = msgspec.convert(GIVEN, dict[str, AttributeSettings])
CONTEXT = FormContext(
    attributes=ATTRIBUTES,
    names={"a": "Alien", "b": "Blade Runner"},
    ids={"Alien": "a", "Blade Runner": "b"},
    unknown={"No such title": "No piece is called so."},
)


def test_every_member_that_is_tried_here_is_one_of_a_placement() -> None:
    assert set(RULES) | {"kind", "title", "purpose", "experiment", "autoStop", "variants"} == set(PLACEMENT.members)


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


@pytest.mark.slow
@given(PLACEMENTS)
def test_a_form_alone_means_the_same_but_for_what_it_says_it_cannot_show(members: dict[str, Any]) -> None:
    alone = read_fields(write_fields(members, CONTEXT), {}, CONTEXT)

    shown = {key: value for key, value in members.items() if key not in kept(members, CONTEXT)}
    assume("seriesCategory" in shown or "seriesCategory" not in members)
    assert set(alone.members) == set(shown)
    says_nothing = {key: filter_rows(members[key], ATTRIBUTES) if key == "filter" else members[key] for key in members}
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


@given(FILTERS, st.lists(PIECE, min_size=1, max_size=8))
def test_rows_of_a_filter_hold_for_the_same_pieces(given_filter: dict[str, Any], extras: list[dict[str, Any]]) -> None:
    rows = filter_rows(given_filter, ATTRIBUTES)
    read = filter_of(rows, ATTRIBUTES)[0] if rows else {}

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

    assert filter_rows(given_filter, ATTRIBUTES) == [
        ConditionLine("key:language", "any", "en, fr"),
        ConditionLine("key:age", "gte", "6"),
        ConditionLine("key:age", "lt", "12"),
        ConditionLine("", "json", '{"should":[]}'),
        ConditionLine("key:tags", "none", "war"),
        ConditionLine("", "json", '{"mustNot":[{"key":"free","exists":false}]}'),
    ]


def test_keywords_and_catalogs_are_fields_of_rows_as_attributes_are() -> None:
    given_filter = {
        "must": [
            {"category": "people/director", "any": ["Lang, Fritz", "Murnau"]},
            {"category": "key", "all": ["a", "b"], "exists": True},
            {"catalogs": ["maps, charts"]},
        ],
        "mustNot": [{"category": "kind", "any": ["film"]}, {"catalogs": ["old"]}, {"category": "kind", "exists": True}],
    }

    rows = filter_rows(given_filter, ATTRIBUTES)

    assert rows == [
        ConditionLine("category:people/director", "any", '"Lang, Fritz", Murnau'),
        ConditionLine("category:key", "all", "a, b"),
        ConditionLine("category:key", "given", ""),
        ConditionLine("catalogs", "any", '"maps, charts"'),
        ConditionLine("category:kind", "none", "film"),
        ConditionLine("catalogs", "none", "old"),
        ConditionLine("", "json", '{"mustNot":[{"category":"kind","exists":true}]}'),
    ]
    assert filter_of(rows[3:6], ATTRIBUTES)[0] == {
        "must": [{"catalogs": ["maps, charts"]}],
        "mustNot": given_filter["mustNot"][:2],
    }


@pytest.mark.parametrize(
    ("given_filter", "words"),
    (
        ({"category": "kind", "any": ["series"]}, "kind is series"),
        ({"catalogs": ["tv", "web"]}, "in the catalog tv or web"),
        ({"mustNot": [{"catalogs": ["tv"]}]}, "not in the catalog tv"),
        ({"mustNot": [{"category": "kind", "any": ["film", "a, b"]}]}, 'kind is none of film, "a, b"'),
        ({"key": "age", "gte": 6, "exists": True}, "age is at least 6 and age has a value"),
        (
            {
                "must": [
                    {"should": [{"catalogs": ["tv"]}, {"key": "free", "any": [True]}]},
                    {"category": "g", "all": ["a"]},
                ]
            },
            "(in the catalog tv or free is yes) and g has all of a",
        ),
        ({}, "any piece"),
    ),
)
def test_conditions_are_told_in_words(given_filter: dict[str, Any], words: str) -> None:
    assert filter_words(given_filter) == words


def test_what_differs_between_rows_names_conditions() -> None:
    before = {"filter": {"must": [{"category": "kind", "any": ["film"]}, {"catalogs": ["tv"]}]}}
    after = {
        "filter": {"must": [{"catalogs": ["tv"]}, {"category": "kind", "any": ["series"]}]},
        "boosts": [{"category": "genre", "any": ["crime"], "factor": 2}],
        "quotas": [{"filter": {"catalogs": ["new"]}, "atLeast": 3, "of": 4}],
    }

    assert difference_in_words(before, after, LABELS) == [
        "Conditions added: kind is series",
        "Conditions removed: kind is film",
        "Shown sooner or later added: genre is crime, times 2",
        "Always some of added: 3 of the first 4, in the catalog new",
    ]
    turned = {"filter": {"must": before["filter"]["must"][::-1]}}
    assert difference_in_words(before, turned, LABELS) == ["Conditions: in another order"]


def test_what_is_chosen_beside_a_value_joins_it() -> None:
    texts = {"filter.value": ["a", "", "b, c"], "filter.choice": ["", "x, y", "b"], "quotas.value": ["z"]}

    assert with_choices(texts) == texts | {"filter.value": ["a", '"x, y"', "b, c"], "boosts.value": []}


def test_a_condition_that_is_begun_waits_behind_the_others() -> None:
    columns = {"field": ["catalogs", "", "key:age"], "condition": ["any", "any", "given"], "value": ["", "", ""]}
    texts = {f"filter.{name}": values for name, values in columns.items()}

    shown, read = begun_last(texts)

    assert [values for name, values in read.items() if name.startswith("filter.")] == [["key:age"], ["given"], [""]]
    assert shown["filter.field"] == ["key:age", "catalogs"]
    assert read_fields(texts, {}, CONTEXT).faults[0].detail.startswith("Choose a value")


def test_what_only_a_form_can_have_wrong_is_told_at_its_row() -> None:
    texts = write_fields({"kind": "new"}, CONTEXT) | {
        "filter.field": ["key:language", ""],
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


def test_every_member_of_the_interface_has_a_field() -> None:
    uses = {key: member.note(ListUse) for key, member in PLACEMENT.members.items()}
    choices = {key: tuple(member.shape.schema.get("enum", ())) for key, member in PLACEMENT.members.items()}

    assert list(LABELS) == list(PLACEMENT.members)
    assert {key: member.kinds for key, member in MEMBERS.items()} == {
        key: use and use.kinds for key, use in uses.items()
    }
    assert {key: tuple(member.choices) for key, member in MEMBERS.items()} == choices
    assert {each.widget for each in MEMBERS.values()} >= set(COLUMNS)

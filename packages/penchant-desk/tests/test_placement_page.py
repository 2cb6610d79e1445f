"""The dashboard's pages of rows: a placement as a form, without scripts."""

import html
import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from clocks import DAY_CLOCK, DAY_S, SetClock
from factories import piece
from filters_reference import ATTRIBUTES
from penchant.settings import NodeSettings
from penchant_rows.model import PlacementKind
from placements_given import PLACEMENTS
from serving import Applications, Service
from strategies import examples
from visitors import HOME, Visitor, fields_of, text_of, words

PAGE = f"{HOME}/placement"
STORED_FILTERS: list[dict[str, Any]] = [
    {"category": "kind", "any": ["series", "film"], "all": ["series"], "exists": True},
    {"catalogs": ["tv", "late, night"]},
    {"must": [{"category": "kind", "exists": False}], "mustNot": [{"catalogs": ["tv"]}]},
    {
        "should": [
            {"category": "kind", "any": ["series"]},
            {"must": [{"catalogs": ["tv"]}, {"category": "theme", "all": ["crime"]}]},
        ]
    },
    {"must": [{"should": [{"catalogs": ["tv"]}]}, {"mustNot": [{"category": "theme", "all": ["love"]}]}]},
]
"""Conditions of all shapes, some of which a form shows as JSON."""


def put(service: Service, **members: Any) -> None:
    answer = service.put("/s/placements/home", json=members)
    assert answer.status_code == 200, answer.text


def stored(service: Service) -> Any:
    return service.get("/s/placements/home").json()


def fields(answer: Any) -> dict[str, str]:
    return dict(fields_of(answer.text, PAGE))


def with_attributes(service: Service) -> None:
    service.submit("s", piece("l1", "x", label="Lyra", extras={"language": "cy", "year": 1999}))
    attributes = {
        "language": {"pointer": "/language", "type": "keyword"},
        "year": {"pointer": "/year", "type": "integer"},
    }
    assert service.put("/s/settings", json={"attributes": attributes}).status_code == 200


def test_a_new_row_has_no_variant_and_is_published_as_its_form_says(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("placement", source="s")
    given = {"name": "front page", "title": "For you", "kind": "popular", "diversity": "0.25"}
    made = visitor.fill(page, PAGE, do="publish", **given)

    assert made.headers["location"] == f"{PAGE}?source=s&name=front%20page&said=saved"
    assert filled.get("/s/placements/front%20page").json() == {
        "title": "For you",
        "kind": "popular",
        "diversity": 0.25,
        "fallback": "popular",
    }
    assert "front page" in words(visitor.get("placements", source="s"), "main")


def test_a_new_row_for_a_person_rotates_a_little_unless_its_form_says_otherwise(
    visitor: Visitor, filled: Service
) -> None:
    page = visitor.get("placement", source="s")
    assert "A little of it, with which new rows begin" in words(page, "rotation-told")

    visitor.fill(page, PAGE, do="publish", name="home")
    visitor.fill(page, PAGE, do="publish", name="still", rotation="")

    assert stored(filled) == {"kind": "recommendations", "rotation": 0.1, "fallback": "popular"}
    assert filled.get("/s/placements/still").json() == {"kind": "recommendations", "fallback": "popular"}
    told = filled.get("/s/placements/home/card").json()["rules"]
    assert "What a person was shown and passed over steps back: a little." in told


@pytest.mark.parametrize("kind", [each for each in PlacementKind if each not in {"recommendations", "keyword"}])
def test_rotation_comes_and_goes_with_the_kind_of_a_new_row(visitor: Visitor, filled: Service, kind: str) -> None:
    picked = {"content": "First of all"} if kind == "picks" else {}
    shown = visitor.fill(visitor.get("placement", source="s"), PAGE, kind=kind, do="show", **picked)
    back = visitor.fill(shown, PAGE, kind="recommendations", do="show", **dict.fromkeys(picked, ""))
    visitor.fill(shown, PAGE, name="home", do="publish")

    assert "rotation" not in fields(shown)
    assert (fields(back)["rotation"], back.status_code) == ("0.1", 200)
    assert stored(filled) == {"kind": kind, **({"content": ["a"]} if picked else {}), "fallback": "popular"}


@pytest.mark.parametrize("rotation", ({}, {"rotation": 0}, {"rotation": 0.1}, {"rotation": 0.3}))
def test_an_existing_row_keeps_its_rotation(visitor: Visitor, filled: Service, rotation: dict[str, float]) -> None:
    put(filled, kind="recommendations", **rotation)
    page = visitor.get("placement", source="s", name="home")

    visitor.fill(page, PAGE, title="Mine", do="publish")

    assert stored(filled) == {"title": "Mine", "kind": "recommendations", **rotation}


def test_an_existing_row_that_becomes_one_for_a_person_gets_no_rotation(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="popular")
    page = visitor.get("placement", source="s", name="home")

    visitor.fill(page, PAGE, kind="recommendations", do="publish")

    assert stored(filled) == {"kind": "recommendations"}


def test_a_published_change_is_undone_from_its_notice(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    changed = visitor.fill(visitor.get("placement", source="s", name="home"), PAGE, kind="popular", do="publish")
    page = visitor.ask("GET", changed.headers["location"])
    assert (stored(filled)["kind"], "Published" in text_of(page.text)) == ("popular", True)

    back = visitor.fill(page, PAGE)

    assert stored(filled) == {"kind": "new"}
    assert "in force again" in text_of(visitor.ask("GET", back.headers["location"]).text)


def test_a_version_of_the_list_of_changes_is_put_in_force_again(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    put(filled, kind="popular", diversity=0.5)
    page = visitor.get("row-versions", source="s", name="home")
    told = words(page, "versions")

    number = re.findall(r'name="back" value="(\d+)"', page.text)[0]
    kept = [(name, value) for name, value in fields_of(page.text, PAGE) if name in {"proof", "seen", "name"}]
    visitor.send(f"{PAGE}?source=s", [*kept, ("back", number)])

    assert "Kind of row: Newest → Popular; How mixed: Visibly, at hardly any loss" in told
    assert stored(filled) == {"kind": "new"}


def test_a_row_has_a_tab_of_its_versions_and_one_that_is_not_there_has_none(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")

    assert f"{HOME}/row-versions?source=s&amp;name=home" in visitor.get("placement", source="s", name="home").text
    assert visitor.get("row-versions", source="s", name="away").status_code == 404


def test_the_preview_of_a_new_row_says_what_it_is_and_not_that_all_is_new(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    page = visitor.get("placement", source="s")
    given = {"filter.field": "key:language", "filter.condition": "any", "filter.value": "cy", "catalogs": "kino"}

    plain = words(page, "preview")
    held = words(visitor.fill(page, PAGE, do="show", kind="new", **given), "preview")

    assert "A new row, “For a person”: What fits what each one liked, best first. Held to nothing" in plain
    assert "this is what a stranger sees" in plain
    assert not re.search(r"\bnew\b|change place|same as now", plain.partition("fit")[2])
    assert "A new row, “Newest”: What came in last. Held to pieces in kino, and language is cy." in held
    assert "everybody sees this" in held


def test_builders_grow_and_shrink_by_round_trips_and_nothing_is_stored(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    put(filled, kind="popular", pins=[{"id": "a", "position": 1}])
    page = visitor.get("placement", source="s", name="home")
    pairs = fields_of(page.text, PAGE)
    assert [value for name, value in pairs if name == "pins.piece"] == ["First of all", ""]
    condition = {"filter.field": "key:language", "filter.condition": "any", "filter.value": "cy, en"}

    grown = visitor.fill(page, PAGE, do="add", **condition)
    removed = visitor.fill(grown, PAGE, remove="pins.0")

    assert [v for n, v in fields_of(grown.text, PAGE) if n == "filter.value"] == ["cy, en", ""]
    assert msgspec.json.decode(fields(removed)["json"]) == {
        "kind": "popular",
        "filter": {"must": [{"key": "language", "any": ["cy", "en"]}]},
    }
    assert stored(filled) == {"kind": "popular", "pins": [{"id": "a", "position": 1}]}


def with_series(service: Service) -> None:
    crime, series = {"theme": ["crime"], "kind": ["series"]}, {"catalogs": ["tv", "late, night"]}
    service.submit("s", {"id": "s1", "label": "Columbo", "categories": crime, "filters": series})
    service.submit("s", {"id": "s2", "label": "Casablanca", "categories": {"theme": ["love"], "kind": ["film"]}})


def chosen(answer: Any, name: str) -> list[str]:
    """Return what may be chosen in the first select of a name."""
    (select,) = re.findall(rf'<select[^>]*name="{name}".*?</select>', answer.text, re.DOTALL)[:1] or [""]
    return [html.unescape(each) for each in re.findall(r"<option[^>]*>([^<]*)", select)]


def choose(visitor: Visitor, answer: Any, do: str, given: dict[str, tuple[int, str]]) -> Any:
    """Send the form of a page with some fields, each in one of its rows, given anew."""
    pairs = fields_of(answer.text, PAGE)
    for name, (row, value) in given.items():
        at = [number for number, pair in enumerate(pairs) if pair[0] == name][row]
        pairs[at] = (name, value)
    return visitor.send(str(answer.request.url.raw_path.decode()), [*pairs, ("do", do)])


def test_a_row_of_crime_series_is_made_by_choosing_alone(visitor: Visitor, filled: Service) -> None:
    with_series(filled)
    page = visitor.get("placement", source="s")
    assert {"kind", "theme", "genre", "catalog"} <= set(chosen(page, "filter.field"))

    begun = choose(visitor, page, "add", {"filter.field": (0, "category:theme"), "title": (0, "Crime  series")})
    assert begun.status_code == 200
    assert chosen(begun, "filter.choice") == ["choose …", "crime (1)", "love (1)"]
    more = choose(visitor, begun, "add", {"filter.choice": (0, "crime"), "filter.field": (1, "catalogs")})
    assert [value for name, value in fields_of(more.text, PAGE) if name == "filter.value"] == ["crime", "", ""]
    done = choose(visitor, more, "publish", {"filter.choice": (1, "late, night")})

    assert done.headers["location"].startswith(f"{PAGE}?source=s&name=crime%20series&said=saved")
    assert filled.get("/s/placements/crime%20series").json()["filter"] == {
        "must": [{"category": "theme", "any": ["crime"]}, {"catalogs": ["late, night"]}]
    }


def test_a_quota_that_cannot_be_met_is_told_by_what_it_asks_for(visitor: Visitor, filled: Service) -> None:
    with_series(filled)
    films = [{"filter": {"category": "kind", "any": ["film"]}, "atLeast": 2, "of": 2}]
    variants = [{"name": "own", "share": 0, "quotas": films}]
    put(filled, kind="new", quotas=[{"filter": {"catalogs": ["tv"]}, "atLeast": 2, "of": 2}], variants=variants)
    page = visitor.get("placement", source="s", name="home")

    assert "Cannot be met now: 2 of the first 2, in the catalog tv: too few pieces fit" in words(page, "preview")
    own = visitor.fill(page, PAGE, do="show", **{"in": "own"})
    assert "Cannot be met now: 2 of the first 2, kind is film: too few pieces fit" in words(own, "preview")


def test_a_pin_that_cannot_be_met_says_why_in_words(visitor: Visitor, filled: Service) -> None:
    with_series(filled)
    put(filled, kind="new", filter={"category": "kind", "any": ["film"]}, pins=[{"id": "s1", "position": 1}])

    page = visitor.get("placement", source="s", name="home")

    assert "Cannot be met now: the pin at place 1: the piece does not meet the conditions of the row" in words(
        page, "preview"
    )


def test_what_a_variant_has_no_use_for_is_told_by_the_kinds_of_the_desk(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    told = visitor.fill(
        page, PAGE, do="publish", **{"variants.name": "b", "variants.share": "10", "variants.blend-popularity": "0"}
    )

    assert "it is for “For a person”, “Your picks”, “More of a keyword”." in html.unescape(told.text)


def test_a_field_without_a_value_is_told_once_the_row_is_kept(visitor: Visitor, filled: Service) -> None:
    with_series(filled)
    page = visitor.get("placement", source="s")

    refused = visitor.fill(page, PAGE, name="home", do="publish", **{"filter.field": "category:theme"})

    assert refused.status_code == 422
    assert "Choose a value: there is a field" in words(refused, "filter-0-told")
    of_catalogs = {"filter.field": "catalogs", "filter.condition": "all", "filter.value": "tv"}
    refused = visitor.fill(page, PAGE, name="home", do="publish", **of_catalogs)
    assert "Found “has all of”; of catalogs" in words(refused, "filter-0-told")


def test_values_of_a_field_are_there_for_scripts(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    with_series(filled)

    def values(field: str) -> list[str]:
        page = visitor.get("values", source="s", field=field, of="quotas", row="2")
        assert page.status_code == 200
        return chosen(page, "quotas.choice")[1:]

    assert values("category:kind") == ["film (1)", "series (1)"]
    assert values("catalogs") == ["late, night (1)", "tv (1)"]
    assert values("key:language") == ["cy (1)"]
    assert values("key:no such") == values("category:no such") == values("") == values("x") == []


def test_a_page_stays_small_whatever_there_is_to_choose_from(visitor: Visitor, filled: Service) -> None:
    names = [f"{number:03} {'long ' * 20}" for number in range(120)]
    filled.submit("s", {"id": "l", "categories": {f"category {number}": names for number in range(60)}})
    conditions = [{"category": f"category {number}", "any": [names[number]]} for number in range(20)]
    put(filled, kind="popular", filter={"must": conditions}, quotas=[{"filter": conditions[0], "atLeast": 1, "of": 2}])

    few, many = visitor.get("placement", source="s"), visitor.get("placement", source="s", name="home")

    assert len(few.content) < 60_000
    assert len(many.content) < 100_000
    assert len(chosen(many, "filter.choice")) < 4


@pytest.mark.parametrize("given_filter", STORED_FILTERS)
def test_stored_conditions_of_any_shape_open_and_are_stored_unchanged(
    visitor: Visitor, filled: Service, given_filter: dict[str, Any]
) -> None:
    with_series(filled)
    rules = {"filter": given_filter, "boosts": [given_filter | {"factor": 2}]}
    put(filled, kind="popular", quotas=[{"filter": given_filter, "atLeast": 1, "of": 2}], **rules)
    before = filled.get("/s/placements/home").content
    page = visitor.get("placement", source="s", name="home")

    assert visitor.fill(page, PAGE, title="", do="publish").status_code == 303

    assert filled.get("/s/placements/home").content == before
    visitor.fill(page, PAGE, title="Anew", do="publish")
    assert {key: stored(filled)[key] for key in rules} == rules


def test_a_whole_row_is_made_without_json_and_without_an_id(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    page = visitor.get("placement", source="s")
    given = {
        "name": "home",
        "kind": "popular",
        "filter.field": "key:year",
        "filter.condition": "gte",
        "filter.value": "1900",
        "pins.piece": "Second",
        "pins.position": "2",
        "pins.from": "2026-01-31T18:00",
        "pins.until": "2099-02-01",
        "quotas.least": "3",
        "quotas.of": "10",
        "quotas.field": "key:language",
        "quotas.condition": "any",
        "quotas.value": "cy",
        "boosts.field": "key:language",
        "boosts.condition": "none",
        "boosts.value": "en",
        "boosts.factor": "0.5",
        "variants.name": "wider",
        "variants.share": "12.5",
        "variants.diversity": "0.75",
        "maxPerValue.name": "series",
        "maxPerValue.amount": "1",
    }

    assert visitor.fill(page, PAGE, do="publish", **given).status_code == 303
    assert stored(filled) == {
        "kind": "popular",
        "maxPerValue": {"series": 1},
        "filter": {"must": [{"key": "year", "gte": 1900}]},
        "boosts": [{"mustNot": [{"key": "language", "any": ["en"]}], "factor": 0.5}],
        "pins": [{"id": "b", "position": 2, "from": "2026-01-31T18:00:00Z", "until": "2099-02-01T00:00:00Z"}],
        "quotas": [{"filter": {"key": "language", "any": ["cy"]}, "atLeast": 3, "of": 10}],
        "fallback": "popular",
        "variants": [{"name": "wider", "share": 0.125, "diversity": 0.75}],
    }


def test_what_is_wrong_is_told_at_its_field_and_all_input_is_kept(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    page = visitor.get("placement", source="s")
    given = {
        "name": "..",
        "title": "Kept",
        "kind": "popular",
        "filter.field": "key:year",
        "filter.condition": "gte",
        "filter.value": "long ago",
        "pins.piece": "First of all",
        "pins.position": "31",
        "halfLifeDays": "-1",
    }

    answer = visitor.fill(page, PAGE, do="publish", **given)

    assert answer.status_code == 422
    assert {name: fields(answer)[name] for name in given if "." not in name} == {
        name: value for name, value in given.items() if "." not in name
    }
    assert "Found another value; an integer from 0" in words(answer, "halfLifeDays-told")
    assert "an integer from 1 to 30 is accepted" in words(answer, "pins-0-told")
    assert filled.get("/s/placements").json() == {"placements": []}

    mended = visitor.fill(answer, PAGE, do="publish", **{"halfLifeDays": "3", "pins.position": "3"})
    assert "an integer" in words(mended, "filter-0-told")
    assert "'.'" in words(mended, "name-told")


def test_a_title_that_is_no_piece_s_is_told_with_those_that_are_near(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("placement", source="s")

    given = {"pins.piece": "First", "pins.position": "1"}
    answer = visitor.fill(page, PAGE, name="home", kind="new", do="publish", **given)

    assert answer.status_code == 422
    assert "No piece is called so. There are “First of all”." in words(answer, "pins-0-told")
    assert filled.get("/s/placements").json() == {"placements": []}


def test_json_and_fields_agree_whichever_of_them_is_changed(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    by_json = visitor.fill(page, PAGE, json='{"kind": "popular", "diversity": 0.5}', do="show")
    by_field = visitor.fill(by_json, PAGE, diversity="0.75", do="show")
    both = visitor.fill(by_field, PAGE, json='{"kind": "again"}', diversity="1", do="publish")

    assert (fields(by_json)["kind"], fields(by_json)["diversity"]) == ("popular", "0.5")
    assert msgspec.json.decode(fields(by_field)["json"]) == {"kind": "popular", "diversity": 0.75}
    assert (both.status_code, "Both the fields and the JSON were changed" in text_of(both.text)) == (422, True)
    taken = visitor.fill(both, PAGE, do="json")
    assert msgspec.json.decode(fields(taken)["json"]) == {"kind": "again"}
    assert stored(filled) == {"kind": "new"}


def test_json_that_is_no_placement_is_told_and_kept(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    for text, told in (('{"kind": "best"}', "/kind"), ("{", "not JSON"), ('{"kind":"new","pins":5}', "/pins")):
        answer = visitor.fill(page, PAGE, json=text, do="publish")
        assert (answer.status_code, told in words(answer, "json-told")) == (422, True)
        assert fields(answer)["json"] == text
    assert stored(filled) == {"kind": "new"}


def test_what_a_form_cannot_express_stays_as_it_is_and_is_shown(visitor: Visitor, filled: Service) -> None:
    with_attributes(filled)
    odd = {"should": [{"key": "language", "any": ["cy"]}, {"mustNot": [{"key": "year", "lt": 3}]}]}
    put(filled, kind="popular", filter=odd, whitelist=[])
    page = visitor.get("placement", source="s", name="home")

    assert fields(page)["filter.value"] == "" or '"should"' in dict(fields_of(page.text, PAGE))["filter.value"]
    assert "Stays as it is until you change it" in text_of(page.text)
    visitor.fill(page, PAGE, title="New", do="publish")
    assert stored(filled) == {"title": "New", "kind": "popular", "filter": odd, "whitelist": []}


def test_a_preview_shows_a_person_s_list_before_and_after(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    answer = visitor.fill(page, PAGE, **{"as": "kim", "blacklist": "First of all", "do": "show"})

    shown = words(answer, "preview")
    assert "Gone from the first: First of all" in shown
    assert "5 pieces fit now" in shown
    assert '<option value="kim">' in answer.text
    assert stored(filled) == {"kind": "new"}


def test_a_row_beside_a_piece_is_previewed_by_its_title(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="similar")
    page = visitor.get("placement", source="s", name="home")

    answer = visitor.fill(page, PAGE, beside="First of all", do="show")

    assert "Second" in words(answer, "preview")


def test_a_row_that_somebody_else_changed_stays_theirs_and_what_was_typed_is_kept(
    visitor: Visitor, filled: Service
) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")
    put(filled, kind="popular")

    for step in ({"do": "publish", "title": "Mine"}, {"do": "delete", "title": "Mine"}):
        answer = visitor.fill(page, PAGE, **step)
        assert (answer.status_code, "changed this at" in text_of(answer.text)) == (409, True)
        assert fields(answer)["title"] == "Mine"
    assert stored(filled) == {"kind": "popular"}


def test_a_row_is_deleted_with_its_versions(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")

    answer = visitor.fill(visitor.get("placement", source="s", name="home"), PAGE, do="delete")

    assert answer.headers["location"] == f"{HOME}/placements?source=s&said=deleted"
    assert filled.get("/s/placements").json() == {"placements": []}


def test_the_card_of_a_row_is_a_page(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="recommendations", title="For you", purpose="What to watch tonight.", diversity=0.5)

    page = visitor.get("card", source="s", name="home")

    assert "What to watch tonight." in text_of(page.text)
    assert "How mixed: visibly, at hardly any loss." in words(page, "counts")
    assert "Switched off, the row is that of somebody unknown" in words(page, "uses")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLACEMENTS)
def test_a_placement_goes_through_its_page_unchanged_to_the_last_byte(
    visitor: Visitor, filled: Service, members: dict[str, Any]
) -> None:
    filled.put("/s/settings", json={"attributes": ATTRIBUTES})
    if filled.put("/s/placements/home", json=members).status_code == 422:
        return  # quotas that hold for some pieces of each other
    before = filled.get("/s/placements/home").content
    page = visitor.get("placement", source="s", name="home")

    assert "As it is live" in words(page, "differs")
    answer = visitor.fill(page, PAGE, do="publish")

    assert (answer.status_code, filled.get("/s/placements/home").content) == (303, before)


def test_a_row_has_its_rate_and_trend_beside_it_from_the_second_day_on(
    applications: Applications, settings: NodeSettings
) -> None:
    clock = SetClock(DAY_CLOCK())
    with applications.service(settings, clock) as service:
        service.submit("s", piece("a", "x"), piece("b", "x"))
        put(service, kind="new")
        pages = []
        for _ in range(2):
            shown = service.get("/s/placements/home/list?user=kim")
            seen = {"listId": shown.headers["x-penchant-list"], "content": ["a", "b"]}
            reported = service.post("/s/impressions", json=[seen])
            assert reported.status_code == 202, reported.text
            visitor = Visitor(service, service.key)
            pages.append([visitor.get(page, source="s", name="home").text for page in ("placement", "placements")])
            clock.now += DAY_S

    assert [["of 100 opened" in text_of(page) for page in each] for each in pages] == [[False] * 2, [True] * 2]

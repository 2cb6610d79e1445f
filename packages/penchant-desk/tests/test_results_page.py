"""The dashboard's page of what a placement showed, and what came of it."""

import re

import pytest

from penchant_client.records import CoursePoint
from penchant_desk.rows.courses import course_picture
from penchant_engine.model import PIN, QUOTA
from serving import Service
from shown import list_id, report, show
from visitors import HOME, Visitor, text_of, words

VARIANTS = [{"name": "a", "share": 0.5, "kind": "new"}]


@pytest.fixture
def home(filled: Service) -> Service:
    assert filled.put("/s/placements/home", json={"kind": "popular", "variants": VARIANTS}).status_code == 200
    return filled


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_of_what_showed_nothing_one_sentence_is_told_and_no_rate(visitor: Visitor) -> None:
    page = visitor.get("results", source="s", name="home")

    assert page.status_code == 200
    assert "“a” has not been shown yet. None of it was reported as seen." in words(page, "said-1")
    assert "0 % of what a first word takes" in words(page, "said-1")
    assert "a 0 0 0 too early to say" in words(page, "variants")
    assert "100.00%" not in page.text
    assert 'class="band"' not in page.text
    assert "/results?source=s&amp;name=home" in visitor.get("placement", source="s", name="home").text


@pytest.mark.slow
def test_on_the_first_day_it_is_told_how_far_along_it_is(visitor: Visitor, home: Service) -> None:
    show(home, 30, clicks={"base": 3, "a": 2})

    said = words(visitor.get("results", source="s", name="home"), "said-1")

    assert "“a” began today. It has shown 120 pieces, 2 of which led to something." in said
    assert "If days go on so, a first word is possible about 20" in said
    assert "25 % of what a first word takes" in said


def test_what_pins_showed_is_told_apart(visitor: Visitor, home: Service) -> None:
    show(home, 5, clicks={"base": 2}, rules={"base": {"a": PIN}})

    page = text_of(visitor.get("results", source="s", name="home").text)

    assert "Pins showed 5 more in" in page
    assert "of which 2 led to something" in page


def test_what_quotas_raised_is_told_and_counts(visitor: Visitor, home: Service) -> None:
    show(home, 5, clicks={"base": 2}, rules={"base": {"a": QUOTA}})

    page = text_of(visitor.get("results", source="s", name="home").text)

    assert "Quotas raised 5 of these in As it is, of which 2 led to something: 400 of 1,000." in page


def test_a_row_without_variants_says_what_it_showed(visitor: Visitor, home: Service) -> None:
    home.put("/s/placements/home", json={"kind": "popular"})
    nothing = visitor.get("results", source="s", name="home")
    show(home, 5, clicks={"base": 2})

    page = visitor.get("results", source="s", name="home")

    assert "Nothing of the row was reported as seen yet." in words(nothing, "alone")
    assert "The row has shown 20 pieces" in words(page, "alone")
    assert "2 of them led to something" in words(page, "alone")


@pytest.mark.slow
def test_a_variant_takes_the_place_of_its_row_or_ends(visitor: Visitor, home: Service) -> None:
    two = [*VARIANTS, {"name": "b", "share": 0.1, "diversity": None, "pins": []}]
    home.put("/s/placements/home", json={"kind": "popular", "diversity": 0.5, "variants": two})
    show(home, 80, clicks={"base": 20, "a": 20, "b": 3})
    page = visitor.get("results", source="s", name="home")

    ended = visitor.fill(page, f"{HOME}/results", do="stop", variant="a")
    assert home.get("/s/placements/home").json()["variants"] == two[1:]
    assert "You ended it on 20" in text_of(visitor.get("results", source="s", name="home").text)
    assert visitor.fill(page, f"{HOME}/results", do="adopt", variant="b").headers["location"].endswith("said=stale")
    page = visitor.get("results", source="s", name="home")
    visitor.fill(page, f"{HOME}/results", do="adopt", variant="b")

    assert home.get("/s/placements/home").json() == {"kind": "popular", "pins": []}
    undone = visitor.ask("GET", ended.headers["location"])
    assert "Undo" in text_of(undone.text)


@pytest.mark.slow
def test_a_variant_that_is_certainly_worse_is_shown_in_words_numbers_and_a_picture(
    visitor: Visitor, home: Service
) -> None:
    show(home, 300, clicks={"base": 180, "a": 60})

    page = visitor.get("results", source="s", name="home")

    found = home.get("/s/placements/home/results").json()
    worse = next(each for each in found["variants"] if each["variant"] == "a")
    value, lower, upper = (round(1_000 * worse["difference"][each]) for each in ("value", "lower", "upper"))
    said = words(page, "said-1")
    assert "Certainly worse, stopped by itself" in text_of(page.text)
    assert f"Of every 1,000 pieces that “a” shows {-value} fewer are taken up." in said
    assert f"It is between {-upper} and {-lower} fewer than with the row as it is, by 1,200 pieces shown" in said
    assert "So it is off. The people in it see the row as it is again" in said
    # The last row of the table says the same as the picture's description.
    assert f"2,400 {value:+d} {lower:+d} and {upper:+d}" in said
    assert f"at the end {value} of 1,000, between {lower} and {upper}" in page.text
    assert re.search(r'<polygon class="band" points="0\.0,[\d.]+ 600\.0,', page.text)
    assert f"a stopped 300 1,200 60 50 {round(worse['rate']['lower'] * 1000)} to" in words(page, "variants")
    assert "a 60" in words(page, "interactions")
    assert "1 180 of 300 60 of 300 2 0 of" in words(page, "positions")


@pytest.mark.slow
def test_a_difference_that_few_people_made_is_told_in_words(visitor: Visitor, home: Service) -> None:
    show(home, 80, clicks={"base": 70, "a": 4})

    page = visitor.get("results", source="s", name="home")

    said = words(page, "said-1")
    assert "“a” may differ, but not by many people. Ten people could have made 50% of it." in said
    assert "stopped" not in text_of(page.text)
    assert "pieces count for rates" not in text_of(page.text)


@pytest.mark.slow
def test_what_counts_of_a_person_is_told_where_somebody_has_more(visitor: Visitor, home: Service) -> None:
    show(home, 80, clicks={"base": 20, "a": 20})
    more = [list_id(home, variant="base", user="base0") for _ in range(10)]
    assert report(home, *[{"listId": each, "content": ["a", "b", "c", "d"]} for each in more]).status_code == 202

    page = visitor.get("results", source="s", name="home")

    assert "Of each person the first 16 pieces count for rates" in text_of(page.text)


def test_a_course_is_drawn_by_days_from_the_first_that_tells_anything() -> None:
    told = [(100, 0.0, -1.0, 1.0), (102, 0.02, -0.4, 0.5), (103, 0.01, -0.03, 0.05), (106, 0.02, -0.02, 0.04)]
    points = [
        CoursePoint(day=f"1970-04-{day - 89:02}", shown=1, value=value, lower=lower, upper=upper)
        for day, value, lower, upper in told
    ]

    drawn = course_picture(points)

    assert drawn is not None
    assert (drawn.first, drawn.last, round(drawn.reach, 9)) == (102, 106, 0.06)
    assert drawn.line == "0.0,53.3 150.0,66.7 600.0,53.3"
    # What is wider than the frame is cut at its edges.
    assert drawn.band.startswith("0.0,0.0 150.0,13.3 600.0,26.7 600.0,106.7")
    assert drawn.band.endswith("0.0,160.0")


def test_results_are_of_the_days_the_success_and_the_base_that_are_chosen(visitor: Visitor, home: Service) -> None:
    show(home, 30, clicks={"base": 30, "a": 30})

    bought = visitor.get("results", source="s", name="home", type="Purchase", base="a", **{"from": "", "to": ""})
    wrong = visitor.get("results", source="s", name="home", to="yesterday")

    assert "As it is 30 120 0 too early to say" in words(bought, "variants")
    assert "a 30 120 0 0" in words(bought, "variants")
    assert '<option value="Purchase" selected>' in bought.text
    assert (wrong.status_code, "to: " in text_of(wrong.text)) == (200, True)


def test_nothing_that_was_named_is_taken_for_markup(visitor: Visitor, home: Service) -> None:
    hostile = "<b>\"'&"
    variants = [{"name": hostile, "share": 0.5, "kind": "new"}]
    assert home.put("/s/placements/x", json={"kind": "popular", "variants": variants}).status_code == 200

    page = visitor.get("results", source="s", name="x", base='"><script>')

    assert "<b>" not in visitor.get("results", source="s", name="x").text
    assert "&lt;b&gt;" in visitor.get("results", source="s", name="x").text
    assert "<script>" not in page.text
    assert visitor.get("results", source="s", name="unknown").status_code == 404


def test_what_a_pin_did_is_told_apart(visitor: Visitor, home: Service) -> None:
    home.put("/s/placements/home", json={"kind": "new", "pins": [{"id": "b", "position": 1}]})
    assert 'id="pins"' not in visitor.get("results", source="s", name="home").text
    seen, clicked = [], []
    for number in range(4):
        answer = home.get(f"/s/placements/home/list?user=u{number}&take=3")
        list_id = answer.headers["x-penchant-list"]
        seen.append({"listId": list_id, "content": [each["id"] for each in answer.json()["content"]]})
        clicked.append({"userId": f"u{number}", "type": "Click", "contentId": "b", "listId": list_id})
    assert report(home, *seen).status_code == 202
    assert home.post("/s/interactions", json=clicked[:1]).status_code == 200

    page = visitor.get("results", source="s", name="home")

    told = "was shown 4 times, and 1 of these was taken up: 250 of 1,000, beside 0 of all else."
    assert told in words(page, "pins")
    assert "1 of 4" in words(page, "variants")

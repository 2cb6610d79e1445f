"""The dashboard's page of what a placement showed, and what came of it."""

import re

import pytest

from penchant.service.placements.results import CoursePoint, VariantCourse
from penchant.web.dashboard.pictures import course_picture
from serving import Service
from shown import list_id, report, show
from visitors import Visitor, text_of, words

VARIANTS = [{"name": "a", "share": 0.5, "kind": "new"}]


@pytest.fixture
def home(filled: Service) -> Service:
    assert filled.put("/s/placements/home", json={"kind": "popular", "variants": VARIANTS}).status_code == 200
    return filled


@pytest.mark.usefixtures("home")
def test_of_what_showed_nothing_it_is_too_early_to_say(visitor: Visitor) -> None:
    page = visitor.get("results", source="s", name="home")

    assert page.status_code == 200
    assert "a too early to say 0 0 0" in words(page, "variants")
    assert "Too early to say" in words(page, "course")
    assert "<svg" not in page.text
    assert "/results?source=s&amp;name=home" in visitor.get("placement", source="s", name="home").text


@pytest.mark.slow
def test_a_variant_that_is_certainly_worse_is_shown_in_words_numbers_and_a_picture(
    visitor: Visitor, home: Service
) -> None:
    show(home, 1_500, clicks={"base": 900, "a": 300})

    page = visitor.get("results", source="s", name="home")

    found = home.get("/s/placements/home/results").json()
    worse = next(each for each in found["variants"] if each["variant"] == "a")
    points = [
        f"{100 * worse['difference'][each]:+.2f}".replace("-", "\N{MINUS SIGN}") for each in ("value", "lower", "upper")
    ]
    assert f"a certainly worse 1,500 6,000 300 5.00% ({worse['rate']['lower']:.2%}" in words(page, "variants")
    assert "{} ({} to {})".format(*points) in words(page, "variants")
    assert "shown to nobody any more: a." in text_of(page.text)
    # The last row of the table says the same as the picture's description.
    assert "12,000 {} {} {}".format(*points) in words(page, "course")
    assert "at the end {} points, with an interval from {} to {}; certainly worse".format(*points) in page.text
    assert re.search(r'<polygon class="band" points="0\.0,[\d.]+ 600\.0,', page.text)
    assert "a 300" in words(page, "interactions")
    assert "1 60.00% of 1,500 20.00% of 1,500 2 0.00%" in words(page, "positions")
    assert "not checked 4 80% 0" in words(page, "checks")


def test_a_difference_that_few_people_made_is_told_in_words(visitor: Visitor, home: Service) -> None:
    show(home, 80, clicks={"base": 70, "a": 4})

    page = visitor.get("results", source="s", name="home")

    assert "a undecided: ten people could have made 50% of it 80 320 4" in words(page, "variants")
    assert "shown to nobody any more" not in text_of(page.text)
    assert "pieces count for rates" not in text_of(page.text)


def test_what_counts_of_a_person_is_told_where_somebody_has_more(visitor: Visitor, home: Service) -> None:
    show(home, 80, clicks={"base": 20, "a": 20})
    more = [list_id(home, variant="base", user="base0") for _ in range(10)]
    assert report(home, *[{"listId": each, "content": ["a", "b", "c", "d"]} for each in more]).status_code == 202

    page = visitor.get("results", source="s", name="home")

    assert "Of each person the first 16 pieces count for rates" in text_of(page.text)


def test_a_course_is_drawn_by_days_from_the_first_that_tells_anything() -> None:
    told = [(100, 0.0, -1.0, 1.0), (102, 0.02, -0.4, 0.5), (103, 0.01, -0.03, 0.05), (106, 0.02, -0.02, 0.04)]
    points = [CoursePoint(day=day, shown=1, value=value, lower=lower, upper=upper) for day, value, lower, upper in told]

    drawn = course_picture(VariantCourse(variant="a", points=points))

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

    assert "base too early to say 30 120 0" in words(bought, "variants")
    assert "a what others are compared with 30 120 0" in words(bought, "variants")
    assert "<option selected>Purchase" in bought.text
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

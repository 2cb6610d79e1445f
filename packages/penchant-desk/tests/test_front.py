"""The dashboard's front page for a chosen person."""

import re

from serving import Service
from visitors import Visitor, text_of, words


def rows_of(page: str) -> list[list[str]]:
    """Return the ids in the rows of a page, from above."""
    return [
        re.findall(r'href="[^"]*[?&]id=([^&"]+)', each.partition("</ol>")[0])
        for each in page.replace(" large", "").split('<ol class="shelf">')[1:]
    ]


def test_the_rows_are_those_of_the_interface(visitor: Visitor, filled: Service) -> None:
    variants = [{"name": "other", "share": 1, "kind": "popular"}]
    filled.put("/s/placements/new", json={"kind": "new", "blacklist": ["a", "b", "c"]})
    filled.put("/s/placements/for-you", json={"kind": "new", "variants": variants})
    lists = [{"placement": each, "take": 10} for each in ("new", "for-you")]
    answered = filled.post("/s/lists", json={"user": "kim", "lists": lists}).json()["lists"]

    page = visitor.get("front", source="s", user="kim", placement=["new", " for-you", ""])

    rows = rows_of(page.text.replace("&amp;", "&"))
    assert rows == [[piece["id"] for piece in each["content"]] for each in answered]
    assert not set(rows[0]) & set(rows[1])
    assert all(rows)
    assert "for-you Variant other , Popular" in words(page, "row-2")
    assert rows_of(visitor.get("front", source="s").text) != []


def test_rows_are_shown_to_somebody_made_up_who_likes_some_titles(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/for-you", json={"kind": "recommendations"})
    filled.put("/s/placements/because", json={"kind": "because"})
    liked = filled.post("/s/preview/recommendation", json={"liked": ["a"]}).json()["content"]
    before = filled.get("/s").json()

    page = visitor.get("front", source="s", user="kim", likes=["a", "Nothing of this name"], placement="for-you")

    assert rows_of(page.text.replace("&amp;", "&")) == [[each["id"] for each in liked][:12]]
    said = " ".join(text_of(page.text).split())
    assert "somebody sees it who likes First of all" in said
    assert "No piece is called “Nothing of this name”; it is left out." in said
    assert 'value="First of all"' in page.text
    because = visitor.get("front", source="s", likes=["First of all", "Second"], placement="because")
    assert "no placement" not in text_of(because.text)
    assert filled.get("/s").json() == before


def test_a_row_that_cannot_be_made_says_why_in_its_place(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/beside", json={"kind": "similar"})
    filled.put("/s/placements/new", json={"kind": "new"})

    page = visitor.get("front", source="s")
    beside = visitor.get("front", source="s", content="a", placement=["beside", "gone"])

    assert "content: " in words(page, "row-1").partition("new Variant")[0]
    assert "d" in rows_of(page.text.replace("&amp;", "&"))[0]
    assert rows_of(beside.text.replace("&amp;", "&")) == [["b"]]
    assert "no placement 'gone'" in words(beside, "row-2")
    many = visitor.get("front", source="s", placement=list(map(str, range(21))))
    assert (many.status_code, "Found 21 lists" in text_of(many.text)) == (200, True)


def test_without_placements_the_page_is_empty_and_without_the_plan_for_them_it_is_not_named(
    visitor: Visitor, filled: Service
) -> None:
    basic = Visitor(filled, filled.new_key(plan="basic"))

    assert "no placement yet" in text_of(visitor.get("front", source="s").text)
    assert "front page" not in text_of(basic.get("user", source="s", id="kim").text)
    assert "front page" in text_of(visitor.get("user", source="s", id="kim").text)


def test_a_row_without_pieces_says_so(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/nowhere", json={"kind": "new", "catalogs": ["nowhere"]})

    assert "No piece stands in it now" in text_of(visitor.get("front", source="s", placement="nowhere").text)

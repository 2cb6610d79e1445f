"""The desk and the changes that editors make at a piece, without scripts: hide, boost and pin, each with its undo."""

import re
from typing import Any

import pytest

from factories import piece
from serving import Service
from visitors import HOME, Visitor, text_of, words


def press(visitor: Visitor, page: Any, do: str, *, of: str, **given: str) -> Any:
    """Press a button at a piece, and return the page that it leads to."""
    proof = re.search(r'name="proof" value="([^"]+)"', page.text)
    assert proof is not None
    fields = [("proof", proof[1]), ("do", do), *((name.rstrip("_"), text) for name, text in given.items())]
    sent = visitor.send(f"{HOME}/piece?source=s&id={of}", fields)
    return visitor.ask("GET", sent.headers["location"]) if sent.status_code == 303 else sent


def undo(visitor: Visitor, page: Any) -> Any:
    """Press *Undo* of a page's notice."""
    form = re.search(r'<form method="post" action="([^"]+)">((?:(?!</form>).)*)<button class="plain">Undo', page.text)
    assert form is not None
    fields = re.findall(r'name="([^"]+)" value="([^"]+)"', form[2])
    sent = visitor.send(form[1].replace("&amp;", "&"), fields)
    return visitor.ask("GET", sent.headers["location"])


def test_a_hidden_piece_says_so_first_and_who_did_it(visitor: Visitor, filled: Service) -> None:
    hidden = press(visitor, visitor.get("piece", source="s", id="b"), "hide", of="b")

    told = text_of(hidden.text)
    assert filled.get("/s/blacklist").json() == ["b"]
    assert "Second is hidden: no list shows it." in told
    assert re.search(r"Hidden since \d{4}-\d\d-\d\d \d\d:\d\d UTC by you", told)
    assert told.index("Hidden since") < told.index("What goes with it")


def test_hiding_is_undone_with_one_button(visitor: Visitor, filled: Service) -> None:
    hidden = press(visitor, visitor.get("piece", source="s", id="b"), "hide", of="b")

    shown = undo(visitor, hidden)

    assert filled.get("/s/blacklist").json() == []
    assert "Second is shown again." in text_of(shown.text)
    assert "Hidden since" not in text_of(shown.text)


def test_changes_of_others_in_the_same_list_stay(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("piece", source="s", id="b")
    filled.put("/s/blacklist", json=["x", "a"])

    hidden = press(visitor, page, "hide", of="b")
    between = filled.get("/s/blacklist").json()
    undo(visitor, hidden)

    assert between == ["x", "a", "b"]
    assert filled.get("/s/blacklist").json() == ["x", "a"]


def test_a_boosted_piece_comes_first_and_can_be_taken_back(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("f", "x", "y", label="Near"))
    boosted = press(visitor, visitor.get("piece", source="s", id="b"), "boost", of="b")

    first = filled.get("/s/content/a/similar").json()["content"][0]["id"]
    undo(visitor, boosted)

    assert first == "b"
    assert "comes first wherever it is among the thirty best" in text_of(boosted.text)
    assert filled.get("/s/whitelist").json() == []


def test_a_piece_is_pinned_in_a_row_until_a_moment(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new"})
    page = visitor.get("piece", source="s", id="b")

    pinned = press(visitor, page, "pin", of="b", row="row", position="2", until="2099-01-01T20:00")

    pins = filled.get("/s/placements/row").json()["pins"]
    assert pins == [{"id": "b", "position": 2, "until": "2099-01-01T20:00:00Z"}]
    assert "pinned until 2099-01-01 20:00 UTC" in words(pinned, "stands")
    undo(visitor, pinned)
    assert "pins" not in filled.get("/s/placements/row").json()


def test_a_pin_that_cannot_be_is_told(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new", "pins": [{"id": "a", "position": 1}]})
    page = visitor.get("piece", source="s", id="b")

    backwards = {"position": "2", "until": "1999-01-01T20:00", "from_": "2000-01-01T20:00"}
    for fields in ({"position": "1"}, {"position": "no"}, backwards):
        assert press(visitor, page, "pin", of="b", row="row", **fields).status_code == 422
    assert press(visitor, page, "pin", of="b", row="none", position="2").status_code == 404


def test_a_piece_that_is_not_there_can_be_shown_again_but_not_hidden(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/blacklist", json=["gone"])
    page = visitor.get("desk", source="s")

    assert press(visitor, page, "hide", of="nobody").status_code == 404
    assert press(visitor, page, "show", of="gone").status_code == 404
    assert filled.get("/s/blacklist").json() == []


@pytest.mark.parametrize("name", ("desk", "changes"))
def test_changes_are_told_by_whom_and_undone_where_they_are(visitor: Visitor, filled: Service, name: str) -> None:
    press(visitor, visitor.get("piece", source="s", id="b"), "hide", of="b")
    page = visitor.get(name, source="s")

    form = re.search(rf'action="([^"]*back={name}[^"]*)">.*?name="proof" value="([^"]+)">.*?value="(show)"', page.text)
    assert "You hid Second" in " ".join(text_of(page.text).split())
    assert form is not None
    done = visitor.send(form[1].replace("&amp;", "&"), [("proof", form[2]), ("do", form[3])])
    back = visitor.ask("GET", done.headers["location"])

    assert filled.get("/s/blacklist").json() == []
    assert f"/{name}?" in done.headers["location"]
    assert "Second is shown again." in text_of(back.text)
    assert "You showed Second" in " ".join(text_of(back.text).split())


def test_all_changes_since_a_day_are_told_in_words(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new", "title": "Late"})
    filled.put("/s/placements/row", json={"kind": "popular", "title": "Late"})
    filled.post("/s/blacklist/content", json=["a", "b"])

    page = visitor.get("changes", source="s", since="2001-01-01")
    told = " ".join(text_of(page.text).split())

    assert "You changed the list of hidden pieces: First of all, Second added" in told
    assert "You changed the row Late: made; Kind of row: Newest → Popular" in told
    assert f'href="{HOME}/row-versions?source=s&amp;name=row"' in page.text
    assert "Nothing was changed since then." in text_of(visitor.get("changes", source="s", since="2999-01-01").text)
    assert visitor.get("changes", source="s", since="yesterday").status_code == 422


def test_a_source_without_rows_says_so_and_offers_one(visitor: Visitor) -> None:
    desk = visitor.get("desk", source="s")

    assert "There is no row yet." in text_of(desk.text)
    assert "New row" in text_of(desk.text)


def test_a_row_that_was_never_shown_is_told_in_words(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new"})

    told = text_of(visitor.get("desk", source="s").text)

    assert "No row was shown this week." in told
    assert "Not shown yet" in told


def test_what_rows_showed_today_is_told_on_the_first_day(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new"})
    listed = filled.get("/s/placements/row/list?user=kim")
    seen = [{"id": each["id"], "position": at} for at, each in enumerate(listed.json()["content"], start=1)]
    report = {"listId": listed.headers["x-penchant-list"], "userId": "kim", "content": seen}
    answer = filled.post("/s/impressions", json=[report])

    told = text_of(visitor.get("desk", source="s").text)

    assert answer.status_code == 202
    assert "Rows were shown for the first time today." in told


def test_drafts_that_wait_are_named_on_the_desk(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/drafts/spring", json={"title": "Crime in spring", "blacklist": ["b"]})

    before = words(visitor.get("desk", source="s"), "look")
    filled.delete("/s/drafts/spring")

    assert "Crime in spring is a draft, shown to nobody" in before
    assert "Crime in spring" not in words(visitor.get("desk", source="s"), "look").partition("Latest changes")[0]


def test_the_other_piece_may_be_named_by_its_title(visitor: Visitor) -> None:
    by_title = words(visitor.get("piece", source="s", id="a", other="second"), "why")

    assert "It is number 1 of the list" in by_title

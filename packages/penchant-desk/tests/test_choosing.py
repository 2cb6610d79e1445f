"""What is done with several pieces at once on the dashboard: chosen by boxes, without scripts."""

import re
from typing import Any

import pytest

from factories import piece
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of, words

CHOSEN = f"{HOME}/chosen"


def choose(visitor: Visitor, page: Any, *ids: str, **given: str) -> Any:
    kept = [(name, value) for name, value in fields_of(page.text, CHOSEN) if name not in given]
    (address,) = set(re.findall(rf'action="({CHOSEN}[^"]*)"', page.text))
    return visitor.send(address.replace("&amp;", "&"), [*kept, *(("id", each) for each in ids), *given.items()])


def test_a_row_is_made_of_chosen_pieces_and_not_live_until_it_is_published(visitor: Visitor, filled: Service) -> None:
    made = choose(visitor, visitor.get("pieces", source="s"), "c", "a", do="row", title="Late Shift!")
    page = visitor.ask("GET", made.headers["location"])
    before = filled.get("/s/placements/late%20shift").status_code
    visitor.fill(page, f"{HOME}/placement", do="publish")

    assert (before, page.status_code) == (404, 200)
    assert filled.get("/s/placements/late%20shift").json() == {
        "title": "Late Shift!",
        "kind": "picks",
        "content": ["c", "a"],
    }


def test_a_second_row_of_a_title_has_another_name(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/late", json={"kind": "popular"})

    made = choose(visitor, visitor.get("pieces", source="s"), "a", do="row", title="Late")

    assert "name=late%202&" in made.headers["location"]


def test_chosen_pieces_are_hidden_as_one_change_and_shown_again_by_its_undo(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/blacklist", json=["e", "a"])
    hidden = choose(visitor, visitor.get("pieces", source="s", q="first", by="label"), "b", "a", "c", do="hide")
    listed = filled.get("/s/blacklist").json()
    undone = visitor.send(f"{CHOSEN}?source=s&back=pieces", [*fields_of(hidden.text, CHOSEN), ("do", "show")])

    assert ("2 pieces are hidden" in text_of(hidden.text), listed) == (True, ["e", "a", "b", "c"])
    assert ("2 pieces are shown again" in text_of(undone.text), filled.get("/s/blacklist").json()) == (True, ["e", "a"])


def test_all_that_are_shown_are_chosen_by_one_box(visitor: Visitor, filled: Service) -> None:
    choose(visitor, visitor.get("pieces", source="s"), do="hide", all="1")

    assert filled.get("/s/blacklist").json() == ["a", "b", "c", "d", "e"]


def test_pieces_are_hidden_in_a_draft_where_the_form_says_so(visitor: Visitor, filled: Service) -> None:
    said = choose(visitor, visitor.get("pieces", source="s"), "a", do="hide", into="cleaning")

    assert "1 piece is hidden in the proposal" in text_of(said.text)
    assert filled.get("/s/blacklist").json() == []
    assert filled.get("/s/drafts/cleaning").json()["blacklist"] == ["a"]


@pytest.mark.parametrize(
    ("ids", "do", "said"),
    (
        ([], "hide", "no piece that is chosen"),
        ([f"p{number}" for number in range(101)], "row", "up to 100 are accepted"),
        (["a"], "burn", "nothing that can be done"),
    ),
)
def test_what_cannot_be_done_with_chosen_pieces_is_said(
    visitor: Visitor, filled: Service, ids: list[str], do: str, said: str
) -> None:
    answer = choose(visitor, visitor.get("pieces", source="s"), *ids, do=do)

    assert (answer.status_code, said in text_of(answer.text)) == (422, True)
    assert filled.get("/s/blacklist").json() == []


def test_a_form_of_another_site_chooses_nothing(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("pieces", source="s")
    fields = [*fields_of(page.text, CHOSEN), ("id", "a"), ("do", "hide")]

    assert visitor.send(f"{CHOSEN}?source=s", fields, origin="https://elsewhere.example").status_code == 403
    assert visitor.send(f"{CHOSEN}?source=s", [each for each in fields if each[0] != "proof"]).status_code == 403
    assert filled.get("/s/blacklist").json() == []


def test_a_row_is_made_of_what_no_row_showed(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("z", "lonely"))
    filled.put("/s/placements/home", json={"kind": "popular"})
    shown = filled.get("/s/placements/home/list?user=kim&take=1")
    seen = {"listId": shown.headers["x-penchant-list"], "content": [shown.json()["content"][0]["id"]]}
    assert filled.post("/s/impressions", json=[seen]).status_code == 202
    page = visitor.get("health", source="s")
    part = page.text.partition('aria-labelledby="unseen"')[2]

    made = visitor.send(f"{CHOSEN}?source=s&back=health", [*fields_of(part, CHOSEN), ("all", "1"), ("do", "row")])
    row = visitor.ask("GET", made.headers["location"])

    assert "found just now" in text_of(page.text)
    assert dict(fields_of(row.text, f"{HOME}/placement"))["title"] == "Not seen lately"


def test_what_was_played_most_from_rows_is_named_with_how_often(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "new"})
    for user, played in (("kim", "a"), ("lee", "a"), ("ann", "b")):
        shown = filled.get(f"/s/placements/home/list?user={user}").headers["x-penchant-list"]
        assert filled.post("/s/impressions", json=[{"listId": shown, "content": ["a", "b"]}]).status_code == 202
        event = {"userId": user, "type": "Play", "contentId": played, "listId": shown}
        assert filled.post("/s/interactions", json=[event]).status_code == 200

    assert filled.findings()["mostPlayed"] == [
        {"id": "a", "played": 2, "shown": 3},
        {"id": "b", "played": 1, "shown": 3},
    ]

    page = visitor.get("health", source="s")
    assert "2 of 3 times played" in words(page, "played")

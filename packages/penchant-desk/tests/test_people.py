"""The page about a person, without scripts: the taste in words, what may be changed, and people to try."""

import re
from typing import Any

from penchant_desk.pages.user import listed_words, taste_of
from serving import Service
from visitors import HOME, Visitor, text_of, words


def press(visitor: Visitor, do: str, *more: tuple[str, str]) -> Any:
    """Press a button on kim's page, and return the page that it leads to."""
    proof = re.search(r'name="proof" value="([^"]+)"', visitor.get("user", source="s", id="kim").text)
    assert proof is not None
    sent = visitor.send(f"{HOME}/user?source=s&id=kim", [("proof", proof[1]), ("do", do), *more])
    return visitor.ask("GET", sent.headers["location"]) if sent.status_code == 303 else sent


def test_a_taste_is_told_in_a_sentence(visitor: Visitor) -> None:
    told = text_of(visitor.get("user", source="s", id="kim").text)

    assert "kim likes x and y." in told
    assert re.search(r"Turns away from\s+heavy", told)
    assert "Nothing is known yet of what nobody likes." in text_of(visitor.get("user", source="s", id="nobody").text)


def test_words_are_listed_as_people_list_them() -> None:
    assert [listed_words(each) for each in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_a_taste_goes_by_strength_whatever_the_category() -> None:
    found = taste_of({"one": {"a": 10, "b": -40}, "two": {"c": 100, "d": 0}})

    assert [(each.text, each.size) for each in found.liked] == [("c", 4), ("a", 1)]
    assert [(each.text, each.size) for each in found.against] == [("b", 2)]


def test_personal_lists_are_switched_off_and_on(visitor: Visitor, filled: Service) -> None:
    off = press(visitor, "off")
    stored = filled.get("/s/users/kim/preferences").json()

    on = press(visitor, "on")

    assert stored["personal"] is False
    assert "Personal lists are off" in text_of(off.text)
    assert "Switch on" in words(off, "personal")
    assert "Switch off" in words(on, "personal")
    assert filled.get("/s/users/kim/preferences").json().get("personal", True) is True


def test_switching_off_keeps_what_a_person_said(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/users/kim/preferences", json={"hidden": ["b"]})

    press(visitor, "off")

    stored = filled.get("/s/users/kim/preferences").json()
    assert (stored["hidden"], stored["personal"]) == (["b"], False)
    assert "Hidden by this person: Second" in words(visitor.get("user", source="s", id="kim"), "personal")


def test_erasing_takes_a_word_that_one_is_sure(visitor: Visitor, filled: Service) -> None:
    refused = press(visitor, "erase")
    before = filled.get("/s/users/kim/export").json()["interactions"]

    erased = press(visitor, "erase", ("sure", "1"))

    assert (refused.status_code, bool(before)) == (422, True)
    assert "All that was stored of this person is erased." in text_of(erased.text)
    assert filled.get("/s/users/kim/export").json()["interactions"] == []


def test_people_to_try_are_offered_where_a_person_is_asked_for(visitor: Visitor, filled: Service) -> None:
    rows = [{"userId": "busy", "type": "Click", "contentId": each} for each in "abcde"]
    filled.post("/s/interactions", json=rows)
    filled.put("/s/placements/row", json={"kind": "new"})

    for page in ("user", "front"):
        told = re.sub(r"\s+", " ", text_of(visitor.get(page, source="s").text))
        assert "Active lately busy Little known kim" in told


def test_lists_that_a_person_was_shown_are_told(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new"})
    listed = filled.get("/s/placements/row/list?user=kim")
    list_id, first = listed.headers["x-penchant-list"], listed.json()["content"][0]["id"]
    seen = [{"id": each["id"], "position": at} for at, each in enumerate(listed.json()["content"], start=1)]
    filled.post("/s/impressions", json=[{"listId": list_id, "userId": "kim", "content": seen}])
    filled.post(f"/s/users/kim/interactions/Click/content/{first}?list={list_id}")

    told = words(visitor.get("user", source="s", id="kim"), "shown")

    assert re.search(rf"row .* as it is {len(seen)} pieces, opened \S", told)


def test_who_may_not_change_people_is_told_so(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(plan="basic"))

    assert press(visitor, "off").status_code == 403
    assert filled.get("/s/users/kim/preferences").json().get("personal", True) is True

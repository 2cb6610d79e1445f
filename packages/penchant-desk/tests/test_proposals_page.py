"""The dashboard's pages of drafts and proposals, without scripts."""

import re
from typing import Any

import msgspec
import pytest

from factories import piece
from penchant_desk.rows.words import difference_in_words
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of, words

ROW = f"{HOME}/placement"
ONE = f"{HOME}/proposal"


def put(service: Service, **members: Any) -> None:
    answer = service.put("/s/placements/home", json=members)
    assert answer.status_code == 200, answer.text


def stored(service: Service) -> Any:
    return service.get("/s/placements/home").json()


def follow(visitor: Visitor, answer: Any) -> Any:
    assert answer.status_code == 303, text_of(answer.text)
    return visitor.ask("GET", answer.headers["location"])


def draft_of_row(visitor: Visitor, **given: str) -> Any:
    """Return the page of a row whose form was kept as a draft."""
    page = visitor.get("placement", source="s", name="home")
    return follow(visitor, visitor.fill(page, ROW, do="draft", **given))


@pytest.mark.slow
def test_a_row_is_kept_as_a_draft_and_found_again(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")

    kept = draft_of_row(visitor, title="Mine", kind="popular")
    later = visitor.get("placement", source="s", name="home")

    assert "The draft is kept. Nothing of it is live." in text_of(kept.text)
    assert dict(fields_of(kept.text, ROW))["title"] == "Mine"
    assert "2 changes Title that people read: “Mine”; Kind of row: Newest → Popular" in words(kept, "differs")
    assert (dict(fields_of(later.text, ROW))["title"], "draft of yours" in text_of(later.text)) == ("", True)
    assert stored(filled) == {"kind": "new"}

    published = follow(visitor, visitor.fill(kept, ROW, do="publish"))
    assert stored(filled) == {"title": "Mine", "kind": "popular"}
    assert "draft of yours" not in text_of(published.text)
    assert filled.get("/s/drafts").json() == {"drafts": []}


@pytest.mark.slow
def test_a_new_row_is_a_draft_before_it_is_there(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("placement", source="s")

    kept = follow(visitor, visitor.fill(page, ROW, name="home", kind="new", do="draft"))

    assert filled.get("/s/placements").json() == {"placements": []}
    assert dict(fields_of(kept.text, ROW))["kind"] == "new"
    assert visitor.get("placement", source="s", name="other").status_code == 404


@pytest.mark.slow
def test_a_draft_is_compared_published_and_undone(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    compared = follow(visitor, visitor.fill(page, ROW, blacklist="First of all", do="compare"))
    assert "Row home : Hidden in this row added" in words(compared, "edits")
    assert "kim, in home" in words(compared, "moves")
    told = words(compared, "moves")
    assert "Lists of people that move 1 of 2 looked at, by 5 pieces as a rule" in told
    assert "Reach of the catalogue different pieces among the first 10 of these lists 5 4 falls" in told
    assert re.search(r"Variety within a list .* 0\.\d\d 0\.\d\d (rises|falls|as before)", told)
    published = follow(visitor, visitor.fill(compared, ONE, do="publish"))
    assert stored(filled) == {"kind": "new", "blacklist": ["a"]}

    assert "Published: all of it is in force, as one version." in text_of(published.text)
    undone = follow(visitor, visitor.fill(published, ONE))
    assert "Undone: what was before is in force again" in text_of(undone.text)
    assert stored(filled) == {"kind": "new"}


@pytest.mark.slow
def test_lists_of_few_people_are_compared_at_first_and_all_of_them_on_a_click(
    visitor: Visitor, filled: Service
) -> None:
    for number in range(7):
        filled.post(f"/s/users/{number}/interactions/RateLike/content/b")
    for number in range(12):
        filled.submit("s", piece(f"more{number}", "x"))
    filled.put("/s/drafts/less", json={"title": "Less", "blacklist": ["a"]})

    first = visitor.get("proposal", source="s", name="less", look="1")
    every = visitor.get("proposal", source="s", name="less", look="all")

    assert "the lists of the 5 people who are most active. Look at 8 people and beside all pieces" in words(
        first, "moves"
    )
    assert "look=all" in first.text
    told = words(every, "moves")
    assert "of 8 looked at" in told
    assert "the lists of the 8 people who are most active, and what stands beside 17 of 17 pieces" in told
    assert "none of these lists moves." in told


def test_the_desk_names_a_draft_by_its_title(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/drafts/pieces-12ab", json={"title": "Changes of pieces", "blacklist": ["a"]})
    desk = visitor.get("desk", source="s")

    assert "You saved the draft Changes of pieces" in words(desk, "changes")
    assert "name=pieces-12ab" in desk.text.partition('id="changes"')[2]


def test_a_proposal_gathers_several_rows_under_a_title(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    begun = follow(
        visitor, visitor.fill(visitor.get("proposals", source="s"), f"{HOME}/proposals", title="After Halloween")
    )
    assert "It edits nothing yet" in text_of(begun.text)

    for name in ("home", "second"):
        page = visitor.get("placement", source="s", **({"name": name} if name == "home" else {}))
        given = {"name": name, "kind": "popular", "into": "After Halloween"}
        follow(visitor, visitor.fill(page, ROW, do="draft", **given))
    filled_in = visitor.get("proposal", source="s", name="After Halloween")
    assert "2 edits Row home : Kind of row: Newest → Popular Row second : new" in words(filled_in, "edits").replace(
        "  ", " "
    )
    follow(visitor, visitor.fill(filled_in, ONE, do="publish"))

    assert {each["name"]: each["placement"]["kind"] for each in filled.get("/s/placements").json()["placements"]} == {
        "home": "popular",
        "second": "popular",
    }
    assert "After Halloween" in words(visitor.get("proposals", source="s"), "over")


@pytest.mark.slow
def test_another_editor_accepts_or_sends_back_where_four_eyes_are_asked_for(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    filled.put("/s/settings", json={"fourEyes": True})
    other = Visitor(filled, filled.new_key())
    kept = draft_of_row(visitor, kind="popular")
    name = filled.get("/s/drafts").json()["drafts"][0]["name"]

    assert 'value="publish"' not in kept.text
    own = visitor.get("proposal", source="s", name=name)
    assert "another editor has to accept it" in text_of(own.text)
    assert visitor.fill(own, ONE, do="publish").status_code == 409
    follow(visitor, visitor.fill(own, ONE, do="propose", note="For spring"))
    assert "waits" in words(other.get("proposals", source="s"), "open")
    follow(other, other.fill(other.get("proposal", source="s", name=name), ONE, do="return", note="Too popular"))
    told = words(visitor.get("proposal", source="s", name=name), "steps")
    assert "sent it back" in told
    assert "Too popular" in told
    follow(visitor, visitor.fill(visitor.get("proposal", source="s", name=name), ONE, do="propose"))
    follow(other, other.fill(other.get("proposal", source="s", name=name), ONE, do="accept"))

    assert stored(filled) == {"kind": "popular"}
    own = visitor.get("proposal", source="s", name=name, said="published")
    assert "another editor has to undo it" in text_of(own.text)
    assert 'value="undo"' not in own.text
    follow(other, other.fill(other.get("proposal", source="s", name=name), ONE, do="undo"))
    assert stored(filled) == {"kind": "new"}


def test_publishing_over_what_others_changed_is_asked_for_first(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    draft_of_row(visitor, kind="popular")
    name = filled.get("/s/drafts").json()["drafts"][0]["name"]
    put(filled, kind="again")

    refused = visitor.fill(visitor.get("proposal", source="s", name=name), ONE, do="publish", note="Keep me")
    forced = visitor.fill(refused, ONE, do="publish", force="1")

    assert (refused.status_code, "changed by somebody else since" in text_of(refused.text)) == (409, True)
    assert dict(fields_of(refused.text, ONE))["note"] == "Keep me"
    assert forced.status_code == 303
    assert stored(filled) == {"kind": "popular"}


@pytest.mark.parametrize("do", ("publish", "accept", "schedule"))
def test_a_page_that_is_older_than_the_draft_tells_what_is_new_and_publishes_nothing(
    visitor: Visitor, filled: Service, do: str
) -> None:
    put(filled, kind="new")
    edits = {"blacklist": ["a"], "whitelist": ["b"], "placements": {"home": {"kind": "popular"}}}
    changed = {"blacklist": ["a", "b"], "placements": edits["placements"], "settings": {"fourEyes": False}}
    filled.put("/s/drafts/d", json=edits)
    filled.post("/s/drafts/d/propose", json={})
    page = visitor.get("proposal", source="s", name="d")
    filled.put("/s/drafts/d", json=changed)
    filled.post("/s/drafts/d/propose", json={})

    refused = visitor.fill(page, ONE, do=do, at="2099-01-31T18:30", note="Keep me")

    told = text_of(refused.text)
    assert (refused.status_code, "written anew since it was looked at" in told) == (409, True)
    assert "Since you looked: Settings new; Hidden changed; Boosted is no longer edited;" in " ".join(told.split())
    assert dict(fields_of(refused.text, ONE))["note"] == "Keep me"
    assert (stored(filled), filled.get("/s/blacklist").json()) == ({"kind": "new"}, [])
    follow(visitor, visitor.fill(refused, ONE, do=do, at="2099-01-31T18:30"))
    assert filled.get("/s/blacklist").json() == ([] if do == "schedule" else ["a", "b"])


def test_a_page_that_is_older_than_the_draft_undoes_nothing(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/drafts/d", json={"blacklist": ["a"]})
    published = follow(visitor, visitor.fill(visitor.get("proposal", source="s", name="d"), ONE, do="publish"))
    filled.put("/s/drafts/d", json={"blacklist": ["a", "b"]})
    filled.post("/s/drafts/d/publish")

    refused = visitor.fill(published, ONE)

    assert refused.status_code == 409
    assert filled.get("/s/blacklist").json() == ["a", "b"]
    follow(visitor, visitor.fill(refused, ONE, do="undo"))
    assert filled.get("/s/blacklist").json() == ["a"]


def test_a_list_that_others_changed_meanwhile_is_told_after_publishing(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/drafts/d", json={"blacklist": ["a"]})
    page = visitor.get("proposal", source="s", name="d")
    filled.put("/s/blacklist", json=["b"])

    published = follow(visitor, visitor.fill(page, ONE, do="publish"))

    assert "Lists that others had changed meanwhile keep their changes, too." in text_of(published.text)
    assert filled.get("/s/blacklist").json() == ["b", "a"]
    follow(visitor, visitor.fill(published, ONE))


def test_a_row_is_scheduled_and_taken_off_the_schedule(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")

    past = visitor.fill(page, ROW, do="schedule", at="2020-01-01T10:00")
    scheduled = follow(visitor, visitor.fill(page, ROW, do="schedule", at="2099-01-31T18:30", kind="popular"))
    off = follow(visitor, visitor.fill(scheduled, ONE, do="unschedule"))

    assert (past.status_code, "a moment that is over" in text_of(past.text)) == (422, True)
    assert "scheduled for 2099-01-31 18:30 UTC" in text_of(scheduled.text)
    assert "It is off the schedule" in text_of(off.text)
    assert stored(filled) == {"kind": "new"}


def test_a_stale_form_is_kept_as_a_draft(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("placement", source="s", name="home")
    put(filled, kind="popular")

    refused = visitor.fill(page, ROW, title="Mine", do="publish")
    kept = follow(visitor, visitor.fill(refused, ROW, do="draft"))

    assert refused.status_code == 409
    assert dict(fields_of(kept.text, ROW))["title"] == "Mine"
    assert stored(filled) == {"kind": "popular"}


def test_a_draft_of_lists_settings_and_pieces_is_told_in_words(visitor: Visitor, filled: Service) -> None:
    edits = {
        "title": "<b>All",
        "note": "Why not",
        "settings": {"halfLifeDays": 3},
        "blacklist": ["a"],
        "content": [{"id": "new", "label": "New one", "categories": {}}],
        "placements": {"home": None},
    }
    put(filled, kind="new")
    filled.put("/s/drafts/everything", content=msgspec.json.encode(edits), headers={"content-type": "application/json"})

    page = visitor.get("proposal", source="s", name="everything")

    told = words(page, "edits")
    assert "4 edits" in told
    assert "Half-life of interactions, days: 90 → 3" in told
    assert "First of all comes" in told
    assert "Row home : removed" in told
    assert "&lt;b&gt;All" in page.text
    deleted = follow(visitor, visitor.fill(page, ONE, do="delete"))
    assert "The draft is deleted" in text_of(deleted.text)


@pytest.mark.slow
def test_changes_of_pieces_gather_in_a_proposal_and_are_taken_out_again(visitor: Visitor, filled: Service) -> None:
    put(filled, kind="new")
    page = visitor.get("piece", source="s", id="a")
    own = page.text.partition('id="into"')[2].partition('<option value="pieces-')[2].partition('"')[0]
    own = f"pieces-{own}"

    hidden = follow(visitor, visitor.fill(page, f"{HOME}/piece", do="hide", into=own))
    follow(visitor, visitor.fill(page, f"{HOME}/piece", do="pin", into=own, row="home", position="2"))
    lists = visitor.get("lists", source="s", kind="blacklist", draft=own)
    gathered = filled.get(f"/s/drafts/{own}").json()
    visitor.fill(lists, f"{HOME}/lists", remove="0")
    left = filled.get(f"/s/drafts/{own}").json()

    assert "Not live, but in a proposal: First of all is hidden" in text_of(hidden.text)
    assert filled.get("/s/blacklist").json() == []
    assert gathered["blacklist"] == ["a"]
    assert gathered["placements"] == {"home": {"kind": "new", "pins": [{"id": "a", "position": 2}]}}
    assert "blacklist" not in left
    follow(visitor, visitor.fill(visitor.get("proposal", source="s", name=own), ONE, do="publish"))
    assert stored(filled)["pins"][0]["id"] == "a"


def test_what_differs_is_told_with_its_values_where_they_are_short() -> None:
    labels = {key: key for key in ("diversity", "blend", "pins", "excludeSeen", "title", "order")}
    before = {
        "diversity": 0,
        "blend": {"content": 1, "audience": 2},
        "excludeSeen": True,
        "title": "x" * 80,
        "order": "on",
    }
    after = {"blend": {"content": 1, "audience": 0, "popularity": 3}, "pins": [1], "excludeSeen": False, "title": "y"}

    assert difference_in_words(before, after, labels) == [
        "diversity removed",
        "blend, audience: 2 → 0",
        "blend, popularity: 3",
        "pins added",
        "excludeSeen: yes → no",
        "title changed",
        "order removed",
    ]
    assert difference_in_words({"diversity": 0.4}, {"diversity": 1}, labels) == ["diversity: 0.4 → Widest"]

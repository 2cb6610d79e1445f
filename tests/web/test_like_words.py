"""Pages say what a like counts, and the desk that keywords tell half of what they did, with the row that did it."""

import random
from datetime import timedelta

import pytest

from acceptance.processes import waited_for
from clocks import DAY_CLOCK
from serving import Service, ok
from visitors import Visitor, words

CLICKS = "A like counts by its grade: here clicks are what people do, so a click is a full one."


@pytest.fixture
def themed(filled: Service) -> Service:
    """A source of pieces of four themes, and people who clicked those of one each, ten days ago."""
    themes = [{"id": f"p{number:02d}", "categories": {"theme": [f"t{number % 4}"]}} for number in range(40)]
    filled.submit("t", *themes)

    moment = (DAY_CLOCK.now() - timedelta(days=10)).isoformat()
    rows = [
        {"userId": f"u{person}", "type": "Click", "contentId": f"p{number:02d}", "timestamp": moment}
        for person in range(40)
        for number in range(person % 4, 40, 4)
    ]
    ok(filled.post("/t/interactions", json=rows))
    return filled


def told(visitor: Visitor, page: str, section: str, words_of_it: str, **options: str) -> str:
    """Return a section of a page once it has some words."""
    return waited_for(
        lambda: words(visitor.get(page, source="t", **options), section), lambda text: words_of_it in text
    )


@pytest.mark.usefixtures("noon", "themed")
def test_pages_tell_what_a_like_counts_where_people_click(visitor: Visitor) -> None:
    health = told(visitor, "health", "full", CLICKS)

    assert "Clicks: 400 likes, grade 16 of 16" in health
    assert "of the weight 1 of 16" in health
    assert CLICKS in told(visitor, "settings", "weights-hint", CLICKS)
    assert CLICKS in told(visitor, "user", "taste", CLICKS, id="u1")
    assert "half of what they said" not in words(visitor.get("desk", source="t"), "look")


@pytest.mark.usefixtures("noon")
def test_a_row_whose_crowd_halved_what_keywords_tell_needs_a_look(visitor: Visitor, themed: Service) -> None:
    themed.put("/t/placements/front", json={"kind": "popular", "title": "Front page"})
    draw, rows, seen = random.Random(3), [], []
    for person in range(60):
        listed = themed.get(f"/t/placements/front/list?user=c{person}&take=30")
        shown = draw.sample([each["id"] for each in listed.json()["content"]], 20)
        entries = [{"id": each, "position": at} for at, each in enumerate(shown, start=1)]
        seen.append({"listId": listed.headers["x-penchant-list"], "userId": f"c{person}", "content": entries})
        rows += [{"userId": f"c{person}", "type": "Click", "contentId": each} for each in shown]
    reported = themed.post("/t/impressions", json=seen)
    assert reported.status_code == 202, reported.text
    # Nodes go by the real clock, by which lists were made just now.
    now = DAY_CLOCK.now().isoformat()
    ok(themed.post("/t/interactions", json=[each | {"timestamp": now} for each in rows]))

    look = told(visitor, "desk", "look", "half of what they said").replace(" .", ".")

    today = DAY_CLOCK.today().isoformat()
    assert (
        f"most of it on {today} (UTC), with 1,200 likes; of what rows showed then people opened 1,200 in Front page."
        in look
    )
    assert "another order of it" in told(visitor, "health", "fall", "κ went from")

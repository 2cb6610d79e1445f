"""The desk's pages of rows in a real browser: by keyboard alone, without scripts, on a phone, as the form changes."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import penchant.demo
from acceptance.browsers import Pages, Window, look_at, violations
from acceptance.processes import wait_until
from acceptance.servers import Server
from shown import show_lists

pytestmark = pytest.mark.slow

WORKS = Path(penchant.demo.__file__).parent / "works"
PAGES: Pages = {
    "rows": ("placements", {"source": "works"}),
    "row-new": ("placement", {"source": "works"}),
    "row": ("placement", {"source": "works", "name": "full"}),
    "row-results": ("results", {"source": "works", "name": "shown"}),
    "row-results-first-day": ("results", {"source": "works", "name": "full"}),
    "row-draft": ("placement", {"source": "works", "name": "full", "draft": "spring"}),
    "row-card": ("card", {"source": "works", "name": "full"}),
}
ATTRIBUTES = {"country": {"pointer": "/country", "type": "keyword"}, "year": {"pointer": "/year", "type": "integer"}}
FULL: dict[str, Any] = {
    "title": "For you, with a title that is twice as long as titles usually are in this language",
    "purpose": "What to read or watch tonight.",
    "kind": "recommendations",
    "fallback": "popular",
    "filter": {
        "must": [
            {"key": "year", "gte": 1800},
            {"category": "kind", "any": ["film", "novel", "series"]},
            {"should": [{"key": "year", "lt": 1900}, {"key": "year", "gte": 1900}]},
        ],
        "mustNot": [{"catalogs": ["games"]}],
    },
    "boosts": [{"key": "country", "any": ["France"], "factor": 2}],
    "pins": [
        {"id": "blade-runner", "position": 1, "from": "2026-01-01T00:00:00+01:00", "until": "2099-01-01T00:00:01.50Z"}
    ],
    "quotas": [{"filter": {"key": "year", "lt": 1900}, "atLeast": 2, "of": 10}],
    "diversity": 0.37,
    "variants": [{"name": "wider", "share": 0.5, "diversity": 0.75}],
}

PLAIN = {"kind": "popular", "fallback": "new"}

Opening = Callable[..., Window]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the demo's works, a person, and rows of which one was shown to people."""
    started = Server(tmp_path_factory.mktemp("rows") / "data")
    pieces = [json.loads(line) for line in (WORKS / "pieces.ndjson").read_text("utf-8").splitlines()]
    assert started.client.post("/works/content", json=pieces).status_code == 202
    assert started.client.put("/works/settings", json={"attributes": ATTRIBUTES}).status_code == 200
    started.client.post("/works/users/kim/interactions/RateLike/content/jane-eyre")
    assert started.client.put("/works/placements/full", json=FULL).status_code == 200
    assert started.client.put("/works/placements/plain", json=PLAIN).status_code == 200
    variants = [{"name": "newest", "share": 0.5, "kind": "new"}]
    started.client.put("/works/placements/shown", json={"kind": "popular", "fallback": "new", "variants": variants})
    show_lists(started.client, "works", "shown", people=80)
    edits = {"title": "Spring", "placements": {"full": FULL | {"diversity": 1}}, "blacklist": ["dune"]}
    assert started.client.put("/works/drafts/spring", json=edits).status_code == 200
    yield started
    assert started.stop() == 0


def test_the_preview_follows_the_form_as_it_changes_and_nothing_is_stored(opening: Opening, server: Server) -> None:
    window = opening()
    page = window.open("placement", source="works", name="full")
    assert page.locator("#preview li").first.inner_text().startswith("1\nBlade Runner")

    page.get_by_label("Place 1").fill("3")
    page.locator("#differs").get_by_text("Pinned changed").wait_for()
    wait_until(lambda: page.locator("#preview li").nth(2).inner_text().startswith("3\nBlade Runner"))
    page.get_by_label("Newest").check()
    page.get_by_text("Half-life, days").first.wait_for(state="attached")

    assert violations(page) == []
    assert server.client.get("/works/placements/full").json() == FULL


NEW_YORK = {"timezone_id": "America/New_York"}


@pytest.mark.parametrize(
    "options", ({}, {"java_script_enabled": False}, NEW_YORK), ids=["with scripts", "without scripts", "far away"]
)
def test_a_browser_gives_a_form_back_as_it_was_to_the_last_byte(
    opening: Opening, server: Server, options: dict[str, Any]
) -> None:
    before = server.client.get("/works/placements/full").content
    page = opening(**options).open("placement", source="works", name="full")

    page.get_by_role("button", name="Publish").click()
    page.get_by_text("Published: the next request goes by it.").wait_for()

    assert server.client.get("/works/placements/full").content == before


def test_moments_are_those_of_the_readers_own_clock(opening: Opening) -> None:
    def told(**options: Any) -> tuple[str, str]:
        page = opening(**options).open("row-versions", source="works", name="full")
        moment = page.locator("#versions ~ form time").first
        return moment.inner_text(), moment.get_attribute("title") or ""

    text, title = told(**NEW_YORK)
    plain, _ = told(java_script_enabled=False)

    here = datetime.fromisoformat(plain.replace(" UTC", "Z")).astimezone(ZoneInfo("America/New_York"))
    assert (text, title) == (f"{here:%Y-%m-%d %H:%M}", plain)


def test_a_pin_ends_by_the_readers_own_clock(opening: Opening, server: Server) -> None:
    page = opening(**NEW_YORK).open("placement", source="works", name="plain")
    page.get_by_text("Times are those of America/New_York").wait_for()

    page.get_by_label("Piece 1").fill("Dune")
    page.get_by_label("Place 1").fill("2")
    page.get_by_label("Until 1").fill("2099-07-06T20:00")
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("Published: the next request goes by it.").wait_for()

    assert page.get_by_label("Until 1").input_value() == "2099-07-06T20:00"
    stored = server.client.get("/works/placements/plain").json()
    assert stored["pins"] == [{"id": "dune", "position": 2, "until": "2099-07-07T00:00:00Z"}]


def test_settings_are_compared_for_those_who_did_most_as_one_types(opening: Opening, server: Server) -> None:
    page = opening().open("settings", source="works")

    page.get_by_label("People with a like taste").fill("0")
    page.get_by_label("Popularity").fill("5")
    page.get_by_text("Mostly what is popular").wait_for()
    page.get_by_role("heading", name="Person").first.wait_for()

    assert server.client.get("/works/settings").json()["blend"]["audience"] == 0.8


def test_axe_finds_nothing_on_pages_of_rows_and_none_is_wider_than_a_phone(opening: Opening) -> None:
    look_at(opening(pictures=True), PAGES)


def test_pages_of_rows_are_small(opening: Opening) -> None:
    window = opening()

    sizes = {name: len(window.fetched(window.address(page, **query))) for name, (page, query) in PAGES.items()}

    assert {name: size for name, size in sizes.items() if size > 60_000} == {}

"""The dashboard in a real browser: what people do there, by mouse and by keyboard, on any screen."""

import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import penchant.demo
from acceptance.browsers import SCHEMES, Pages, PictureHost, Window, look_at, violations
from acceptance.processes import wait_until
from acceptance.servers import Server, command
from shown import show_lists

pytestmark = pytest.mark.slow

WORKS = Path(penchant.demo.__file__).parent / "works"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"' \u202eright to left " + "😀" * 500
GERMAN = "Rindfleischetikettierungsüberwachungsaufgabenübertragung"
"""A title that is one word, twice as long as what columns are made for."""
PAGES: Pages = {
    "sources": ("", {}),
    "desk": ("desk", {"source": "works"}),
    "pieces": ("pieces", {"source": "works"}),
    "pieces-label": ("pieces", {"source": "works", "by": "label", "q": "the"}),
    "pieces-keyword": ("pieces", {"source": "works", "by": "keyword", "q": "w"}),
    "search": ("search", {"source": "works", "q": "k"}),
    "piece": ("piece", {"source": "works", "id": "blade-runner"}),
    "piece-hostile": ("piece", {"source": "works", "id": "hostile"}),
    "piece-numbers": ("piece", {"source": "works", "id": "blade-runner", "view": "numbers"}),
    "user": ("user", {"source": "works", "id": "kim"}),
    "user-numbers": ("user", {"source": "works", "id": "kim", "view": "numbers"}),
    "user-search": ("user", {"source": "works"}),
    "piece-why": ("piece", {"source": "works", "id": "blade-runner", "other": "dune"}),
    "user-why": ("user", {"source": "works", "id": "kim", "other": "dune"}),
    "try": ("try", {"source": "works", "id": "dune"}),
    "lists": ("lists", {"source": "works"}),
    "placements": ("placements", {"source": "works"}),
    "placement": ("placement", {"source": "works"}),
    "front": ("front", {"source": "works", "user": "kim"}),
    "front-pictures": ("front", {"source": "gallery"}),
    "front-made-up": ("front", {"source": "works", "likes": "Dune"}),
    "results": ("results", {"source": "works", "name": "row"}),
    "row-versions": ("row-versions", {"source": "works", "name": "row"}),
    "proposals": ("proposals", {"source": "works"}),
    "proposal": ("proposal", {"source": "works", "name": "spring", "look": "1"}),
    "settings": ("settings", {"source": "works"}),
    "versions": ("versions", {"source": "works", "of": "whitelist", "version": "0"}),
    "health": ("health", {"source": "works"}),
    "changes": ("changes", {"source": "works"}),
    "problem": ("piece", {"source": "works", "id": "nobody"}),
}
SIGNED_OUT_PAGES: Pages = {"sign-in": ("sign-in", {})}
ADMIN_PAGES: Pages = {"keys": ("keys", {}), "usage": ("usage", {}), "audit": ("audit", {})}
BUTTONS = "main form[method=post] button"
LEAST_OFFERED = 20
MAX_PAGE_BYTES = 100_000
MAX_HTML_BYTES = 60_000

Opening = Callable[..., Window]


PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def picture_host() -> Iterator[PictureHost]:
    with PictureHost() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, picture_host: PictureHost) -> Iterator[Server]:
    """A server of two workers with the demo's works, a hostile piece, a person and a whitelist."""
    folder = tmp_path_factory.mktemp("dashboard")
    settings = folder / "penchant.toml"
    settings.write_text(f'image-hosts = ["{picture_host.name}"]\n')
    started = Server(folder / "data", "--workers", "2", "--settings", str(settings))
    pieces = [json.loads(line) for line in (WORKS / "pieces.ndjson").read_text("utf-8").splitlines()]
    hostile = {"id": "hostile", "label": HOSTILE, "categories": {'"><b>': ["<i>", "war"], "theme": ["war"]}}
    assert started.client.post("/works/content", json=[*pieces, hostile]).status_code == 202
    for kind, piece_id in (("RateLike", "jane-eyre"), ("RateDislike", "dune"), ("Watch", "hostile")):
        answer = started.client.post(f"/works/users/kim/interactions/{kind}/content/{piece_id}")
        assert answer.status_code == 200
    variants = [{"name": "newest", "share": 0.5, "kind": "new"}]
    started.client.put("/works/placements/row", json={"kind": "popular", "variants": variants})
    show_lists(started.client, "works", "row", people=80)
    started.client.put("/works/placements/wide", json={"kind": "new", "title": GERMAN})
    spring = {"title": GERMAN, "settings": {"blend": {"popularity": 0}}, "placements": {"wide": {"kind": "popular"}}}
    assert started.client.put("/works/drafts/spring", json=spring).status_code == 200
    # Two pictures: of the second one the port is not allowed.
    posters = {"a": f"{picture_host.url}/a.svg", "b": f"{started.url}/b.svg"}
    shelf = [{"id": each, "categories": {"g": ["x"]}, "extras": {"poster": url}} for each, url in posters.items()]
    assert started.client.post("/gallery/content", json=shelf).status_code == 202
    started.client.put("/gallery/settings", json={"imageAttribute": "/poster"})
    started.client.put("/gallery/placements/new", json={"kind": "new"})
    yield started
    assert started.stop() == 0


@pytest.fixture
def opening(opening: Opening, server: Server) -> Opening:
    """Opens windows, with the whitelist as it is at first."""
    server.client.put("/works/whitelist", json=["dune", "blade-runner", "neuromancer", "gone"])
    return opening


@pytest.fixture(scope="module")
def admin_key(server: Server) -> str:
    made = command("keys", "create", "--data", str(server.data), "--account", "operators", "--admin")
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def whitelist(server: Server) -> Any:
    return server.client.get("/works/whitelist").json()


def test_pictures_come_from_allowed_hosts_alone(opening: Opening, picture_host: PictureHost) -> None:
    window = opening(pictures=True)
    page = window.open("front", source="gallery")

    pictures = page.locator("main img[src^=http]")
    page.wait_for_function("() => document.querySelector('main img[src^=http]').naturalWidth > 0")
    window.photograph("front-pictures")

    assert pictures.count() == 1
    assert {path for path, _ in picture_host.requests} == {"/a.svg"}
    assert {referrer for _, referrer in picture_host.requests} == {None}


def test_everything_can_be_reached_by_keyboard_alone(opening: Opening, server: Server) -> None:
    window = opening(key=None)
    page = window.open()

    window.tab_to("API key")
    page.keyboard.type(server.key)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("dashboard$"))
    window.tab_to("Skip to the content")
    page.keyboard.press("Enter")
    window.tab_to("works")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("desk"))
    window.press("Pieces")
    window.tab_to("Search")
    page.keyboard.type("jane")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=jane"))
    window.tab_to("Jane Eyre")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("id=jane-eyre"))

    assert page.get_by_role("heading", level=1).inner_text() == "Jane Eyre"
    window.tab_to("More")
    page.keyboard.press("Enter")
    for name in ("Hidden and boosted", "Health of the catalogue", "Settings", server.key.split("_")[1]):
        window.tab_to(name)
    page.keyboard.press("Enter")
    window.tab_to("Sign out")


def test_the_navigation_is_folded_on_a_phone_without_scripts(opening: Opening) -> None:
    window = opening(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = window.open("desk", source="works")
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Rows")
    folded = link.is_visible()

    page.get_by_text("Menu", exact=True).click()
    link.click()

    assert not folded
    page.wait_for_url(re.compile("placements"))


@pytest.mark.parametrize("query", ({"name": "row"}, {}))
def test_the_page_of_a_row_is_at_most_three_screens_of_a_phone(opening: Opening, query: dict[str, str]) -> None:
    window = opening(java_script_enabled=False, viewport=PHONE)
    page = window.open("placement", source="works", **query)
    field = page.get_by_label("Catalogs")
    height, folded = page.evaluate("() => document.documentElement.scrollHeight"), field.is_visible()

    page.get_by_label("Open Which pieces may stand in it?").check()
    opened = field.is_visible()
    page.get_by_role("button", name="Show", exact=True).click()

    assert height <= 3 * PHONE["height"]
    assert (folded, opened, field.is_visible()) == (False, True, True)


def test_a_row_is_made_of_what_no_row_showed_in_three_clicks_from_health(opening: Opening, server: Server) -> None:
    window = opening(java_script_enabled=False)
    wait_until(lambda: 'id="unseen"' in window.fetched(window.address("health", source="works")).decode(), every_s=0.5)
    page = window.open("health", source="works")
    shelf = page.get_by_role("region", name="Pieces that no row showed")

    shelf.get_by_label("All of these").check()
    shelf.get_by_role("button", name="Make a row").click()
    page.get_by_role("button", name="Publish", exact=True).click()

    page.get_by_text("Published").first.wait_for()
    made = server.client.get("/works/placements/not%20seen%20lately").json()
    server.client.delete("/works/placements/not%20seen%20lately")
    assert (made["kind"], made["title"]) == ("picks", "Not seen lately")
    assert len(made["content"]) > 10


def test_the_whitelist_is_ordered_by_dragging(opening: Opening, server: Server) -> None:
    window = opening()
    page = window.open("lists", source="works")
    grips = page.locator("[data-grip]")
    held, target = grips.nth(2).bounding_box(), grips.nth(0).bounding_box()
    assert held is not None
    assert target is not None

    page.mouse.move(held["x"] + 10, held["y"] + 10)
    page.mouse.down()
    page.mouse.move(target["x"] + 10, target["y"] + 40, steps=5)
    page.mouse.move(target["x"] + 10, target["y"] + 5, steps=5)
    window.photograph("lists-dragging")
    page.mouse.up()
    assert "now number 1. Not saved yet" in page.locator("[data-told]").inner_text()
    assert whitelist(server)[0] == "dune"
    page.get_by_role("button", name="Save the list").click()

    page.get_by_text("The list is saved.").wait_for()
    assert whitelist(server) == ["neuromancer", "dune", "blade-runner", "gone"]


def test_the_whitelist_is_ordered_by_touch(opening: Opening, server: Server) -> None:
    window = opening(has_touch=True, viewport={"width": 390, "height": 844})
    page = window.open("lists", source="works")
    grips = page.locator("[data-grip]")
    held, target = grips.nth(0).bounding_box(), grips.nth(1).bounding_box()
    assert held is not None
    assert target is not None
    touch = window.context.new_cdp_session(page)
    x, start, end = held["x"] + 10, held["y"] + 10, target["y"] + target["height"] + 10

    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": start}]})
    for y in (start + (end - start) / 2, end):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.get_by_role("button", name="Save the list").click()

    page.get_by_text("The list is saved.").wait_for()
    assert whitelist(server)[:2] == ["blade-runner", "dune"]


def test_the_whitelist_is_ordered_by_keyboard(opening: Opening, server: Server) -> None:
    window = opening()
    page = window.open("lists", source="works")

    window.tab_to("Move up: Neuromancer")
    page.keyboard.press("Enter")
    assert window.focused() == "Move up: Neuromancer"
    page.keyboard.press("Alt+ArrowUp")
    assert "Neuromancer" in page.locator("[data-told]").inner_text()
    assert window.focused().endswith(": Neuromancer")
    window.tab_to("Move down: Dune")
    page.keyboard.press("Alt+ArrowDown")
    window.tab_to("Save the list")
    page.keyboard.press("Enter")

    page.get_by_text("The list is saved.").wait_for()
    assert whitelist(server) == ["neuromancer", "blade-runner", "dune", "gone"]


def test_axe_finds_nothing_on_any_page_and_none_is_wider_than_a_phone(opening: Opening, admin_key: str) -> None:
    look_at(opening(key=None, pictures=True), SIGNED_OUT_PAGES)
    look_at(opening(pictures=True), PAGES)
    look_at(opening(key=admin_key, pictures=True), ADMIN_PAGES)


def test_a_viewers_pages_show_what_stands_and_no_button_that_changes_it(opening: Opening, server: Server) -> None:
    made = command("keys", "create", "--data", str(server.data), "--scope", "read", "--scope", "personal")
    editor, viewer = opening(), opening(key=made.stdout.strip())
    offered = 0
    for name, (page, query) in PAGES.items():
        if offered <= LEAST_OFFERED:
            offered += editor.open(page, **query).locator(BUTTONS).filter(visible=True).count()
        assert viewer.open(page, **query).locator(BUTTONS).filter(visible=True).count() == 0, name
        assert violations(viewer.page) == [], name
    assert offered > LEAST_OFFERED


def test_dark_is_dark_and_light_is_light(opening: Opening) -> None:
    page, grounds = opening().open(), []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        color = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
        grounds.append(sum(map(int, re.findall(r"\d+", color)[:3])))

    assert grounds[0] > 600
    assert grounds[1] < 100


def test_every_page_weighs_little(opening: Opening, admin_key: str) -> None:
    for window, pages in ((opening(), PAGES), (opening(key=admin_key), ADMIN_PAGES)):
        size_of = functools.cache(lambda path, window=window: len(window.fetched(window.server.url + path)))
        for name, (page, query) in pages.items():
            html = window.fetched(window.address(page, **query))
            files = set(re.findall(r'(?:src|href)="([^"]+/static/[^"]+)"', html.decode()))
            assert len(files) == 3
            weight = len(html) + sum(map(size_of, files))
            assert weight <= MAX_PAGE_BYTES, name
            assert len(html) <= MAX_HTML_BYTES, name

"""The dashboard in a real browser: what people do there, by mouse and by keyboard, on any screen."""

import functools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import penchant.demo
from acceptance.browsers import SCHEMES, Pages, PictureHost, Window, look_at, violations
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
    "proposals": ("proposals", {"source": "works"}),
    "proposal": ("proposal", {"source": "works", "name": "spring", "look": "1"}),
    "settings": ("settings", {"source": "works"}),
    "health": ("health", {"source": "works"}),
    "problem": ("piece", {"source": "works", "id": "nobody"}),
}
SIGNED_OUT_PAGES: Pages = {"sign-in": ("sign-in", {})}
ADMIN_PAGES: Pages = {"keys": ("keys", {}), "usage": ("usage", {}), "audit": ("audit", {})}
BUTTONS = "main form[method=post] button"
LEAST_OFFERED = 20
MAX_PAGE_BYTES = 100_000
MAX_HTML_BYTES = 60_000

Opening = Callable[..., Window]


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


def test_a_piece_is_found_and_shows_its_neighbours(opening: Opening) -> None:
    page = opening().open()

    page.get_by_role("link", name="works").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Pieces").click()
    page.get_by_label("Search").fill("blade")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Blade Runner").click()

    assert page.get_by_role("heading", level=1).inner_text() == "Blade Runner"
    card = page.locator("[data-list] .card").first.inner_text()
    assert card.startswith("Neuromancer\nBoosted\nNovel, 1984\nscience fiction, artificial life")
    page.get_by_role("link", name="all, with numbers").click()
    first = page.locator(".entries > li").first
    assert "Neuromancer" in first.inner_text()
    assert "theme: artificial life" in first.inner_text()
    reasons = first.get_by_role("img").get_attribute("aria-label") or ""
    assert reasons.startswith("similarity 63%: style: science fiction 11%, theme: artificial life 8.9%, ")

    page.get_by_label("Title of the other piece").fill("Jane Eyre")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("It is not in the list.").wait_for()
    assert "outranked" in page.locator("#why + form + .stack").inner_text()


def test_anything_is_found_by_keyboard_from_any_page(opening: Opening) -> None:
    window = opening(java_script_enabled=False)
    page = window.open("health", source="works")

    window.tab_to("Find a piece, person or row")
    page.keyboard.type("artificial")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Found: artificial").wait_for()
    window.tab_to("Blade Runner")
    page.keyboard.press("Enter")

    page.get_by_role("heading", level=1, name="Blade Runner").wait_for()


def test_a_draft_is_tried_and_a_person_is_explained(opening: Opening) -> None:
    window = opening()
    page = window.open("piece", source="works", id="dune")

    page.get_by_role("link", name="Try a change").click()
    draft = page.get_by_label("The piece as JSON")
    draft.fill(draft.input_value().replace('"epic"', '"noir"'))
    page.get_by_role("button", name="Show its neighbours").click()
    page.get_by_role("heading", name="Its neighbours").wait_for()
    assert page.locator(".entries > li").count() == 30
    window.photograph("try")

    page.get_by_role("link", name="People").click()
    page.get_by_label("Id of a person").fill("kim")
    page.get_by_role("button", name="Show").click()
    assert page.locator(".against").count() > 3
    page.get_by_role("link", name="all, with numbers").click()
    assert page.get_by_role("img", name=re.compile(r"^in all [\d.]+%: content \(")).count() > 3


def test_settings_are_previewed_and_saved(opening: Opening, server: Server) -> None:
    window = opening(viewport={"width": 390, "height": 844})
    page = window.open("settings", source="works")
    before = server.client.get("/works/settings").json()

    page.get_by_label("theme").fill("9")
    page.get_by_label("Lists of pieces").fill("blade-runner")
    page.get_by_label("Lists of people").fill("kim")
    page.get_by_role("button", name="Show before and after").click()
    page.get_by_role("heading", name="Person kim").wait_for()
    window.photograph("settings-preview")

    assert page.get_by_role("cell", name=re.compile("[↑↓] [0-9]+")).count() > 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert page.get_by_label("theme").input_value() == "9"
    assert violations(page) == []
    assert server.client.get("/works/settings").json() == before
    page.get_by_role("button", name="Save the settings").click()
    page.get_by_text("The settings are saved").wait_for()
    assert server.client.get("/works/settings").json()["categoryWeights"] == {"theme": 9}
    server.client.put("/works/settings", json={})


def test_variants_become_one_keyword_by_a_click_which_another_takes_back(opening: Opening, server: Server) -> None:
    spelt = [{"id": name, "label": name, "categories": {"genre": [name]}} for name in ("Noir", "noir", "war")]
    server.client.post("/spelt/content", json=spelt)
    window = opening()
    page = window.open("health", source="spelt")

    page.get_by_role("button", name="Count these as one: Noir").click()
    page.get_by_text("genre/noir counts as genre/Noir from now on.").wait_for()
    window.photograph("health-joined")
    assert violations(page) == []
    assert server.client.get("/spelt/content/noir/similar").json()["content"][0]["score"] == 0
    page.get_by_role("button", name="Undo: genre/Noir").click()
    page.get_by_text("They count as they did before.").wait_for()
    assert "vocabulary" not in server.client.get("/spelt/settings").json()


def test_words_are_tried_before_they_are_saved(opening: Opening, server: Server) -> None:
    server.client.post("/stories/content", json=[{"id": "jaws", "label": "The shark is off Amity", "categories": {}}])
    window = opening()
    page = window.open("settings", source="stories")

    page.get_by_label("Give pieces keywords out of their own texts").check()
    page.get_by_label("Language, whose stop words are left out").select_option("en")
    page.get_by_role("button", name="Show what would change").click()
    page.get_by_text("new: shark, amity; as before: 0").wait_for()
    window.photograph("settings-words")
    assert violations(page) == []
    page.get_by_role("button", name="Save the settings").click()
    page.get_by_text("The settings are saved").wait_for()
    words = window.open("piece", source="stories", id="jaws").get_by_role("heading", name="Words of its texts")
    assert words.locator("..").get_by_role("link").all_inner_texts() == ["settings", "shark", "amity"]
    window.photograph("piece-words")


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


def test_a_piece_is_hidden_and_shown_again_by_keyboard_without_scripts(opening: Opening, server: Server) -> None:
    window = opening(java_script_enabled=False)
    window.open("piece", source="works", id="frankenstein")

    window.press("Hide")
    hidden = server.client.get("/works/blacklist").json()
    told = window.page.locator("main").inner_text()
    window.press("Undo")

    assert hidden == ["frankenstein"]
    assert told.startswith("Frankenstein is hidden: no list shows it.")
    assert "by you" in told
    assert server.client.get("/works/blacklist").json() == []


def test_a_piece_is_pinned_without_scripts_and_the_desk_tells_its_end(opening: Opening, server: Server) -> None:
    server.client.put("/works/placements/pinned", json={"kind": "new", "title": "Evening"})
    window = opening(java_script_enabled=False)
    page = window.open("piece", source="works", id="dune")
    until = datetime.now(UTC) + timedelta(days=2)

    page.get_by_text("Pin…").click()
    page.get_by_label("In the row").select_option("Evening")
    page.get_by_label("At place").fill("2")
    page.get_by_label("Until (UTC)").fill(f"{until:%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Pin it").click()
    page.get_by_text("Dune is pinned in").wait_for()
    pins = server.client.get("/works/placements/pinned").json()["pins"]
    look = window.open("desk", source="works").get_by_role("region", name="Needs a look")

    assert [(each["id"], each["position"]) for each in pins] == [("dune", 2)]
    assert f"A pin ends on {until:%Y-%m-%d %H:%M} UTC" in look.inner_text()
    server.client.delete("/works/placements/pinned")


def test_a_front_page_is_shown_to_somebody_made_up(opening: Opening) -> None:
    window = opening()
    page = window.open("front", source="works")

    page.get_by_text("Somebody else, other rows").click()
    page.get_by_label("Title 1").fill("Dune")
    page.get_by_label("Title 2").fill("Frankenstein")
    page.get_by_role("button", name="Show the page").click()
    page.wait_for_url(re.compile("likes=Dune"))

    assert page.get_by_role("heading", level=1).inner_text() == (
        "The front page, as somebody sees it who likes Dune and Frankenstein"
    )
    assert page.locator(".shelf").count()


def test_the_navigation_is_folded_on_a_phone_without_scripts(opening: Opening) -> None:
    window = opening(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = window.open("desk", source="works")
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Rows")
    folded = link.is_visible()

    page.get_by_text("Menu", exact=True).click()
    link.click()

    assert not folded
    page.wait_for_url(re.compile("placements"))


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


def test_the_whitelist_is_ordered_without_scripts(opening: Opening, server: Server) -> None:
    window = opening(java_script_enabled=False)
    page = window.open("lists", source="works")

    page.get_by_role("button", name="Move up: Neuromancer").click()
    page.get_by_role("button", name="Move to the top: Neuromancer").click()
    page.get_by_role("button", name="Remove: Dune").click()
    page.get_by_text("Several at once").click()
    page.get_by_label("Titles, one a line").fill("Jane Eyre\ndracula")
    page.get_by_label("Titles, one a line").press("Tab")
    page.get_by_role("button", name="Save the list").click()

    assert whitelist(server) == ["neuromancer", "blade-runner", "gone", "jane-eyre", "dracula"]


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


def test_a_hostile_label_shows_as_text(opening: Opening) -> None:
    window = opening()

    heading = window.open("piece", source="works", id="hostile").get_by_role("heading", level=1)
    listed = window.open("pieces", source="works", by="id", q="hostile").locator(".wall li").first

    assert listed.inner_text().startswith("<script>alert(1)</script><img src=x onerror=alert(2)>")
    window.open("piece", source="works", id="hostile")
    assert heading.inner_text() == HOSTILE
    assert window.page.locator("main script, main img:not(.cover)").count() == 0


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


def test_an_admin_makes_a_key_that_works(opening: Opening, admin_key: str, server: Server) -> None:
    page = opening(key=admin_key).open("keys")

    page.get_by_label("Account", exact=True).fill("press")
    page.get_by_role("button", name="Make a key").click()
    key = page.locator("code.key").inner_text()
    page.get_by_label(f"Change {key.split('_')[1]}", exact=True).click()
    page.get_by_role("button", name=f"Revoke {key.split('_')[1]} for ever").click()
    page.get_by_text("stops working within a second").wait_for()

    with closing(opening(key=None)) as other:
        page.wait_for_timeout(1000)
        other.open("sign-in")
        other.page.get_by_label("API key").fill(key)
        other.page.get_by_role("button", name="Sign in").click()
        other.page.get_by_text("The API key has been revoked.").wait_for()
    assert server.process.poll() is None

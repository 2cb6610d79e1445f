"""An editor's twelve tasks in a real browser: with scripts, without, by keyboard; steps are those of the documents."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Locator

import penchant.demo
from acceptance.browsers import Window
from acceptance.processes import wait_until, waited_for
from acceptance.servers import Server
from penchant.bootstrap import storage_of
from penchant.cli.keys import make_key
from penchant.settings import NodeSettings
from shown import show_lists

pytestmark = pytest.mark.slow

WORKS = Path(penchant.demo.__file__).parent / "works"
DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "editors.md"
TONIGHT = {"title": "Tonight", "kind": "recommendations", "fallback": "popular"}
LONELY = "Tide Tables of Sylt"
VIEWER = "viewer-4711"
NOW = datetime.now(UTC)
SUNDAY = (NOW + timedelta(days=6 - NOW.weekday() or 7)).replace(hour=20, minute=0, tzinfo=None)
MONDAY, FRIDAY = SUNDAY + timedelta(days=1), SUNDAY - timedelta(days=9)
BROWSER, SETTING = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
"""An editor's own time: with scripts that of the browser, without that of the source."""
COLLEAGUE = "Ida Berg"
MAX_CLICKS = 5
FIND = "Find a piece, person or row"
MAIN_PAGES = ("Rows", "People")
MAX_TABS = 200
_FOCUSED = """() => {
  const element = document.activeElement;
  const text = element.getAttribute('aria-label') || element.labels?.[0]?.innerText || element.innerText || '';
  return text.trim().replace(/\\s+/g, ' ');
}"""


_SHOWS_JSON = """() => {
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  return seen('main').some((each) => each.innerText.includes('{"'))
    || seen('main label').some((each) => each.innerText.includes('JSON'))
    || seen('main input, main textarea').some((each) => /^[{[]/.test(each.value));
}"""


class Steps(NamedTuple):
    """What an editor did: clicks (by keyboard: what Enter or Space was pressed on), fields filled, and keys beside."""

    clicks: int = 0
    fields: int = 0
    keys: int = 0


class Colleague(NamedTuple):
    """Another editor, who asks the interface."""

    server: Server
    key: str

    def send(self, method: str, path: str, body: Any) -> None:
        """Have the interface do something."""
        self.server.client.request(
            method, f"/works/{path}", json=body, headers={"x-api-key": self.key}
        ).raise_for_status()


class Editor:
    """Somebody at the desk, who counts what they do; no page may show JSON, and no id is typed."""

    def __init__(self, window: Window, ids: frozenset[str], zone: ZoneInfo = BROWSER) -> None:
        self.window, self.page, self.ids, self.zone = window, window.page, ids, zone
        self.steps = Steps()

    colleague: Colleague

    def begin(self) -> None:
        """Go to the desk, from which every task starts."""
        self.window.open("desk", source="works")
        self.steps = Steps()

    def count(self, *, clicks: int = 0, fields: int = 0, keys: int = 0) -> None:
        """Add to what was done, and look at the page on which it is done."""
        self.steps = Steps(self.steps.clicks + clicks, self.steps.fields + fields, self.steps.keys + keys)
        assert not self.page.evaluate(_SHOWS_JSON)

    def found(self, name: str, *roles: Any) -> Locator:
        """Return the first of what has a role and is called so, whatever stands around it."""
        locators = [self.page.get_by_role(role, name=name, exact=True) for role in roles]
        return next((each.first for each in locators if each.count()), locators[0].first)

    def press(self, name: str) -> None:
        """Press a link or a button that leads to a page."""
        self.count(clicks=1)
        with self.page.expect_navigation():
            self.found(name, "link", "button").click()

    def press_in(self, part: re.Pattern[str], name: str) -> None:
        """Press a button of a part of the page, where several are called alike."""
        self.count(clicks=1)
        with self.page.expect_navigation():
            self.page.get_by_role("region", name=part).get_by_role("button", name=name, exact=True).click()

    def unfold(self, name: str) -> None:
        """Unfold what is folded under a name."""
        self.count(clicks=1)
        self.page.locator("main summary").get_by_text(name, exact=True).click()

    def fill(self, name: str, text: str, part: str = "") -> None:
        """Fill a field, of a part of the page where several are called alike."""
        self.type_of(text)
        self.field(name, part).fill(text)

    def choose(self, name: str, text: str, part: str = "") -> None:
        """Choose what is called so."""
        self.count(fields=1)
        self.field(name, part).select_option(label=text)

    def check(self, name: str) -> None:
        """Choose one of several cards."""
        self.count(clicks=1)
        self.page.get_by_role("radio", name=re.compile(f"^{name}")).check()

    def until(self, name: str, moment: datetime) -> None:
        """Fill a field for a moment of one's own time."""
        self.count(fields=1)
        self.field(name).fill(f"{moment:%Y-%m-%dT%H:%M}")

    def since(self, name: str, day: datetime) -> None:
        """Fill a field for a day."""
        self.count(fields=1)
        self.field(name).fill(f"{day:%Y-%m-%d}")

    def tick_in(self, part: re.Pattern[str], name: str) -> None:
        """Tick a box of a part of the page."""
        self.count(clicks=1)
        self.page.get_by_role("region", name=part).get_by_label(name, exact=True).check()

    def in_utc(self, moment: datetime) -> str:
        """Return a moment of one's own time as the interface has it."""
        return f"{moment.replace(tzinfo=self.zone).astimezone(UTC):%Y-%m-%dT%H:%M:00Z}"

    def find(self, text: str) -> None:
        """Look for something with the field that stands on every page."""
        self.fill(FIND, text)
        self.press("Find")

    def field(self, name: str, part: str = "") -> Locator:
        """Return a field by its label."""
        place = self.page.get_by_role("group", name=part, exact=True) if part else self.page
        return place.get_by_label(name, exact=True)

    def type_of(self, text: str) -> None:
        """Count a field, into which no id is typed."""
        assert text not in self.ids
        self.count(fields=1)

    def reads(self, text: str) -> None:
        """Wait until the page says something."""
        self.page.locator("main").get_by_text(text).first.wait_for()


class KeyboardEditor(Editor):
    """The same with the keyboard alone: the way past the navigation is *Skip to the content*."""

    def begin(self) -> None:
        super().begin()
        self.is_fresh = True

    def press(self, name: str) -> None:
        self.tab_to(name)
        self.count(clicks=1)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        # A link to a part of a page leads there past its navigation.
        self.is_fresh = "#" not in self.page.url

    def press_in(self, part: re.Pattern[str], name: str) -> None:
        del part
        self.press(name)

    def unfold(self, name: str) -> None:
        self.tab_to(name)
        self.count(clicks=1)
        self.page.keyboard.press("Enter")

    def fill(self, name: str, text: str, part: str = "") -> None:
        del part  # Tab leads on from where one is
        self.tab_to(name)
        self.type_of(text)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, name: str, text: str, part: str = "") -> None:
        del part
        self.tab_to(name)
        self.count(fields=1)
        self.page.keyboard.type(text)

    def check(self, name: str) -> None:
        self.tab_to("For a person What fits what each one liked, best first.")
        self.count(clicks=1)
        while not self.page.evaluate(_FOCUSED).startswith(name):
            self.page.keyboard.press("ArrowDown")
            self.count(keys=1)
            assert self.steps.keys < MAX_TABS

    def until(self, name: str, moment: datetime) -> None:
        self.tab_to(name)
        self.count(fields=1)
        # A year may have six digits, so that it ends with an arrow.
        self.page.keyboard.type(f"{moment:%m%d%Y}")
        self.page.keyboard.press("ArrowRight")
        self.page.keyboard.type(f"{moment:%I%M%p}")

    def since(self, name: str, day: datetime) -> None:
        self.tab_to(name)
        self.count(fields=1)
        self.page.keyboard.type(f"{day:%m%d%Y}")

    def tick_in(self, part: re.Pattern[str], name: str) -> None:
        del part
        self.tab_to(name)
        self.count(clicks=1)
        self.page.keyboard.press("Space")

    def find(self, text: str) -> None:
        # Alt and / lead there, too, but Playwright's keys are none for access keys.
        self.fill(FIND, text)
        self.count(clicks=1)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.is_fresh = True

    def tab_to(self, name: str) -> None:
        """Press Tab until what has the focus is called so; on a page that just came first past its navigation."""
        if self.is_fresh and name not in {FIND, *MAIN_PAGES}:
            self.page.keyboard.press("Tab")
            self.page.keyboard.press("Enter")
            self.count(keys=2)
        self.is_fresh = False
        for tabs in range(1, MAX_TABS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(_FOCUSED) == name:
                self.count(keys=tabs)
                return
        raise AssertionError(f"no {name} within {MAX_TABS} tabs")


def hide_a_piece(editor: Editor, server: Server) -> None:
    editor.find("Tetris")
    editor.press("Tetris")
    editor.press("Hide")

    editor.reads("Tetris is hidden: no list shows it.")
    assert server.client.get("/works/blacklist").json() == [id_of("tetris")]


def pin_a_piece_until_sunday(editor: Editor, server: Server) -> None:
    editor.find("Jane Eyre")
    editor.press("Jane Eyre")
    editor.unfold("Pin…")
    editor.choose("In the row", "Tonight")
    editor.until("Until", SUNDAY)
    editor.press("Pin it")

    editor.reads("Jane Eyre is pinned in")
    pins = server.client.get("/works/placements/tonight").json()["pins"]
    assert pins == [{"id": id_of("jane-eyre"), "position": 1, "until": editor.in_utc(SUNDAY)}]


def make_a_row_of_new_crime_series(editor: Editor, server: Server) -> None:
    editor.press("New row")
    editor.fill("Title that people read", "New crime series")
    editor.check("Newest")
    editor.choose("Field 1", "kind", part="Which pieces may stand in it?")
    editor.fill("Value 1", "series", part="Which pieces may stand in it?")
    editor.press("Add to conditions")
    editor.choose("Field 2", "theme")
    editor.fill("Value 2", "crime, deception")
    editor.fill("At least 1", "3")
    editor.fill("of the first 1", "4")
    editor.choose("Field 1", "catalog", part="Always some of")
    editor.fill("Value 1", "recent", part="Always some of")
    editor.press("Publish")

    editor.reads("Published: the next request goes by it.")
    row = "/works/placements/new%20crime%20series"
    listed = [each["id"] for each in server.client.get(f"{row}/list?take=4").json()["content"]]
    stored = server.client.post("/works/content/read", json=listed).json()["content"]
    assert {each["categories"]["kind"][0] for each in stored} == {"series"}
    assert sum("recent" in each["filters"]["catalogs"] for each in stored) >= 3


def try_less_popularity_and_read_the_result(editor: Editor, server: Server) -> None:
    editor.press("Tonight")
    editor.unfold("Variants, Stop a variant that is certainly worse, Name of the experiment")
    editor.fill("Name 1", "calmer")
    editor.fill("Of people, % 1", "10")
    editor.fill("Popularity 1", "0")
    editor.press("Publish")
    editor.reads("Published: the next request goes by it.")
    assert server.client.get("/works/placements/tonight").json()["variants"] == [
        {"name": "calmer", "share": 0.1, "blend": {"popularity": 0}}
    ]
    show_lists(server.client, "works", "tonight", people=40)
    editor.press("Results")

    editor.reads("“calmer”")
    assert re.search("Too early to say|no difference|more|fewer", editor.page.locator("main").inner_text())


def answer_why_somebody_sees_a_piece(editor: Editor, server: Server) -> None:
    listed = server.client.get(f"/works/users/{VIEWER}/recommendation?take=2&include=label").json()["content"]
    editor.press("People")
    editor.press(VIEWER)
    editor.fill("Title of a piece", listed[1]["label"])
    editor.press("Ask")

    editor.reads("It is number 2 of the list.")


def mend_what_nobody_comes_upon(editor: Editor, server: Server) -> None:
    editor.press(LONELY)
    editor.unfold("Pin…")
    editor.choose("In the row", "Tonight")
    editor.fill("At place", "3")
    editor.press("Pin it")

    editor.reads(f"{LONELY} is pinned in")
    listed = server.client.get("/works/placements/tonight/list?take=3").json()["content"]
    assert listed[2]["id"] == id_of("lonely")


def undo_what_was_changed_yesterday(editor: Editor, server: Server) -> None:
    before = server.client.get("/works/placements/tonight/versions").json()["versions"][1]["version"]
    editor.press("Tonight")
    editor.press("Versions")
    editor.press(f"Return to version {before}")

    editor.reads("The earlier version is in force again.")
    assert server.client.get("/works/placements/tonight").json() == TONIGHT


def make_a_row_of_what_nobody_sees(editor: Editor, server: Server) -> None:
    # Findings are kept for all workers once they are whole: until then a page may be without what another one told.
    waited_for(lambda: server.client.get("/works/health").json(), lambda found: bool(found["done"]))
    address = editor.window.address("desk", source="works")
    part = re.compile("^Pieces that no row showed")
    (count,) = re.findall(r"(\d+ pieces)</b></a> that nobody saw", editor.window.fetched(address).decode())
    editor.press(count)
    editor.tick_in(part, "All of these")
    editor.press_in(part, "Make a row")
    editor.press("Publish")

    editor.reads("Published: the next request goes by it.")
    row = server.client.get("/works/placements/not%20seen%20lately").json()
    unseen = server.client.get("/works/health?wait=false").json()["unseen"]["examples"]
    assert (row["kind"], row["content"]) == ("picks", unseen)


def put_yesterdays_settings_back(editor: Editor, server: Server) -> None:
    before = server.client.get("/works/settings/versions").json()["versions"][1]["version"]
    editor.press("changed the settings")
    editor.press(f"Return to version {before}")
    editor.press("Return to it")

    editor.reads("The earlier settings are in force again; the next request goes by them.")
    assert server.client.get("/works/settings").json()["blend"]["popularity"] == 0.1


def move_a_pin_to_monday(editor: Editor, server: Server) -> None:
    pin = {"id": id_of("jane-eyre"), "position": 2, "until": editor.in_utc(SUNDAY)}
    server.client.put("/works/placements/tonight", json=TONIGHT | {"pins": [pin]})
    editor.press("Tonight")
    editor.until("Until 1", MONDAY)
    editor.press("Publish")

    editor.reads("Published: the next request goes by it.")
    pins = server.client.get("/works/placements/tonight").json()["pins"]
    assert pins == [pin | {"until": editor.in_utc(MONDAY)}]


def answer_what_was_changed_since_friday(editor: Editor, server: Server) -> None:
    del server
    editor.press("All changes")
    editor.since("Since", FRIDAY)
    editor.press("Show")

    editor.reads(f"{COLLEAGUE} changed the row Tonight: How mixed: Widest")
    editor.reads(f"{COLLEAGUE} changed the settings: Parts of recommendations, popularity: 0.1 → 0.3")


def take_a_draft_over(editor: Editor, server: Server) -> None:
    row = TONIGHT | {"title": "Tonight in spring", "diversity": 0.5}
    editor.colleague.send("PUT", "drafts/spring", {"title": "Crime in spring", "placements": {"tonight": row}})
    editor.colleague.send("POST", "drafts/spring/propose", {"note": "Would you finish this?"})
    editor.begin()
    editor.press("Crime in spring")
    editor.press("Tonight in spring")
    editor.fill("Title that people read", "Tonight, in May")
    editor.press("Save draft")
    editor.press("Propose")
    editor.reads("Others are asked to look at it.")
    editor.colleague.send("POST", "drafts/spring/accept", {})

    assert server.client.get("/works/placements/tonight").json()["title"] == "Tonight, in May"


TASKS: Mapping[str, Callable[[Editor, Server], None]] = {
    "Hide a piece": hide_a_piece,
    "Pin one until Sunday": pin_a_piece_until_sunday,
    "A row of new crime series, at least three of its first four from a catalog": make_a_row_of_new_crime_series,
    "Try less popularity on 10 %, and read the result": try_less_popularity_and_read_the_result,
    "Tell a viewer why they see a piece": answer_why_somebody_sees_a_piece,
    "Find what nobody comes upon, and put it in a row": mend_what_nobody_comes_upon,
    "Undo what somebody changed yesterday": undo_what_was_changed_yesterday,
    "Find what nobody sees, and make a row of it": make_a_row_of_what_nobody_sees,
    "Put yesterday's settings back": put_yesterdays_settings_back,
    "Move a pin from Sunday to Monday 20:00": move_a_pin_to_monday,
    "Tell what was changed since Friday, and by whom": answer_what_was_changed_since_friday,
    "Take a colleague's draft over, change it, have it accepted": take_a_draft_over,
}
WAYS = (
    *(pytest.param(way, marks=pytest.mark.stress) for way in ("with scripts", "without scripts")),
    "by keyboard alone",
)
"""By keyboard scripts are there, too; pages without them are those that `tests/web` asks for."""


def id_of(name: str) -> str:
    """Return the id of a piece: nobody can read it."""
    return f"p-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def pieces() -> list[dict[str, Any]]:
    """Return the demo's works with ids that tell nothing, and one like no other."""
    works = [json.loads(line) for line in (WORKS / "pieces.ndjson").read_text("utf-8").splitlines()]
    for work in works:
        work["id"] = id_of(work["id"])
    return [*works, {"id": id_of("lonely"), "label": LONELY, "categories": {"theme": ["tides of the North Sea"]}}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the works, a viewer who liked some of them, and a row that pages have shown."""
    started = Server(tmp_path_factory.mktemp("tasks") / "data")
    assert started.client.post("/works/content", json=pieces()).status_code == 202
    for name in ("jane-eyre", "rebecca", "dracula", "frankenstein", "beloved"):
        started.client.post(f"/works/users/{VIEWER}/interactions/RateLike/content/{id_of(name)}")
    started.client.put("/works/placements/tonight", json=TONIGHT)
    show_lists(started.client, "works", "tonight", people=40)
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def colleague(server: Server) -> str:
    """The key of a colleague."""
    with closing(storage_of(NodeSettings(data=str(server.data)))) as storage:
        return make_key(storage, account="default", name=COLLEAGUE)[1]


@pytest.fixture(scope="module", params=WAYS)
def editor(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Editor]:
    """An editor who is signed in, and works in one of the ways."""
    has_scripts = request.param != "without scripts"
    window = Window(browser, server, java_script_enabled=has_scripts, locale="en-US", timezone_id=BROWSER.key)
    window.sign_in(server.key)
    kind = KeyboardEditor if request.param == "by keyboard alone" else Editor
    yield kind(window, frozenset(each["id"] for each in pieces()), BROWSER if has_scripts else SETTING)
    window.close()


@pytest.fixture
def desk(server: Server, editor: Editor, colleague: str) -> Editor:
    """The editor before the desk, with a row and settings that a colleague has changed, once all is found out."""
    server.client.put("/works/blacklist", json=[])
    for name in ("drafts/spring", "placements/new%20crime%20series", "placements/not%20seen%20lately"):
        server.client.delete(f"/works/{name}")
    server.client.delete("/works/placements/tonight")
    server.client.put("/works/placements/tonight", json=TONIGHT)
    server.client.put("/works/settings", json={"timeZone": SETTING.key})
    editor.colleague = Colleague(server, colleague)
    editor.colleague.send("PUT", "placements/tonight", TONIGHT | {"diversity": 1})
    editor.colleague.send("PUT", "settings", {"timeZone": SETTING.key, "blend": {"popularity": 0.3}})
    address = editor.window.address("desk", source="works")
    # To make the page costs what is waited for some of its time.
    looked_for = (LONELY, "that nobody saw")
    wait_until(lambda: all(each in editor.window.fetched(address).decode() for each in looked_for), every_s=0.5)
    editor.begin()
    return editor


def documented() -> dict[str, Steps]:
    """Return the steps that the documents tell of each task."""
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    return {task: Steps(*map(int, counts)) for task, *counts in rows}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_done_in_as_many_steps_as_documented_without_json_or_ids(
    desk: Editor, server: Server, task: str
) -> None:
    TASKS[task](desk, server)

    told = documented()[task]
    assert (desk.steps.clicks, desk.steps.fields) == (told.clicks, told.fields)
    assert desk.steps.keys <= told.keys
    assert told.clicks <= MAX_CLICKS


def test_the_documents_tell_of_these_tasks() -> None:
    assert list(documented()) == list(TASKS)

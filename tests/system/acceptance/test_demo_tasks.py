"""An editor's row of crime series on the demo as it is, by choosing alone: with scripts, without, by keyboard."""

import re
from collections.abc import Iterator, Mapping

import pytest
from playwright.sync_api import Browser

from acceptance.browsers import Window
from acceptance.servers import Server
from acceptance.test_editors_tasks import Editor, KeyboardEditor
from penchant.cli.options import DEMO_KEY_FILE

pytestmark = pytest.mark.slow

WHERE = "Which pieces may stand in it?"
MAX_CLICKS = 5
MAX_PAGE_BYTES = 60_000
WAYS = ("with scripts", "without scripts", "by keyboard alone")


class ChoosingEditor(Editor):
    """Somebody who chooses by what an option begins with, as one does who reads it."""

    def choose(self, name: str, text: str, part: str = "") -> None:
        self.count(fields=1)
        field = self.field(name, part)
        field.locator("option", has_text=re.compile(f"^{re.escape(text)}")).first.wait_for(state="attached")
        found = [each for each in field.locator("option").all_inner_texts() if each.startswith(text)]
        field.select_option(label=found[0])


class ChoosingByKeyboard(KeyboardEditor):
    """The same by keyboard, where what is chosen from may come a moment later."""

    def choose(self, name: str, text: str, part: str = "") -> None:
        self.field(name, part).first.wait_for()
        super().choose(name, text, part)


EDITORS: Mapping[str, tuple[type[Editor], bool]] = {
    "with scripts": (ChoosingEditor, True),
    "without scripts": (ChoosingEditor, False),
    "by keyboard alone": (ChoosingByKeyboard, True),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, served by its own command."""
    started = Server(tmp_path_factory.mktemp("demo") / "data", subcommand="demo")
    started.client.headers["x-api-key"] = (started.data / DEMO_KEY_FILE).read_text(encoding="ascii").strip()
    yield started
    assert started.stop() == 0


@pytest.fixture(params=WAYS)
def editor(request: pytest.FixtureRequest, browser: Browser, demo: Server) -> Iterator[Editor]:
    """An editor who has signed in, works in one of the ways, and finds no row."""
    demo.client.delete("/works/placements/crime%20series")
    kind, has_scripts = EDITORS[request.param]
    window = Window(browser, demo, java_script_enabled=has_scripts, locale="en-US")
    window.sign_in(demo.client.headers["x-api-key"])
    listed = demo.client.get("/works/content?ids-only=true").json()
    made = kind(window, frozenset(each if isinstance(each, str) else each["id"] for each in listed))
    made.begin()
    yield made
    window.close()


def test_a_row_of_crime_series_takes_five_clicks_and_a_title(editor: Editor, demo: Server) -> None:
    editor.press("New row")
    editor.fill("Title that people read", "Crime series")
    editor.check("Newest")
    editor.choose("Field 1", "theme", part=WHERE)
    editor.press("Add to conditions")
    editor.choose("Choose a value 1", "crime (", part=WHERE)
    editor.choose("Field 2", "kind", part=WHERE)
    editor.press("Add to conditions")
    editor.choose("Choose a value 2", "series (", part=WHERE)
    editor.press("Publish")

    editor.reads("Published: the next request goes by it.")
    assert editor.steps.clicks == MAX_CLICKS
    assert demo.client.get("/works/placements/crime%20series").json()["filter"] == {
        "must": [{"category": "theme", "any": ["crime"]}, {"category": "kind", "any": ["series"]}]
    }
    listed = [each["id"] for each in demo.client.get("/works/placements/crime%20series/list").json()["content"]]
    stored = demo.client.post("/works/content/read", json=listed).json()["content"]
    assert listed
    assert {each["categories"]["kind"][0] for each in stored} == {"series"}


def test_pages_of_conditions_and_attributes_are_small_and_hold_no_complaint(browser: Browser, demo: Server) -> None:
    window = Window(browser, demo)
    window.sign_in(demo.client.headers["x-api-key"])
    filters = {"must": [{"category": "people/creator", "any": ["Agatha Christie"]}, {"catalogs": ["books"]}]}
    quotas = [{"filter": {"category": "setting", "any": ["japan"]}, "atLeast": 1, "of": 4}]
    demo.client.put("/works/placements/wide", json={"kind": "popular", "filter": filters, "quotas": quotas})
    for page, query in (("placement", {"name": "wide"}), ("settings", {}), ("placement", {})):
        assert len(window.fetched(window.address(page, source="works", **query))) <= MAX_PAGE_BYTES, page
    demo.client.delete("/works/placements/wide")
    window.close()

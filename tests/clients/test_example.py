"""The demo's example in real browsers: rows of the elements alone, by keyboard, narrow, dark, under a strict policy."""

import base64
import contextlib
import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.base import AXE_FILE_PATH  # type: ignore[import-untyped]

from acceptance.browsers import SCREENSHOTS, axe_options
from acceptance.firefox import MarionetteError
from acceptance.processes import wait_until
from acceptance.servers import Server
from clients.conftest import ChromiumWindow, Window, WindowOpening, wait_in

pytestmark = pytest.mark.slow

get = functools.partial(httpx.get, timeout=120)
"""Asks with the patience of a busy machine."""
ADA = "/-/example?source=works&person=ada-reads-gothic"
AXE = Path(AXE_FILE_PATH).read_text()
ROWS = "[...document.querySelectorAll('penchant-row')]"
LOADED = f"{ROWS}.length > 0 && {ROWS}.every((row) => !row.state.isLoading)"
FOCUSED = "let one = document.activeElement; while (one.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;"
SHIFTS = """
    let shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (shifted += value)))
        .observe({ type: "layout-shift", buffered: true });
    await new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(resume)));
    return shifted;
"""
MOST_TABS = 40
PAGES = (ADA, "/-/example?source=films&person=1567", "/-/example/piece?source=works&person=&id=dracula")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, which logs its requests."""
    data = tmp_path_factory.mktemp("example") / "data"
    running = Server(data, settings="log-requests = true\n", subcommand="demo")
    running.key = (data / "demo-key.txt").read_text().strip()
    yield running
    assert running.stop() == 0


def requests_of(demo: Server) -> Counter[str]:
    """Return how often each route was asked for, without files and pages of browsers."""
    routes = re.findall(r"request .*?method=(\w+) route=(\S+)", demo.log())
    return Counter(f"{method} {route}" for method, route in routes if not route.startswith("/-/"))


def clicks(demo: Server, person: str) -> list[str]:
    """Return the pieces that a person clicked, newest first."""
    path = f"/works/users/{person}/interactions?type=Click&limit=100"
    return [each["contentId"] for each in get(demo.url + path, headers={"x-api-key": demo.key}).json()]


def headings(window: Window) -> list[str]:
    """Return what rows are called, of those that show something."""
    titles = "[...row.shadowRoot.querySelectorAll('h2')].map(({ textContent }) => textContent)"
    return list(window.run(f"return {ROWS}.flatMap((row) => {titles});"))


def keep(window: Window, name: str) -> None:
    """Keep a picture of a window, where pictures are asked for."""
    if SCREENSHOTS is not None:
        (Path(SCREENSHOTS) / f"{name}.png").write_bytes(base64.b64decode(window.picture()))


def test_a_page_view_is_two_requests_and_its_cards_are_reported_once(demo: Server, window: Window) -> None:
    window.open(demo.url + ADA)  # makes the rows where they are missing
    wait_in(window, LOADED)
    window.open("about:blank")
    before, seen = requests_of(demo), demo.metric("penchant_impressions_recorded_total")
    window.open(demo.url + ADA)
    wait_in(window, LOADED)
    cards = window.run(f"return {ROWS}[0].state.entries.length")
    window.run("await new Promise((resume) => setTimeout(resume, 3000));")
    window.open("about:blank")
    wait_until(lambda: requests_of(demo)["POST /{source}/impressions"] > before["POST /{source}/impressions"])

    assert requests_of(demo) - before == Counter({"POST /{source}/lists": 1, "POST /{source}/impressions": 1})
    # Of each row some are beyond the end of the window, and some rows are below it.
    assert 5 <= demo.metric("penchant_impressions_recorded_total") - seen < 5 * cards


def test_rows_have_titles_covers_and_reasons_and_none_is_there_for_nothing(demo: Server, window: Window) -> None:
    window.open(demo.url + ADA)
    wait_in(window, LOADED)
    known = headings(window)
    card = window.run(
        f"const [row] = {ROWS}; const card = row.shadowRoot.querySelector('li');"
        "const picture = card.querySelector('img'); await picture.decode();"
        "return [card.querySelector('[part=label]').textContent, picture.naturalWidth > 0,"
        " card.querySelector('[part=reason]').textContent, card.querySelector('a').href];"
    )
    window.open(f"{demo.url}/-/example?source=works")
    wait_in(window, LOADED)

    assert (known[0], known[3:]) == ("For you", ["New", "Picked by the editors"])
    assert re.fullmatch(r"Since you like .+", known[1])
    assert re.fullmatch(r"Popular in .+", known[2])
    assert card[0]
    assert card[1]
    assert card[2]
    assert card[3].startswith(f"{demo.url}/-/example/piece?source=works&person=ada-reads-gothic&id=")
    # Nothing is known of nobody: that row is gone, its heading and its place too.
    assert headings(window) == ["For you", "Popular", "New", "Picked by the editors"]
    # The latest of the works, though all came to the source at once.
    assert window.run(f"return {ROWS}[3].shadowRoot.querySelector('[part=label]').textContent") == "Squid Game"
    assert window.run(f"return {ROWS}[1].getBoundingClientRect().height") == 0


def test_with_keys_alone_one_gets_to_a_piece_and_hears_why_it_is_there(demo: Server, window: Window) -> None:
    window.open(demo.url + ADA)
    wait_in(window, LOADED)
    for _ in range(MOST_TABS):
        window.press("Tab")
        if window.run(f"{FOCUSED} return one.matches('[part=link]')"):
            break
    first = window.run(f"{FOCUSED} return one.textContent")
    window.press("ArrowRight")
    second = window.run(
        f"{FOCUSED} const reason = one.getRootNode().getElementById(one.getAttribute('aria-describedby'));"
        "return [one.textContent, getComputedStyle(reason).opacity, reason.textContent.length > 0];"
    )
    count = window.run(f"{FOCUSED} return one.closest('ul').children.length")
    window.press("End")
    # There the row fetches more, which stand behind it.
    wait_in(window, f"(() => {{ {FOCUSED} return one.closest('li') === one.closest('ul').children[{count - 1}]; }})()")
    window.press("Home")
    assert window.run(f"{FOCUSED} return one.textContent") == first
    window.press("ArrowRight")
    window.press("Enter")
    wait_in(window, "location.pathname.endsWith('/piece')")

    assert second[0] != first
    assert second[1:] == ["1", True]
    assert window.run("return document.querySelector('h1').textContent") == second[0]


def test_what_is_opened_counts_as_a_click(demo: Server, window: Window) -> None:
    window.open(f"{demo.url}/-/example?source=works&person=cleo-loves-opera")
    wait_in(window, LOADED)
    before = clicks(demo, "cleo-loves-opera")
    piece = window.run(f"return {ROWS}[0].state.entries[0].id")
    with contextlib.suppress(MarionetteError):  # it leads to another page
        window.run(f"{ROWS}[0].shadowRoot.querySelector('a').click()")

    wait_until(lambda: clicks(demo, "cleo-loves-opera") == [piece, *before])
    # A window that closes on its way to another page would fail.
    wait_in(window, "location.pathname.endsWith('/piece') && document.readyState === 'complete'")


def test_a_like_changes_the_rows_below_and_is_taken_back(demo: Server, window: Window) -> None:
    window.open(f"{demo.url}/-/example/piece?source=works&person=example-you&id=dracula")
    wait_in(window, LOADED)
    reason = f"{ROWS}[1].state.entries.some(({{ why }}) => why.parts.some(({{ pieces = [] }}) => pieces.length))"
    before = window.run(f"return {ROWS}[1].state.entries.map(({{ id }}) => id)")
    window.run("document.querySelector('button').click()")
    wait_in(window, "document.querySelector('[role=status]').textContent.startsWith('Noted')")
    after = window.run(f"return {ROWS}[1].state.entries.map(({{ id }}) => id)")
    window.run("document.querySelector('button').click()")
    wait_in(window, "document.querySelector('[role=status]').textContent.startsWith('Taken back')")

    assert after != before
    assert window.run(f"return {ROWS}[1].state.entries.map(({{ id }}) => id)") == before
    assert window.run(f"return {reason}") is False


def test_more_cards_come_at_the_end_and_none_comes_twice(demo: Server, window: Window) -> None:
    before = requests_of(demo)["POST /{source}/lists"]
    window.open(demo.url + ADA)
    wait_in(window, LOADED)
    window.run(f"const cards = {ROWS}[0].shadowRoot.querySelector('ul'); cards.scrollLeft = cards.scrollWidth;")
    wait_in(window, f"{ROWS}[0].state.entries.length === 20 && !{ROWS}[0].state.isLoading")
    ids = window.run(f"return {ROWS}.flatMap((row) => row.state.entries.map(({{ id }}) => id))")

    assert len(ids) == len(set(ids))
    wait_until(lambda: requests_of(demo)["POST /{source}/lists"] == before + 2)
    assert window.run(f"return {ROWS}[0].shadowRoot.querySelectorAll('li').length") == 20


@pytest.mark.parametrize("is_dark", (False, True), ids=("light", "dark"))
def test_pages_fit_every_width_are_accessible_and_nothing_moves(
    demo: Server, opening: WindowOpening, *, is_dark: bool
) -> None:
    with opening(is_dark=is_dark) as window:
        for width in (390, 1280):
            window.resize(width, 900)
            for page in PAGES:
                window.open(demo.url + page)
                before = window.run(f"return {ROWS}.map((row) => row.getBoundingClientRect().height)")
                wait_in(window, LOADED)
                keep(window, f"example-{type(window).__name__}-{width}-{is_dark}")

                assert window.run("return document.documentElement.scrollWidth") <= width
                assert window.run(f"return {ROWS}.map((row) => row.getBoundingClientRect().height)") == before
                if isinstance(window, ChromiumWindow):
                    assert window.run(SHIFTS) == 0
                    assert window.complaints == []
                assert violations(window, colours_alone=is_dark) == []


def violations(window: Window, *, colours_alone: bool) -> list[list[str]]:
    """Return what axe finds wrong: the rule, and the first element that breaks it."""
    options = json.dumps(axe_options(colours_alone=colours_alone))
    script = f"return (await axe.run({options})).violations.map(({{ id, nodes }}) => [id, nodes[0].html]);"
    return list(window.run(f"{AXE}\n{script}"))


def test_only_the_demo_has_the_pages_and_only_for_people_of_its_own(demo: Server, tmp_path: Path) -> None:
    with Server(tmp_path / "data") as plain:
        assert get(f"{plain.url}/-/example").status_code == 404
        assert get(f"{plain.url}/-/elements.js").status_code == 200

    assert get(f"{demo.url}/-/example?source=works&person=kim").status_code == 404
    assert get(f"{demo.url}/-/example/signed?source=works&person=kim").status_code == 404
    assert get(f"{demo.url}/-/example/signed?source=works").json() == ""


def test_a_page_of_another_origin_gets_nothing(demo: Server, window: Window, origin: str) -> None:
    key = (demo.data / "demo-browser-key.txt").read_text().strip()
    script = f"""
        const found = [];
        for (const path of ["{ADA}", "{ADA.replace("?", "/signed?")}", "/works/popular"]) {{
            found.push(await fetch("{demo.url}" + path, {{ headers: {{ "x-api-key": "{key}" }} }}).then(
                () => "read", () => "refused"));
            found.push(await fetch("{demo.url}" + path).then(() => "read", () => "refused"));
        }}
        return found;
    """
    window.open(origin)

    assert window.run(script) == ["refused"] * 6
    # A program can name any origin, which is why people are signed.
    answer = get(
        f"{demo.url}/works/users/ada-reads-gothic/recommendation", headers={"x-api-key": key, "origin": demo.url}
    )
    assert answer.status_code == 401


@pytest.mark.slow
def test_a_demo_on_another_port_leaves_the_first_one_its_key(tmp_path: Path) -> None:
    with Server(tmp_path / "data", subcommand="demo") as first, Server(first.data, subcommand="demo") as second:
        key = (first.data / "demo-browser-key.txt").read_text().strip()

        for asked, page in ((first, first), (second, second), (first, second)):
            answer = get(f"{asked.url}/films/popular", headers={"x-api-key": key, "origin": page.url})
            assert answer.status_code == 200, answer.text
        assert get(f"{first.url}/-/example").text.count(key) == 1


def test_a_row_that_fails_says_why_in_its_place(demo: Server, window: Window) -> None:
    window.open(demo.url + ADA)
    wait_in(window, LOADED)
    window.run(
        "document.querySelector('meta[name=penchant]').dataset.key = 'pk_revoked';"
        f"{ROWS}[0].setAttribute('placement', 'no-such'); await new Promise((resume) => setTimeout(resume, 100));"
    )
    wait_in(window, LOADED)

    told = window.run(f"return {ROWS}[0].offsetHeight > 0 && {ROWS}[0].innerText")
    assert told.startswith("For you: ")
    assert "key" in told

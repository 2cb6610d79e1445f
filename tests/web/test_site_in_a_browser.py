"""The documents in a real Chromium: nothing blocked, nothing unreachable, narrow and wide, dark, and on paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from acceptance.browsers import SCHEMES, chromium, photograph, violations
from acceptance.servers import Server

pytestmark = pytest.mark.slow
PAGES = (
    "/search",
    "",
    "/scoring",
    "/dashboard",
    "/nginx.conf",
    "/api",
    "/api-content",
    "/search?q=weight",  # far from the other one: a search is followed by a pause
)
PHONE, WIDE = {"width": 375, "height": 800}, {"width": 1500, "height": 900}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("site") / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@contextmanager
def opened(browser: Browser, server: Server, *, size: Any = WIDE, scheme: Any = "light") -> Iterator[Page]:
    """Open an empty page; at its end there must be nothing that the browser complained of or asked others for."""
    context = browser.new_context(base_url=server.url, viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(60_000)
    complaints: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: elsewhere.append(request.url))
    yield page
    context.close()
    assert complaints == []
    assert elsewhere
    assert [url for url in elsewhere if not url.startswith(server.url)] == []


def test_axe_finds_no_serious_violation(browser: Browser, server: Server) -> None:
    # axe is a script of the test's own, which the site's policy would not let in.
    page = browser.new_context(base_url=server.url, bypass_csp=True).new_page()
    page.set_default_timeout(120_000)
    for address in PAGES:
        page.goto(f"/-/docs{address}")
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            found = violations(page, {"serious", "critical"}, colours_alone=scheme == "dark")
            assert found == [], (address, scheme)
    page.context.close()


@pytest.mark.parametrize(("name", "size", "scheme"), (("wide", WIDE, "light"), ("phone", PHONE, "dark")))
def test_no_page_is_wider_than_the_window(browser: Browser, server: Server, name: str, size: Any, scheme: str) -> None:
    with opened(browser, server, size=size, scheme=scheme) as page:
        for address in PAGES:
            page.goto(f"/-/docs{address}")
            photograph(page, f"docs-{name}{address.partition('?')[0].replace('/', '-')}")

            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
                address
            )


def test_dark_is_dark(browser: Browser, server: Server) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        with opened(browser, server, scheme=scheme) as page:
            page.goto("/-/docs")
            colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert colours == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 24)"}


def test_a_keyboard_is_enough_to_search_and_to_read(browser: Browser, server: Server) -> None:
    with opened(browser, server) as page:
        page.goto("/-/docs")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("start credit")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Search")
        first = page.locator(".found a").first
        title = first.inner_text()
        first.focus()
        page.keyboard.press("Enter")

        heading = page.locator(":target")
        expect(heading).to_contain_text(title)
        expect(heading).to_be_in_viewport()


def test_a_phone_reaches_the_other_documents(browser: Browser, server: Server) -> None:
    with opened(browser, server, size=PHONE) as page:
        page.goto("/-/docs/scoring")
        page.get_by_role("link", name="All documents").click()
        page.get_by_role("link", name="Quickstart").click()

        expect(page.get_by_role("heading", level=1)).to_have_text("Quickstart")


def test_paper_shows_the_text_alone(browser: Browser, server: Server) -> None:
    with opened(browser, server, scheme="dark") as page:
        page.goto("/-/docs/scoring")
        page.emulate_media(media="print")

        expect(page.get_by_role("search")).to_be_hidden()
        expect(page.get_by_role("navigation")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("getComputedStyle(document.querySelector('pre code')).whiteSpace") == "pre-wrap"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf().startswith(b"%PDF")


def test_the_pictures_of_a_page_are_shown(browser: Browser, server: Server) -> None:
    with opened(browser, server, size=PHONE) as page:
        page.goto("/-/docs/dashboard")
        for picture in page.locator("main img").all():
            picture.scroll_into_view_if_needed()

        shown = "() => [...document.querySelectorAll('main img')].every((each) => each.naturalWidth > 0)"
        page.wait_for_function(shown)
        assert page.locator("main img").count() > 3
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]

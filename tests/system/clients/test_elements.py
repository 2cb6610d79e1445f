"""The elements of pages: what they weigh, and what a page at an origin of its own does with them in real browsers."""

import gzip
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, command
from clients.conftest import Window, run, static_origin, wait_in
from penchant_client import sign_user

ROOT = Path(__file__).parents[3]
BUNDLE = ROOT / "packages" / "penchant" / "src" / "penchant" / "web" / "elements.js"
MOST_BYTES = 5 * 1024
"""The weight of the elements in a page, gzipped, beside that of the client."""
MOST_BYTES_OF_HOOK = 1024
MARKUP = "<img src=x onerror=window.isRun=1>"
PIECES: list[dict[str, Any]] = [
    {
        "id": f"p{number:02}",
        "label": f"Piece {number}",
        "categories": {"tag": ["x"]},
        "extras": {"image": "/-/cover.svg?title=a", "url": f"/pieces/{number}"},
    }
    for number in range(12)
]
HOSTILE: dict[str, Any] = {
    "id": "hostile",
    "label": MARKUP,
    "categories": {"tag": ["x"]},
    "extras": {"image": "javascript:window.isRun=1", "url": "javascript:window.isRun=1"},
}
ROWS = "[...document.querySelectorAll('penchant-row')]"
LOADED = f"{ROWS}.length > 0 && {ROWS}.every((row) => !row.state.isLoading)"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node and npm are not installed"),
]


def bundled(elements: Path, entry: str, *options: str) -> bytes:
    """Return a module with all that it imports, minified."""
    words = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=error", *options)
    return run(elements, "npx", "esbuild", entry, *words).encode()


def test_the_file_that_services_serve_is_what_the_sources_make(built_elements: Path) -> None:
    run(built_elements, "npm", "run", "bundle")
    made = built_elements.parents[1] / BUNDLE.relative_to(ROOT)

    # Told in a word: the difference of two lines of 20,000 characters tells nobody anything.
    is_same = made.read_bytes() == BUNDLE.read_bytes()
    assert is_same, "`npm run bundle` in clients/elements makes it anew"


def test_elements_weigh_little_beside_the_client_and_hooks_nearly_nothing(built_elements: Path) -> None:
    client = len(gzip.compress(bundled(built_elements, "../typescript/src/index.ts")))
    weight = len(gzip.compress(BUNDLE.read_bytes())) - client
    minified = (run(built_elements, "npx", "esbuild", f"src/{name}.ts", "--minify") for name in ("react", "vue"))
    hooks = [len(gzip.compress(module.encode())) for module in minified]

    # With -s: how much room is left.
    print(f"The elements weigh {weight:,} bytes beside the client's {client:,}, the hooks {hooks}, gzipped.")  # noqa: T201
    assert weight <= MOST_BYTES
    assert max(hooks) <= MOST_BYTES_OF_HOOK


def test_types_hold_in_programs_that_use_them(built_elements: Path) -> None:
    run(built_elements, "npx", "tsc", "--project", "test/tsconfig.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elements")


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[str]:
    """The origin of the pages."""
    with static_origin(folder / "page") as address:
        yield address


@pytest.fixture(scope="module")
def server(folder: Path, page: str) -> Iterator[Server]:
    """A service that lets the origin in and logs its requests, with a shop of some pieces."""
    settings = f'log-requests = true\ncors-origins = ["{page}"]\n'
    with Server(folder / "data", settings=settings) as running:
        running.client.post("/shop/content", json=[*PIECES, HOSTILE]).raise_for_status()
        running.client.put("/shop/settings", json={"publicExtras": True}).raise_for_status()
        picked = {"kind": "picks", "content": ["hostile", "p11", "p10"]}
        home = {"kind": "picks", "content": [piece["id"] for piece in PIECES[:10]]}
        for name, placement in (("home", home), ("picked", picked), ("none", {"kind": "again"})):
            running.client.put(f"/shop/placements/{name}", json=placement).raise_for_status()
        yield running


class Shop:
    """Writes the page of the shop: with a browser key, for somebody who is signed."""

    def __init__(self, folder: Path, origin: str, server: Server) -> None:
        where = ("--data", str(server.data))
        self._folder, self._origin, self._service = folder, origin, server.url
        self._key = command("keys", "create", *where, "--browser", "--origin", origin).stdout.strip()
        secret = command("keys", "secret", *where).stdout.strip()
        self.signed = sign_user("kim", secret, int(time.time()) + 3600)

    def write(self, body: str, *, script: str = "", app: str = "") -> str:
        """Write the page, with a script and a file of it, and return its address."""
        head = (
            f'<meta name="penchant" content="{self._service}" data-key="{self._key}">\n'
            f'<meta name="penchant-user" content="{self.signed}">\n'
            f'<script type="module">{script}</script>\n'
            f'<script type="module" src="{self._service}/-/elements.js"></script>\n'
        )
        (self._folder / "app.js").write_text(app)
        html = f"<!doctype html><html lang=en><meta charset=utf-8><title>Shop</title>\n{head}<body>{body}</body></html>"
        (self._folder / "index.html").write_text(html.replace("SERVICE", self._service).replace("SIGNED", self.signed))
        return f"{self._origin}/"


@pytest.fixture(scope="module")
def shop(folder: Path, page: str, server: Server) -> Shop:
    return Shop(folder / "page", page, server)


def seen(server: Server) -> float:
    """Return how many pieces of lists were reported as seen."""
    return server.metric("penchant_impressions_recorded_total")


def clicks(server: Server) -> list[str]:
    """Return the pieces that the signed person clicked, newest first."""
    return [each["contentId"] for each in server.client.get("/shop/users/kim/interactions?limit=100").json()]


def lists_requested(server: Server) -> int:
    return len(re.findall(r"method=POST route=/\{source\}/lists", server.log()))


def test_three_lines_in_a_page_elsewhere_show_a_row_and_report_it(server: Server, shop: Shop, window: Window) -> None:
    address = shop.write('<penchant-row source="shop" placement="home" heading="Home" link="url"></penchant-row>')
    before = seen(server)
    window.open(address)
    wait_in(window, LOADED)
    picture = window.run(f"return {ROWS}[0].shadowRoot.querySelector('img').src")
    window.run("await new Promise((resume) => setTimeout(resume, 1000));")
    window.open("about:blank")

    # The report goes on without its page, although the browser has to ask first whether it may be sent.
    wait_until(lambda: seen(server) > before)
    assert picture == f"{server.url}/-/cover.svg?title=a"


def test_rows_of_a_page_share_a_request_and_keep_what_they_have_when_they_move(
    server: Server, shop: Shop, window: Window
) -> None:
    placements = ("home", "home", "picked", "none")
    rows = "".join(f'<penchant-row source="shop" placement="{name}" take="3"></penchant-row>' for name in placements)
    before = lists_requested(server)
    window.open(shop.write(rows))
    wait_in(window, LOADED)
    window.run(f"document.body.append(...{ROWS}.slice(0, 2)); await new Promise((resume) => setTimeout(resume, 200));")
    ids = window.run(f"return {ROWS}.map((row) => row.state.entries.map(({{ id }}) => id))")
    heights = window.run(f"return {ROWS}.map((row) => row.offsetHeight > 0)")

    wait_until(lambda: lists_requested(server) == before + 1)
    assert ids == [["hostile", "p11", "p10"], [], ["p00", "p01", "p02"], ["p03", "p04", "p05"]]
    # What has nothing to show takes no place.
    assert heights == [True, False, True, True]


def test_data_is_never_markup_and_no_link_runs_a_script(shop: Shop, window: Window) -> None:
    window.open(shop.write('<penchant-row source="shop" placement="picked" link="url"></penchant-row>'))
    wait_in(window, LOADED)
    found = window.run(
        f"const card = {ROWS}[0].shadowRoot.querySelector('li');"
        "return [card.querySelector('[part=label]').textContent, card.querySelector('a'), card.querySelector('img'),"
        " window.isRun ?? 0];"
    )

    assert found == [MARKUP, None, None, 0]


def test_a_row_that_a_server_rendered_asks_for_nothing_and_is_reported(
    server: Server, shop: Shop, window: Window
) -> None:
    body = {"user": "kim", "lists": [{"placement": "home", "take": 4}], "include": ["label", "extras"]}
    before, known = lists_requested(server), seen(server)
    answer = server.client.post("/shop/lists", json=body).json()
    wait_until(lambda: lists_requested(server) == before + 1)
    written = json.dumps(answer).replace("<", "\\u003c")
    script = f'<script type="application/json">{written}</script>'
    row = f'<penchant-row source="shop" placement="home">{script}</penchant-row>'
    window.open(shop.write(row))
    wait_in(window, LOADED)
    parts = f"{ROWS}[0].shadowRoot.querySelectorAll('[part=label]')"
    labels = window.run(f"return [...{parts}].map(({{ textContent }}) => textContent)")
    window.run("await new Promise((resume) => setTimeout(resume, 1000));")
    window.open("about:blank")
    wait_until(lambda: seen(server) == known + 4)

    assert labels == [piece["label"] for piece in PIECES[:4]]
    assert lists_requested(server) == before + 1


def test_cards_of_ones_own_stand_in_the_page_and_its_clicks_count(server: Server, shop: Shop, window: Window) -> None:
    script = """
        customElements.whenDefined("penchant-row").then(() => {
            const row = document.createElement("penchant-row");
            row.setAttribute("source", "shop");
            row.setAttribute("placement", "home");
            row.render = ({ label: textContent }) =>
                Object.assign(document.createElement("a"), { href: "#own", textContent, className: "own" });
            document.body.append(row);
        });
    """
    before = clicks(server)
    window.open(shop.write("", script=script))
    wait_in(window, LOADED)
    own = window.run("return document.querySelectorAll('penchant-row > [slot] > a.own').length")
    window.run("const [one] = document.querySelectorAll('a.own'); one.click(); one.click();")

    wait_until(lambda: len(clicks(server)) > len(before))
    assert clicks(server) == ["p00", *before]
    assert own == 10


def test_a_person_is_signed_by_the_page_when_the_first_signature_has_ended(shop: Shop, window: Window) -> None:
    script = """
        import { configure, PenchantList } from "SERVICE/-/elements.js";
        window.calls = 0;
        document.querySelector("meta[name=penchant-user]").content = "kim.1.old";
        configure({ user: async () => { window.calls += 1; return "SIGNED"; } });
        window.list = new PenchantList({ source: "shop", placement: "home" });
        list.connect();
    """
    window.open(shop.write("", script=script))
    wait_in(window, "list.state.entries.length > 0")

    assert window.run("return [window.calls, list.state.error]") == [1, None]


def test_an_origin_that_is_not_let_in_is_named_and_rows_take_no_place(
    built_elements: Path, shop: Shop, window: Window
) -> None:
    script = "addEventListener('penchant-error', ({ detail }) => (window.told = detail.error.message), true);"
    row = '<penchant-row source="shop" placement="home"></penchant-row>'
    # The page has the elements itself: it would be refused those of the service as well.
    app = bundled(built_elements, "src/index.ts", "--alias:penchant=../typescript/src/index.ts").decode()
    address = shop.write(row, script=f"{script} import './app.js';", app=app).replace("127.0.0.1", "localhost")
    window.open(address)
    wait_in(window, "window.told !== undefined")

    assert f"may not answer pages of {address.rstrip('/')}: name this origin" in window.run("return window.told")
    assert window.run("return document.querySelector('penchant-row').offsetHeight") == 0


@pytest.mark.parametrize("framework", ("react.tsx", "vue.ts"))
def test_hooks_show_a_list_report_its_cards_and_go_on(
    built_elements: Path, server: Server, shop: Shop, window: Window, framework: str
) -> None:
    linked = built_elements / "node_modules" / "penchant"
    if not linked.exists():
        linked.symlink_to(built_elements.parent / "typescript")
    define = '--define:process.env.NODE_ENV="production"'
    script = bundled(built_elements, f"test/{framework}", "--jsx=automatic", define).decode()
    address = shop.write('<div id="app"></div>', script='import "./app.js";', app=script)
    before, clicked = seen(server), clicks(server)
    window.open(address)
    wait_in(window, "document.querySelectorAll('#app li').length === 3")
    window.run("await new Promise((resume) => setTimeout(resume, 1000));")
    window.run("document.querySelector('#app button').click();")
    wait_in(window, "document.querySelectorAll('#app li').length === 6")
    window.run("document.querySelector('#app a').click()")
    window.open("about:blank")

    wait_until(lambda: clicks(server) == ["p00", *clicked])
    # Three were seen, of which one was clicked, and counted as seen by that.
    wait_until(lambda: seen(server) >= before + 2)


NO_ROW = '<penchant-row source="shop" placement="no-such"></penchant-row>'
TELL = """
    addEventListener("penchant-error", ({ target, detail }) => {
        target.append(Object.assign(document.createElement("p"), { slot: "empty", textContent: detail.error.message }));
    });
"""
TOLD = f"return {ROWS}.map((row) => row.offsetHeight > 0 && row.innerText)"


@pytest.mark.parametrize(("key", "cause"), ((None, "no-such"), ("pk_not_one", "key")))
def test_a_row_that_fails_takes_no_place_but_for_what_the_page_says(
    folder: Path, shop: Shop, window: Window, key: str | None, cause: str
) -> None:
    for script in ("", TELL):
        address = shop.write(NO_ROW, script=script)
        file = folder / "page" / "index.html"
        if key is not None:
            file.write_text(re.sub(r'data-key="[^"]*"', f'data-key="{key}"', file.read_text()))
        window.open(f"{address}?{key}{len(script)}")
        wait_in(window, LOADED)

        [told] = window.run(TOLD)
        assert cause in told if script else told is False


def test_a_page_of_a_refused_origin_has_the_elements_which_say_so(
    tmp_path: Path, server: Server, window: Window
) -> None:
    with static_origin(tmp_path / "refused") as origin:
        window.open(Shop(tmp_path / "refused", origin, server).write(NO_ROW, script=TELL))
        wait_in(window, LOADED)

        [told] = window.run(TOLD)
    assert origin in told
    assert "cors-origins" in told


def test_a_picture_that_fails_gives_its_place_to_a_drawn_cover(server: Server, shop: Shop, window: Window) -> None:
    given = [{"id": "gone", "label": "It's gone", "categories": {}, "extras": {"image": "https://127.0.0.1:1/no.png"}}]
    server.client.post("/shop/content", json=given).raise_for_status()
    server.client.put("/shop/placements/gone", json={"kind": "picks", "content": ["gone"]}).raise_for_status()
    window.open(shop.write('<penchant-row source="shop" placement="gone" covers></penchant-row>'))
    wait_in(window, LOADED)

    image = f"{ROWS}[0].shadowRoot.querySelector('img')"
    wait_in(window, f"{image}?.src.includes('/-/cover.svg?title=It') && {image}.naturalWidth > 0")

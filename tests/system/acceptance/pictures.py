"""Pictures of the dashboard's pages, by ``scripts/pictures``: the demo's works, with rows shown for five weeks."""

import argparse
import base64
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

import penchant.demo
import shared_fixtures  # noqa: F401  # before Starlette's test client, which else takes the client of agents
from acceptance.browsers import SCHEMES, chromium
from acceptance.servers import Server, new_key
from penchant.settings import NodeSettings
from serving import Applications, Service
from visitors import HOME

WORKS = Path(penchant.demo.__file__).parent / "works"
DAYS = 36
WIDTHS = (1280, 390)
PERSON = "ada-reads-gothic"
ROWS: Mapping[str, Mapping[str, Any]] = {
    "home": {
        "title": "For you",
        "kind": "recommendations",
        "fallback": "popular",
        "variants": [{"name": "wider-mix", "share": 0.5, "diversity": 0.5}],
    },
    "liked": {"title": "Because you liked", "kind": "because", "fallback": "new", "rows": 2},
    "screen": {"title": "On screen, newest", "kind": "new", "catalogs": ["screen"]},
    "stage": {"title": "Stage and music", "kind": "popular", "catalogs": ["stage"]},
}
OPENED = {"home": 0.05, "liked": 0.055, "screen": 0.03, "stage": 0.04}
"""How much of what a row shows is opened."""
PAGES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "overview": ("desk", {}),
    "piece": ("piece", {"id": "blade-runner", "other": "Dune"}),
    "person": ("user", {"id": PERSON}),
    "page": ("front", {"user": PERSON}),
    "people": ("user", {}),
    "pieces": ("pieces", {}),
    "search": ("search", {"q": "gothic"}),
    "placement": ("placement", {"name": "home"}),
    "placements": ("placements", {}),
    "results": ("results", {"name": "home"}),
    "proposals": ("proposal", {"name": "spring", "look": "1"}),
    "waiting": ("proposals", {}),
    "card": ("card", {"name": "home"}),
    "settings": ("settings", {}),
    "health": ("health", {}),
    "lists": ("lists", {"kind": "blacklist"}),
}

OF_DOCUMENTS = ("overview", "piece", "page", "placement", "results", "proposals")
"""The pages of which documents show what a window has of them, from ``docs/pictures``."""
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz and a title of double length, too"
_AS_WEBP = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.75).split(",")[1];
}"""


def fill(service: Service, moment: list[float], *, is_long: bool = False) -> None:
    """Submit the works, make rows, and show them to their people day by day, the last day being today.

    With ``is_long`` titles are of double length, as they are in other languages.
    """
    end, chance = moment[0], random.Random(7)
    moment[0] = end - DAYS * 86_400
    pieces = [json.loads(line) for line in (WORKS / "pieces.ndjson").read_text("utf-8").splitlines()]
    if is_long:
        for each in pieces:
            each["label"] = f"{each['label']}: {LONG}"
    interactions = [json.loads(line) for line in (WORKS / "interactions.ndjson").read_text("utf-8").splitlines()]
    for each in interactions:
        # When they were made is not how old they are now.
        del each["timestamp"]
    service.submit("works", *pieces)
    service.post("/works/interactions", json=interactions)
    for name, row in ROWS.items():
        title = f"{row['title']}: {LONG}"[:200] if is_long else row["title"]
        service.put(f"/works/placements/{name}", json={**row, "title": title})
    people = sorted({each["userId"] for each in interactions})
    for day in range(DAYS):
        moment[0] = end - (DAYS - 1 - day) * 86_400
        show(service, people, chance, day)
    ends = datetime.fromtimestamp(end, UTC) + timedelta(days=3)
    pinned = {"id": "the-nutcracker", "position": 1, "until": f"{ends:%Y-%m-%dT20:00:00Z}"}
    service.put("/works/placements/stage", json={**ROWS["stage"], "pins": [pinned]})
    spring = {"placements": {"home": {**ROWS["home"], "diversity": 1}}, "settings": {"blend": {"popularity": 0}}}
    service.put("/works/drafts/spring", json={"title": "Less of the same in spring", "blacklist": ["tetris"], **spring})


def show(service: Service, people: list[str], chance: random.Random, day: int) -> None:
    """Have some people see every row, and open a part of what they see."""
    reports, clicks = [], []
    for person in chance.choices(people, k=10 + day % 7):
        for name, rate in OPENED.items():
            answer = service.get(f"/works/placements/{name}/list?user={person}&take=12")
            list_id = answer.headers["x-penchant-list"]
            ids = [each["id"] for each in answer.json()["content"]]
            seen = [{"id": piece_id, "position": at} for at, piece_id in enumerate(ids, start=1)]
            reports.append({"listId": list_id, "userId": person, "content": seen})
            falls = name == "screen" and day > DAYS - 8
            opened = [each for each in ids if chance.random() < (0.5 * rate if falls else 1.5 * rate)]
            clicks += [
                {"userId": person, "type": kind, "contentId": each, "listId": list_id}
                for each in opened
                for kind in ("Click", "Play")[: 1 + (chance.random() < 0.4)]
            ]
    service.post("/works/impressions", json=[each for each in reports if each["content"]])
    service.post("/works/interactions", json=clicks)


def photograph(
    browser: Browser, server: Server, key: str, folder: Path, documents: Path | None = None
) -> Iterator[str]:
    """Make the pictures of every page, and yield what each is called; results are those of all the weeks."""
    since = f"{datetime.now(UTC) - timedelta(days=DAYS - 1):%Y-%m-%d}"
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.goto(f"{server.url}{HOME}/sign-in")
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Sign in").click()
            find_out(page, server)
            for name, (path, query) in PAGES.items():
                asked = urlencode({"source": "works", **query, **({"from": since} if name == "results" else {})})
                answer = page.goto(f"{server.url}{HOME}/{path}?{asked}")
                page.get_by_text("looks again by itself").wait_for(state="detached", timeout=60_000)
                if answer is not None and answer.ok:
                    if (width, scheme) == (WIDTHS[0], SCHEMES[0]) and documents is not None and name in OF_DOCUMENTS:
                        keep_for_documents(page, documents / f"{name}.webp")
                    yield keep(page, folder / f"{name}-{width}-{scheme}.png")
            context.close()


def find_out(page: Page, server: Server) -> None:
    """Look at the desk until all of it is found out, for a while."""
    for _ in range(60):
        page.goto(f"{server.url}{HOME}/desk?source=works")
        if "Still being found out" not in page.locator("main").inner_text():
            return
        page.wait_for_timeout(500)


def photograph_others(browser: Browser, others: Path, folder: Path) -> Iterator[str]:
    """Make the pictures of pages in a folder of HTML."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            for name in PAGES:
                if (other := others / f"{name}.html").exists():
                    page.goto(other.as_uri())
                    yield keep(page, folder / f"{name}-{width}-{scheme}-beside.png")
            context.close()


def keep(page: Page, path: Path) -> str:
    """Photograph a whole page, with every picture on it loaded."""
    page.evaluate("() => document.querySelectorAll('img').forEach((each) => { each.loading = 'eager'; })")
    page.wait_for_function("() => [...document.images].every((each) => each.complete)")
    # What stays below a window would stand in the middle of a whole page.
    page.evaluate("() => document.querySelectorAll('.draft').forEach((each) => { each.style.position = 'static'; })")
    page.screenshot(path=path, full_page=True)
    return path.name


def keep_for_documents(page: Page, path: Path) -> None:
    """Keep what a window shows of a page as a small picture."""
    page.wait_for_function("() => [...document.images].every((each) => each.complete || each.loading === 'lazy')")
    png = base64.b64encode(page.screenshot()).decode()
    blank = page.context.new_page()
    path.write_bytes(base64.b64decode(blank.evaluate(_AS_WEBP, png)))
    blank.close()


def main() -> None:
    """Make the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--beside", type=Path, default=None)
    parser.add_argument("--documents", type=Path, default=None)
    parser.add_argument("--long", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        settings = NodeSettings(data=data)
        moment = [time.time()]
        applications = Applications(None)
        with applications.service(settings, lambda: moment[0]) as service:
            fill(service, moment, is_long=given.long)
        server = Server(Path(data))
        try:
            with chromium() as browser:
                names = list(photograph(browser, server, new_key(Path(data)), given.folder, given.documents))
                if given.beside is not None:
                    names += photograph_others(browser, given.beside, given.folder)
        finally:
            server.stop()
    shown = "".join(f'<p><img src="{name}" width="600"><br>{name}</p>' for name in sorted(names))
    (given.folder / "index.html").write_text(f"<!doctype html><meta charset=utf-8><title>Pictures</title>{shown}")
    sys.stdout.write(f"{len(names)} pictures in {given.folder}\n")


if __name__ == "__main__":
    main()

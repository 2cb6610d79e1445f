"""Example pages of the demo: the front page of a source, and the page of a piece, for a person whom a visitor picks."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup

from penchant.errors import Unauthenticated, UnknownRoute
from penchant.live.views import View
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.rows import RowServices
from penchant.web.operations import NOBODY, Answer, Call, Handler, Operation, body_tag
from penchant.wire import decode_placement, encode, sign_user
from penchant.wire.row_settings import RowSettings

EXAMPLE_KEY_FILE = "demo-browser-key.txt"
"""Where the demo keeps the browser key of the example. It is no secret: every page has it."""
SIGNED_S = 3600
_HOME = "/-/example"
_ELEMENTS = "elements.js"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_HTML = "text/html; charset=utf-8"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    # Each page holds a signed person: nothing of another origin may have it.
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_SOURCES = {
    "films": {
        "1567": "Adventures in space",
        "4710": "Romantic comedies",
        "230": "Thrillers",
        "1762": "Family evenings",
        "example-you": "You",
    },
    "works": {
        "ada-reads-gothic": "Ada reads gothic",
        "cleo-loves-opera": "Cleo loves opera",
        "finn-solves-murders": "Finn solves murders",
        "dev-space-dreams": "Dev dreams of space",
        "example-you": "You",
    },
}
"""The people of each source whom the pages sign, and none but these; nobody's taste is known of the last one."""


def example_operations(base_path: str, *, pages: bool) -> tuple[Operation, ...]:
    """Return the operations of the elements' file and, for the demo, of the pages."""
    site = ExampleSite(base_path)
    elements = _operation("/-/elements.js", site.elements)
    if not pages:
        return (elements,)
    return (
        elements,
        _operation(_HOME, site.front),
        _operation(f"{_HOME}/piece", site.piece),
        _operation(f"{_HOME}/signed", site.signed),
        _operation(f"{_HOME}/{{file}}", site.asset),
    )


def _operation(path: str, handler: Handler) -> Operation:
    return Operation(
        method="GET",
        path=path,
        name=f"example-{path.rpartition('/')[2].strip('{}')}",
        summary="A file or page for browsers.",
        handler=handler,
        tag="example",
        about=NOBODY,
        public=True,
        answer_media_type=_HTML,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleVisit:
    """Which source a page is of and for whom, "" for nobody; with the key that it has, and its account."""

    source: str
    person: str
    key: str
    access: Access

    @property
    def signed(self) -> str:
        """The person as signed for an hour, "" for nobody."""
        secret = self.access.signing_secret
        return sign_user(self.person, secret, int(time.time()) + SIGNED_S) if self.person and secret else ""


class ExampleSite:
    """The files and templates of the example below a base path."""

    def __init__(self, base_path: str) -> None:
        """Load the files."""
        self._base_path = base_path
        self._assets = {name: _file(name) for name in (_ELEMENTS, "example.css", "example.js")}
        self._front, self._piece = (Markup(_file(f"{name}.html").decode()) for name in ("front", "piece"))  # noqa: S704  # our own file
        self._placements: Mapping[str, Mapping[str, Any]] = msgspec.json.decode(_file("placements.json"))

    async def elements(self, call: Call) -> Answer:
        """Answer the elements, which pages of every origin may load: what these may not ask, the elements then say."""
        del call
        anybody = {"cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*"}
        return self._asset(_ELEMENTS, anybody)

    async def asset(self, call: Call) -> Answer:
        """Answer a file of the pages."""
        name = call.path["file"]
        if name not in self._assets:
            raise UnknownRoute("The example has no file of this name.")
        return self._asset(name, {})

    def _asset(self, name: str, headers: Mapping[str, str]) -> Answer:
        body = self._assets[name]
        headers = {"cache-control": "no-cache", "x-content-type-options": "nosniff", **headers}
        return Answer(body=body, media_type=_TYPES[Path(name).suffix], etag=body_tag(body), headers=headers)

    async def front(self, call: Call) -> Answer:
        """Answer the front page of a source."""
        visit = await _visit(call)
        await self._require_placements(call.services, visit)
        page = self._front.format(title=visit.source.title(), **self._frame(visit, ""))
        return Answer(body=page.encode(), media_type=_HTML, headers=_HEADERS)

    async def piece(self, call: Call) -> Answer:
        """Answer the page of a piece."""
        visit = await _visit(call)
        await self._require_placements(call.services, visit)
        piece_id = _text(call, "id")
        view = await call.services.views.view(visit.access.account_id, visit.source)
        label = (await call.services.browsing.labels(view, [piece_id])).get(piece_id)
        if label is None:
            raise UnknownRoute("The example has no page of this piece.")
        page = self._piece.format(title=label, id=piece_id, **self._frame(visit, f"&{urlencode({'id': piece_id})}"))
        return Answer(body=page.encode(), media_type=_HTML, headers=_HEADERS)

    async def signed(self, call: Call) -> Answer:
        """Answer the person of a page signed anew, for one that has been open for an hour."""
        visit = await _visit(call)
        return Answer(body=encode(visit.signed), headers=_HEADERS)

    def _frame(self, visit: ExampleVisit, rest: str) -> dict[str, object]:
        """Return what both pages have: who asks, and the links to other people and sources."""
        home = self._base_path + _HOME
        people = {"": "Nobody", **_SOURCES[visit.source]}
        here = home + ("/piece" if rest else "")
        everybody = [({"source": visit.source, "person": key}, name) for key, name in people.items()]
        return {
            "home": home,
            "address": f"{self._base_path}/",
            "elements": f"{self._base_path}/-/{_ELEMENTS}",
            "key": visit.key,
            "signed": visit.signed,
            "source": visit.source,
            "query": urlencode({"source": visit.source, "person": visit.person}),
            "people": _links(here, everybody, people[visit.person], rest),
            "sources": _links(home, [({"source": name}, name.title()) for name in _SOURCES], visit.source.title()),
        }

    async def _require_placements(self, services: Services, visit: ExampleVisit) -> None:
        """Make the rows of the pages where they are missing; those that somebody has changed stay so."""
        view: View = await services.views.view(visit.access.account_id, visit.source)
        for name, placement in self._placements[visit.source].items():
            # Where nobody publishes alone, a page does not either.
            if name not in view.placements and not view.settings.of(RowSettings).four_eyes:
                await services.of(RowServices).placements.put(
                    visit.access, visit.source, name, decode_placement(encode(placement))
                )


async def _visit(call: Call) -> ExampleVisit:
    """Return whom a page is for.

    Raises:
        UnknownRoute: the demo has not made the key, or there is no such source or person.
    """
    source, person = _text(call, "source") or "films", _text(call, "person")
    if source not in _SOURCES or person not in {"", *_SOURCES[source]}:
        raise UnknownRoute("The example has no such source or person.")
    file = Path(call.services.settings.data) / EXAMPLE_KEY_FILE
    try:
        key = file.read_text(encoding="ascii").strip()
        access = await call.services.access.authenticate([key])
    except (OSError, Unauthenticated):
        raise UnknownRoute("The example is part of `penchant demo`, which makes its key.") from None
    return ExampleVisit(source=source, person=person, key=key, access=access)


def _text(call: Call, name: str) -> str:
    values = call.query.values(name)
    return values[-1] if values else ""


def _links(page: str, targets: list[tuple[dict[str, str], str]], current: str, rest: str = "") -> Markup:
    """Return links to a page, of which that with the current name is marked."""
    link, mark = Markup('<a href="{}"{}>{}</a>\n'), Markup(' aria-current="true"')
    return Markup().join(
        link.format(f"{page}?{urlencode(query)}{rest}", mark if name == current else "", name)
        for query, name in targets
    )


def _file(name: str) -> bytes:
    return resources.files("penchant.web.example").joinpath(name).read_bytes()

"""Documents of the service: the OpenAPI document, in two forms, and the built site where it is installed.

``sh scripts/docs`` builds the site of ``docs/`` and of what is generated from the code into the folder `SITE`, which a
checkout does not have at first and a wheel may lack.
"""

import asyncio
import sys
import threading
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from penchant.errors import UnknownRoute, WrongMethod
from penchant.web.openapi import for_generators, openapi
from penchant.web.operations import NOBODY, Answer, Call, Operation
from penchant.web.parameters import FOR
from penchant.wire import encode
from penchant_engine.computed import computed

SITE = Path(__file__).parents[1] / "site"
"""Where the built site lies."""
DOCS_PATH = "/-/docs"
_NOT_INSTALLED = (
    "The documents are not installed with this service. They lie in the folder docs of the project; "
    "`sh scripts/docs` there builds the pages that are served here."
)
HEADERS = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
            b"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; form-action 'self'; "
            b"base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
"""Nothing of another host is loaded. A cache asks each time, and gets a 304."""


def interface_pages(operations: Iterable[Operation]) -> list[Traversable]:
    """Return the pages that describe operations: those in ``interface/`` beside the modules of their handlers."""
    homes = dict.fromkeys(sys.modules[each.handler.__module__].__package__ for each in operations)
    folders = [files(home) / "interface" for home in homes if home]
    pages = [page for folder in folders if folder.is_dir() for page in folder.iterdir()]
    return sorted((page for page in pages if page.name.endswith(".md")), key=attrgetter("name"))


def interface_text(operations: Iterable[Operation]) -> str:
    """Return the pages that describe operations as one text."""
    return "\n".join(page.read_text(encoding="utf-8") for page in interface_pages(operations))


class OpenApiDocument:
    """The OpenAPI document of some operations, made once, in a thread of its own, when it is first asked for."""

    def __init__(self, operations: Sequence[Operation], base_path: str) -> None:
        self._base_path = base_path
        self._lock = threading.Lock()
        self._forms: tuple[Answer, Answer] | None = None
        self.operation = Operation(
            method="GET",
            path="/-/openapi.json",
            name="openapi",
            summary="This interface as an OpenAPI document: 3.1, or 3.0.3 `for=generators`.",
            handler=self._answer,
            parameters=(FOR,),
            tag="service",
            about=NOBODY,
            public=True,
            answer="OpenApi",
        )
        self._described = (*operations, self.operation)

    @computed
    def document(self) -> dict[str, Any]:
        """The document, which describes itself, too."""
        return openapi(self._described, self._base_path, interface_text(self._described))

    async def _answer(self, call: Call) -> Answer:
        exact, generators = await asyncio.to_thread(self._made_forms) if self._forms is None else self._forms
        return exact if call.values()[FOR.name] is None else generators

    def _made_forms(self) -> tuple[Answer, Answer]:
        with self._lock:
            if self._forms is None:
                document = self.document
                self._forms = Answer(body=encode(document)), Answer(body=encode(for_generators(document)))
            return self._forms


class DocumentSite:
    """ASGI application of the built site below ``/-/docs``: files alone, none of them of another host."""

    def __init__(self, base_path: str) -> None:
        self._root = base_path + DOCS_PATH
        self._folder = SITE

    def holds(self, raw_path: str) -> bool:
        """Return whether an address is below the site's."""
        return raw_path == self._root or raw_path.startswith(f"{self._root}/")

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a file of the site.

        Raises:
            UnknownRoute: there is no such file, or the site is not installed.
            WrongMethod: it is neither GET nor HEAD.
        """
        if scope["method"] not in {"GET", "HEAD"}:
            raise WrongMethod("The documents take GET and HEAD.", allow="GET, HEAD")
        if not (self._folder / "index.html").is_file():
            raise UnknownRoute(_NOT_INSTALLED)
        if scope["path"] == self._root:
            # Its links are relative to a folder. No host is named, since a proxy may have another.
            await RedirectResponse(f"{self._root}/")(scope, receive, send)
            return
        name = scope["path"].removeprefix(f"{self._root}/") or "index.html"
        try:
            response = await self._files.get_response(name, scope)
        except HTTPException:
            raise UnknownRoute("The documents have no page of this name; /-/docs/ leads to all of them.") from None

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        # Without extensions of the server, which would send the file past those who compress and count answers.
        await response({**scope, "extensions": {}}, receive, with_headers)

    @computed
    def _files(self) -> StaticFiles:
        return StaticFiles(directory=self._folder)

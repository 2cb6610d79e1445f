"""Documents of the service: the OpenAPI document, in two forms, and the site of pages beside it.

All of it is made when it is first asked for: most processes never are, and what renders pages is slow to import.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penchant.service.shares import AccountShares
from penchant.web.openapi import for_generators, openapi
from penchant.web.operations import NOBODY, Answer, Call, Operation
from penchant.web.parameters import FOR
from penchant.web.query import Parameter
from penchant.web.site.library import GUIDE, HOME, SEARCH, Library
from penchant.wire import encode
from penchant_engine.computed import computed

if TYPE_CHECKING:
    from penchant.web.site.serving import DocumentPage, DocumentSite

QUERY = Parameter(name="q", description="Words to search the documents for.", schema={"type": "string"})
SEARCH_WAIT_S = 5.0
"""How long a search waits for those before it."""
SEARCH_PAUSE = 4.0
"""How long after a search the next one begins, for the time that it took: a fifth of a worker at most."""
_NO_ACCOUNT = 0
"""That of a search, which needs no key."""


def document_operations(operations: Sequence[Operation], base_path: str) -> tuple[Operation, ...]:
    """Return the operations that answer the OpenAPI document and the site, themselves included in both."""
    return ServiceDocuments(operations, base_path).operations


class ServiceDocuments:
    """The OpenAPI document of some operations and the site beside it, each made once, in a thread of its own."""

    def __init__(self, operations: Sequence[Operation], base_path: str) -> None:
        self._base_path = base_path
        self._lock = threading.Lock()
        self._forms: tuple[Answer, Answer] | None = None
        self._site: DocumentSite | None = None
        self._searches = AccountShares(
            "searches are being made", turns=1, of_account=1, wait_s=SEARCH_WAIT_S, pause=SEARCH_PAUSE
        )
        self._preparing = asyncio.Lock()
        self.operations: tuple[Operation, ...] = (
            Operation(
                method="GET",
                path="/-/openapi.json",
                name="openapi",
                summary="This interface as an OpenAPI document: 3.1, or 3.0.3 `for=generators`.",
                handler=self._answer_document,
                parameters=(FOR,),
                tag="service",
                about=NOBODY,
                public=True,
                answer="OpenApi",
            ),
            self._page_operation("docs", "/-/docs", "The documents and this reference, as pages."),
            self._page_operation("docsPage", "/-/docs/{page}", "A page of the documents; `search?q=` searches them."),
        )
        self._described = (*operations, *self.operations)
        # In no document for clients.
        self.operations += (self._page_operation("guide", f"/{GUIDE}", "The documents, listed for language models."),)

    async def _answer_document(self, call: Call) -> Answer:
        exact, generators = await asyncio.to_thread(self._made_forms) if self._forms is None else self._forms
        return exact if call.values()[FOR.name] is None else generators

    def _made_forms(self) -> tuple[Answer, Answer]:
        with self._lock:
            if self._forms is None:
                document = self._document
                self._forms = Answer(body=encode(document)), Answer(body=encode(for_generators(document)))
            return self._forms

    @computed
    def _document(self) -> dict[str, Any]:
        return openapi(self._described, self._base_path, Library().interface)

    def _made_site(self) -> "DocumentSite":
        from penchant.web.site.serving import DocumentSite  # noqa: PLC0415  # what renders pages is slow to import

        with self._lock:
            if self._site is None:
                self._site = DocumentSite(self._document, self._base_path)
            return self._site

    def _page_operation(self, name: str, path: str, summary: str) -> Operation:
        """Return the operation that answers the pages at an address, ``{page}`` being a page's name."""
        return Operation(
            method="GET",
            path=path,
            name=name,
            summary=summary,
            handler=self._answer_page,
            tag="service",
            about=NOBODY,
            public=True,
            has_etag=True,
            parameters=(QUERY,) if "{page}" in path else (),
            answer="Text",
            answer_media_type="text/html",
            errors=("unknown-route", "overloaded") if "{page}" in path else (),
            gives_way=path == f"/{GUIDE}",
        )

    async def _answer_page(self, call: Call) -> Answer:
        page = await self._asked(call)
        headers = dict(page.headers)
        # Only with its present tag in the address may a cache keep it for ever.
        if call.query.values("v") == [page.etag]:
            headers |= {"cache-control": "public, max-age=31536000, immutable"}
        return Answer(body=page.body, media_type=page.media_type, etag=page.etag, headers=headers)

    async def _asked(self, call: Call) -> "DocumentPage":
        name = call.path.get("page", GUIDE if call.operation.gives_way else HOME)
        site = await asyncio.to_thread(self._made_site) if self._site is None else self._site
        if name == SEARCH:
            # The one page that costs something each time, and needs no key: one at a time, for a process.
            await call.services.admission.enter(is_patient=False)
            # Apart from the turns: to render all documents takes seconds, and a turn's pause is four times as long.
            async with self._preparing:
                if not site.is_searchable:
                    await asyncio.to_thread(site.prepare_search)
            async with self._searches.turn(_NO_ACCOUNT):
                return await asyncio.to_thread(site.found, " ".join(call.query.values(QUERY.name)))
        # On the event loop only where nothing is to be made: to render a long document takes a while.
        return site.page(name) if site.has(name) else await asyncio.to_thread(site.page, name)

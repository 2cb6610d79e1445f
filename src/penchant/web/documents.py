"""Documents of the service: the OpenAPI document, in two forms, and the site of pages beside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penchant.web.generators import for_generators
from penchant.web.openapi import openapi
from penchant.web.operations import Answer, Call, Handler, Operation
from penchant.web.parameters import FOR
from penchant.web.site import DocumentSite, site_operation
from penchant.wire import encode


def document_operations(operations: Sequence[Operation], base_path: str) -> tuple[Operation, ...]:
    """Return the operations that answer the OpenAPI document and the site, themselves included in both."""
    # The document lists the very operations that answer it. So the site gets it empty, and the row of `openapi` a
    # handler that is never called, until all operations are there and both can be filled in.
    document: dict[str, Any] = {}
    site = DocumentSite(document, base_path)
    made = (
        Operation(
            method="GET",
            path="/-/openapi.json",
            name="openapi",
            summary="This interface as an OpenAPI document: 3.1, or 3.0.3 `for=generators`.",
            handler=_unset,
            parameters=(FOR,),
            tag="service",
            public=True,
            answer="OpenApi",
        ),
        site_operation(site, "docs", "/-/docs", "The documents and this reference, as pages."),
        site_operation(site, "docsPage", "/-/docs/{page}", "A page of the documents; `search?q=` searches them."),
    )
    page = site.library.documents.get("interface")
    document |= openapi((*operations, *made), base_path, "" if page is None else page.text)
    return (replace(made[0], handler=_document_handler(document)), *made[1:])


async def _unset(_call: Call) -> Answer:
    raise NotImplementedError


def _document_handler(document: dict[str, Any]) -> Handler:
    """Return the handler that answers the document in the form asked for."""
    # Encoded once, at the start.
    exact = Answer(body=encode(document))
    generators = Answer(body=encode(for_generators(document)))

    async def handler(call: Call) -> Answer:
        return exact if call.values()[FOR.name] is None else generators

    return handler

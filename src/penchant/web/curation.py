"""Handlers of what editors steer: whitelist, blacklist, settings."""

from collections.abc import Sequence

from penchant.model import ListKind
from penchant.web.operations import Answer, Call, Handler
from penchant.wire import decode_list, decode_settings, encode, encode_settings


def read_list(kind: ListKind) -> Handler:
    """Return the handler that answers a list."""

    async def handler(call: Call) -> Answer:
        view = await call.view()
        return Answer(body=encode(call.services.curation.listed(view, kind)), version=view.head.version)

    return handler


def replace_list(kind: ListKind) -> Handler:
    """Return the handler that replaces a list."""

    async def handler(call: Call) -> Answer:
        return await _replace(call, kind, await call.decode_body(decode_list))

    return handler


def empty_list(kind: ListKind) -> Handler:
    """Return the handler that empties a list."""

    async def handler(call: Call) -> Answer:
        return await _replace(call, kind, ())

    return handler


async def _replace(call: Call, kind: ListKind, ids: Sequence[str]) -> Answer:
    outcome = await call.services.curation.replace_list(call.access, call.source, kind, ids)
    return Answer(body=encode(list(ids)), version=outcome.version)


async def read_settings(call: Call) -> Answer:
    """Answer the settings of a source."""
    view = await call.view()
    return Answer(body=encode_settings(view.settings), version=view.head.version)


async def replace_settings(call: Call) -> Answer:
    """Replace the settings of a source; members left out return to their defaults."""
    settings = await call.decode_body(decode_settings)
    outcome = await call.services.curation.replace_settings(call.access, call.source, settings)
    return Answer(body=encode_settings(settings), version=outcome.version)

"""Applications below ``/-/``: they greet the source that a request's body names, and ask the service for it."""

import json
from typing import Any

from penchant_client.in_process import in_process_client


async def greet(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the greeting for a source, to the key that the application finds itself."""
    host, headers = scope["state"]["host"], dict(scope["headers"])
    session = await host.begin_session(headers[b"x-api-key"].decode())
    await _answer(host.service_of(session), (await receive())["body"].decode(), send)


async def greet_by_key(scope: Any, receive: Any, send: Any) -> None:
    """Answer as `greet` to a key that was let in already."""
    await _answer(scope["state"]["host"].interface, json.loads((await receive())["body"]), send)


async def _answer(interface: Any, source: str, send: Any) -> None:
    pieces = (await in_process_client(interface).get_source(source)).pieces
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": f"hello {source}, with {pieces} pieces".encode()})

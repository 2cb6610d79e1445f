"""An application below ``/-/``: it greets the source that a request's body names, and asks the service for it."""

from typing import Any

from penchant_client.in_process import in_process_client


async def greet(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the greeting that the service has for a source."""
    host, headers = scope["state"]["host"], dict(scope["headers"])
    session = await host.begin_session(headers[b"x-api-key"].decode())
    source = (await receive())["body"].decode()
    pieces = (await in_process_client(host.service_of(session)).get_source(source)).pieces
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": f"hello {source}, with {pieces} pieces".encode()})

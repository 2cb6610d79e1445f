"""A request is handed on to another process and its answer back, and nothing of it is done twice."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penchant.web import relay
from penchant.web.relay import HelperLost, Relay, serve_relayed

PATIENCE_S = 120
SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/s/ä",
    "raw_path": b"/s/%C3%A4",
    "query_string": b"q=%00",
    "headers": [(b"x-api-key", b"k"), (b"x-raw", b"\xff")],
    "client": ("203.0.113.7", 4711),
    "http_version": "1.1",
    "state": {"of": "the worker"},
}
START = {"type": "http.response.start", "status": 201, "headers": [[b"x-raw", b"\xff"]]}
PARTS: list[Message] = [
    {"type": "http.request", "body": b"a" * 300_000, "more_body": True},
    {"type": "http.request", "body": b"b"},
]


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """Give a socket of a helper, and its path, however long that of the folder is."""
    folder = os.open(tmp_path, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(path := f"/proc/self/fd/{folder}/relay")
        opened.listen()
        yield path, opened
    os.close(folder)


def client(parts: Sequence[Message]) -> Receive:
    """Return what a client sends, who then waits for the answer."""
    left = list(parts)

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return receive


async def ask(path: str, parts: Sequence[Message] = ()) -> tuple[bool, list[Message]]:
    """Have a request answered by the helper; return whether it was, and what came back."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async with asyncio.timeout(PATIENCE_S):
        return await Relay(path).answer(SCOPE, client(parts), send), sent


def beside(application: ASGIApp, listening: socket.socket, scene: Callable[[asyncio.Event], Awaitable[object]]) -> None:
    """Play a scene beside a helper that serves an application, and have it end."""

    async def play() -> None:
        ended = asyncio.Event()
        helper = asyncio.create_task(serve_relayed(application, listening, ended))
        await scene(ended)
        ended.set()
        await helper

    asyncio.run(play())


async def whole_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    return body


def test_a_request_and_its_answer_are_handed_on_as_they_are(listening: tuple[str, socket.socket]) -> None:
    asked: list[Scope] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope)
        body = await whole_body(receive)
        await send(START)
        await send({"type": "http.response.body", "body": body[::-1], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def scene(_: object) -> None:
        is_answered, sent = await ask(listening[0], PARTS)
        assert is_answered
        assert sent[0] == START
        assert [(each["body"], each.get("more_body", False)) for each in sent[1:]] == [
            (b"b" + b"a" * 300_000, True),
            (b"", False),
        ]

    beside(application, listening[1], scene)
    (scope,) = asked
    headers, address = [tuple(each) for each in scope.pop("headers")], tuple(scope.pop("client"))
    assert (headers, address) == (SCOPE["headers"], SCOPE["client"])
    assert scope.items() <= SCOPE.items()
    assert "state" not in scope


def test_a_part_that_nobody_waited_for_any_more_is_the_next_one(listening: tuple[str, socket.socket]) -> None:
    bodies: list[bytes] = []
    is_late = asyncio.Event()

    async def late() -> Message:
        await is_late.wait()
        return {"type": "http.request", "body": b"late"}

    async def application(_: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await receive()
        is_late.set()
        bodies.append(await whole_body(receive))
        await send(START)
        await send({"type": "http.response.body"})

    async def scene(_: object) -> None:
        async def send(_: Message) -> None:
            pass

        assert await Relay(listening[0]).answer(SCOPE, late, send)

    beside(application, listening[1], scene)
    assert bodies == [b"late"]


def test_the_helper_is_told_that_a_client_has_gone(listening: tuple[str, socket.socket]) -> None:
    told: list[Message] = []

    async def application(_: Scope, receive: Receive, send: Send) -> None:
        told.append(await receive())
        await send(START)
        await send({"type": "http.response.body"})

    beside(application, listening[1], lambda _: ask(listening[0], [{"type": "http.disconnect"}]))
    assert told == [{"type": "http.disconnect"}]


def test_without_a_helper_nothing_is_handed_on(tmp_path: Path) -> None:
    assert asyncio.run(ask(str(tmp_path / "none"))) == (False, [])


def test_a_helper_that_comes_too_late_does_nothing(
    listening: tuple[str, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "READY_S", 0.01)
    asked: list[Scope] = []

    async def application(scope: Scope, _: Receive, send: Send) -> None:
        asked.append(scope)
        await send(START)
        await send({"type": "http.response.body"})

    assert asyncio.run(ask(listening[0], PARTS)) == (False, [])
    monkeypatch.setattr(relay, "READY_S", PATIENCE_S)

    # Accepted in order: behind the one that was given up.
    beside(application, listening[1], lambda _: ask(listening[0]))
    assert len(asked) == 1


@pytest.mark.parametrize(("sent", "error"), (([], HelperLost), ([START], ConnectionError)))
def test_a_helper_that_fails_cuts_its_answer(
    *,
    listening: tuple[str, socket.socket],
    sent: list[Message],
    error: type[Exception],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def application(_: Scope, __: Receive, send: Send) -> None:
        for message in sent:
            await send(message)
        raise ValueError("planted")

    async def scene(_: object) -> None:
        with pytest.raises(error):
            await ask(listening[0])

    with caplog.at_level(logging.CRITICAL):
        beside(application, listening[1], scene)


@pytest.mark.parametrize("sent", (b"\0\0\0\1\xc1", b"\0\0\0\2\x93\1", b"\0\0\0\xffshort", b"\xff"))
def test_what_is_no_request_harms_nobody(
    listening: tuple[str, socket.socket], sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def application(_: Scope, __: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body"})

    async def scene(_: object) -> None:
        reader, writer = await asyncio.open_unix_connection(listening[0])
        writer.write(sent)
        writer.write_eof()
        # What tells that it is ready, and the end.
        assert await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        assert (await ask(listening[0]))[0]

    with caplog.at_level(logging.CRITICAL):
        beside(application, listening[1], scene)


def test_a_helper_that_is_to_end_finishes_what_is_under_way(listening: tuple[str, socket.socket]) -> None:
    async def scene(ended: asyncio.Event) -> None:
        begun, going_on = asyncio.Event(), asyncio.Event()
        events.extend((begun, going_on))
        answering = asyncio.create_task(ask(listening[0]))
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        ended.set()
        await asyncio.sleep(0)
        going_on.set()
        assert (await answering)[0]

    async def application(_: Scope, __: Receive, send: Send) -> None:
        begun, going_on = events
        begun.set()
        await going_on.wait()
        await send(START)
        await send({"type": "http.response.body"})

    events: list[asyncio.Event] = []
    beside(application, listening[1], scene)

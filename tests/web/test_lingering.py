"""What is left of a body that was answered before its end is taken in, within bounds."""

import asyncio

import pytest
from starlette.types import Message, Receive

from penchant.web import bodies
from penchant.web.bodies import BodyReceiver, announces_body


def parts_of(*sizes: int) -> tuple[Receive, list[int]]:
    """Return a ``receive`` that gives parts of these sizes and then waits for ever, and what it has given."""
    given: list[int] = []

    async def receive() -> Message:
        if len(given) == len(sizes):
            await asyncio.Event().wait()
        given.append(sizes[len(given)])
        return {"type": "http.request", "body": bytes(given[-1]), "more_body": len(given) < len(sizes)}

    return receive, given


def test_a_body_that_was_not_read_is_taken_in_to_its_end() -> None:
    receive, given = parts_of(10, 20, 30)

    asyncio.run(BodyReceiver(receive).linger())

    assert given == [10, 20, 30]


def test_nothing_is_waited_for_where_the_body_has_ended() -> None:
    receive, given = parts_of(10)

    async def read_before() -> None:
        receiving = BodyReceiver(receive)
        await receiving()
        await receiving.linger()

    asyncio.run(asyncio.wait_for(read_before(), 1))
    assert given == [10]


@pytest.mark.parametrize(
    ("headers", "announced"),
    (
        ([], False),
        ([(b"accept", b"*/*"), (b"content-length", b"0")], False),
        ([(b"content-length", b"10")], True),
        ([(b"transfer-encoding", b"chunked")], True),
    ),
)
def test_a_body_is_announced_by_its_length_or_its_coding(
    *, headers: list[tuple[bytes, bytes]], announced: bool
) -> None:
    assert announces_body(dict(headers)) is announced


def test_no_more_is_taken_in_than_is_bearable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LINGERING_BYTES", 25)
    receive, given = parts_of(10, 10, 10, 10)

    asyncio.run(BodyReceiver(receive).linger())

    assert given == [10, 10, 10]


def test_a_client_that_pauses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LINGERING_S", 0.05)
    receive, given = parts_of(10, 10)

    async def stalled() -> Message:
        if given:
            await asyncio.Event().wait()
        return await receive()

    asyncio.run(asyncio.wait_for(BodyReceiver(stalled).linger(), 1))

    assert given == [10]

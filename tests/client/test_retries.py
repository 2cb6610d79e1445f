"""Requests are sent again where that may help and can do nothing twice, by both clients alike."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from client.answering import CUT, Answer, answering, problem
from penchant_client import (
    AsyncClient,
    Client,
    ConnectionLost,
    Overloaded,
    QuotaExceeded,
    Retries,
    ServiceError,
    StorageUnavailable,
    Unavailable,
    UnknownPiece,
    UnreadableAnswer,
)
from penchant_client.operations import get_content

QUICK = Retries(attempts=4, first_pause_s=0.01, longest_pause_s=2)
LOST = Answer(CUT)
BUSY = problem(429, "rate-exceeded")
FULL = problem(503, "overloaded")
AWAY = problem(503, "storage-unavailable")
PIECE = Answer(200, b'{"id":"a","categories":{},"filters":{},"extras":{}}')
RECEIPT = Answer(202, b'{"source":"s","version":7,"accepted":1,"created":1,"replaced":0,"superseded":0,"ignored":[]}')
RECORDED = Answer(
    200, b'{"key":{"source":"s","userId":"u"},"type":"Play","contentId":"a","timestamp":"2026-01-01T00:00:00.000Z"}'
)
BULK = Answer(200, b'{"accepted":1,"duplicates":0}')

Ask = Callable[..., Any]


def ask_blocking(address: str, method: str, *args: Any, **options: Any) -> Any:
    with Client(address, "pk_x", retries=QUICK) as client:
        return getattr(client, method)(*args, **options)


def ask_awaited(address: str, method: str, *args: Any, **options: Any) -> Any:
    async def asked() -> Any:
        async with AsyncClient(address, "pk_x", retries=QUICK) as client:
            return await getattr(client, method)(*args, **options)

    return asyncio.run(asked())


@pytest.fixture(params=(ask_blocking, ask_awaited), ids=("blocking", "awaited"))
def ask(request: pytest.FixtureRequest) -> Ask:
    """Either client."""
    asked: Ask = request.param
    return asked


@pytest.mark.parametrize("failure", (BUSY, FULL, AWAY, problem(503, "index-not-ready"), LOST), ids=str)
def test_a_read_is_repeated_until_it_is_answered(ask: Ask, failure: Answer) -> None:
    with answering(failure, failure, PIECE) as script:
        assert ask(script.address, "get_content", "s", "a").id == "a"

    assert [asked.path for asked in script.asked] == ["/s/content/a"] * 3


@pytest.mark.parametrize(
    ("failure", "method", "args", "answer"),
    (
        (AWAY, "submit_content", ("s", [{"id": "a", "categories": {}}]), RECEIPT),
        (LOST, "delete_content", ("s", ["a"]), Answer(202)),
        (Answer(502, b"<html>"), "delete_one_content", ("s", "a"), Answer(202)),
        (Answer(504, b""), "put_whitelist", ("s", ["a"]), Answer(200)),
        (LOST, "erase_user", ("s", "u"), Answer(202)),
        (
            AWAY,
            "record_interactions",
            ("s", [{"userId": "u", "type": "Play", "contentId": "a", "eventId": "1"}]),
            BULK,
        ),
    ),
    ids=str,
)
def test_changes_that_replace_are_repeated(
    ask: Ask, failure: Answer, method: str, args: tuple[Any, ...], answer: Answer
) -> None:
    with answering(failure, answer) as script:
        ask(script.address, method, *args)

    assert script.asked[0].body == script.asked[1].body
    assert len(script.asked) == 2


@pytest.mark.parametrize(("failure", "error"), ((AWAY, StorageUnavailable), (LOST, ConnectionLost)))
@pytest.mark.parametrize(
    ("method", "args"),
    (
        ("record_interaction", ("s", "u", "Play", "a")),
        (
            "record_interactions",
            (
                "s",
                [
                    {"userId": "u", "type": "Play", "contentId": "a", "eventId": "1"},
                    {"userId": "u", "type": "Play", "contentId": "b"},
                ],
            ),
        ),
        ("clear_content", ("s",)),
        ("create_key", ("a",)),
    ),
)
def test_what_could_be_done_twice_is_not_repeated_where_it_may_have_arrived(
    ask: Ask, failure: Answer, error: type[Exception], method: str, args: tuple[Any, ...]
) -> None:
    with answering(failure) as script, pytest.raises(error):
        ask(script.address, method, *args)

    assert len(script.asked) == 1


@pytest.mark.parametrize("failure", (BUSY, FULL), ids=str)
def test_what_could_be_done_twice_is_repeated_where_it_did_not_begin(ask: Ask, failure: Answer) -> None:
    with answering(failure, RECORDED) as script:
        assert ask(script.address, "record_interaction", "s", "u", "Play", "a").content_id == "a"

    assert len(script.asked) == 2


def test_an_interaction_with_an_event_id_is_repeated_under_the_same(ask: Ask) -> None:
    with answering(LOST, RECORDED) as script:
        ask(script.address, "record_interaction", "s", "u", "Play", "a", event_id="e 1")

    assert [asked.path for asked in script.asked] == ["/s/users/u/interactions/Play/content/a?event-id=e+1"] * 2


def test_retry_after_is_waited_for(ask: Ask) -> None:
    started = time.monotonic()
    with answering(problem(429, "rate-exceeded", retry_after="1"), PIECE) as script:
        ask(script.address, "get_content", "s", "a")

    assert time.monotonic() - started >= 1


def test_a_retry_after_that_is_a_date_is_understood(ask: Ask) -> None:
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3_600))
    with answering(problem(503, "overloaded", retry_after=date)) as script, pytest.raises(Overloaded) as raised:
        ask(script.address, "get_content", "s", "a")

    assert len(script.asked) == 1
    assert 3_500 < (raised.value.retry_after_s or 0) <= 3_600


def test_a_long_retry_after_is_told_at_once(ask: Ask) -> None:
    with (
        answering(problem(429, "quota-exceeded", retry_after="86400")) as script,
        pytest.raises(QuotaExceeded) as raised,
    ):
        ask(script.address, "similar_content", "s", "a")

    assert raised.value.retry_after_s == 86_400
    assert len(script.asked) == 1


def test_attempts_end(ask: Ask) -> None:
    with answering(FULL) as script, pytest.raises(Overloaded):
        ask(script.address, "get_content", "s", "a")

    assert len(script.asked) == QUICK.attempts


def test_what_repeating_cannot_mend_is_told_at_once(ask: Ask) -> None:
    answer = problem(404, "unknown-piece", x_request_id="r-1")
    with answering(answer) as script, pytest.raises(UnknownPiece, match=r"404 unknown-piece: Not now. \(request r-1\)"):
        ask(script.address, "get_content", "s", "a")

    assert len(script.asked) == 1


def test_a_service_that_is_not_there_is_asked_again_whatever_the_request(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        started = time.monotonic()
        with pytest.raises(ConnectionLost) as raised:
            ask(f"http://127.0.0.1:{taken.getsockname()[1]}", "record_interaction", "s", "u", "Play", "a")

    assert not raised.value.sent
    assert time.monotonic() - started > 0.5 * (0.01 + 0.02 + 0.04)


@pytest.mark.parametrize(
    ("answer", "error"),
    (
        (Answer(200, b"<html>hello</html>"), UnreadableAnswer),
        (Answer(200, b"x", {"content-encoding": "gzip"}), UnreadableAnswer),
        (Answer(302, b"", {"location": "/elsewhere"}), ServiceError),
        (Answer(418, b"teapot"), ServiceError),
        (problem(500, "something-new"), ServiceError),
        (problem(503, "something-new"), Unavailable),
    ),
)
def test_answers_of_others_are_told_apart(ask: Ask, answer: Answer, error: type[Exception]) -> None:
    with answering(answer) as script, pytest.raises(error):
        ask(script.address, "get_content", "s", "a")


def test_a_listing_that_breaks_off_is_told_after_its_whole_entries() -> None:
    broken = Answer(200, b'{"count":9,"content":["a","b","c', {"content-length": "1000"})
    with answering(FULL, broken) as script, Client(script.address, "pk_x", retries=QUICK) as client:
        entries = client.iterate_ids("s")
        assert [next(entries), next(entries)] == ["a", "b"]

        with pytest.raises(ConnectionLost):
            next(entries)


def test_pauses_grow_to_the_longest_and_differ() -> None:
    retries = Retries(attempts=100, first_pause_s=1, longest_pause_s=8)
    request = get_content("s", "a")
    error = ConnectionLost("", sent=True)

    pauses = [retries.pause_s(error, request, attempt) or 0 for attempt in range(1, 100)]

    assert all(low <= pause <= 2 * low for low, pause in zip((0.5, 1, 2, 4, 4), pauses, strict=False))
    assert all(4 <= pause <= 8 for pause in pauses[3:])
    assert len(set(pauses)) == len(pauses)


def test_a_key_is_sent_and_never_shown(ask: Ask) -> None:
    with answering(PIECE) as script:
        ask(script.address, "get_content", "s", "a")
        client = Client(script.address, "pk_secret")

    assert script.asked[0].headers["x-api-key"] == "pk_x"
    assert "secret" not in repr(client)
    client.close()

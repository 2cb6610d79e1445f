"""An old client of the interface's beta works unchanged where legacy paths are on: its requests, byte for byte."""

import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from acceptance.servers import Server

USUAL = (
    "Accept: application/json, text/json, text/x-json, text/javascript, application/xml, text/xml\r\n"
    "User-Agent: RestSharp/106.10.1.0\r\n"
    "Connection: close\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
)
PIECES = (
    '[{"id":"film/1","label":"One","categories":{"genre":[{"key":"noir","weight":0},{"key":"crime","weight":0}]},'
    '"filters":null,"extras":{"year":1944}},'
    '{"id":"2","label":null,"categories":{"genre":[{"key":"noir","weight":0}]},"filters":{"catalogs":null},"extras":null},'
    '{"id":"3","label":"Three","categories":{"genre":[{"key":"crime","weight":0}]},"filters":null,"extras":null}]'
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("legacy") / "data", settings="legacy-paths = true\n") as running:
        replay(running, "POST /films/ HTTP/1.1", PIECES)
        yield running


def replay(server: Server, request_line: str, body: str | None = None) -> Any:
    """Send a request as the old client writes it and return the JSON that comes back."""
    head = f"{request_line}\r\nx-api-key: {server.key}\r\n{USUAL}Host: 127.0.0.1:{server.port}\r\n"
    content = b"" if body is None else body.encode()
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    elif request_line.startswith("POST"):
        head += "Content-Length: 0\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(head.encode() + b"\r\n" + content)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    answer_head, _, answer = received.partition(b"\r\n\r\n")
    status = int(answer_head.split(b" ", 2)[1])
    assert status in {200, 202}, received
    if b"chunked" in answer_head.lower():
        answer = unchunked(answer)
    return json.loads(gzip.decompress(answer) if b"gzip" in answer_head.lower() else answer)


def unchunked(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        parts.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(parts)


def test_its_submission_is_stored(server: Server) -> None:
    receipt = replay(server, "POST /films/ HTTP/1.1", PIECES)

    assert (receipt["accepted"], receipt["replaced"]) == (3, 3)
    assert receipt.get("correlationId") is None  # what it reads of the answer, and may be missing


def test_a_submission_without_the_slash_is_stored_too(server: Server) -> None:
    assert replay(server, "POST /films HTTP/1.1", "[]")["accepted"] == 0


def test_its_list_of_ids_has_a_count_and_ids(server: Server) -> None:
    assert replay(server, "GET /films/ HTTP/1.1") == {"count": 3, "content": ["2", "3", "film/1"]}


def test_the_status_stays_where_it_is(server: Server) -> None:
    assert replay(server, "GET /films HTTP/1.1")["pieces"] == 3


def test_it_reads_one_piece(server: Server) -> None:
    piece = replay(server, "GET /films/content/film%2F1 HTTP/1.1")

    assert (piece["id"], piece["label"], piece["filters"]) == ("film/1", "One", {})
    assert piece["categories"]["genre"][0] == {"key": "noir", "weight": 0}


def test_its_weights_of_0_find_what_is_similar(server: Server) -> None:
    assert replay(server, "GET /films/content/film%2F1/similar HTTP/1.1") == {
        "id": "film/1",
        "content": [{"id": "2", "score": 0.5}, {"id": "3", "score": 0.5}],
    }


def test_its_event_counts_and_is_recommended_from(server: Server) -> None:
    event = replay(server, "POST /films/users/kim/RateLike/2 HTTP/1.1")

    assert (event["key"], event["type"], event["contentId"]) == ({"source": "films", "userId": "kim"}, "RateLike", "2")
    assert replay(server, "GET /films/users/kim/interactions HTTP/1.1") == [event]
    listed = replay(server, "GET /films/users/kim/recommendation HTTP/1.1")
    assert listed["content"][0]["id"] == "film/1"
    profile = replay(server, "GET /films/users/kim/recommendation/profile HTTP/1.1")
    assert profile[0]["categories"] == {"genre": {"noir": 1000}}


def test_the_document_does_not_have_these_paths(server: Server) -> None:
    paths = httpx.get(f"{server.url}/-/openapi.json").json()["paths"]

    assert "/{source}/" not in paths
    assert "post" not in paths["/{source}"]

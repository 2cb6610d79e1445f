"""Imports into a server that is late, overloaded or broken: asked again for a while, and then told."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from acceptance.servers import free_port
from penchant.errors import InvalidInput, PenchantError, Refused
from penchant.importing import RemoteTarget
from penchant.importing.remote import MAX_PAUSE_S, TRIES
from penchant.model import EncodedPiece, InteractionType, ListKind, NewInteraction, SourceSettings
from penchant.wire import decode_exported_placement, decode_stated_preferences

RECEIPT = {"created": 1, "replaced": 0}


class Answering(HTTPServer):
    """Gives the answers that it was told to, one after the other, and notes what it was asked."""

    answers: list[tuple[int, dict[str, str], Any]]
    asked: list[tuple[str, str, bytes]]


class Handler(BaseHTTPRequestHandler):
    """Answers any request."""

    server: Answering
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append((self.command, self.path, body))
        status, headers, value = self.server.answers.pop(0)
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, header in (headers | {"content-length": str(len(text))}).items():
            self.send_header(name, header)
        self.end_headers()
        self.wfile.write(text)

    do_GET = answer  # noqa: N815  # the name that is looked for
    do_POST = answer  # noqa: N815  # as above
    do_PUT = answer  # noqa: N815  # as above

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Answering]:
    with Answering(("127.0.0.1", 0), Handler) as listening:
        listening.answers, listening.asked = [], []
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


class Asking:
    """A target of the server ``at`` a port, which notes its pauses instead of making them."""

    def __init__(self, port: int, base: str = "") -> None:
        self.pauses: list[float] = []
        url = f"http://127.0.0.1:{port}{base}"
        self.target = RemoteTarget(url, key="k", source="a b/c", pause=self.pauses.append)


PIECES = [EncodedPiece(id="a", body=b'{"id":"a","categories":{}}')]


def test_an_overloaded_server_is_asked_again_after_the_time_it_names(server: Answering) -> None:
    busy: list[tuple[int, dict[str, str], Any]] = [(503, {"retry-after": "2"}, {}), (429, {"retry-after": "999"}, {})]
    server.answers = [*busy, (502, {}, b"<html>"), (202, {}, RECEIPT)]
    asking = Asking(server.server_port, "/base/")

    stored = asking.target.submit(PIECES)
    asking.target.close()

    assert stored.created == 1
    assert asking.pauses == [2, MAX_PAUSE_S, 2]
    assert set(server.asked) == {("POST", "/base/a%20b%2Fc/content", b'[{"id":"a","categories":{}}]')}


def test_a_server_that_stays_away_ends_the_import() -> None:
    asking = Asking(free_port())

    with pytest.raises(Refused, match="Run the same command again"):
        asking.target.submit(PIECES)

    assert len(asking.pauses) == TRIES - 1


def test_interactions_and_settings_are_sent_as_the_interface_has_them(server: Answering) -> None:
    server.answers = [(200, {}, {"duplicates": 2}), (200, {}, {})]
    asking = Asking(server.server_port)
    new = NewInteraction(user_id="u", type=InteractionType.WATCH, piece_id="a")

    stored = asking.target.record([new, replace(new, occurred_at=0, event_id="e")])
    asking.target.replace_settings(SourceSettings(half_life_days=7))
    asking.target.close()

    (_, _, interactions), (_, _, settings) = server.asked
    plain = {"userId": "u", "type": "Watch", "contentId": "a"}
    assert json.loads(interactions) == [plain, plain | {"timestamp": "1970-01-01T00:00:00.000Z", "eventId": "e"}]
    assert json.loads(settings)["halfLifeDays"] == 7
    assert stored.duplicates == 2


def test_placements_that_differ_and_preferences_are_put(server: Answering) -> None:
    server.answers = [(200, {}, {"kind": "new"}), (200, {}, {"kind": "new"}), (200, {}, {}), (200, {}, {})]
    asking = Asking(server.server_port)
    placements = [
        decode_exported_placement(json.dumps({"name": f"{kind} x", "placement": {"kind": kind}}).encode())
        for kind in ("new", "popular")
    ]

    asking.target.put_placements(placements)
    asking.target.replace_preferences([decode_stated_preferences(b'{"userId":"k/m","hidden":["a"]}')])
    asking.target.close()

    assert [(method, path.partition("c/")[2]) for method, path, _ in server.asked] == [
        ("GET", "placements/new%20x"),
        ("GET", "placements/popular%20x"),
        ("PUT", "placements/popular%20x"),
        ("PUT", "users/k%2Fm/preferences"),
    ]
    assert [json.loads(body) for _, _, body in server.asked[2:]] == [
        {"kind": "popular"},
        {"keywords": {}, "hidden": ["a"], "unusedCategories": []},
    ]


def test_a_source_is_made_where_a_list_needs_it(server: Answering) -> None:
    server.answers = [(404, {}, {}), (202, {}, RECEIPT), (200, {}, ["a"]), (404, {}, {}), (404, {}, {})]
    asking = Asking(server.server_port)

    asking.target.replace_list(ListKind.WHITELIST, ["a"])

    assert [path.rpartition("/")[2] for _, path, _ in server.asked] == ["whitelist", "content", "whitelist"]
    assert asking.target.created_at() == ""
    assert asking.target.retention_days() == 396
    asking.target.close()


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    (
        ({"detail": "No.", "errors": [{"pointer": "/0/id", "detail": "Why."}]}, InvalidInput, "No."),
        ({"detail": "No.", "errors": []}, Refused, "The server answered 403: No."),
        (b"<html>", Refused, "The server answered 403."),
        (["x"], Refused, "The server answered 403."),
    ),
)
def test_what_the_server_refuses_is_told(server: Answering, answer: Any, kind: type[PenchantError], said: str) -> None:
    server.answers = [(403, {}, answer)]
    asking = Asking(server.server_port)

    with pytest.raises(kind, match=said):
        asking.target.submit(PIECES)

    asking.target.close()


@pytest.mark.parametrize("url", ("ftp://x", "x", "http://", "http://x:99999999", "http://x?y=1"))
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="--url takes an address"):
        RemoteTarget(url, key="k", source="s")

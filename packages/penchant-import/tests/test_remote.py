"""Imports into a server that is late, overloaded or broken: asked again for a while, and then told."""

import json
from contextlib import closing
from typing import Any

import pytest

from acceptance.servers import free_port
from client.answering import Answer, answering
from penchant.errors import InvalidInput, PenchantError, Refused
from penchant.model import EncodedPiece
from penchant_engine.model import InteractionType
from penchant_import.drafts import CheckedInteraction
from penchant_import.remote import MAX_ATTEMPTS, MAX_PAUSE_S, RemoteTarget
from penchant_import.rules import DEFAULT_WORDS


def said(status: int, value: Any) -> Answer:
    return Answer(status, json.dumps(value).encode())


def target_at(address: str, pauses: list[float] | None = None) -> RemoteTarget:
    """Return the source of a server, whose pauses are noted instead of made."""
    return RemoteTarget(address, key="k", source="a b/c", pause=([] if pauses is None else pauses).append)


RECEIPT = said(202, {"created": 1, "replaced": 0})
PIECES = [EncodedPiece(id="a", body=b'{"id":"a","categories":{}}')]


def test_an_overloaded_server_is_asked_again_after_the_time_it_names() -> None:
    busy = Answer(503, b"{}", {"retry-after": "2"}), Answer(429, b"{}", {"retry-after": "999"})
    pauses: list[float] = []

    with (
        answering(*busy, Answer(502, b"<html>"), RECEIPT) as server,
        closing(target_at(f"{server.address}/base/", pauses)) as target,
    ):
        assert target.submit(PIECES).created == 1

    assert pauses == [2, MAX_PAUSE_S, 2]
    requests = {(each.method, each.path, each.body) for each in server.asked}
    assert requests == {("POST", "/base/a%20b%2Fc/content", b'[{"id":"a","categories":{}}]')}


def test_a_server_that_stays_away_ends_the_import() -> None:
    pauses: list[float] = []

    with pytest.raises(Refused, match="Run the same command again"):
        target_at(f"http://127.0.0.1:{free_port()}", pauses).submit(PIECES)

    assert len(pauses) == MAX_ATTEMPTS - 1


def test_interactions_and_settings_are_sent_as_the_interface_has_them() -> None:
    new = CheckedInteraction(user_id="u", type=InteractionType.WATCH, piece_id="a")

    with answering(said(200, {"duplicates": 2}), said(200, {})) as server, closing(target_at(server.address)) as target:
        assert target.record([new, new._replace(occurred_at=0, event_id="e")]).duplicates == 2
        target.put("settings", [b'{"halfLifeDays":7}'])

    interactions, settings = (json.loads(each.body) for each in server.asked)
    plain = {"userId": "u", "type": "Watch", "contentId": "a"}
    assert interactions == [plain, plain | {"timestamp": "1970-01-01T00:00:00.000Z", "eventId": "e"}]
    assert settings["halfLifeDays"] == 7


def test_placements_that_differ_and_preferences_are_put() -> None:
    placements = [
        json.dumps({"name": f"{kind} x", "placement": {"kind": kind}}).encode() for kind in ("new", "popular")
    ]

    with (
        answering(said(200, {"kind": "new"}), said(200, {"kind": "new"}), said(200, {})) as server,
        closing(target_at(server.address)) as target,
    ):
        target.put("placement", placements)
        target.put("preferences", [b'{"userId":"k/m","hidden":["a"]}'])

    assert [(each.method, each.path.partition("c/")[2]) for each in server.asked] == [
        ("GET", "placements/new%20x"),
        ("GET", "placements/popular%20x"),
        ("PUT", "placements/popular%20x"),
        ("PUT", "users/k%2Fm/preferences"),
    ]
    assert [json.loads(each.body) for each in server.asked[2:]] == [
        {"kind": "popular"},
        {"hidden": ["a"]},
    ]


def test_a_source_is_made_where_a_list_needs_it() -> None:
    with (
        answering(said(404, {}), RECEIPT, said(200, ["a"]), said(404, {})) as server,
        closing(target_at(server.address)) as target,
    ):
        target.put("whitelist", [b'["a"]'])

        assert [each.path.rpartition("/")[2] for each in server.asked] == ["whitelist", "content", "whitelist"]
        assert target.created_at() == ""
        assert target.settings() == {}


def test_a_source_is_made_with_words_by_a_key_that_may_not_change_settings() -> None:
    refusal = said(403, {"detail": "No."})
    with answering(RECEIPT, RECEIPT, refusal) as server, closing(target_at(server.address)) as target:
        target.create({"words": DEFAULT_WORDS})
        with pytest.raises(Refused, match="403: No"):
            target.create({"imageAttribute": "/image", "words": DEFAULT_WORDS})

    asked = [(each.method, each.path.partition("c/")[2], each.body) for each in server.asked]
    assert asked[:2] == [("POST", "content?words=auto", b"[]")] * 2
    assert (asked[2][:2], json.loads(asked[2][2])["imageAttribute"]) == (("PUT", "settings"), "/image")


def test_a_source_is_made_with_the_words_that_are_named_and_without_any() -> None:
    with answering(RECEIPT, said(200, {}), RECEIPT) as server, closing(target_at(server.address)) as target:
        target.create({"words": {**DEFAULT_WORDS, "from": ["extras.plot"]}})
        target.create({})

    assert [each.path.partition("c/")[2] for each in server.asked] == ["content", "settings", "content"]
    assert json.loads(server.asked[1].body)["words"]["from"] == ["extras.plot"]


@pytest.mark.parametrize(
    ("body", "kind", "detail"),
    (
        (b'{"detail": "No.", "errors": [{"pointer": "/0/id", "detail": "Why."}]}', InvalidInput, "No."),
        (b'{"detail": "No.", "errors": []}', Refused, "The server answered 403: No."),
        (b"<html>", Refused, "The server answered 403."),
        (b'["x"]', Refused, "The server answered 403."),
    ),
)
def test_what_the_server_refuses_is_told(body: bytes, kind: type[PenchantError], detail: str) -> None:
    with (
        answering(Answer(403, body)) as server,
        closing(target_at(server.address)) as target,
        pytest.raises(kind, match=detail),
    ):
        target.submit(PIECES)


@pytest.mark.parametrize("url", ("ftp://x", "x", "http://", "http://x:99999999", "http://x?y=1"))
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="--url takes an address"):
        RemoteTarget(url, key="k", source="s")

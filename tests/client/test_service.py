"""A program goes through all of the interface with a real process, by both clients alike."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server, command
from clocks import DAY_CLOCK
from penchant_client import (
    AsyncClient,
    Client,
    FeatureNotInPlan,
    Interaction,
    InvalidInput,
    NotYetVisible,
    Piece,
    Retries,
    Settings,
    TooFewPieces,
    Unauthenticated,
    UnknownPiece,
    UnknownSource,
)

pytestmark = pytest.mark.slow

ODD = "a/b %2F?#é ☕"
"""An id that has to be written with care."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service in a process of its own, with two workers."""
    data = tmp_path_factory.mktemp("client") / "data"
    with Server(data, "--workers", "2", settings="min-version-timeout-s = 0.3\n") as running:
        yield running


class Either:
    """One of the two clients, asked in the same way; iterations give lists."""

    def __init__(self, client: Client | AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.client, name)

        def asked(*args: Any, **options: Any) -> Any:
            answer = method(*args, **options)
            if hasattr(answer, "__aiter__"):
                return self._loop.run_until_complete(listed(answer))
            if isinstance(answer, Awaitable):
                return self._loop.run_until_complete(_awaited(answer))
            return list(answer) if isinstance(answer, Iterator) else answer

        return asked


async def listed(answer: Any) -> list[Any]:
    return [entry async for entry in answer]


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


@pytest.fixture(params=(Client, AsyncClient), ids=("blocking", "awaited"))
def either(server: Server, request: pytest.FixtureRequest) -> Iterator[Callable[..., Either]]:
    """Make a client of one kind."""
    loop = asyncio.new_event_loop()
    made: list[Any] = []

    def make(key: str | None = None, **options: Any) -> Either:
        made.append(request.param(server.url, key or server.key, **options))
        return Either(made[-1], loop)

    yield make
    for client in made:
        if isinstance(client, AsyncClient):
            loop.run_until_complete(client.aclose())
        else:
            client.close()
    loop.close()


@pytest.fixture
def source(request: pytest.FixtureRequest) -> str:
    """The name of a source that no other test has."""
    return str(request.node.name)


def test_pieces_and_their_neighbours(either: Callable[..., Either], source: str) -> None:
    client = either()
    first = {"id": "alien", "label": "Alien", "categories": {"genre": ["horror", "space"]}, "extras": {"year": 1979}}
    second = Piece(id=ODD, categories={"genre": ["space", {"key": "horror"}]}, filters={"catalogs": ["a,b"]})
    third = Piece(id="gravity", categories={"genre": ["drama", "space"]})

    receipt = client.submit_content(source, [first, second, third], wait=True)

    assert (receipt.accepted, receipt.created) == (3, 3)
    assert client.get_content(source, ODD) == second
    assert client.get_content(source, "alien").extras == {"year": 1979}
    near = client.similar_content(source, "alien", algo="jaccard").content
    assert [(entry.id, entry.score) for entry in near] == [(ODD, 0), ("gravity", 0.666666666667)]
    assert [entry.id for entry in client.similar_content(source, "alien", catalogs=["a,b"]).content] == [ODD]
    assert [entry.id for entry in client.similar_content(source, "alien", limit=1, at="2999-01-01").content] == [ODD]
    assert client.similar_content(source, "alien", at="2000-01-01").content == []
    assert client.get_source(source).pieces == 3
    client.delete_content(source, [ODD, "unknown"])
    client.delete_one_content(source, "gravity")
    assert client.list_ids(source).content == ["alien"]
    with pytest.raises(TooFewPieces):
        client.similar_content(source, "alien")
    client.clear_content(source)
    assert client.list_content(source).content == []
    client.delete_source(source, confirm=source)
    with pytest.raises(UnknownSource):
        client.get_source(source)


def test_people(either: Callable[..., Either], source: str) -> None:
    client = either()
    client.submit_content(source, [Piece(id=name, categories={"g": [name[0], "x"]}) for name in ("a1", "a2", "b1")])

    liked_at = (DAY_CLOCK.now() - timedelta(days=30)).astimezone(timezone(timedelta(hours=1)))
    client.record_interaction(source, "kim", "RateLike", "a1", event_id="1", timestamp=liked_at.isoformat())
    receipt = client.record_interactions(
        source,
        [
            Interaction(user_id="kim", type="RateLike", content_id="a1", event_id="1"),
            {"userId": "kim", "type": "Click", "contentId": "b1"},
        ],
    )

    assert (receipt.accepted, receipt.duplicates) == (1, 1)
    assert [each.type for each in client.list_interactions(source, "kim", limit=1)] == ["Click"]
    (liked,) = client.iterate_interactions(source, "kim", type="RateLike")
    assert (liked.content_id, liked.timestamp) == ("a1", liked_at)
    assert client.get_profile(source, "kim")[0].categories["g"]["x"] == 1000
    recommended = client.recommend(source, "kim", take=2, include_seen=False).content
    assert [entry.id for entry in recommended if entry.id != "a1"] == [entry.id for entry in recommended]
    assert len(client.export_user(source, "kim").interactions) == 2
    client.erase_user(source, "kim")
    assert client.get_profile(source, "kim") == []
    assert client.export_user(source, "kim").interactions == []


def test_reasons_and_previews(either: Callable[..., Either], source: str) -> None:
    client = either()
    client.submit_content(source, [Piece(id=name, categories={"g": [name[0], "x"]}) for name in ("a1", "a2", "b1")])
    client.record_interaction(source, "kim", "RateLike", "a1")

    (first, second) = client.similar_content(source, "a1", explain=True).content
    assert sum(term.share for term in first.why.terms) == pytest.approx(1 - first.score)
    assert client.similar_content(source, "a1").content[0].why is None
    assert client.why_similar(source, "a1", second.id).rank == 2
    assert client.recommend(source, "kim", explain=True).content[0].why.parts[0].part == "content"
    assert client.why_recommended(source, "kim", "a1").reasons[0].code == "seen"
    assert client.preview_similar(source, {"categories": {"g": ["b", "x"]}}, limit=1).content[0].id == "b1"
    draft = client.preview_similar(source, Piece(id="draft", categories={"g": ["b"]}))
    assert (draft.id, [entry.id for entry in draft.content]) == ("draft", ["b1"])
    preview = client.preview_settings(source, blacklist=["a2"], pieces=["a1"], take=2)
    assert {(move.id, move.before, move.after) for move in preview.pieces[0].moves} == {("a2", 1, None), ("b1", 2, 1)}
    found = client.similar_to_each(source, ["a1", "unknown"] * 60, limit=1, explain=True)
    assert [each.id for each in found] == ["a1", "unknown"] * 60
    assert found[0].content[0].id == "a2"
    assert found[1].error.code == "unknown-piece"


def test_lists_and_settings(either: Callable[..., Either], source: str) -> None:
    client = either()
    client.submit_content(source, [])

    assert client.put_whitelist(source, ["b", "a"]) == client.get_whitelist(source) == ["b", "a"]
    assert client.put_blacklist(source, iter(["c"])) == client.get_blacklist(source) == ["c"]
    assert client.delete_whitelist(source) == client.delete_blacklist(source) == []
    settings = Settings(category_weights={"g": 2.5}, half_life_days=60)
    assert client.put_settings(source, settings) == client.get_settings(source) == settings
    assert client.put_settings(source, {"excludeSeen": False}) == Settings(exclude_seen=False)


def test_any_number_goes_in_batches_and_comes_out_as_a_stream(either: Callable[..., Either], source: str) -> None:
    client = either()
    taken = 0

    def pieces() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(2_100):
            taken += 1
            yield {"id": f"{number:05}", "categories": {"g": [f"k{number % 7}"]}, "colour": number}

    receipt = client.submit_content(source, pieces())

    ids = [f"{number:05}" for number in range(2_100)]
    assert (taken, receipt.accepted, receipt.created) == (2_100, 2_100, 2_100)
    assert receipt.ignored[:2] == ("/0/colour", "/1/colour")
    assert receipt.version == client.client.versions.of(source)
    assert client.iterate_ids(source) == ids
    assert [piece.id for piece in client.iterate_content(source)] == ids
    assert client.iterate_ids(source, skip=2_098) == ids[2_098:]
    played = ({"userId": "u", "type": "Play", "contentId": piece_id} for piece_id in ids * 5)
    assert client.record_interactions(source, played).accepted == 10_500
    assert len(client.iterate_interactions(source, "u")) == 10_500
    client.delete_content(source, iter(ids[1:]))
    assert client.list_ids(source).count == 1


def test_an_error_in_a_later_batch_tells_its_place_and_what_was_stored(
    either: Callable[..., Either], source: str
) -> None:
    client = either()
    pieces: list[dict[str, Any]] = [{"id": str(number), "categories": {}} for number in range(2_500)]
    pieces[2_100]["categories"] = {"g": [{"key": "k", "weight": -1}]}

    with pytest.raises(InvalidInput, match="/2100/categories/g/0/weight") as raised:
        client.submit_content(source, pieces)

    (fault,) = raised.value.errors
    assert fault.pointer == "/2100/categories/g/0/weight"
    assert raised.value.stored is not None
    assert raised.value.stored.accepted == client.get_source(source).pieces == 2_000
    assert raised.value.request_id


def test_bad_input_is_an_error_of_its_kind(either: Callable[..., Either], server: Server, source: str) -> None:
    client = either()
    client.submit_content(source, [{"id": "a", "categories": {}}])

    with pytest.raises(UnknownPiece) as unknown:
        client.get_content(source, "b")
    assert (unknown.value.status, unknown.value.code) == (404, "unknown-piece")
    with pytest.raises(InvalidInput) as invalid:
        client.similar_content(source, "a", limit=0, at="yesterday")
    assert [fault.parameter for fault in invalid.value.errors] == ["limit", "at"]
    with pytest.raises(Unauthenticated):
        either("pk_wrong_key").get_source(source)
    created = command("keys", "create", "--data", str(server.data), "--plan", "basic")
    with pytest.raises(FeatureNotInPlan):
        either(created.stdout.strip()).get_whitelist(source)
    with pytest.raises(ValueError, match="blank"):
        client.delete_one_content(source, "")
    with pytest.raises(TypeError):
        client.delete_content(source, "abc")
    with pytest.raises(ValueError, match="catalogs is empty"):
        client.similar_content(source, "a", catalogs=[])
    assert client.list_ids(source).count == 1


def test_a_client_that_waits_reads_what_it_knows_of(either: Callable[..., Either], source: str) -> None:
    client = either(wait=True, retries=Retries(attempts=1))
    version = client.submit_content(source, [{"id": "a", "categories": {}}]).version
    assert client.get_source(source).version == version

    client.client.versions.saw(source, version + 1_000)

    with pytest.raises(NotYetVisible):
        client.get_source(source)
    with pytest.raises(NotYetVisible):
        client.iterate_ids(source)
    assert either().get_source(source, at_least=version).version == version


def test_what_counts_for_nothing_is_told(either: Callable[..., Either], server: Server) -> None:
    client = either(server.key)
    client.submit_content("told", [{"id": "a", "categories": {}}])
    old = {"userId": "u", "type": "Click", "contentId": "a", "timestamp": "2001-01-01T00:00:00+0100"}

    told = client.record_interaction("told", "u", "Click", "gone", timestamp=old["timestamp"])
    known = client.record_interaction("told", "u", "Click", "a")

    assert (told.has_unknown_content, told.is_expired) == (True, True)
    assert (known.has_unknown_content, known.is_expired) == (False, False)
    assert client.record_interactions("told", [old]).expired == 1
    assert client.source_audit("told").entries[-1].count == 1


def test_keys_are_managed_and_the_service_tells_of_itself(either: Callable[..., Either], server: Server) -> None:
    created = command("keys", "create", "--data", str(server.data), "--admin")
    admin = either(created.stdout.strip())

    made = admin.create_key("press", expires_in_days=3)

    assert either(made.key).submit_content("news", []).created == 0
    assert made.key_id in {key.key_id for key in admin.list_keys().keys}
    assert admin.set_plan(made.key_id, "basic").plan == "basic"
    assert admin.revoke_key(made.key_id).state == "revoked"
    newest = admin.audit(limit=1)
    assert [entry.action for entry in newest.entries] == ["key.revoke"]
    assert [entry.action for entry in admin.audit(limit=1, before=newest.next).entries] == ["key.plan"]
    assert "press" in {account.account for account in admin.usage().accounts}
    assert admin.usage(month="2020-02").month == "2020-02"
    assert admin.live().status == admin.ready().status == "ok"
    assert "penchant_requests_total" in admin.metrics()
    assert "unknown-piece" in admin.problem("unknown-piece")
    assert admin.openapi()["openapi"].startswith("3.1")


def test_a_program_goes_on_over_a_restart(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    with Client(server.url, server.key, retries=Retries(attempts=12, first_pause_s=0.2)) as client:
        client.submit_content("s", [{"id": "a", "categories": {}}])
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        with ThreadPoolExecutor(1) as threads:
            submission = threads.submit(client.submit_content, "s", [{"id": "b", "categories": {}}])
            again = Server(tmp_path / "data", port=server.port)
            try:
                # Workers that a kill has left may take it and end before they answer: then this is the second time.
                assert submission.result(timeout=300).accepted == 1
                assert list(client.iterate_ids("s")) == ["a", "b"]
            finally:
                again.stop()
                server.kill()


def test_a_list_waits_for_what_was_just_recorded(either: Callable[..., Either], source: str) -> None:
    client = either()
    client.submit_content(source, [{"id": each, "categories": {"g": ["x"]}} for each in "ab"])
    client.record_interaction(source, "u", "RateLike", "a")
    client.record_interactions(source, [{"userId": "w", "type": "RateLike", "contentId": each} for each in "ab"])
    recorded = client.client.interactions_versions.of(source)

    client.recommend(source, "u", min_audience_version=recorded)

    assert (recorded, client.client.audience_versions.of(source)) == (3, 3)
    client.erase_user(source, "w")
    assert client.client.interactions_versions.of(source) == 4
    with pytest.raises(NotYetVisible):
        either(retries=Retries(attempts=1)).recommend(source, "u", min_audience_version=1_000)

"""What does not fit is answered with 503 and leaves room for what does."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from acceptance.processes import wait_until
from factories import piece
from penchant.live.admission import CROWD
from penchant.live.views import View
from penchant.service import content
from penchant.service.search import SearchResult, SourceSearch
from penchant.service.shares import PAGES_OF_ACCOUNT
from penchant.settings import NodeSettings
from penchant.storage.hashing import account_id
from serving import Service
from visitors import Visitor

pytestmark = pytest.mark.usefixtures("fresh")  # what a process has no room for, others would be refused


@pytest.fixture
def settings(tmp_path: Path) -> NodeSettings:
    return NodeSettings(data=str(tmp_path / "data"), body_memory_bytes=40_000)


@pytest.mark.slow
def test_a_body_that_finds_no_room_is_503_and_the_next_one_is_taken(service: Service) -> None:
    large = [piece(f"p{number}", "x" * 400) for number in range(30)]

    for _ in range(3):
        refused = service.post("/s/content", json=large)
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
    for number in range(20):
        service.submit("s", piece(f"p{number}", "x" * 400, "y" * 400, "z" * 400))
    assert service.get("/s/ids").json()["count"] == 20


@pytest.mark.slow
def test_listings_of_an_account_wait_their_turn_and_are_refused_after_a_while(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    listings = service.client.app.services.content.listings  # type: ignore[attr-defined]
    listings.wait_s = 0.1
    account = account_id(service.account)
    held = [asyncio.run(listings.take(account)) for _ in range(content.LISTINGS_OF_ACCOUNT)]

    refused = service.get("/s/content")
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    other = service.new_key(account="other")
    assert service.post("/t/content", key=other, json=[piece("a")]).status_code == 202
    assert service.get("/t/content", key=other).status_code == 200

    for give_back in held:
        give_back()
    for _ in range(3 * content.MAX_LISTINGS):
        assert service.get("/s/content").status_code == 200
        assert service.get("/s/ids").status_code == 200
        assert service.get("/none/ids").status_code == 404
    assert listings.is_idle


@pytest.mark.slow
def test_a_listing_whose_client_leaves_gives_its_turn_back(service: Service) -> None:
    service.submit("s", *(piece(f"p{number}") for number in range(200)))
    listings = service.client.app.services.content.listings  # type: ignore[attr-defined]

    client = TestClient(service.client.app)  # type: ignore[attr-defined]
    client.portal = service.client.portal  # type: ignore[attr-defined]

    for path in ("/s/content", "/s/ids") * content.LISTINGS_OF_ACCOUNT:
        asked = client.build_request("GET", path, headers={"x-api-key": service.key})
        client.send(asked, stream=True).close()

    assert service.get("/s/content").status_code == 200
    wait_until(lambda: listings.is_idle)


HEAVY = ("/-/dashboard/search?source=s&q=x",)


@pytest.mark.slow
def test_heavy_pages_of_an_account_wait_their_turn_and_are_refused_after_a_while(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    other = service.new_key(account="other")
    assert service.post("/s/content", key=other, json=[piece("a"), piece("b")]).status_code == 202
    own_pages, pages_of_other = Visitor(service, service.key), Visitor(service, other)
    shares = service.client.app.services.lists.shares  # type: ignore[attr-defined]
    account = account_id(service.account)
    held = [asyncio.run(shares.take(account)) for _ in range(PAGES_OF_ACCOUNT)]

    for path in HEAVY:
        shares.wait_s = 0.1
        assert own_pages.ask("GET", path).status_code == 503
        shares.wait_s = 60
        assert pages_of_other.ask("GET", path).status_code == 200
    shares.wait_s = 0.1
    explained = "/s/content/a/similar?explain=true"
    refused = service.get(explained)
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert own_pages.get("pieces", source="s").status_code == 200

    for give_back in held:
        give_back()
    shares.wait_s = 60
    assert [own_pages.ask("GET", path).status_code for path in HEAVY] == [200] * len(HEAVY)
    assert service.get(explained).status_code == 200
    wait_until(lambda: shares.is_idle)


@pytest.mark.slow
def test_however_many_searches_come_at_once_an_account_has_two_under_way(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.submit("s", *(piece(f"p{number}", "x") for number in range(150)))
    service.client.app.services.lists.shares.wait_s = 60  # type: ignore[attr-defined]
    under_way: list[int] = []
    running = 0
    search = SourceSearch.pieces

    async def counted(self: SourceSearch, view: View, text: str, **page: Any) -> SearchResult:
        nonlocal running
        running += 1
        under_way.append(running)
        try:
            return await search(self, view, text, **page)
        finally:
            running -= 1

    monkeypatch.setattr(SourceSearch, "pieces", counted)
    visitor = Visitor(service, service.key)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: visitor.get("search", source="s", q="nothing"), range(24)))

    assert {answer.status_code for answer in answers} == {200}
    assert (len(under_way), max(under_way)) == (24, PAGES_OF_ACCOUNT)


@contextlib.contextmanager
def crowd(service: Service) -> Iterator[None]:
    """Let a crowd of the account wait for its turn meanwhile, and one of nobody known."""
    admission = service.client.app.services.admission  # type: ignore[attr-defined]
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        for account in (account_id(service.account), None):
            admission._queues[account] = deque(loop.create_future() for _ in range(CROWD))
            admission._waiting += CROWD
        admission._start_s = 1.0
        yield
        admission._queues.clear()
        admission._waiting = 0


def test_where_a_crowd_waits_requests_are_503_before_anything_of_them_is_looked_at(service: Service) -> None:
    service.submit("s", piece("a"))
    with crowd(service):
        refused = service.get("/s/ids", headers={"x-request-id": "mine"})
        without_key = service.client.get("/%zz")
        head = service.request("HEAD", "/s/ids")
        change = service.post("/s/content", json=[piece("b")])

    for answer in (refused, without_key, head, change):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["cache-control"] == "no-store"
    assert refused.headers["x-request-id"] == "mine"
    assert len(without_key.headers["x-request-id"]) > 10
    assert (refused.headers["content-type"], refused.json()["code"]) == ("application/problem+json", "overloaded")
    assert head.content == b""
    assert service.get("/s/ids").json()["count"] == 1
    metrics = service.client.get("/-/metrics").text
    assert 'penchant_requests_total{method="GET",route="(none)",status="503"} 2.0' in metrics
    assert 'penchant_problems_total{code="overloaded"} 4.0' in metrics


@pytest.mark.slow
def test_where_a_crowd_waits_the_services_own_paths_answer(service: Service) -> None:
    admin = service.new_key(account="operators", admin=True)
    with crowd(service):
        for path in ("/-/health/live", "/-/health/ready", "/-/metrics", "/-/openapi.json"):
            assert service.client.get(path).status_code == 200
        assert service.get("/-/admin/keys", key=admin).status_code == 200
        assert service.get("/s/ids").status_code == 503

"""A database of the revision before pieces had words of texts: it answers as it did, and can have words from now on.

It lies between 0.1.0 and the release after it, and was made by that revision, which wrote down what it answered.
"""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penchant.bootstrap import web_application
from penchant.settings import NodeSettings

KEPT = Path(__file__).parent / "of_rankings"
FACTS = json.loads((KEPT / "facts.json").read_text())
WRITTEN_DOWN = datetime(2026, 11, 24, 23, 59, tzinfo=UTC)
"""When, as it were: what is popular is so by the days since."""


@pytest.fixture
def clock() -> Callable[[], float]:
    return time.time


@pytest.fixture
def client(tmp_path: Path, clock: Callable[[], float]) -> Iterator[TestClient]:
    (tmp_path / "penchant.db").write_bytes(gzip.decompress((KEPT / "penchant.db.gz").read_bytes()))
    settings = NodeSettings(data=str(tmp_path))
    with TestClient(web_application(settings, clock=clock), headers={"x-api-key": FACTS["key"]}) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("clock", (WRITTEN_DOWN.timestamp,), ids=("then",))
def test_it_answers_as_it_did(client: TestClient) -> None:
    for path, answer in FACTS["answers"].items():
        # There was no such setting, and none of its likes is in an order that tells something.
        added = {"order": "auto"} if path.endswith("/settings") else {}
        found = client.get(path).json()
        if "/recommendation?" in path:
            # The rules of such lists have changed since; what may be in them has not.
            assert {each["id"] for each in found["content"]} == {each["id"] for each in answer["content"]}, path
        else:
            assert found == (answer | added if added else answer), path


def test_its_pieces_can_have_words_but_for_those_that_came_with_some(client: TestClient) -> None:
    own = {"id": "told", "label": "Title", "categories": {}, "extras": {"description": "A thief at sea."}}
    assert client.post("/shop/content", json=[own]).status_code == 202
    settings = client.get("/shop/settings").json() | {"words": {"language": "none"}}
    version = client.put("/shop/settings", json=settings).headers["x-penchant-version"]

    found = client.get("/shop/content/told/similar", params={"min-version": version, "include": "words"}).json()[
        "content"
    ]
    assert found == []
    assert client.get("/shop/content/p0/similar?include=words").json()["content"][0]["words"] == ["own"]
    more = own | {"id": "more", "extras": {"description": "Another thief."}}
    assert client.post("/shop/content", json=[more]).status_code == 202
    assert [each["id"] for each in client.get("/shop/content/told/similar").json()["content"]] == ["more"]


@pytest.mark.slow
def test_its_people_can_be_switched_off_and_take_back_what_they_did(client: TestClient) -> None:
    path = "/shop/users/somebody-new/interactions/RateLike/content/p0"
    unknown = client.get("/shop/users/somebody-new/recommendation").json()["content"]
    assert client.post(path, params={"event-id": "e"}).status_code == 200
    assert client.delete(path).json() == {"removed": 1}
    assert client.get("/shop/users/somebody-new/recommendation").json()["content"] == unknown

    assert client.put("/shop/users/somebody-new/preferences", json={"personal": False}).status_code == 200

    assert client.post(path).json()["stored"] is False
    assert client.get("/shop/users/somebody-new/export").json()["interactions"] == []

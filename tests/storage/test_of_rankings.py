"""A database of the revision before pieces had words of texts: it answers as it did, and can have words from now on.

It lies between 0.1.0 and the release after it, and was made by that revision, which wrote down what it answered.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penchant.bootstrap import web_application
from penchant.settings import NodeSettings

KEPT = Path(__file__).parent / "of_rankings"
FACTS = json.loads((KEPT / "facts.json").read_text())


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "penchant.db").write_bytes(gzip.decompress((KEPT / "penchant.db.gz").read_bytes()))
    settings = NodeSettings(data=str(tmp_path))
    with TestClient(web_application(settings), headers={"x-api-key": FACTS["key"]}) as opened:
        yield opened


def test_it_answers_as_it_did(client: TestClient) -> None:
    for path, answer in FACTS["answers"].items():
        assert client.get(path).json() == answer, path


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

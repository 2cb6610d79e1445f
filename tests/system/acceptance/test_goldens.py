"""Every golden answer and expectation of the data sets, asked through HTTP of a real process."""

import gzip
import json
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from acceptance.servers import Server

DEMO = "movietweetings-20k"
SETS = ("goodbooks", "goodbooks-shelves", "movielens-small", DEMO)
TOLERANCE = 1e-9
PAGE = 30


def folder_of(name: str) -> Path:
    """Return where a data set lies; that of the demo is in the package."""
    if name == DEMO:
        return Path(str(files("penchant.demo"))) / "films"
    datasets = os.environ.get("PENCHANT_DATASETS")
    if datasets is None:
        pytest.skip("PENCHANT_DATASETS names no folder with data sets")
    return Path(datasets) / name


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[] if name == DEMO else pytest.mark.stress) for name in SETS]
)
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, Path]]:
    """A server with a data set, submitted through HTTP: as ``set``, and as ``paged`` in catalogs of 30."""
    folder = folder_of(request.param)
    with gzip.open(folder / "pieces.ndjson.gz", "rt", encoding="utf-8") as file:
        pieces = [json.loads(line) for line in file]
    with Server(tmp_path_factory.mktemp("golden") / "data") as server:
        submit(server.client, "set", pieces)
        paged = [piece | {"filters": {"catalogs": [f"page-{place // PAGE}"]}} for place, piece in enumerate(pieces)]
        submit(server.client, "paged", paged)
        yield server.client, folder


def submit(client: httpx.Client, source: str, pieces: list[dict[str, Any]]) -> None:
    for begin in range(0, len(pieces), 2000):
        assert client.post(f"/{source}/content", json=pieces[begin : begin + 2000]).status_code == 202


def similar(client: httpx.Client, source: str, piece_id: str, **parameters: str) -> list[tuple[str, Any]]:
    answer = client.get(f"/{source}/content/{piece_id}/similar", params=parameters)
    assert answer.status_code == 200, answer.text
    return [(entry["id"], entry["score"]) for entry in answer.json()["content"]]


def sharing(client: httpx.Client, piece_id: str) -> list[tuple[str, Any]]:
    """Return every piece that shares a term, a page of 30 at a time."""
    count = client.get("/paged").json()["pieces"]
    pages = [f"page-{number}" for number in range(count // PAGE + 1)]
    return [entry for page in pages for entry in similar(client, "paged", piece_id, algo="jaccard", catalogs=page)]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ("jaccard", "cosine"))
def test_golden_lists_are_answered_exactly(loaded: tuple[httpx.Client, Path], metric: str) -> None:
    client, folder = loaded
    queries = json.loads((folder / f"golden_{metric}.json").read_text())["queries"]

    for query in queries:
        found = similar(client, "set", query["id"], algo=metric)
        assert [entry[0] for entry in found] == [item["id"] for item in query["items"]]
        assert [entry[1] for entry in found] == pytest.approx(
            [item["distance"] for item in query["items"]], abs=TOLERANCE
        )
    assert len(queries) == 50


def check_nearest(client: httpx.Client, fact: dict[str, Any]) -> None:
    found = similar(client, "set", fact["id"], algo=fact["metric"], take="1")
    assert found == [(fact["expect"], pytest.approx(fact["distance"], abs=TOLERANCE))]


def check_sharing_count(client: httpx.Client, fact: dict[str, Any]) -> None:
    assert len(sharing(client, fact["id"])) == fact["expect"]


def check_same_terms(client: httpx.Client, fact: dict[str, Any]) -> None:
    same = sorted(piece_id for piece_id, distance in sharing(client, fact["id"]) if distance == 0)
    assert len(same) == fact["expectCount"]
    assert same[:10] == fact["first10"]


def check_pair(client: httpx.Client, fact: dict[str, Any]) -> None:
    """The distance of two pieces depends on nothing else, so a source of just these two shows it."""
    client.delete("/pair/content")
    submit(client, "pair", [client.get(f"/set/content/{fact[name]}").json() for name in ("a", "b")])
    for metric in ("jaccard", "cosine"):
        expected = fact[f"{metric}Distance"]
        listed = [(fact["b"], pytest.approx(expected, abs=TOLERANCE))] if expected < 1 else []
        assert similar(client, "pair", fact["a"], algo=metric) == listed


CHECKS = {
    "nearest": check_nearest,
    "sharingCount": check_sharing_count,
    "sameTerms": check_same_terms,
    "pair": check_pair,
}


@pytest.mark.slow
def test_expectations_hold(loaded: tuple[httpx.Client, Path]) -> None:
    client, folder = loaded
    facts = json.loads((folder / "expectations.json").read_text())["expectations"]

    for fact in facts:
        CHECKS[fact["kind"]](client, fact)
    assert len(facts) == 20

"""Query parameters as other software writes them (interface, sections 1, 4 and 5)."""

from typing import Any

import pytest

from factories import piece, weighted
from serving import Service


def in_catalog(piece_id: str, *catalogs: str) -> dict[str, Any]:
    return piece(piece_id, "x", filters={"catalogs": list(catalogs)})


def found(service: Service, path: str) -> list[str]:
    answer = service.get(path)
    assert answer.status_code == 200, answer.text
    assert "x-penchant-ignored" not in answer.headers
    return [entry["id"] for entry in answer.json()["content"]]


LISTS = ("/s/content/q/similar", "/s/users/u/recommendation")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query", ("catalogs=one,two", "catalogs=one&catalogs=two", "catalogs[]=one&catalogs[]=two",
              "catalogs[0]=one&catalogs[1]=two", "catalogs%5B0%5D=one&catalogs=two", "catalogs=on%65,two"),
)  # fmt: skip
def test_catalogs_come_in_every_spelling(service: Service, path: str, query: str) -> None:
    service.submit("s", piece("q", "z"), in_catalog("a", "one"), in_catalog("b", "two"), in_catalog("c", "three"))
    service.submit("s", piece("q", "x", filters={"catalogs": ["three"]}))

    # Recommendations fill up by chance, since nothing speaks for any of them.
    assert sorted(found(service, f"{path}?{query}")) == ["a", "b"]


def test_an_encoded_comma_belongs_to_the_catalog_s_name(service: Service) -> None:
    service.submit("s", piece("q", "x"), in_catalog("a", "c,2"), in_catalog("b", "c"), in_catalog("d", "2"))

    assert found(service, "/s/content/q/similar?catalogs=c%2C2") == ["a"]
    assert found(service, "/s/content/q/similar?catalogs=c,2") == ["b", "d"]
    assert found(service, "/s/content/q/similar?catalogs[0]=c,2") == ["a"]
    assert found(service, "/s/content/q/similar?catalogs=c%2C2,2") == ["a", "d"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query", ("exclude=b&exclude=c,d", "exclude[]=b&exclude[]=c%2Cd", "exclude[0]=b&exclude%5B1%5D=c,d")
)
def test_excluded_ids_come_in_every_spelling_and_may_hold_commas(service: Service, path: str, query: str) -> None:
    service.submit("s", *(piece(name, "x") for name in ("q", "a", "b", "c,d", "c", "d")))

    assert sorted({*found(service, f"{path}?{query}")} - {"q"}) == ["a", "c", "d"]


@pytest.mark.parametrize("text", ("true", "True", "TRUE", "1"))
def test_yes_is_written_in_many_ways(service: Service, text: str) -> None:
    service.submit("s", piece("q", "x"), piece("a", "x"))
    service.post("/s/users/u/interactions/Watch/content/a")

    answer = service.get(f"/s/users/u/recommendation?include-seen={text}&explain={text}")

    assert {entry["id"] for entry in answer.json()["content"]} == {"a", "q"}
    assert all("why" in entry for entry in answer.json()["content"])


@pytest.mark.parametrize("text", ("false", "False", "FALSE", "0"))
def test_no_is_written_in_many_ways(service: Service, text: str) -> None:
    service.submit("s", piece("q", "x"), piece("a", "y"))

    assert found(service, f"/s/users/u/recommendation?fill={text}&explain={text}&algo=cosine") == []


@pytest.mark.parametrize(
    ("text", "score"),
    (
        ("jaccard", 0.5), ("Jaccard Index", 0.5), ("jaccard+index", 0.5), ("JaccardIndex", 0.5), ("JACCARD_INDEX", 0.5),
        ("jaccard-index", 0.5), ("cosine", 0.2), ("CosineSimilarity", 0.2), ("cosine%20similarity", 0.2),
    ),
)  # fmt: skip
def test_an_algorithm_is_written_in_many_ways(service: Service, text: str, score: float) -> None:
    service.submit("s", weighted("q", x=3, y=4), weighted("a", y=1))

    assert service.get(f"/s/content/q/similar?algo={text}").json()["content"] == [{"id": "a", "score": score}]


@pytest.mark.parametrize("text", ("jaccard-similarity", "cosine index", "jac-card", "jaccard  index", "ridge", "index"))
def test_another_algorithm_is_refused_with_those_accepted(service: Service, text: str) -> None:
    service.submit("s", weighted("q", x=3, y=4), weighted("a", y=1))

    answer = service.get(f"/s/content/q/similar?algo={text}")

    assert answer.status_code == 422
    assert "jaccard, jaccard index, cosine, cosine similarity" in answer.json()["detail"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("query", "count"),
    (("", 30), ("limit=2", 2), ("limit=2&take=9", 2), ("take=9&limit=2", 2), ("limit=99", 30), ("take=3", 3)),
)
def test_limit_wins_over_take_on_every_list(service: Service, path: str, query: str, count: int) -> None:
    service.submit("s", piece("q", "x"), *(piece(str(number), "x") for number in range(40)))

    assert len(found(service, f"{path}?{query}")) == count

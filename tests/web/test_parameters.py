"""Query parameters as other software writes them (interface, sections 1, 4 and 5)."""

from itertools import product
from typing import Any

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


def test_catalogs_come_in_every_spelling(service: Service) -> None:
    service.submit("s", piece("q", "z"), in_catalog("a", "one"), in_catalog("b", "two"), in_catalog("c", "three"))
    service.submit("s", piece("q", "x", filters={"catalogs": ["three"]}))

    for path, query in product(
        LISTS,
        ("catalogs=one,two", "catalogs=one&catalogs=two", "catalogs[]=one&catalogs[]=two",
         "catalogs[0]=one&catalogs[1]=two", "catalogs%5B0%5D=one&catalogs=two", "catalogs=on%65,two"),
    ):  # fmt: skip
        # Recommendations fill up by chance, since nothing speaks for any of them.
        assert sorted(found(service, f"{path}?{query}")) == ["a", "b"], query


def test_an_encoded_comma_belongs_to_the_catalog_s_name(service: Service) -> None:
    service.submit("s", piece("q", "x"), in_catalog("a", "c,2"), in_catalog("b", "c"), in_catalog("d", "2"))

    assert found(service, "/s/content/q/similar?catalogs=c%2C2") == ["a"]
    assert found(service, "/s/content/q/similar?catalogs=c,2") == ["b", "d"]
    assert found(service, "/s/content/q/similar?catalogs[0]=c,2") == ["a"]
    assert found(service, "/s/content/q/similar?catalogs=c%2C2,2") == ["a", "d"]


def test_excluded_ids_come_in_every_spelling_and_may_hold_commas(service: Service) -> None:
    service.submit("s", *(piece(name, "x") for name in ("q", "a", "b", "c,d", "c", "d")))

    for path, query in product(
        LISTS, ("exclude=b&exclude=c,d", "exclude[]=b&exclude[]=c%2Cd", "exclude[0]=b&exclude%5B1%5D=c,d")
    ):
        assert sorted({*found(service, f"{path}?{query}")} - {"q"}) == ["a", "c", "d"], query


def test_yes_and_no_are_written_in_many_ways(service: Service) -> None:
    service.submit("s", piece("q", "x"), piece("a", "x"))
    service.post("/s/users/u/interactions/Watch/content/a")

    for text in ("true", "True", "TRUE", "1"):
        answer = service.get(f"/s/users/u/recommendation?include-seen={text}&explain={text}")
        assert {entry["id"] for entry in answer.json()["content"]} == {"a", "q"}, text
        assert all("why" in entry for entry in answer.json()["content"]), text
    for text in ("false", "False", "FALSE", "0"):
        assert found(service, f"/s/users/nobody/recommendation?fill={text}&explain={text}&algo=cosine") == [], text


def test_an_algorithm_is_written_in_many_ways(service: Service) -> None:
    service.submit("s", weighted("q", x=3, y=4), weighted("a", y=1))

    for text, score in (
        ("jaccard", 0.5), ("Jaccard Index", 0.5), ("jaccard+index", 0.5), ("JaccardIndex", 0.5), ("JACCARD_INDEX", 0.5),
        ("jaccard-index", 0.5), ("cosine", 0.2), ("CosineSimilarity", 0.2), ("cosine%20similarity", 0.2),
    ):  # fmt: skip
        content = service.get(f"/s/content/q/similar?algo={text}").json()["content"]
        assert content == [{"id": "a", "score": score}], text
    for text in ("jaccard-similarity", "cosine index", "jac-card", "jaccard  index", "ridge", "index"):
        answer = service.get(f"/s/content/q/similar?algo={text}")
        assert answer.status_code == 422, text
        assert "jaccard, jaccard index, cosine, cosine similarity" in answer.json()["detail"], text


def test_limit_wins_over_take_on_every_list(service: Service) -> None:
    service.submit("s", piece("q", "x"), *(piece(str(number), "x") for number in range(40)))
    counts = {"": 30, "limit=2": 2, "limit=2&take=9": 2, "take=9&limit=2": 2, "limit=99": 30, "take=3": 3}

    for path in LISTS:
        assert {query: len(found(service, f"{path}?{query}")) for query in counts} == counts, path

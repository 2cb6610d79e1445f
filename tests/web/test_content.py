"""Submitting, reading and deleting pieces (interface, sections 3 and 4)."""

import gzip
import json
from typing import Any

import pytest

from factories import piece
from serving import Service

pytestmark = pytest.mark.nodes


def test_a_receipt_counts_created_replaced_and_superseded_pieces(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))

    answer = service.post("/s/content", json=[piece("b", "y"), piece("c", "y"), piece("c", "z")])

    receipt = answer.json()
    assert (answer.headers["x-penchant-version"], receipt["accepted"]) == (str(receipt["version"]), 3)
    assert (receipt["created"], receipt["replaced"], receipt["superseded"]) == (1, 1, 1)
    assert service.get("/s/content/c").json()["categories"] == {"genre": ["z"]}


def test_what_was_submitted_comes_back_as_the_same_values(service: Service) -> None:
    submitted = {
        "id": "p/1 é😀%",
        "label": "Two\nlines",
        "categories": {
            "genre": ["b", "a", {"key": "c", "weight": 3}, {"weight": 2}],
            "people": {"director": ["X"], "cast": {"lead": [{"key": "Y"}]}},
            "empty": [],
        },
        "filters": {"catalogs": ["one", "two"], "own": [1, 2.5, None], "availableFrom": "2020-01-01T00:00:00+02:00"},
        "extras": {"big": 12345678901234567890123, "small": 5e-324, "nul": "\0", "deep": [[[{"x": None}]]]},
    }
    service.submit("s", submitted)

    assert service.get("/s/content/p%2F1%20%C3%A9%F0%9F%98%80%25").json() == submitted


def test_an_integer_is_one_however_it_is_written_and_a_fraction_is_named(service: Service) -> None:
    for weight in ("85.0", "8.5e1", "85"):
        body = '[{"id":"a","categories":{"g":[{"key":"k","weight":WEIGHT},{"key":"l","weight":0.0}]}}]'
        body = body.replace("WEIGHT", weight)
        answer = service.post("/s/content", content=body, headers={"content-type": "application/json"})

        assert answer.status_code == 202
        keywords = service.get("/s/content/a").json()["categories"]["g"]
        assert keywords == [{"key": "k", "weight": 85}, {"key": "l", "weight": 0}], weight
    answer = service.post("/s/content", json=[{"id": "a", "categories": {"g": [{"key": "k", "weight": 85.5}]}}])
    assert answer.json()["errors"][0]["detail"].startswith("Found 85.5;")


@pytest.mark.parametrize("others", ([0, 5], [5, 0], [0, 0], ["plain", 5], [5, "plain", 0]))
def test_a_keyword_with_one_weight_and_none_counts_once(service: Service, others: list[Any]) -> None:
    items = ["k" if other == "plain" else {"key": "k", "weight": other} for other in others]
    service.submit("s", {"id": "a", "categories": {"g": [*items, {"key": "l", "weight": 5}]}})
    service.submit("s", {"id": "b", "categories": {"g": [{"key": "k", "weight": 5}, {"key": "l", "weight": 5}]}})

    assert service.get("/s/content/a/similar").json()["content"] == [{"id": "b", "score": 0.0}]
    assert service.get("/s/content/a").json()["categories"]["g"][:-1] == items


def test_a_label_holds_any_character_but_nul(service: Service) -> None:
    for label in ("two\nlines", "caf\u00e9 \u0099", "bell \u0007", "\u007f\u0080", ""):
        service.submit("s", piece("a", "x", label=label))

        assert service.get("/s/content/a").json()["label"] == label


def test_absent_and_null_members_return_as_the_interface_says(service: Service) -> None:
    service.submit(
        "s", {"id": "a", "categories": {"g": [{"key": None, "weight": None}]}, "label": None, "filters": None}
    )

    assert service.get("/s/content/a").json() == {"id": "a", "categories": {"g": [{}]}, "filters": {}, "extras": {}}


def test_unknown_members_are_left_out_and_named(service: Service) -> None:
    receipt = service.submit("s", {"id": "a", "categories": {"g": [{"key": "k", "lang": 1}]}, "a/b~c": 1})

    assert sorted(receipt["ignored"]) == ["/0/a~1b~0c", "/0/categories/g/0/lang"]
    assert service.get("/s/content/a").json()["categories"] == {"g": [{"key": "k"}]}


@pytest.mark.parametrize(("body", "status"), ((b"[", 400), (b'[{"id":"a","categories":{}},{"id":"b"}]', 422)))
def test_a_bad_submission_is_refused_whole(service: Service, body: bytes, status: int) -> None:
    service.submit("s", piece("kept"))

    answer = service.post("/s/content", content=body, headers={"content-type": "application/json"})

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert [fault["pointer"] for fault in answer.json().get("errors", ())] == ["/1/categories"] * (status == 422)
    assert service.get("/s/ids").json()["content"] == ["kept"]


def test_up_to_100_faults_are_listed(service: Service) -> None:
    answer = service.post("/s/content", json=[{"id": str(number)} for number in range(150)])

    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 100


def test_a_body_says_that_it_is_json_in_utf_8(service: Service) -> None:
    for content_type, status in (
        (None, 415),
        ("text/plain", 415),
        ("application/json; charset=latin-1", 415),
        ("Application/JSON; Charset=UTF-8", 202),
    ):
        headers = {} if content_type is None else {"content-type": content_type}
        assert service.post("/s/content", content=b"[]", headers=headers).status_code == status, content_type


def test_a_gzip_body_is_taken_and_another_encoding_is_not(service: Service) -> None:
    body = gzip.compress(json.dumps([piece("a")]).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}

    assert service.post("/s/content", content=body, headers=headers).status_code == 202
    assert service.post("/s/content", content=body[:-10], headers=headers).status_code == 400
    assert service.post("/s/content", content=body, headers=headers | {"content-encoding": "br"}).status_code == 415


def test_versions_grow_with_every_change_and_never_go_back(service: Service) -> None:
    versions = [service.submit("s", piece("a"))["version"]]
    for method, path, options in (
        ("POST", "/s/content", {"json": []}),
        ("DELETE", "/s/content/unknown", {}),
        ("PUT", "/s/whitelist", {"json": ["a"]}),
        ("PUT", "/s/settings", {"json": {}}),
        ("DELETE", "/s/content", {}),
        ("DELETE", "/s?confirm=s", {}),
        ("POST", "/s/content", {"json": [piece("a")]}),
    ):
        versions.append(int(service.request(method, path, **options).headers["x-penchant-version"]))

    assert versions == sorted(set(versions))


def test_lists_can_be_paged(service: Service) -> None:
    service.submit("s", *(piece(f"{number:04}") for number in range(1500)))

    page = service.get("/s/ids?skip=1200&limit=5").json()

    assert page == {"count": 1500, "content": [f"{number:04}" for number in range(1200, 1205)]}
    assert len(service.get("/s/content").json()["content"]) == 1500


def test_the_status_tells_pieces_and_versions(service: Service) -> None:
    version = service.submit("s", piece("a"))["version"]

    status = service.get("/s").json()

    assert (status["source"], status["pieces"]) == ("s", 1)
    assert status["version"] == status["indexedVersion"] == version
    assert status["createdAt"] <= status["updatedAt"]


def test_ids_to_delete_come_in_the_query_or_in_the_body(service: Service) -> None:
    for query in ("id=a&id=b", "id[]=a&id%5B%5D=b", "id[0]=a&id[1]=b"):
        service.submit("s", piece("a"), piece("b"), piece("c"))
        answer = service.delete(f"/s/content?{query}")
        assert (answer.status_code, answer.json()) == (202, [])
        assert service.get("/s/ids").json()["content"] == ["c"], query
    assert service.delete("/s/content", json=["c", "unknown"]).status_code == 202
    assert service.delete("/s/content", json=[]).status_code == 202
    assert service.get("/s/ids").json()["content"] == []


SLIPS: tuple[tuple[str, dict[str, Any], int], ...] = (
    *((query, {}, 422) for query in ("?id=", "?id=a&id=", "?ids=a", "?id=a&x=1", "?ID=a", "?ids[]=a", "?id[a]=b")),
    ("?catalogs=a", {}, 422),
    ("", {"headers": {"content-type": "application/json"}}, 422),
    *(("", {"json": body}, 422) for body in ({"id": ["a"]}, [1], [""])),
    ("", {"json": None, "content": b"null", "headers": {"content-type": "application/json"}}, 422),
    ("", {"content": b"[", "headers": {"content-type": "application/json"}}, 400),
    ("", {"content": b'["a"]'}, 415),
    ("", {"content": b'["a"]', "headers": {"content-type": "text/plain"}}, 415),
    ("?id=a", {"json": ["a"]}, 422),
)


def test_a_slip_in_a_deletion_never_empties_the_source(service: Service) -> None:
    service.submit("s", piece("a"))

    for query, options, status in SLIPS:
        assert service.delete(f"/s/content{query}", **options).status_code == status, (query, options)
    for path in ("/s/content/", "/s//content", "//content", "/s/", "/s/content//similar"):
        # Alone a // would begin with a host.
        assert service.delete(f"{str(service.client.base_url).rstrip('/')}{path}").status_code == 404, path
    assert service.get("/s/ids").json()["count"] == 1


def test_an_emptied_source_still_exists_and_a_deleted_one_does_not(service: Service) -> None:
    service.submit("s", piece("a"))

    assert service.delete("/s/content").json() == []
    assert service.get("/s/ids").json()["count"] == 0
    assert service.delete("/s").status_code == 422
    assert service.delete("/s?confirm=t").status_code == 422
    assert service.delete("/s?confirm=s").json() == []
    assert service.get("/s/ids").status_code == 404


def test_a_listing_is_the_same_whether_it_is_read_at_once_or_batch_by_batch(service: Service) -> None:
    ids = [f"p{number:03}" for number in range(151)]
    service.submit("s", *map(piece, ids))

    for limit in (0, 1, 49, 50, 51, 99, 100, 101, 151):
        path, expected = (f"/s/content?limit={limit}", ids[:limit]) if limit else ("/s/content", ids)
        document = service.get(path)
        lines = service.get(path, headers={"accept": "application/x-ndjson", "accept-encoding": "identity"})
        assert [each["id"] for each in document.json()["content"]] == expected
        assert [json.loads(line)["id"] for line in lines.text.splitlines()] == expected
        # One batch, of 50, is known as a whole before the answer begins.
        assert ("content-length" in lines.headers) == (0 < limit <= 50), limit

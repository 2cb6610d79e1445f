"""Reading: waiting for a version, conditions, HEAD, compression, lines (interface, sections 3 and 4)."""

import json
from itertools import product

import pytest

from factories import piece, weighted
from serving import Service


@pytest.mark.nodes
def test_a_read_waits_for_its_version_and_gives_up_in_time(service: Service) -> None:
    version = service.submit("s", piece("a"))["version"]

    assert service.get(f"/s/ids?min-version={version}").status_code == 200
    answer = service.get("/s/ids", headers={"x-penchant-min-version": str(version + 1)})
    assert (answer.status_code, answer.json()["code"]) == (503, "not-yet-visible")
    assert int(answer.headers["retry-after"]) >= 1
    assert service.get("/s/ids", headers={"x-penchant-min-version": "-1"}).status_code == 422


@pytest.mark.parametrize("path", ("/s/ids", "/s/content", "/s/content/a", "/s/content/a/similar"))
def test_an_unchanged_answer_is_not_sent_again(service: Service, path: str) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    tag = service.get(path).headers["etag"]

    again = service.get(path, headers={"if-none-match": tag})
    service.submit("s", piece("a", "x", "y"), piece("b", "x", label="B"), piece("c", "x"))
    changed = service.get(path, headers={"if-none-match": tag})

    assert (again.status_code, again.content) == (304, b"")
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert changed.headers["cache-control"] == "private, no-cache"
    assert "x-api-key" in changed.headers["vary"]


@pytest.mark.nodes
def test_accounts_never_share_an_etag(service: Service) -> None:
    other = service.new_key(account="other")
    for key in (service.key, other):
        service.submit("s", piece("a", "x"), piece("b", "x"), key=key)

    for path in ("/s/ids", "/s/content/a", "/s/content/a/similar"):
        assert service.get(path).headers["etag"] != service.get(path, key=other).headers["etag"]


def test_head_answers_as_get_without_a_body(service: Service) -> None:
    service.submit("s", piece("a", "x"), weighted("b", x=3))

    for path in ("/s/ids", "/s/content", "/s/content/a", "/s", "/s/content/a/similar", "/s/settings"):
        head, get = service.request("HEAD", path), service.get(path)
        length = get.headers.get("content-length")
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers.get("etag") == get.headers.get("etag"), path
        assert head.headers.get("content-length", length) == length, path


def test_large_answers_are_compressed_where_that_is_accepted(service: Service) -> None:
    service.submit("s", *(piece(f"piece-{number}") for number in range(500)))

    for coding in ("gzip", "zstd"):
        answer = service.client.send(
            service.client.build_request(
                "GET", "/s/ids", headers={"x-api-key": service.key, "accept-encoding": coding}
            ),
            stream=True,
        )
        assert answer.headers["content-encoding"] == coding
        assert "accept-encoding" in answer.headers["vary"].lower()
        answer.close()
    plain = service.get("/s/ids", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json()["count"] == 500


@pytest.mark.parametrize(
    ("path", "count"),
    (
        ("/s/content/a", "1"), ("/s/content/no", "0"), ("/s/content?id=a&id=no&id=a", "1"), ("/s/content?id=ids", "0"),
        ("/s/content", "3"), ("/s?confirm=s", "3"),
    ),
)  # fmt: skip
def test_a_deletion_tells_how_many_pieces_there_were(service: Service, path: str, count: str) -> None:
    service.submit("s", piece("a"), piece("b"), piece("c"))

    answer = service.delete(path)

    assert (answer.status_code, answer.json()) == (202, [])
    assert answer.headers["x-penchant-deleted"] == count


@pytest.mark.parametrize("body", (b'[{"id":"a","categories":{}}]', b"[]"))
def test_a_body_may_begin_with_a_byte_order_mark(service: Service, body: bytes) -> None:
    bom = b"\xef\xbb\xbf"
    headers = {"content-type": "application/json"}

    assert service.post("/s/content", content=bom + body, headers=headers).status_code == 202
    assert service.request("DELETE", "/s/content", content=bom + b'["b"]', headers=headers).status_code == 202
    assert service.request("DELETE", "/s/content", content=bom, headers=headers).status_code == 422
    assert service.put("/s/settings", content=bom + b"{}", headers=headers).status_code == 200
    assert service.post("/s/content", content=b"[" + bom + b"]", headers=headers).status_code == 400


ACCEPTED = (
    ("application/x-ndjson", True), ("application/jsonl", True), ("application/ndjson, */*;q=0.1", True),
    ("application/json;q=0.5, application/x-ndjson", True), ("application/json, application/x-ndjson", False),
    ("application/x-ndjson;q=0", False), ("*/*", False), ("application/x-ndjson;q=x", False), ("text/html", False),
)  # fmt: skip
"""Media types that are asked for, and whether lists come as lines."""


def test_lists_come_as_lines_where_that_is_preferred(service: Service) -> None:
    service.submit("s", piece("b", "x"), piece('a"\u2028', "y"))

    for path, (accept, as_lines) in product(("/s/content", "/s/ids"), ACCEPTED):
        usual = service.get(path)
        answer = service.get(path, headers={"accept": accept})
        assert answer.headers["vary"].lower().replace(" ", "").split(",")[:2] == ["x-api-key", "accept"]
        if as_lines:
            assert answer.headers["content-type"] == "application/x-ndjson"
            assert [json.loads(line) for line in answer.text.split("\n")[:-1]] == usual.json()["content"]
            assert answer.headers["etag"] != usual.headers["etag"]
            again = service.get(path, headers={"accept": accept, "if-none-match": answer.headers["etag"]})
            assert again.status_code == 304
        else:
            assert answer.content == usual.content


def test_an_empty_list_has_no_lines(service: Service) -> None:
    service.submit("s")

    assert service.get("/s/content", headers={"accept": "application/x-ndjson"}).text == ""


def test_pieces_are_read_by_their_ids_in_the_order_asked_each_once(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))

    answer = service.post("/s/content/read", json=["b", "gone", "a", "b", "gone"])

    assert [each["id"] for each in answer.json()["content"]] == ["b", "a"]
    assert answer.json()["content"][0] == service.get("/s/content/b").json()
    assert answer.json()["missing"] == ["gone"]
    assert service.post("/s/content/read", json=[]).json() == {"content": [], "missing": []}
    assert service.post("/s/content/read", json=["a"] * 1_001).status_code == 413
    assert service.post("/s/content/read", json=[1]).status_code == 422
    assert service.post("/nowhere/content/read", json=["a"]).status_code == 404


def test_a_piece_may_have_the_name_of_an_operation(service: Service) -> None:
    service.submit("s", piece("read", "x"), piece("b", "x"))

    assert service.get("/s/content/read").json()["id"] == "read"
    assert service.request("HEAD", "/s/content/read").status_code == 200
    assert service.get("/s/content/read/similar").status_code == 200
    assert service.post("/s/content/read", json=["b"]).json()["missing"] == []
    refused = service.put("/s/content/read", json=[])
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, GET, HEAD, DELETE")
    assert service.delete("/s/content/read").headers["x-penchant-deleted"] == "1"
    assert service.get("/s/ids").json()["content"] == ["b"]

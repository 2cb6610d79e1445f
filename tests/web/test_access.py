"""Keys, accounts, plans, paths and errors (interface, sections 1, 2 and 8)."""

import json
from typing import Any

import pytest

from factories import piece
from penchant.model import Feature
from penchant.settings import NodeSettings, PlanSettings
from penchant.web.problems import problem_kinds
from serving import Service


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    plans = {
        "slow": PlanSettings(requests_per_second=3),
        "small": PlanSettings(features=(), recommendations_per_month=2, sources=2, pieces_per_source=3),
        "seven": PlanSettings(features=(Feature.PERSONALIZED,), recommendations_per_month=7),
    }
    return NodeSettings(data=settings.data, plans=plans, min_version_timeout_s=0.2)


def test_a_request_needs_exactly_one_valid_key(service: Service) -> None:
    secret = service.key.rsplit("_", 1)[0] + "_" + "x" * 32
    for headers in ([], [("x-api-key", "pk_no_such")], [("x-api-key", secret)], [("x-api-key", service.key)] * 2):
        answer = service.client.get("/s/ids", headers=headers)
        assert answer.status_code == 401
        assert "www-authenticate" in answer.headers


def test_an_admin_key_is_no_tenant(service: Service) -> None:
    answer = service.get("/s/ids", key=service.new_key(admin=True))

    assert (answer.status_code, answer.json()["code"]) == (403, "not-a-tenant")


@pytest.mark.nodes
def test_keys_of_an_account_share_its_sources_and_others_see_none(service: Service) -> None:
    service.submit("s", piece("a"))

    assert service.get("/s/ids", key=service.new_key()).json()["count"] == 1
    other = service.get("/s/ids", key=service.new_key(account="other"))
    missing = service.get("/t/ids", key=service.new_key(account="other"))
    assert (other.status_code, other.json()) == (404, missing.json())


def test_a_plan_limits_sources_and_pieces_and_never_replacing(service: Service) -> None:
    key = service.new_key(plan="small", account="small")
    service.submit("s", piece("a"), piece("b"), piece("c"), key=key)
    service.submit("t", key=key)

    sources = service.post("/u/content", json=[], key=key)
    pieces = service.post("/s/content", json=[piece("a", "new"), piece("d")], key=key)

    assert (sources.status_code, sources.json()["code"]) == (403, "too-many-sources")
    assert (pieces.status_code, pieces.json()["code"]) == (403, "too-many-pieces")
    assert service.get("/s/content/a", key=key).json()["categories"] == {"genre": []}
    assert service.submit("s", piece("a", "new"), key=key)["replaced"] == 1


@pytest.mark.nodes
def test_a_monthly_quota_counts_only_answers_with_200(service: Service) -> None:
    key = service.new_key(plan="small", account="small")
    service.submit("s", piece("a", "x"), piece("b", "x"), key=key)
    tag = service.get("/s/content/a/similar", key=key).headers["etag"]

    assert service.get("/s/content/a/similar", key=key, headers={"if-none-match": tag}).status_code == 304
    assert service.get("/s/content/no/similar", key=key).status_code == 404
    assert service.get("/s/content/b/similar", key=key).status_code == 200
    assert service.get("/no/content/a/similar", key=key).status_code == 429
    over = service.get("/s/content/a/similar", key=key)
    assert (over.status_code, over.json()["code"]) == (429, "quota-exceeded")
    assert int(over.headers["retry-after"]) > 0


@pytest.mark.slow
def test_lists_count_one_by_one_wherever_they_are_given(service: Service) -> None:
    key = service.new_key(plan="seven", account="seven")
    service.submit("s", piece("a", "x"), piece("b", "x"), key=key)

    def status(path: str, body: Any) -> int:
        return int(service.post(path, json=body, key=key).status_code)

    assert status("/s/similar", ["a"] * 8) == 429
    assert status("/s/preview/settings", {"pieces": ["a"] * 7, "users": ["u"]}) == 429
    assert status("/s/preview/settings", {"pieces": ["a", "no"]}) == 404
    assert status("/s/preview/similar", {"categories": []}) == 422
    assert status("/s/similar", ["a", "b"]) == 200
    assert status("/s/preview/settings", {"pieces": ["a", "b"], "users": ["u"]}) == 200
    assert status("/s/recommendations", ["u"] * 3) == 429
    assert status("/s/recommendations", ["u", "v"]) == 200
    assert status("/s/similar", []) == 429
    assert service.get("/s/content/a/why/b", key=key).status_code == 200
    assert service.get("/s/users/u/why/b", key=key).status_code == 200


def test_a_rate_is_limited_and_announced(service: Service) -> None:
    service.submit("s")
    key = service.new_key(plan="slow")

    answers = [service.get("/s/whitelist", key=key) for _ in range(8)]

    over = [answer for answer in answers if answer.status_code == 429]
    assert over
    assert over[0].headers["retry-after"] == "1"
    assert "r=0" in over[0].headers["ratelimit"]
    assert "q=3" in answers[0].headers["ratelimit-policy"]
    assert "r=" in answers[0].headers["ratelimit"]


def test_a_malformed_path_or_query_is_refused_before_all_else(service: Service) -> None:
    for path in ("/s/content/%zz", "/s/content/%4", "/s/content/%FF", "/s/content/%00", "/%C2%85/ids"):
        answer = service.client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed-path"), path
    for query in ("a=%zz", "catalogs=%FF", "x=%00"):
        assert service.client.get(f"/s/ids?{query}").status_code == 400, query


def test_an_encoded_slash_is_part_of_the_id(service: Service) -> None:
    service.submit("a%2Fb", piece("c/d", "x"), piece("%2F", "x"))

    assert service.get("/a%2Fb/content/c%2Fd").json()["id"] == "c/d"
    assert service.get("/a%2Fb/content/%252F").json()["id"] == "%2F"
    assert service.get("/a%2Fb/content/c/d").status_code == 404


def test_ids_are_compared_code_point_by_code_point(service: Service) -> None:
    service.submit("s", piece("\u00e9"), piece("e\u0301"), piece(" x "), piece("X"))

    assert service.get("/s/ids").json()["count"] == 4
    assert service.get("/s/content/x").status_code == 404


def test_a_plus_in_a_path_is_a_plus_and_in_a_query_a_space(service: Service) -> None:
    service.submit("s", piece("a+b"), piece("a b"))

    assert service.get("/s/content/a+b").json()["id"] == "a+b"
    service.delete("/s/content?id=a+b")
    assert service.get("/s/ids").json()["content"] == ["a+b"]


def test_an_unknown_path_is_404(service: Service) -> None:
    for path in ("/-/no", "/-/content", "/s/no", "/s/users", "/s/content/a/b", "/-"):
        answer = service.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-route"), path


def test_a_source_cannot_be_called_a_dash(service: Service) -> None:
    assert service.post("/%2D/content", json=[]).status_code == 422
    assert service.post("/-/content", json=[]).status_code == 404


def test_a_wrong_method_is_405_with_those_allowed(service: Service) -> None:
    for method, path, allow in (
        ("PATCH", "/s/content", "POST, GET, HEAD, DELETE"),
        ("POST", "/s/ids", "GET, HEAD"),
        ("PUT", "/s/interactions", "POST"),
        ("POST", "/-/health/live", "GET, HEAD"),
    ):
        answer = service.client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allow), path


def test_too_long_names_in_a_path_are_422(service: Service) -> None:
    service.submit("s")

    assert service.post(f"/{'x' * 201}/content", json=[]).status_code == 422
    answer = service.get(f"/s/content/{'x' * 501}")
    assert answer.status_code == 422
    assert "500" in answer.json()["detail"]
    assert service.get(f"/s/users/{'%F0%9F%98%80' * 500}/interactions").status_code == 200


def test_checks_come_in_the_interface_s_order(service: Service) -> None:
    basic = service.new_key(plan="basic", account="basic")
    json_type = {"content-type": "application/json"}
    expected: list[tuple[int, str, str, dict[str, Any]]] = [
        (400, "GET", "/%zz/nowhere", {"key": "no"}),
        (404, "PATCH", "/s/nowhere", {"key": "no"}),
        (405, "PATCH", "/s/ids", {"key": "no"}),
        (401, "GET", "/no/whitelist", {"key": "no"}),
        (403, "PUT", "/no/whitelist", {"key": basic}),
        (404, "PUT", "/no/settings", {"content": b"x", "headers": {"content-type": "text/plain"}}),
        (415, "PUT", "/s/settings", {"content": b"x" * (33 << 20), "headers": {"content-type": "text/plain"}}),
        (413, "PUT", "/s/settings", {"content": b"x" * (33 << 20), "headers": json_type}),
        (400, "PUT", "/s/settings", {"content": b"x", "headers": json_type}),
        (413, "POST", "/s/content", {"content": json.dumps([0] * 2001).encode(), "headers": json_type}),
        (422, "GET", "/s/content/unknown/similar?take=0", {}),
        (404, "GET", "/s/content/unknown/similar", {}),
        (409, "GET", "/s/content/only/similar", {}),
    ]
    service.submit("s", piece("only"))

    found = [service.request(method, path, **options).status_code for _, method, path, options in expected]

    assert found == [status for status, *_ in expected]


def test_a_problem_tells_what_to_do_and_has_its_page(service: Service) -> None:
    answer = service.get("/s/ids")
    problem = answer.json()

    assert answer.headers["content-type"] == "application/problem+json"
    told = (problem["status"], problem["code"], problem["type"])
    assert told == (404, "unknown-source", "/-/problems/unknown-source")
    assert problem["title"]
    assert problem["detail"]
    assert "No such source" in service.client.get(problem["type"]).text


def test_every_code_has_a_page_and_no_other(service: Service) -> None:
    for code, kind in problem_kinds().items():
        answer = service.client.get(f"/-/problems/{code}")

        assert (answer.status_code, kind.title in answer.text.replace("&#x27;", "'")) == (200, True), code
    assert service.client.get("/-/problems/no").status_code == 404


def test_every_answer_has_a_request_id(service: Service) -> None:
    assert service.client.get("/-/health/live", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert service.get("/no/ids", headers={"x-request-id": "bad id"}).headers["x-request-id"] != "bad id"


def test_unknown_parameters_are_named(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))

    answer = service.get("/s/content/a/similar?tkae=3&_=1&take=1")

    several = service.post("/s/similar?catalog=x", json=["a"])
    stored = service.put("/s/whitelist?foo[]=1", json=[])

    assert answer.headers["x-penchant-ignored"] == "tkae, _"
    # A filter that is misspelt is never off in silence, whatever the method.
    assert several.headers["x-penchant-ignored"] == "catalog"
    assert stored.headers["x-penchant-ignored"] == "foo[]"
    assert "x-penchant-ignored" not in service.get("/s/content/a/similar?take=1").headers


@pytest.mark.slow
def test_the_service_s_own_addresses_need_no_key(service: Service) -> None:
    for path in ("health/live", "health/ready", "metrics", "openapi.json"):
        assert service.client.get(f"/-/{path}").status_code == 200, path


@pytest.mark.usefixtures("fresh")
def test_metrics_count_answers_and_errors_without_names(service: Service) -> None:
    service.submit("very-secret-source", piece("a"))
    service.get("/nowhere/ids")

    metrics = service.client.get("/-/metrics").text

    assert 'penchant_requests_total{method="POST",route="/{source}/content",status="202"} 1.0' in metrics
    assert 'penchant_problems_total{code="unknown-source"} 1.0' in metrics
    assert "very-secret-source" not in metrics

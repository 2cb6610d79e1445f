"""What somebody meets who does not know the service's addresses, and pages of other origins (interface, section 8)."""

import pytest

from factories import piece
from penchant.settings import NodeSettings
from penchant.web.documents import SITE
from serving import Service


@pytest.fixture(params=("", "/below"))
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(settings: NodeSettings, base: str) -> NodeSettings:
    return NodeSettings(data=settings.data, base_path=base, cors_origins=("https://editor.example",))


@pytest.mark.slow
def test_the_root_names_addresses_that_answer(service: Service, base: str) -> None:
    answer = service.client.get(f"{base}/")

    assert answer.status_code == 200
    named = answer.json()
    assert named["name"] == "penchant"
    for name in ("openapi", "openapiForGenerators", "health", "metrics"):
        assert service.client.get(named[name]).status_code == 200, name
    documents = service.client.get(named["documents"])
    assert documents.status_code == (200 if SITE.exists() else 404), documents.text
    assert service.client.get(named["dashboard"]).status_code == 200
    assert base == "" or service.client.get(base).json() == named


def test_the_root_sends_a_browser_to_the_dashboard(service: Service, base: str) -> None:
    html = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = service.client.get(f"{base}/", headers=html, follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (303, f"{base}/-/dashboard")
    assert "accept" in answer.headers["vary"].lower().split(", ")


@pytest.mark.parametrize(
    ("path", "address"),
    (
        ("/docs", "/-/docs"), ("/openapi.json", "/-/openapi.json"), ("/health", "/-/health/ready"),
        ("/metrics", "/-/metrics"), ("/docs/", "/-/docs"), ("/health/live", "/-/health/live"),
    ),
)  # fmt: skip
def test_a_usual_address_tells_of_the_right_one(service: Service, base: str, path: str, address: str) -> None:
    unknown = service.get(base + path)
    assert unknown.status_code == 404
    assert f"{base}{address}" in unknown.json()["detail"]

    without_key = service.client.get(base + path)
    assert without_key.status_code in {401, 404}
    assert f"{base}{address}" in without_key.json()["detail"]


def test_a_source_may_have_such_a_name(service: Service, base: str) -> None:
    service.post(f"{base}/docs/content", json=[piece("a", "x")])

    assert service.get(f"{base}/docs").json()["pieces"] == 1
    assert "/-/docs" not in service.get(f"{base}/docs/content/b").json()["detail"]


def preflight(origin: str, method: str = "PUT") -> dict[str, str]:
    named = {"access-control-request-headers": "x-api-key, x-penchant-user"}
    return {"origin": origin, "access-control-request-method": method} | named


def test_a_preflight_that_is_allowed_has_a_request_id(service: Service, base: str) -> None:
    answer = service.client.options(f"{base}/s/settings", headers=preflight("https://editor.example"))

    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://editor.example")
    assert "x-penchant-user" in answer.headers["access-control-allow-headers"]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(("origin", "method"), (("https://other.example", "PUT"), ("https://editor.example", "TRACE")))
def test_a_preflight_that_is_refused_is_a_problem(service: Service, base: str, origin: str, method: str) -> None:
    headers = preflight(origin, method) | {"x-request-id": "mine"}
    answer = service.client.options(f"{base}/s/settings", headers=headers)

    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")
    assert answer.json()["code"] == "origin-not-allowed"
    assert answer.json()["type"] == f"{base}/-/problems/origin-not-allowed"
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers.get("access-control-allow-origin") != "https://other.example"


def test_a_page_may_read_the_headers_of_answers(service: Service, base: str) -> None:
    answer = service.get(f"{base}/nothing", headers={"origin": "https://editor.example"})

    exposed = answer.headers["access-control-expose-headers"].split(", ")
    described = service.client.get(f"{base}/-/openapi.json").json()["components"]["headers"]
    ours = {name for name in described if name.startswith("x-penchant-")}
    assert {"x-penchant-version", "x-penchant-unknown-content"} <= ours
    assert {"etag", "x-request-id", "x-penchant-deleted", *ours} <= set(exposed)

"""Keys that are limited to scopes, and browser keys with their origins and signed people."""

import time
from urllib.parse import quote

import pytest

from factories import piece
from penchant.model import Scope
from penchant.settings import NodeSettings
from penchant.web.operations import Operation
from penchant.web.routes import OPERATIONS
from penchant.wire import SAMPLES, sign_user
from serving import Service
from visitors import Visitor

TENANT = [operation for operation in OPERATIONS if operation.scope is not None]
SHOP = "https://shop.example"
VALUES = {"source": "s", "contentID": "a", "other": "b", "userID": "kim", "type": "Click", "name": "home"}


@pytest.fixture
def filled(service: Service) -> Service:
    service.submit("s", piece("a", "x", "y"), piece("b", "x", "z"), piece("c", "y", "z"))
    assert service.post("/s/users/kim/interactions/Click/content/a").status_code == 200
    return service


def path_of(operation: Operation) -> str:
    return operation.path.format_map(VALUES)


def ask(service: Service, operation: Operation, key: str, **headers: str) -> tuple[int, str]:
    """Return the status and the code of an operation's answer to a request without confirmation.

    Without a body as well, but for what is about the person in the path.
    """
    body = {"json": SAMPLES[operation.body]} if operation.body and "{userID}" in operation.path else {}
    answer = service.request(operation.method, path_of(operation), key=key, headers=headers, **body)
    return answer.status_code, answer.json().get("code", "") if "problem" in answer.headers["content-type"] else ""


@pytest.mark.parametrize("scope", Scope)
def test_a_key_reaches_the_operations_of_its_scope_and_no_other(filled: Service, scope: Scope) -> None:
    key = filled.new_key(scopes=[scope])

    for operation in sorted(TENANT, key=lambda operation: operation.method == "DELETE"):
        status, code = ask(filled, operation, key)
        if operation.scope is scope:
            assert code != "outside-scope", operation.name
        else:
            assert (status, code) == (403, "outside-scope"), operation.name


def test_a_refusal_names_the_scope(filled: Service) -> None:
    answer = filled.get("/s/users/kim/recommendation", key=filled.new_key(scopes=["read", "write"]))

    assert "'personal'" in answer.json()["detail"]


@pytest.mark.parametrize("scope", Scope)
def test_of_foreign_sources_a_scope_tells_nothing(filled: Service, scope: Scope) -> None:
    key = filled.new_key(account="other", scopes=[scope])

    for operation in TENANT:
        foreign = filled.request(operation.method, path_of(operation), key=key)
        missing = filled.request(operation.method, path_of(operation).replace("/s", "/t", 1), key=key)
        assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content), operation.name


def test_a_limited_key_cannot_sign_in_at_the_dashboard(filled: Service) -> None:
    with pytest.raises(AssertionError):
        Visitor(filled, filled.new_key(scopes=["read"]))


class Browser:
    """A page of an origin that has a browser key, and a server that signs people for it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.secret = service.new_secret()
        self.key = service.new_key(origins=[SHOP, "http://localhost:3000"], requests_per_second=10_000)

    def signed(self, user_id: str = "kim", *, life_s: int = 3_600) -> dict[str, str]:
        return {"origin": SHOP, "x-penchant-user": sign_user(user_id, self.secret, int(time.time()) + life_s)}

    def ask(self, method: str, path: str, headers: dict[str, str]) -> int:
        return int(self.service.request(method, path, key=self.key, headers=headers).status_code)


@pytest.fixture
def browser(filled: Service) -> Browser:
    return Browser(filled)


RECORD = "/s/users/kim/interactions/Watch/content/b"


def test_a_browser_key_reads_from_its_origins_only(browser: Browser) -> None:
    for origin, status in (
        (SHOP, 200),
        ("http://localhost:3000", 200),
        ("https://shop.example:8443", 403),
        ("null", 403),
    ):
        assert browser.ask("GET", "/s/content/a/similar", {"origin": origin}) == status

    without = browser.service.get("/s/content/a/similar", key=browser.key)
    assert (without.status_code, without.json()["code"]) == (403, "origin-not-allowed")


PAGES = [each for each in TENANT if "{userID}" in each.path and each.in_browsers]


@pytest.mark.parametrize("operation", PAGES, ids=lambda operation: operation.name)
def test_what_concerns_a_person_is_for_the_signed_one(browser: Browser, operation: Operation) -> None:
    key, service = browser.key, browser.service

    assert ask(service, operation, key, **browser.signed("kim"))[0] == 200
    assert ask(service, operation, key, **browser.signed("lee"))[0] == 401
    assert ask(service, operation, key, **browser.signed("kim", life_s=-1))[0] == 401
    assert ask(service, operation, key, origin=SHOP)[0] == 401
    forged = {"origin": SHOP, "x-penchant-user": sign_user("kim", "ps_other", int(time.time()) + 3_600)}
    assert ask(service, operation, key, **forged)[0] == 401


def test_many_interactions_are_recorded_for_the_signed_person_alone(browser: Browser) -> None:
    def record(*users: str, signed: str = "kim") -> int:
        entries = [{"userId": user, "type": "Click", "contentId": "a"} for user in users]
        headers = browser.signed(signed)
        return int(browser.service.post("/s/interactions", key=browser.key, json=entries, headers=headers).status_code)

    assert record("kim", "kim") == 200
    assert record("kim", "lee") == 401
    assert record("kim", signed="lee") == 401
    assert browser.service.get("/s/users/lee/interactions").json() == []


@pytest.mark.parametrize("user_id", ("kim", "a.b", "50%/x", "Åsa König", "1.2.3"))
def test_ids_of_any_characters_can_be_signed(browser: Browser, user_id: str) -> None:
    path = f"/s/users/{quote(user_id, safe='')}/recommendation"

    assert browser.ask("GET", path, browser.signed(user_id)) == 200


def test_key_and_person_may_come_in_the_query(browser: Browser) -> None:
    signed = quote(browser.signed()["x-penchant-user"], safe="")
    client = browser.service.client

    sent = client.post(f"{RECORD}?key={browser.key}&user={signed}", headers={"origin": SHOP})
    assert sent.status_code == 200
    read = client.get(f"/s/content/a/similar?key={browser.key}", headers={"origin": SHOP})
    assert read.status_code == 200
    assert "x-penchant-ignored" not in read.headers


def test_no_other_key_may_come_in_the_query(filled: Service) -> None:
    assert filled.client.get(f"/s/ids?key={filled.key}").status_code == 401
    assert filled.get("/s/ids?user=x").headers["x-penchant-ignored"] == "user"


def test_another_secret_ends_what_the_old_one_signed(browser: Browser) -> None:
    signed = browser.signed()
    assert browser.ask("POST", RECORD, signed) == 200

    browser.secret = browser.service.new_secret()
    # Each process believes what it has looked up for a moment; of two nodes each is asked in turn.
    deadline = time.monotonic() + 30
    while 200 in (found := [browser.ask("POST", RECORD, signed) for _ in range(4)]) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert found == [401] * 4
    assert browser.ask("POST", RECORD, browser.signed()) == 200


def test_without_a_secret_nobody_is_signed(filled: Service) -> None:
    key = filled.new_key(account="none", origins=[SHOP])
    headers = {"origin": SHOP, "x-penchant-user": sign_user("kim", "", int(time.time()) + 3_600)}

    assert filled.post("/s/users/kim/interactions/Click/content/a", key=key, headers=headers).status_code == 401


def test_admins_make_limited_keys_and_secrets(service: Service) -> None:
    admin = service.new_key(account="operators", admin=True)

    made = service.post("/-/admin/keys", key=admin, json={"account": "x", "origins": [SHOP], "requestsPerSecond": 5})
    assert made.status_code == 201
    assert made.json()["scopes"] == ["read", "personal", "interact"]
    assert made.json()["origins"] == [SHOP]
    assert (made.json()["requestsPerSecond"], made.json()["requestsPerMonth"]) == (5, None)
    rolled = service.post("/-/admin/accounts/x/secret", key=admin)
    assert rolled.status_code == 201
    assert rolled.json()["secret"].startswith("ps_")
    listed = service.get("/-/admin/keys", key=admin).json()["keys"]
    assert listed[0]["scopes"] == ["read", "personal", "interact", "write"]
    actions = [entry["action"] for entry in service.get("/-/admin/audit", key=admin).json()["entries"]]
    assert actions[:2] == ["account.secret", "key.create"]


class TestAcrossOrigins:
    @pytest.fixture
    def settings(self, settings: NodeSettings) -> NodeSettings:
        return NodeSettings(data=settings.data, cors_origins=(SHOP,))

    def test_a_page_may_send_the_headers_of_a_browser_key(self, service: Service) -> None:
        asked = {
            "origin": SHOP,
            "access-control-request-method": "POST",
            "access-control-request-headers": "x-api-key, x-penchant-user",
        }

        answer = service.client.options(RECORD, headers=asked)

        assert answer.status_code == 200
        assert "x-penchant-user" in answer.headers["access-control-allow-headers"]
        assert answer.headers["access-control-allow-origin"] == SHOP

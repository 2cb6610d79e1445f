"""Keys that are limited to scopes, and browser keys with their origins and signed people."""

import time
from urllib.parse import quote

import pytest

from factories import piece
from penchant.web.routes import OPERATIONS
from penchant.wire import sign_user
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


def test_a_refusal_names_the_scope(filled: Service) -> None:
    answer = filled.get("/s/users/kim/recommendation", key=filled.new_key(scopes=["read", "write"]))

    assert "'personal'" in answer.json()["detail"]


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


def test_without_the_secret_nobody_is_signed(browser: Browser) -> None:
    without = browser.service.new_key(account="none", origins=[SHOP])
    for key, secret in ((browser.key, "ps_other"), (without, "")):
        headers = {"origin": SHOP, "x-penchant-user": sign_user("kim", secret, int(time.time()) + 3_600)}
        answer = browser.service.post(RECORD, key=key, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "not-signed")


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

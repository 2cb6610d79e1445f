"""Keys that are limited to scopes, and browser keys with their origins and signed people."""

import time
from urllib.parse import quote

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.wire import sign_user
from serving import Service
from web.test_whom import SHOP, Page

OTHER_SHOP = "http://localhost:3000"
RECORD = "/s/users/kim/interactions/Watch/content/b"


@pytest.fixture
def filled(service: Service) -> Service:
    service.submit("s", piece("a", "x", "y"), piece("b", "x", "z"), piece("c", "y", "z"))
    assert service.post("/s/users/kim/interactions/Click/content/a").status_code == 200
    return service


@pytest.fixture
def page(filled: Service) -> Page:
    return Page(filled, origins=[SHOP, OTHER_SHOP])


def ask(page: Page, method: str, path: str, headers: dict[str, str]) -> int:
    return int(page.service.request(method, path, key=page.key, headers=headers).status_code)


def test_a_refusal_names_the_scope(filled: Service) -> None:
    answer = filled.get("/s/users/kim/recommendation", key=filled.new_key(scopes=["read", "write"]))

    assert "'personal'" in answer.json()["detail"]


def test_a_browser_key_reads_from_its_origins_only(page: Page) -> None:
    origins = {SHOP: 200, OTHER_SHOP: 200, "https://shop.example:8443": 403, "null": 403}

    assert {each: ask(page, "GET", "/s/content/a/similar", {"origin": each}) for each in origins} == origins
    without = page.service.get("/s/content/a/similar", key=page.key)
    assert (without.status_code, without.json()["code"]) == (403, "origin-not-allowed")


def test_many_interactions_are_recorded_for_the_signed_person_alone(page: Page) -> None:
    def record(*users: str, signed: str = "kim") -> int:
        entries = [{"userId": user, "type": "Click", "contentId": "a"} for user in users]
        headers = page.headers(signed)
        return int(page.service.post("/s/interactions", key=page.key, json=entries, headers=headers).status_code)

    assert record("kim", "kim") == 200
    assert record("kim", "lee") == 401
    assert record("kim", signed="lee") == 401
    assert page.service.get("/s/users/lee/interactions").json() == []


def test_ids_of_any_characters_can_be_signed(page: Page) -> None:
    for user_id in ("a.b", "50%/x", "Åsa König", "1.2.3"):
        path = f"/s/users/{quote(user_id, safe='')}/recommendation"

        assert ask(page, "GET", path, page.headers(user_id)) == 200, user_id


def test_key_and_person_may_come_in_the_query(page: Page) -> None:
    signed = quote(page.headers("kim")["x-penchant-user"], safe="")
    client = page.service.client

    sent = client.post(f"{RECORD}?key={page.key}&user={signed}", headers={"origin": SHOP})
    assert sent.status_code == 200
    read = client.get(f"/s/content/a/similar?key={page.key}", headers={"origin": SHOP})
    assert read.status_code == 200
    assert "x-penchant-ignored" not in read.headers


def test_no_other_key_may_come_in_the_query(filled: Service) -> None:
    assert filled.client.get(f"/s/ids?key={filled.key}").status_code == 401
    assert filled.get("/s/ids?user=x").headers["x-penchant-ignored"] == "user"


def test_another_secret_ends_what_the_old_one_signed(page: Page) -> None:
    signed = page.headers("kim")
    assert ask(page, "POST", RECORD, signed) == 200

    page.secret = page.service.new_secret()
    # Each process believes what it has looked up for a moment; of two nodes each is asked in turn.
    wait_until(lambda: [ask(page, "POST", RECORD, signed) for _ in range(4)] == [401] * 4)
    assert ask(page, "POST", RECORD, page.headers("kim")) == 200


def test_without_the_secret_nobody_is_signed(page: Page) -> None:
    without = page.service.new_key(account="none", origins=[SHOP])
    for key, secret in ((page.key, "ps_other"), (without, "")):
        headers = {"origin": SHOP, "x-penchant-user": sign_user("kim", secret, int(time.time()) + 3_600)}
        answer = page.service.post(RECORD, key=key, headers=headers)
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

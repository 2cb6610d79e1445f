"""What keys with the admin role may do, and others may not (interface, section 2)."""

import time
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.model import Scope
from penchant.settings import NodeSettings, PlanSettings
from penchant.web.administration import ADMINISTRATION
from serving import Service
from web.test_openapi import conforms as has_promised_form

ASKED = (
    ("GET", "/-/admin/usage"),
    ("GET", "/-/admin/audit"),
    ("GET", "/-/admin/keys"),
    ("GET", "/-/admin/plans"),
    ("POST", "/-/admin/keys"),
    ("DELETE", "/-/admin/keys/someone"),
    ("PUT", "/-/admin/keys/someone/plan"),
    ("POST", "/-/admin/accounts/some/secret"),
)


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(data=settings.data, plans={"slow": PlanSettings(requests_per_second=1)})


@pytest.fixture
def admin(service: Service) -> str:
    return service.new_key(account="operators", admin=True)


def created(service: Service, acting: str, *, account: str = "press", **wish: Any) -> Any:
    wish["account"] = service.name_of(account)
    answer = service.post("/-/admin/keys", json=wish, key=acting)
    assert answer.status_code == 201, answer.text
    return answer.json()


def conforms(service: Service, answer: Any) -> bool:
    """Return whether an answer has the form that the OpenAPI document promises."""
    return has_promised_form(service.client.get("/-/openapi.json").json(), answer)


@pytest.mark.slow
def test_only_keys_with_the_admin_role_are_let_in(service: Service) -> None:
    for method, path in ASKED:
        refused = service.request(method, path)
        missing = service.client.request(method, path)

        assert (refused.status_code, refused.json()["code"]) == (403, "not-an-admin"), path
        assert (missing.status_code, missing.json()["code"]) == (401, "unauthenticated"), path
        assert conforms(service, refused)
        assert conforms(service, missing)


def test_every_operation_is_for_admins_and_asked_here() -> None:
    assert all(operation.admin and operation.personal for operation in ADMINISTRATION)
    paths = {
        (each.method, each.path.replace("{keyID}", "someone").replace("{account}", "some")) for each in ADMINISTRATION
    }
    assert paths == set(ASKED)


def test_an_admin_key_is_held_to_its_rate(service: Service) -> None:
    key = service.new_key(admin=True, plan="slow")

    answers = [service.get("/-/admin/keys", key=key) for _ in range(4)]

    assert 429 in {answer.status_code for answer in answers}
    assert all("ratelimit" in answer.headers for answer in answers)


def test_a_key_is_answered_once_works_and_is_listed(service: Service, admin: str) -> None:
    made = created(service, admin, plan="basic", expiresInDays=2)

    assert made["key"].split("_")[1] == made["keyId"]
    assert service.submit("s", piece("a"), key=made["key"])["created"] == 1
    answer = service.get("/-/admin/keys", key=admin)
    assert conforms(service, answer)
    (listed,) = [each for each in answer.json()["keys"] if each["keyId"] == made["keyId"]]
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert (listed["plan"], listed["role"], listed["state"]) == ("basic", "tenant", "active")
    assert made["key"].split("_")[2] not in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_an_admin_key_can_make_another_one(service: Service, admin: str) -> None:
    made = created(service, admin, account="operators", admin=True)

    assert made["role"] == "admin"
    assert service.get("/-/admin/keys", key=made["key"]).status_code == 200


def test_a_revoked_key_stops_and_says_so_again(service: Service, admin: str) -> None:
    made = created(service, admin)
    path = f"/-/admin/keys/{made['keyId']}"

    answers = [service.delete(path, key=admin) for _ in range(2)]

    assert conforms(service, answers[0])
    assert [(answer.status_code, answer.json()["state"]) for answer in answers] == [(200, "revoked")] * 2
    assert answers[0].json() == answers[1].json()
    wait_until(lambda: service.get("/s/ids", key=made["key"]).status_code == 401)
    entries = service.get("/-/admin/audit", key=admin).json()["entries"]
    assert [entry["action"] for entry in entries if entry["subject"] == made["keyId"]] == ["key.revoke", "key.create"]


def test_a_key_goes_over_to_another_plan_and_says_so_again(service: Service, admin: str) -> None:
    made = created(service, admin, plan="full")
    service.submit("s", piece("a", "x"), key=made["key"])
    lists, path = "/s/blacklist", f"/-/admin/keys/{made['keyId']}/plan"
    assert service.get(lists, key=made["key"]).status_code == 200

    answers = [service.put(path, json={"plan": "basic"}, key=admin) for _ in range(2)]

    assert conforms(service, answers[0])
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["plan"], answers[0].json()["state"]) == ("basic", "active")
    wait_until(lambda: service.get(lists, key=made["key"]).status_code == 403)
    assert service.get(lists, key=made["key"]).json()["code"] == "feature-not-in-plan"
    entries = service.get("/-/admin/audit", key=admin).json()["entries"]
    changes = [(each["account"], each["actor"], each["subject"]) for each in entries if each["action"] == "key.plan"]
    assert changes == [(service.name_of("press"), admin.split("_")[1], made["keyId"])]


def test_an_unacceptable_plan_is_told_and_changes_nothing(service: Service, admin: str) -> None:
    made = created(service, admin)

    for wish, pointer in (
        ({}, "/plan"),
        ({"plan": "none"}, "/plan"),
        ({"plan": None}, "/plan"),
        ({"plan": ""}, "/plan"),
        ({"plan": "basic", "account": "a"}, "/account"),
        ("basic", ""),
    ):
        answer = service.put(f"/-/admin/keys/{made['keyId']}/plan", json=wish, key=admin)

        assert (answer.status_code, answer.json()["errors"][0].get("pointer")) == (422, pointer)
    listed = service.get("/-/admin/keys", key=admin).json()["keys"]
    assert [each["plan"] for each in listed if each["keyId"] == made["keyId"]] == ["full"]


def test_an_id_of_no_key_is_told(service: Service, admin: str) -> None:
    plan = service.put("/-/admin/keys/nobody/plan", json={"plan": "basic"}, key=admin)
    revoked = service.delete("/-/admin/keys/nobody", key=admin)

    for answer in (plan, revoked):
        assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "keyID")


ORIGIN = "https://shop.example"
UNACCEPTABLE: dict[str, tuple[Any, ...]] = {
    "": ([], "a"),
    "/account": ({}, *({"account": name} for name in ("", "a\n", 1, "x" * 201))),
    "/plan": ({"plan": "none"}, {"plan": None}),
    "/admin": ({"admin": 1}, {"origins": [ORIGIN], "admin": True}, {"scopes": ["read"], "admin": True}),
    "/expiresInDays": tuple({"expiresInDays": days} for days in (0, 36_501, True, 1.5)),
    "/colour": ({"colour": "blue"},),
    "/scopes/0": ({"scopes": ["reed"]}, {"origins": [ORIGIN], "scopes": ["write"]}),
    "/scopes": ({"scopes": "read"}, {"scopes": [1]}),
    "/origins/0": tuple({"origins": [origin]} for origin in ("shop.example", "https://shop.example/", "*")),
    "/origins": ({"origins": [ORIGIN] * 51},),
    "/requestsPerSecond": ({"origins": [ORIGIN], "requestsPerSecond": 0},),
    "/requestsPerMonth": ({"origins": [ORIGIN], "requestsPerMonth": 1.5}, {"requestsPerMonth": 100}),
}
"""Wishes for keys by what is wrong with them; all but those of an account are for one."""


def test_an_unacceptable_wish_is_told_with_its_place(service: Service, admin: str) -> None:
    before = service.get("/-/admin/keys", key=admin).json()["keys"]

    for pointer, wishes in UNACCEPTABLE.items():
        for wish in wishes:
            whole = wish if pointer in {"", "/account"} else {"account": "a"} | wish
            answer = service.post("/-/admin/keys", json=whole, key=admin)

            assert (answer.status_code, answer.json()["errors"][0].get("pointer")) == (422, pointer), wish
    assert service.get("/-/admin/keys", key=admin).json()["keys"] == before


def test_a_wish_of_another_type_or_without_syntax_is_refused(service: Service, admin: str) -> None:
    json_type = {"content-type": "application/json"}

    assert service.post("/-/admin/keys", content=b"a", key=admin).status_code == 415
    assert service.post("/-/admin/keys", content=b"{", headers=json_type, key=admin).status_code == 400


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")  # what is told is of all accounts
def test_usage_counts_answers_sources_and_pieces_by_account(service: Service, admin: str) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    service.submit("t")
    assert service.get("/s/content/a/similar").status_code == 200

    wait_until(lambda: service.get("/-/admin/usage", key=admin).json()["accounts"][0]["answers"] > 0)

    told = service.get("/-/admin/usage", key=admin)
    assert conforms(service, told)
    assert told.json() == {
        "month": time.strftime("%Y-%m", time.gmtime()),
        "accounts": [
            {"account": service.name_of("default"), "answers": 1, "sources": 2, "pieces": 2, "browserAnswers": 0},
            {"account": service.name_of("operators"), "answers": 0, "sources": 0, "pieces": 0, "browserAnswers": 0},
        ],
    }
    earlier = service.get("/-/admin/usage?month=2020-01", key=admin).json()
    assert (earlier["month"], {each["answers"] for each in earlier["accounts"]}) == ("2020-01", {0})


def test_a_month_is_written_in_one_way(service: Service, admin: str) -> None:
    for query in ("month=2026-13", "month=2026-1", "month=", "month=2026-01&month=2026-02", "month=no"):
        answer = service.get(f"/-/admin/usage?{query}", key=admin)

        assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "month"), query


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")  # what is told is of all accounts
def test_the_audit_log_names_the_acting_key_newest_first(service: Service, admin: str) -> None:
    made = created(service, admin)
    service.submit("s", piece("a"), key=made["key"])
    service.delete(f"/-/admin/keys/{made['keyId']}", key=admin)
    acting = admin.split("_")[1]

    answer = service.get("/-/admin/audit?limit=3", key=admin)

    assert conforms(service, answer)
    found = [tuple(entry.values())[1:5] for entry in answer.json()["entries"]]
    assert found == [
        ("press", acting, "key.revoke", made["keyId"]),
        ("press", made["keyId"], "source.create", "s"),
        ("press", acting, "key.create", made["keyId"]),
    ]
    assert service.get("/-/admin/audit?limit=0", key=admin).status_code == 422


def test_a_key_has_the_name_of_who_has_it(service: Service, admin: str) -> None:
    ida = created(service, admin, account="desk", name="Ida Berg")
    nobody = created(service, admin, account="desk", name=None)
    service.submit("s", piece("a"), key=ida["key"])
    service.put("/s/settings", json={}, key=nobody["key"])

    audit = service.get("/s/audit", key=ida["key"]).json()["entries"]
    own = service.get("/-/account", key=nobody["key"])
    listed = service.get("/-/admin/keys", key=admin).json()["keys"]

    assert conforms(service, own)
    assert (ida["name"], "name" in nobody, own.json()["keyNames"]) == ("Ida Berg", False, {ida["keyId"]: "Ida Berg"})
    assert [(each["actor"], each.get("actorName")) for each in audit] == [
        (nobody["keyId"], None),
        (ida["keyId"], "Ida Berg"),
    ]
    assert {each["keyId"]: each.get("name") for each in listed}[ida["keyId"]] == "Ida Berg"


@pytest.mark.parametrize("name", ("", "a" * 201, "a\nb", 1))
def test_what_is_no_name_of_a_key_is_refused(service: Service, admin: str, name: Any) -> None:
    answer = service.post("/-/admin/keys", json={"account": service.name_of("press"), "name": name}, key=admin)

    assert (answer.status_code, [each["pointer"] for each in answer.json()["errors"]]) == (422, ["/name"])


def test_any_key_may_ask_what_it_may_do(service: Service, admin: str) -> None:
    viewer = service.new_key(scopes=(Scope.PERSONAL, Scope.READ))
    of_page = service.new_key(origins=("https://shop.example",))
    basic = service.get("/-/key", key=service.new_key(plan="basic")).json()

    own = {key: service.get("/-/key", key=key).json() for key in (service.key, viewer, admin)}

    assert [each["role"] for each in own.values()] == ["editor", "viewer", "admin"]
    assert own[viewer]["scopes"] == ["read", "personal"]
    assert (own[service.key]["plan"]["name"], own[service.key]["scopes"]) == ("full", basic["scopes"])
    assert (basic["plan"]["features"], basic["scopes"]) == ([], ["read", "personal", "interact", "write"])
    assert own[viewer]["plan"] == service.get("/-/admin/plans", key=admin).json()["plans"][1]
    assert own[viewer]["plan"] | {"features": []} == {
        "name": "full",
        "features": [],
        "requestsPerSecond": None,
        "sources": None,
        "piecesPerSource": None,
        "recommendationsPerMonth": None,
    }
    assert service.get("/-/key", key="pk_no_key").status_code == 401
    assert service.get("/-/key", key=of_page).json()["code"] == "origin-not-allowed"

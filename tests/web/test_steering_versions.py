"""Versions of settings and lists: what changed, by whom, and how one is put back."""

from typing import Any

import pytest
from sqlalchemy import delete

from factories import piece
from penchant.model import ListKind
from penchant.storage import EditList
from penchant.storage.schema import steering_versions
from penchant.storage.steering_versions import MAX_STEERING_VERSIONS
from serving import Service


def versions(service: Service, subject: str, **query: Any) -> list[dict[str, Any]]:
    answer = service.get(f"/s/{subject}/versions", params=query or None)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["versions"]
    return found


def changes(service: Service, subject: str) -> list[list[dict[str, Any]]]:
    return [each["changes"] for each in versions(service, subject)]


def put(service: Service, subject: str, body: Any) -> int:
    answer = service.put(f"/s/{subject}", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.headers["x-penchant-version"])


@pytest.fixture
def filled(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    return service


def test_settings_tell_what_changed_the_newest_first(filled: Service) -> None:
    assert versions(filled, "settings") == []
    first = put(filled, "settings", {"halfLifeDays": 30})
    second = put(filled, "settings", {"halfLifeDays": 7, "blend": {"content": 1, "audience": 2, "popularity": 0.02}})

    found = versions(filled, "settings")

    assert [each["version"] for each in found] == [second, first]
    assert {"pointer": "/halfLifeDays", "before": 30, "after": 7} in found[0]["changes"]
    assert [each["after"] for each in found[0]["changes"] if each["pointer"] == "/blend/popularity"] == [0.02]
    assert found[0]["keyId"] == filled.key.split("_")[1]
    assert "settings" not in found[0]


def test_a_version_is_put_back_by_what_it_was(filled: Service) -> None:
    for body in ({"halfLifeDays": 30}, {"halfLifeDays": 7}):
        put(filled, "settings", body)
    for ids in (["a", "b"], []):
        put(filled, "blacklist", ids)
    before = filled.get("/s/settings").json()

    old, oldest = versions(filled, "settings")
    (kept,) = versions(filled, "settings", version=oldest["version"])
    put(filled, "settings", kept["settings"])
    (listed,) = versions(filled, "blacklist", version=versions(filled, "blacklist")[1]["version"])
    put(filled, "blacklist", listed["content"])

    assert filled.get("/s/settings").json() == before | {"halfLifeDays": 30}
    assert filled.get("/s/blacklist").json() == ["a", "b"]
    assert changes(filled, "settings")[0] == [{"pointer": "/halfLifeDays", "before": 7, "after": 30}]
    came, went = ([{way: "a"}, {way: "b"}] for way in ("added", "removed"))
    assert changes(filled, "blacklist") == [came, went, came]
    assert (old["changes"], kept["changes"]) == (
        [{"pointer": "/halfLifeDays", "before": 30, "after": 7}],
        [{"pointer": "/halfLifeDays", "before": 90, "after": 30}],
    )


def test_what_changes_nothing_is_no_version(filled: Service) -> None:
    for _ in range(2):
        put(filled, "whitelist", ["b", "a"])
    put(filled, "whitelist", ["a", "b"])

    assert changes(filled, "whitelist") == [[{"reordered": True}], [{"added": "b"}, {"added": "a"}]]
    assert versions(filled, "blacklist") == []


def test_single_pieces_and_drafts_are_versions_of_a_list_too(filled: Service) -> None:
    with filled.opened_storage() as storage:
        account = storage.accounts.ensure(filled.account)
        command = EditList(account_id=account, source="s", kind=ListKind.BLACKLIST, piece_ids=["a"], is_listed=True)
        storage.submit(command).result(timeout=60)
    edits = {"blacklist": ["a", "b"], "settings": {"halfLifeDays": 3}}
    assert filled.put("/s/drafts/d", json=edits).status_code == 200
    published = filled.post("/s/drafts/d/publish", json={}).json()["version"]

    assert changes(filled, "blacklist") == [[{"added": "b"}], [{"added": "a"}]]
    assert [each["version"] for each in versions(filled, "settings")] == [published]


def test_what_stood_before_versions_were_kept_can_be_put_back(filled: Service) -> None:
    put(filled, "blacklist", ["a"])
    with (
        filled.opened_storage() as storage,
        storage.upkeep._transactions.write() as connection,
    ):  # as a release of before leaves it
        connection.execute(delete(steering_versions))
    put(filled, "blacklist", ["b"])

    found = versions(filled, "blacklist")

    assert [each["changes"] for each in found] == [[{"added": "b"}, {"removed": "a"}], [{"added": "a"}]]
    assert found[1]["keyId"] is None
    assert versions(filled, "blacklist", version=found[1]["version"])[0]["content"] == ["a"]


def test_a_hundred_versions_are_kept(filled: Service) -> None:
    for number in range(MAX_STEERING_VERSIONS + 2):
        put(filled, "whitelist", ["a"] if number % 2 else ["b"])

    found = versions(filled, "whitelist")

    assert len(found) == MAX_STEERING_VERSIONS
    assert found[0]["changes"] == found[-2]["changes"] == [{"added": "a"}, {"removed": "b"}]
    assert found[-1]["changes"] == [{"added": "b"}, {"removed": "a"}]


def test_versions_go_with_their_source(filled: Service) -> None:
    put(filled, "whitelist", ["a"])
    assert filled.delete("/s?confirm=s").status_code == 202
    filled.submit("s", piece("a", "x"))

    assert versions(filled, "whitelist") == []


def test_a_version_that_is_not_kept_is_named(filled: Service) -> None:
    put(filled, "whitelist", ["a"])

    refused = filled.get("/s/whitelist/versions?version=1")

    assert (refused.status_code, refused.json()["errors"][0]["parameter"]) == (422, "version")
    basic = filled.new_key(account="small", plan="basic")
    filled.submit("s", piece("a", "x"), key=basic)
    assert filled.get("/s/whitelist/versions", key=basic).json()["code"] == "feature-not-in-plan"
    assert filled.get("/s/settings/versions", key=basic).json() == {"versions": []}


def test_long_changes_are_told_in_short(filled: Service) -> None:
    names = {"x" * 190: 2, **{f"n{number:02}": 2 for number in range(30)}, "a/b~c": 2}
    put(filled, "settings", {"categoryWeights": names, "vocabulary": {"ignore": [f"tag/{'w' * 70}"]}})
    put(filled, "whitelist", [f"p{number}" for number in range(25)])

    (settings,), (listed,) = changes(filled, "settings"), changes(filled, "whitelist")

    assert settings[:2] == [
        {"pointer": "/categoryWeights/a~1b~0c", "before": None, "after": 2},
        {"pointer": "/categoryWeights/n00", "before": None, "after": 2},
    ]
    assert (len(settings), settings[-1]) == (21, {"more": 13})
    assert (len(listed), listed[-1]) == (21, {"more": 5})
    put(filled, "settings", {})
    put(filled, "settings", {"vocabulary": {"ignore": [f"tag/{'w' * 70}"]}, "categoryWeights": {"x" * 190: 2}})
    assert changes(filled, "settings")[0] == [{"pointer": "/categoryWeights"}, {"pointer": "/vocabulary"}]


def test_versions_and_the_audit_log_name_who_changed_what(filled: Service) -> None:
    ida = filled.new_key(name="Ida Berg")
    assert filled.put("/s/settings", json={"halfLifeDays": 7}, key=ida).status_code == 200
    assert filled.put("/s/blacklist", json=["a"], key=ida).status_code == 200
    assert filled.put("/s/blacklist", json=["a"]).status_code == 200

    half_life = [{"pointer": "/halfLifeDays", "before": 90, "after": 7}]
    (version,) = versions(filled, "settings")
    assert (version["actorName"], version["changes"]) == ("Ida Berg", half_life)
    entries = filled.get("/s/audit").json()["entries"]
    told = [(each["action"], each.get("actorName"), each.get("changes")) for each in entries]
    assert told[:3] == [
        ("blacklist.replace", None, None),
        ("blacklist.replace", "Ida Berg", [{"added": "a"}]),
        ("settings.replace", "Ida Berg", half_life),
    ]


def test_a_draft_tells_in_the_audit_log_what_it_changed(filled: Service) -> None:
    edits = {"blacklist": ["a"], "settings": {"halfLifeDays": 3}}
    assert filled.put("/s/drafts/d", json=edits).status_code == 200
    assert filled.post("/s/drafts/d/publish", json={}).status_code == 200

    entries = filled.get("/s/audit").json()["entries"]

    told = {each["action"]: each["changes"] for each in entries if "changes" in each}
    half_life = {"pointer": "/halfLifeDays", "before": 90, "after": 3}
    assert told == {"settings.replace": [half_life], "blacklist.replace": [{"added": "a"}]}

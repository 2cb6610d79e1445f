"""Drafts: edits that wait, published as one version and taken back as one (interface, section 10)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acceptance.processes import wait_until
from factories import piece
from serving import Service, ok
from strategies import examples

HOME = {"kind": "popular"}
OTHER = {"kind": "new"}


def put(service: Service, edits: Any, name: str = "spring", **options: Any) -> Any:
    return ok(service.put(f"/s/drafts/{name}", json=edits, **options))


def do(service: Service, step: str, body: Any = None, *, name: str = "spring", **options: Any) -> Any:
    options |= {} if body is None else {"json": body}
    return service.post(f"/s/drafts/{name}/{step}", **options)


def seen(service: Service, step: str, body: Any = None, *, name: str = "spring", **options: Any) -> Any:
    """Do something to a draft as who has looked at it now."""
    revision = ok(service.get(f"/s/drafts/{name}"))["revision"]
    return do(service, f"{step}{'&' if '?' in step else '?'}revision={revision}", body, name=name, **options)


def refused(answer: Any, status: int, code: str) -> Any:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    return answer.json()


@pytest.fixture(autouse=True)
def _filled(service: Service) -> None:
    fill(service)


def fill(service: Service) -> None:
    service.submit("s", *[piece(f"p{number}", f"g{number % 3}", f"h{number % 2}") for number in range(6)])


def standing(service: Service) -> Any:
    """Return all that drafts edit, as it is in force."""
    placements = ok(service.get("/s/placements"))["placements"]
    found = {each["name"]: each["placement"] for each in placements}
    lists = [ok(service.get(f"/s/{name}")) for name in ("blacklist", "whitelist")]
    content = {each["id"]: each for each in ok(service.get("/s/content"))["content"]}
    return found, ok(service.get("/s/settings")), lists, content


def test_a_draft_is_read_as_it_was_written(service: Service) -> None:
    edits = {"title": "Spring", "placements": {"home": HOME, "old": None}, "blacklist": ["p1"], "content": [piece("n")]}

    written = put(service, edits)

    read = ok(service.get("/s/drafts/spring"))
    assert read == written
    assert {key: read[key] for key in ("title", "blacklist")} == {"title": "Spring", "blacklist": ["p1"]}
    assert read["placements"] == {"home": HOME, "old": None}
    assert read["content"] == [piece("n") | {"filters": {}, "extras": {}}]
    assert (read["state"], read["by"], read["writers"]) == ("draft", read["steps"][0]["by"], [read["by"]])
    assert read["changedAt"] == read["steps"][0]["timestamp"]


@pytest.mark.nodes
def test_publishing_puts_everything_in_force_as_one_version(service: Service) -> None:
    for name in ("old", "home"):
        service.put(f"/s/placements/{name}", json=OTHER)
    edits = {
        "placements": {"home": HOME, "old": None},
        "blacklist": ["p1"],
        "whitelist": ["p2"],
        "settings": {"halfLifeDays": 7},
        "content": [piece("n", "g0"), piece("p0", "other")],
    }
    put(service, edits)

    version = ok(do(service, "publish"))["version"]

    placements, source_settings, lists, content = standing(service)
    assert (placements, lists) == ({"home": HOME}, [["p1"], ["p2"]])
    assert source_settings["halfLifeDays"] == 7
    assert content["p0"]["categories"] == {"genre": ["other"]}
    assert "n" in content
    assert ok(service.get("/s"))["version"] == version
    versions = ok(service.get("/s/placements/home/versions"))["versions"]
    assert (versions[0]["version"], [each.get("draft") for each in versions]) == (version, ["spring", None])


def test_what_is_published_is_undone_once_and_can_be_published_again(service: Service) -> None:
    put(service, {"blacklist": ["p1"], "placements": {"home": HOME}})

    refused(do(service, "undo"), 409, "wrong-draft-state")
    ok(do(service, "publish"))
    ok(do(service, "undo"))
    refused(do(service, "undo"), 409, "wrong-draft-state")
    ok(do(service, "publish"))
    assert ok(service.get("/s/blacklist")) == ["p1"]


@pytest.mark.nodes
@pytest.mark.parametrize(
    ("edits", "change", "pointer"),
    (
        ({"blacklist": ["p2", "p1"]}, ("/s/blacklist", ["p1", "p2", "p3"]), "/blacklist"),
        ({"placements": {"a/b": HOME}}, ("/s/placements/a%2Fb", OTHER), "/placements/a~1b"),
        ({"settings": {"halfLifeDays": 7}}, ("/s/settings", {"halfLifeDays": 8}), "/settings"),
    ),
)
def test_what_has_changed_since_is_published_only_by_force(
    service: Service, edits: Any, change: Any, pointer: str
) -> None:
    ok(service.put("/s/blacklist", json=["p1", "p2"]))
    put(service, edits)
    ok(service.put(change[0], json=change[1]))
    before = standing(service)

    problem = refused(do(service, "publish"), 409, "outdated-draft")

    assert [each["pointer"] for each in problem["errors"]] == [pointer]
    assert standing(service) == before
    ok(do(service, "publish?force=true"))
    assert standing(service) != before


def test_a_piece_that_was_replaced_since_makes_a_draft_outdated(service: Service) -> None:
    put(service, {"content": [piece("p1", "mine")], "blacklist": ["p2"]})
    service.submit("s", piece("p1", "theirs"))

    problem = refused(do(service, "publish"), 409, "outdated-draft")

    assert [each["pointer"] for each in problem["errors"]] == ["/content/p1"]
    assert ok(service.get("/s/blacklist")) == []


def test_writing_a_draft_anew_goes_by_what_is_there_now(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    service.put("/s/blacklist", json=["p2"])

    put(service, {"blacklist": ["p1", "p2"]})

    ok(do(service, "publish"))


def test_what_has_changed_since_its_publication_is_not_undone(service: Service) -> None:
    put(service, {"blacklist": ["p1"], "whitelist": ["p2"]})
    ok(do(service, "publish"))
    service.put("/s/blacklist", json=["p1", "p3"])

    refused(do(service, "undo"), 409, "outdated-draft")

    assert ok(service.get("/s/whitelist")) == ["p2"]
    service.put("/s/blacklist", json=["p1"])
    ok(do(service, "undo"))


@pytest.mark.parametrize(
    ("edits", "pointer"),
    (
        ({"placements": {"home": {"kind": "none"}}}, "/placements/home/kind"),
        ({"placements": {"..": HOME}}, "/placements/.."),
        ({"placements": {"home": {"kind": "popular", "filter": {"must": [{"x": {"any": [1]}}]}}}}, None),
        ({"placements": []}, "/placements"),
        ({"settings": {"halfLifeDays": "x"}}, "/settings/halfLifeDays"),
        ({"blacklist": ["p1", "p1"]}, "/blacklist/1"),
        ({"whitelist": {}}, "/whitelist"),
        ({"content": [{"id": "x", "categories": {}, "label": 5}]}, "/content/0/label"),
        ({"content": {}}, "/content"),
        ({"title": "x" * 201}, "/title"),
        ({"note": 5}, "/note"),
        ({"else": 1}, "/else"),
    ),
)
def test_a_draft_is_checked_as_its_routes_do(service: Service, edits: Any, pointer: str | None) -> None:
    problem = refused(service.put("/s/drafts/spring", json=edits), 422, "invalid-input")

    found = [each["pointer"] for each in problem["errors"]]
    assert found == [pointer] if pointer else found[0].startswith("/placements/home/filter")
    refused(service.get("/s/drafts/spring"), 404, "unknown-draft")


def test_a_draft_of_too_many_pieces_is_refused(service: Service) -> None:
    answer = service.put("/s/drafts/spring", json={"content": [piece(str(number)) for number in range(2001)]})

    refused(answer, 413, "too-many-entries")


def test_filters_go_by_the_attributes_that_the_draft_brings(service: Service) -> None:
    filtered = {"kind": "popular", "filter": {"must": [{"key": "year", "gte": 2000}]}}
    attributes = {"year": {"pointer": "/year", "type": "integer"}}

    put(service, {"placements": {"home": filtered}, "settings": {"attributes": attributes}})

    ok(do(service, "publish"))
    assert ok(service.get("/s/placements/home")) == filtered


def test_a_placement_whose_filter_fits_no_longer_is_not_published(service: Service) -> None:
    service.put("/s/settings", json={"attributes": {"year": {"pointer": "/year", "type": "integer"}}})
    filtered = {"kind": "popular", "filter": {"must": [{"key": "year", "gte": 2000}]}}
    put(service, {"placements": {"home": filtered}})
    service.put("/s/settings", json={})

    problem = refused(do(service, "publish"), 422, "invalid-input")

    assert problem["errors"][0]["pointer"].startswith("/placements/home/filter")


def test_a_plan_without_a_feature_edits_nothing_by_drafts_that_needs_it(service: Service) -> None:
    basic = service.new_key(plan="basic")

    for edits in ({"placements": {"home": HOME}}, {"blacklist": ["p1"]}):
        refused(service.put("/s/drafts/spring", json=edits, key=basic), 403, "feature-not-in-plan")
    put(service, {"blacklist": ["p1"]})
    refused(do(service, "publish", key=basic), 403, "feature-not-in-plan")
    put(service, {"settings": {"halfLifeDays": 7}}, key=basic)
    ok(do(service, "publish", key=basic))


def test_drafts_are_listed_without_what_they_edit(service: Service) -> None:
    put(service, {"title": "One", "blacklist": ["p1"]}, name="one")
    put(service, {"whitelist": ["p1"]}, name="two")
    ok(do(service, "propose", {"note": "look"}, name="one"))

    listed = ok(service.get("/s/drafts"))["drafts"]

    assert [(each["name"], each["state"], each.get("title")) for each in listed] == [
        ("one", "proposed", "One"),
        ("two", "draft", None),
    ]
    assert "blacklist" not in listed[0]


def test_a_deleted_draft_is_gone_and_what_was_published_with_it_stays(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    ok(do(service, "publish"))

    assert service.delete("/s/drafts/spring").status_code == 202

    refused(service.get("/s/drafts/spring"), 404, "unknown-draft")
    assert service.delete("/s/drafts/spring").status_code == 202
    assert ok(service.get("/s/blacklist")) == ["p1"]


def test_a_proposal_is_sent_back_written_anew_and_accepted(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    refused(do(service, "accept", {}), 409, "wrong-draft-state")
    ok(do(service, "propose", {"note": "please"}))
    assert ok(do(service, "send-back", {"note": "not p1"}))["state"] == "sent-back"
    assert put(service, {"blacklist": ["p2"]})["state"] == "draft"
    ok(do(service, "propose", {}))

    version = ok(do(service, "accept", {"note": "fine"}))["version"]

    draft = ok(service.get("/s/drafts/spring"))
    steps = [(each["step"], each.get("note")) for each in reversed(draft["steps"])]
    assert steps == [
        ("save", None),
        ("propose", "please"),
        ("send-back", "not p1"),
        ("save", None),
        ("propose", None),
        ("accept", "fine"),
    ]
    assert (draft["state"], draft["steps"][0]["version"]) == ("published", version)


def test_with_four_eyes_no_writer_publishes(service: Service) -> None:
    service.put("/s/settings", json={"fourEyes": True})
    second, third = service.new_key(), service.new_key()
    put(service, {"blacklist": ["p1"]})
    put(service, {"blacklist": ["p1", "p2"]}, key=second)

    for key in (service.key, second):
        refused(do(service, "publish", key=key), 403, "four-eyes")
        refused(do(service, "publish?force=true", key=key), 403, "four-eyes")
        refused(do(service, "schedule", {"at": "2099-01-01T00:00:00Z"}, key=key), 403, "four-eyes")
    ok(do(service, "propose", {}))
    refused(do(service, "accept", {}), 403, "four-eyes")
    refused(seen(service, "accept", {}), 403, "four-eyes")
    ok(seen(service, "accept", {}, key=third))


def test_a_draft_that_turns_four_eyes_off_is_under_four_eyes(service: Service) -> None:
    service.put("/s/settings", json={"fourEyes": True})
    put(service, {"settings": {"fourEyes": False}})

    refused(do(service, "publish"), 403, "four-eyes")


def test_a_revision_is_another_one_each_time_a_draft_is_written_and_its_tag(service: Service) -> None:
    first = put(service, {"blacklist": ["p1"]})["revision"]
    answer = service.get("/s/drafts/spring")
    second = put(service, {"blacklist": ["p1"]})["revision"]

    assert (answer.json()["revision"], answer.headers["etag"]) == (first, f'W/"{first}"')
    assert first != second
    # What is done to it is none: who was told of a revision when they wrote it, and proposes it, names that one.
    ok(do(service, "propose", {}))
    again = service.get("/s/drafts/spring", headers={"if-none-match": f'W/"{second}"'})
    assert (again.status_code, again.json()["revision"], again.json()["state"]) == (200, second, "proposed")
    assert ok(service.get("/s/drafts"))["drafts"][0]["revision"] == second
    assert put(service, again.json())["revision"] not in {first, second}


STEPS: tuple[tuple[str, Any, str, tuple[str, ...]], ...] = (
    ("publish", None, "publish", ()),
    ("accept", {}, "accept", ("propose",)),
    ("schedule", {"at": "2099-01-01T00:00:00Z"}, "schedule", ()),
    ("undo", None, "undo", ("publish",)),
)


@pytest.mark.parametrize(("step", "body", "last", "before"), STEPS, ids=[each[0] for each in STEPS])
def test_what_is_done_to_another_revision_than_the_one_named_is_refused(
    service: Service, step: str, body: Any, last: str, before: tuple[str, ...]
) -> None:
    old = put(service, {"blacklist": ["p1"]})["revision"]
    now = put(service, {"blacklist": ["p1", "p2", "p3"]})["revision"]
    for each in before:
        ok(do(service, each, None if each == "publish" else {}))
    standing_before, draft = standing(service), ok(service.get("/s/drafts/spring"))

    for stale in (old, "1", "none", "%20", f"0{now}", now.upper() + "0", f"{now}&force=true&revision={now}"):
        answer = do(service, f"{step}?revision={stale}", body)
        expected = (422, "invalid-input") if "&" in stale else (409, "draft-changed")
        assert (answer.status_code, answer.json()["code"]) == expected, stale

    assert (standing(service), ok(service.get("/s/drafts/spring"))) == (standing_before, draft)
    ok(do(service, f"{step}?revision={now}", body))
    assert ok(service.get("/s/drafts/spring"))["steps"][0]["step"] == last


def test_a_draft_is_written_over_the_revision_that_is_named_alone(service: Service) -> None:
    old = put(service, {"blacklist": ["p1"]})["revision"]
    now = put(service, {"blacklist": ["p2"]})["revision"]

    for name, revision in (("spring", old), ("spring", "none"), ("other", now)):
        answer = service.put(f"/s/drafts/{name}?revision={revision}", json={"blacklist": []})
        refused(answer, 409, "draft-changed")

    assert [each["revision"] for each in ok(service.get("/s/drafts"))["drafts"]] == [now]
    assert put(service, {"blacklist": []}, params={"revision": now})["blacklist"] == []


@pytest.mark.slow
def test_what_is_published_is_what_was_looked_at_whoever_writes_meanwhile(service: Service) -> None:
    """One writes the draft again and again, while another looks and publishes, until both outcomes have come."""
    service.put("/s/settings", json={"fourEyes": True})
    editor, outcomes, enough = service.new_key(), set[int](), Event()

    def write() -> None:
        for number in range(2_000):
            put(service, {"blacklist": [f"p{number % 6}"]})
            if enough.wait(number % 4 * 0.01):
                return

    put(service, {"blacklist": ["p0"]})
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        while not {200, 409} <= outcomes and not writing.done():
            look = ok(service.get("/s/drafts/spring"))
            answer = service.post(f"/s/drafts/spring/publish?revision={look['revision']}", key=editor)
            outcomes.add(answer.status_code)
            if answer.status_code == 200:
                assert ok(service.get("/s/blacklist")) == look["blacklist"]
            else:
                assert answer.json()["code"] in {"draft-changed", "wrong-draft-state"}
        enough.set()
        writing.result()

    assert outcomes == {200, 409}


def test_a_publication_tells_a_list_that_others_have_changed_meanwhile(service: Service) -> None:
    put(service, {"blacklist": ["p1"], "whitelist": ["p2"]})
    service.put("/s/blacklist", json=["p8"])

    published = ok(do(service, "publish"))

    assert set(published) == {"version", "blacklist"}
    assert published["blacklist"] == ok(service.get("/s/blacklist")) == ["p8", "p1"]
    ok(do(service, "undo"))
    put(service, {"blacklist": ["p8", "p1"]})
    service.put("/s/blacklist", json=[])
    assert ok(do(service, "propose", {}))["blacklist"] == ["p8", "p1"]
    assert ok(do(service, "accept", {}))["blacklist"] == ["p1"]


def test_edits_come_back_as_their_routes_give_them(service: Service) -> None:
    edits = {
        "placements": {"home": {"title": "Home", "kind": "popular", "diversity": 0}},
        "settings": {"halfLifeDays": 7, "words": {}},
        "blacklist": ["p2", "p1"],
        "whitelist": [],
        "content": [{"id": "n", "label": None, "categories": {"genre": ["x", {"key": "y", "weight": 1.0}]}}],
    }
    written = put(service, edits)
    read = ok(service.get("/s/drafts/spring"))
    ok(do(service, "publish"))

    assert written == read
    assert read["placements"] == {"home": ok(service.get("/s/placements/home"))}
    assert read["settings"] == ok(service.get("/s/settings"))
    assert [read[each] for each in ("blacklist", "whitelist")] == standing(service)[2]
    assert read["content"] == [ok(service.get("/s/content/n"))]


def moment(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


def state(service: Service) -> str:
    return str(ok(service.get("/s/drafts/spring"))["state"])


@pytest.mark.nodes
@pytest.mark.slow
def test_a_scheduled_draft_is_published_at_its_moment(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    scheduled = ok(do(service, "schedule", {"at": moment(seconds=1)}))
    assert (scheduled["state"], scheduled["due"]) == ("scheduled", scheduled["steps"][0]["due"])

    wait_until(lambda: state(service) == "published")

    assert ok(service.get("/s/blacklist")) == ["p1"]
    assert ok(service.get("/s/drafts/spring"))["steps"][0]["by"] == scheduled["by"]


def test_a_schedule_can_be_taken_back(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    ok(do(service, "schedule", {"at": moment(hours=1)}))

    assert ok(do(service, "schedule", {"at": None}))["state"] == "draft"

    refused(do(service, "schedule", {"at": moment(hours=-1)}), 422, "invalid-input")
    refused(do(service, "schedule", {"at": "soon"}), 422, "invalid-input")


def test_writing_a_scheduled_draft_takes_its_schedule_back(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    ok(do(service, "schedule", {"at": moment(hours=1)}))

    written = put(service, {"blacklist": ["p2"]})

    assert (written["state"], "due" in written) == ("draft", False)


@pytest.mark.nodes
@pytest.mark.slow
def test_drafts_that_edit_other_pieces_of_a_list_are_both_published(service: Service) -> None:
    ok(service.put("/s/blacklist", json=["p0", "p1"]))
    put(service, {"blacklist": ["p0", "p1", "p2"]}, name="hides")
    put(service, {"blacklist": ["p1"]}, name="shows")
    put(service, {"blacklist": ["p3", "p0", "p1"]}, name="first")
    assert ok(service.get("/s/drafts/shows"))["changes"] == {"blacklist": {"added": {}, "removed": ["p0"]}}

    for name in ("hides", "shows", "first"):
        ok(do(service, "publish", name=name))

    # What stands before a piece that has gone stands at the end.
    assert ok(service.get("/s/blacklist")) == ["p1", "p2", "p3"]


def test_what_a_draft_of_a_list_reads_as_can_be_written_back_after_others_have_changed_it(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    ok(service.put("/s/blacklist", json=["p2"]))

    found = ok(service.get("/s/drafts/spring"))
    put(service, found)
    ok(do(service, "publish"))

    assert found["blacklist"] == ok(service.get("/s/blacklist")) == ["p2", "p1"]


def test_everything_of_a_draft_is_audited(service: Service) -> None:
    put(service, {"blacklist": ["p1"], "placements": {"home": HOME}, "settings": {}})
    do(service, "propose", {})
    do(service, "accept", {})
    do(service, "undo")
    service.delete("/s/drafts/spring")

    with service.opened_storage() as storage:
        entries = [each for each in storage.accounts.list_audit() if each.account == service.account]

    of_draft = [each.action for each in reversed(entries) if each.subject == "s/spring"]
    assert of_draft == ["draft.save", "draft.propose", "draft.accept", "draft.undo", "draft.delete"]
    assert {"blacklist.replace", "placement.replace", "placement.delete", "settings.replace"} <= {
        each.action for each in entries
    }


def test_browser_keys_know_no_drafts(service: Service) -> None:
    put(service, {"blacklist": ["p1"]})
    key = service.new_key(origins=("https://example.org",), scopes=("read", "personal", "interact"))
    headers = {"origin": "https://example.org"}

    for limited in (key, service.new_key(origins=("https://example.org",), scopes=("interact",))):
        for path in ("/s/drafts", "/s/drafts/spring", "/s/ids", "/s/content", "/s/changes"):
            refused(service.get(path, key=limited, headers=headers), 403, "not-in-browsers")
        for step, body in (("publish", None), ("propose", {}), ("effect", {}), ("undo", None)):
            refused(do(service, step, body, key=limited, headers=headers), 403, "not-in-browsers")
        refused(service.put("/s/drafts/spring", json={}, key=limited, headers=headers), 403, "not-in-browsers")
        refused(service.put("/s/blacklist", json=[], key=limited, headers=headers), 403, "outside-scope")


def effect(service: Service, edits: Any, wish: Any) -> Any:
    put(service, edits)
    return ok(do(service, "effect", wish))


def ids(entries: Any) -> list[str]:
    return [each["id"] for each in entries]


def liked(service: Service, user: str, *pieces: str) -> None:
    clicks = [{"userId": user, "type": "RateLike", "contentId": each} for each in pieces]
    assert service.post("/s/interactions", json=clicks).status_code in {200, 202}


NEAR, SUITED = "/s/content/{}/similar?limit=5", "/s/users/{}/recommendation?limit=5"


def listed(service: Service, address: str, of: str) -> Any:
    return ok(service.get(address.format(of)))["content"]


def test_an_effect_shows_lists_as_they_come_to_be(service: Service) -> None:
    liked(service, "kim", "p0", "p3")
    edits = {"blacklist": ["p3"], "content": [piece("n", "g0", "h0")], "settings": {"categoryWeights": {"genre": 2}}}

    told = effect(service, edits, {"users": ["kim"], "pieces": ["p0", "n"], "take": 5})

    old, new = told["pieces"]
    assert (old["before"], new["before"]) == (listed(service, NEAR, "p0"), [])
    assert ids(told["users"][0]["before"]) == ids(listed(service, SUITED, "kim"))
    assert (told["left"], told["without"]) == (0, [])
    ok(do(service, "publish"))
    assert (old["after"], new["after"]) == (listed(service, NEAR, "p0"), listed(service, NEAR, "n"))
    after = ids(told["users"][0]["after"])
    # What people like is weighed anew soon after the settings changed.
    wait_until(lambda: ids(listed(service, SUITED, "kim")) == after)


def test_an_effect_counts_what_comes_into_lists_and_drops_out(service: Service) -> None:
    service.submit("s", piece("alone", "else"))

    told = effect(service, {"blacklist": ["p1"], "content": [piece("alone", "g0")]}, {"users": [], "pieces": []})

    assert told["reach"] == {"into": 1, "out": 1, "moved": told["reach"]["moved"], "lists": 7, "of": 7}
    assert told["reach"]["moved"] > 0
    none = effect(service, {"placements": {"home": HOME}}, {"users": [], "pieces": []})["reach"]
    assert none == {"into": 0, "out": 0, "moved": 0, "lists": 7, "of": 7}


def test_an_effect_shows_the_most_active_where_none_are_named(service: Service) -> None:
    for count, user in enumerate(("ann", "bob"), start=1):
        liked(service, user, *[f"p{number}" for number in range(count)])

    edits = {"blacklist": ["p5"]}
    # On a busy machine it is known half a second later who is active.
    wait_until(lambda: ids(effect(service, edits, {})["users"]) == ["bob", "ann"])

    assert ids(effect(service, edits, {})["pieces"]) == ["p0", "p1"]
    without_people = service.new_key(scopes=["write"])
    assert ok(do(service, "effect", {}, key=without_people))["users"] == []
    refused(do(service, "effect", {"users": ["ann"]}, key=without_people), 403, "outside-scope")


def test_an_effect_shows_placements_as_they_come_to_be(service: Service) -> None:
    liked(service, "kim", "p0")
    service.put("/s/placements/home", json=HOME)
    edits = {"placements": {"home": {"kind": "popular", "blacklist": ["p0"]}, "more": OTHER}, "blacklist": ["p1"]}

    told = effect(service, edits, {"users": ["kim"], "pieces": [], "take": 30})["placements"]

    assert [each["placement"] for each in told] == ["home", "more"]
    before = ok(service.get("/s/placements/home/list?user=kim"))
    assert ids(told[0]["lists"][0]["before"]) == ids(before["content"])
    ok(do(service, "publish"))
    for each in told:
        now = ok(service.get(f"/s/placements/{each['placement']}/list?user=kim"))
        assert ids(each["lists"][0]["after"]) == ids(now["content"])


def test_an_effect_leaves_out_what_would_take_reading_all_pieces_anew(service: Service) -> None:
    year = {"year": {"pointer": "/year", "type": "integer"}}
    edits = {
        "settings": {"words": {}, "attributes": year},
        "placements": {"home": {"kind": "popular", "filter": {"key": "year", "gte": 2000}}},
    }

    told = effect(service, edits, {"users": [], "pieces": ["p0"]})

    assert told["without"] == ["/settings/words", "/settings/attributes", "/placements/home"]


def test_an_effect_changes_nothing_that_requests_see(service: Service) -> None:
    liked(service, "kim", "p0", "p3")
    asked = ((NEAR, "p0"), (SUITED, "kim"), ("/s/popular", ""))
    before = [ids(listed(service, *each)) for each in asked]

    content = [piece("p0", "else"), piece("n", "g0")]
    effect(service, {"blacklist": ["p1"], "content": content, "settings": {"excludeSeen": False}}, {"users": ["kim"]})

    assert [ids(listed(service, *each)) for each in asked] == before


def test_an_effect_of_unknown_pieces_is_refused(service: Service) -> None:
    put(service, {"content": [piece("n", "g0")]})

    problem = refused(do(service, "effect", {"pieces": ["p0", "gone", "n"]}), 404, "unknown-piece")

    assert [each["pointer"] for each in problem["errors"]] == ["/pieces/1"]
    refused(do(service, "effect", {"pieces": ["p"] * 101}), 413, "too-many-entries")
    refused(do(service, "effect", {}, name="none"), 404, "unknown-draft")


IDS = st.lists(st.sampled_from(["p0", "p1", "p2", "x"]), unique=True, max_size=3)
EDITS = st.fixed_dictionaries(
    {},
    optional={
        "blacklist": IDS,
        "whitelist": IDS,
        "settings": st.fixed_dictionaries({"halfLifeDays": st.integers(1, 9)}),
        "placements": st.dictionaries(
            st.sampled_from(["a", "b", "c"]),
            st.none()
            | st.fixed_dictionaries(
                {"kind": st.sampled_from(["popular", "new"])},
                optional={
                    "experiment": st.just("e"),
                    "variants": st.just([{"name": "v", "share": 0.25, "kind": "new"}]),
                },
            ),
        ),
        "content": st.lists(st.sampled_from(["p0", "p1", "n0", "n1"]), unique=True).map(
            lambda ids: [piece(each, "changed") for each in ids]
        ),
    },
)


def lists_of_people(service: Service) -> Any:
    """Return which variant of placements people see, and which pieces."""
    answers = [service.get(f"/s/placements/{name}/list?user=u{number}").json() for name in "abc" for number in range(4)]
    return [(each.get("variant"), [entry["id"] for entry in each.get("content", ())]) for each in answers]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=EDITS, second=EDITS)
def test_publishing_and_undoing_leave_everything_as_it_was(service: Service, first: Any, second: Any) -> None:
    fill(service)
    put(service, first, name="first")
    ok(do(service, "publish", name="first"))
    before, shown = standing(service), lists_of_people(service)

    put(service, second, name="second")
    ok(do(service, "publish", name="second"))
    ok(do(service, "undo", name="second"))

    assert (standing(service), lists_of_people(service)) == (before, shown)

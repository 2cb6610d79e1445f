"""A source as a catalogue: what a search finds, categories and keywords, against a look at every piece."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.bootstrap import web_application
from penchant.model import MAX_LIST_LENGTH, Scope
from penchant.service.health_reports import FINDINGS_FOLDER, FindingsFiles
from penchant.settings import NodeSettings
from serving import Applications, PromptClient, Service


def answer(service: Service, path: str, **query: Any) -> Any:
    found = service.get(path, params=query or None)
    assert found.status_code == 200, found.text
    return found.json()


def play(service: Service, user: str) -> None:
    assert service.post(f"/s/users/{user}/interactions/Play/content/alien").status_code == 200


def found_ids(service: Service, q: str, **query: Any) -> list[str]:
    return [each["id"] for each in answer(service, "/s/search", q=q, **query).get("content", [])]


@pytest.fixture
def filled(service: Service) -> Service:
    service.submit(
        "s",
        piece("alien", "horror", "Space", label="Alien"),
        piece("a2", "horror", label="Aliens"),
        piece("b", "alien life", label="Solaris"),
        piece("c", "drama", label="Contact", extras={"text": "No alien at all"}),
        piece("d", "drama", label="Gravity"),
    )
    return service


def test_pieces_are_found_by_id_label_keyword_and_text_in_this_order(filled: Service) -> None:
    found = answer(filled, "/s/search", q="alien")

    assert [(each["id"], each["place"]) for each in found["content"]] == [
        ("alien", "id"), ("a2", "label"), ("b", "keyword"), ("c", "text")
    ]  # fmt: skip
    assert found["content"][1:3] == [
        {"id": "a2", "label": "Aliens", "place": "label"},
        {"id": "b", "label": "Solaris", "place": "keyword", "text": "genre: alien life"},
    ]
    assert (found["kind"], found["count"], found["complete"]) == ("piece", 4, True)


def test_hits_come_page_by_page(filled: Service) -> None:
    assert found_ids(filled, "alien", limit=2) + found_ids(filled, "alien", skip=2, limit=2) == [
        "alien",
        "a2",
        "b",
        "c",
    ]
    assert answer(filled, "/s/search", q="alien", skip=9) == {
        "kind": "piece",
        "count": 4,
        "complete": True,
        "lookedAt": 5,
        "content": [],
    }


def test_titles_complete_what_is_typed(filled: Service) -> None:
    def typed(**query: str) -> list[str]:
        return [each["label"] for each in answer(filled, "/s/titles", **query)["titles"]]

    assert typed(q="ALI") == ["Alien", "Aliens"]
    assert typed(q="no such") == []
    assert {"Alien", "Aliens", "Solaris"} <= {*typed()}


def test_the_next_request_finds_what_was_just_stored_and_nothing_deleted(filled: Service) -> None:
    filled.submit("s", piece("new", "alien life"))
    filled.delete("/s/content/b")

    assert found_ids(filled, "alien life") == ["new"]
    assert answer(filled, "/s/keywords", q="alien")["keywords"] == [
        {"category": "genre", "keyword": "alien life", "pieces": 1}
    ]
    assert answer(filled, "/s/categories")["categories"] == [{"category": "genre", "keywords": 4, "pieces": 5}]


def test_catalogs_come_with_how_many_pieces_are_in_them(service: Service) -> None:
    service.submit("s")
    assert answer(service, "/s/catalogs") == {"count": 0, "catalogs": []}
    named = {"a": ["tv"], "b": ["tv", "web"], "c": ["cinema", "web"], "d": [], "e": ["gone"]}
    for key, names in named.items():
        service.submit("s", piece(key, "x", filters={"catalogs": names}))
    service.delete("/s/content/e")

    assert answer(service, "/s/catalogs") == {
        "count": 3,
        "catalogs": [
            {"catalog": "tv", "pieces": 2}, {"catalog": "web", "pieces": 2}, {"catalog": "cinema", "pieces": 1}
        ],
    }  # fmt: skip
    assert answer(service, "/s/catalogs", skip=2, limit=5)["catalogs"] == [{"catalog": "cinema", "pieces": 1}]


def test_extras_are_told_as_what_attributes_they_could_be(service: Service) -> None:
    everything: list[dict[str, Any]] = [
        {
            "year": 1999,
            "price": 2.5,
            "free": True,
            "made": "2026-01-31",
            "shelf": {"name/of": "top"},
            "tags": ["a", "b"],
        },
        {"year": 1999, "price": 3, "free": 1, "made": "2026-02-01T10:00:00Z", "tags": "b", "text": "x" * 501},
        {"year": 2001, "shelf": {"name/of": "low", "deep": {"er": {"est": 1}}}, "tags": [["no"]], "none": None},
    ]
    service.submit("s", *(piece(str(number), "x", extras=each) for number, each in enumerate(everything)))

    found = answer(service, "/s/extras", examples=2)

    assert found["lookedAt"] == 3
    assert [(each["pointer"], each["type"], each["pieces"]) for each in found["extras"]] == [
        ("/free", "boolean", 1),
        ("/made", "time", 2),
        ("/price", "number", 2),
        ("/shelf/name~1of", "keyword", 2),
        ("/tags", "keywords", 2),
        ("/year", "integer", 3),
    ]
    assert found["extras"][0]["examples"] == [{"value": True, "pieces": 1}]
    assert found["extras"][4]["examples"] == [{"value": "b", "pieces": 2}, {"value": "a", "pieces": 1}]
    assert found["extras"][5]["examples"] == [{"value": 1999, "pieces": 2}, {"value": 2001, "pieces": 1}]
    attributes = {each["pointer"]: {"pointer": each["pointer"], "type": each["type"]} for each in found["extras"]}
    assert service.put("/s/settings", json={"attributes": attributes}).status_code == 200


def test_extras_of_any_shape_are_looked_through_within_bounds(service: Service) -> None:
    wide = {f"m{number:04}": {"x": {"y": {"z": number}}, "n": number} for number in range(1_000)}
    service.submit("s", piece("wide", "x", extras=wide), piece("deep", "x", extras={"m": [{"a": 1}, [1], 2]}))

    found = answer(service, "/s/extras")

    assert found["lookedAt"] == 2
    assert [each["pointer"] for each in found["extras"]] == [f"/m{number:04}/n" for number in range(99)]


def test_people_are_found_by_the_beginning_of_their_id_first_who_is_it(filled: Service) -> None:
    for user in ("kimberly", "kim", "lee"):
        play(filled, user)

    assert answer(filled, "/s/search", q="kim", kind="person") == {
        "kind": "person", "count": 2, "complete": True, "users": ["kim", "kimberly"]
    }  # fmt: skip
    assert answer(filled, "/s/search", q="kim", kind="person", skip=1)["users"] == ["kimberly"]
    filled.delete("/s/users/kim")
    assert answer(filled, "/s/search", q="kim", kind="person")["users"] == ["kimberly"]


def test_people_are_for_keys_that_may_ask_for_people(filled: Service) -> None:
    play(filled, "kim")
    reading = filled.new_key(scopes=[Scope.READ])

    assert filled.get("/s/search?q=kim", key=reading).status_code == 200
    refused = filled.get("/s/search?q=kim&kind=person", key=reading)
    assert (refused.status_code, refused.json()["code"]) == (403, "outside-scope")


def test_without_a_text_people_come_by_how_much_they_did_lately(filled: Service) -> None:
    for user in ("lee", "kim", "kim"):
        play(filled, user)

    assert answer(filled, "/s/search", kind="person")["users"] == ["kim", "lee"]


def test_people_are_told_apart_by_how_much_they_did(filled: Service) -> None:
    for user in ("lee", "kim", "kim", "ann", "ann", "ann", "ann"):
        play(filled, user)

    assert answer(filled, "/s/search", kind="person", known="well")["users"] == ["ann"]
    assert answer(filled, "/s/search", kind="person", known="little")["users"] == ["lee", "kim"]
    assert filled.get("/s/search?kind=person&known=x").status_code == 422


def test_pieces_come_by_the_beginning_of_their_id_page_by_page(filled: Service) -> None:
    assert found_ids(filled, "a", place="id") == ["a2", "alien"]
    first = answer(filled, "/s/search", place="id", limit=2)

    assert [each["id"] for each in first["content"]] == ["a2", "alien"]
    assert (first["count"], first["complete"], first["after"]) == (2, False, "alien")
    rest = answer(filled, "/s/search", place="id", after="alien")
    assert ([each["id"] for each in rest["content"]], rest["complete"]) == (["b", "c", "d"], True)


def test_pieces_come_by_a_part_of_their_label_page_by_page(filled: Service) -> None:
    first = answer(filled, "/s/search", q="A", place="label", limit=3)

    assert [each["label"] for each in first["content"]] == ["Aliens", "Alien", "Solaris"]
    assert (first["complete"], first["after"], first["lookedAt"]) == (False, "b", 3)
    assert found_ids(filled, "A", place="label", after="b") == ["c", "d"]
    assert filled.get("/s/search?place=label").status_code == 422


def test_pieces_of_a_keyword_go_on_past_an_id(filled: Service) -> None:
    assert found_ids(filled, "horror", category="genre", after="a2") == ["alien"]


def test_pieces_of_exactly_a_keyword_come_by_id(filled: Service) -> None:
    found = answer(filled, "/s/search", q="horror", category="genre", skip=1)

    assert (found["count"], [each["id"] for each in found["content"]]) == (2, ["alien"])
    assert found_ids(filled, "horr", category="genre") == []


def test_keywords_are_found_by_their_beginning_whatever_their_case(filled: Service) -> None:
    found = answer(filled, "/s/search", q="SPACE", kind="keyword")

    assert found["keywords"] == [{"category": "genre", "keyword": "Space", "pieces": 1}]


def test_keywords_come_by_how_many_pieces_have_them(filled: Service) -> None:
    filled.submit("s", {"id": "e", "categories": {"other": ["drama"], "genre": ["drama"]}})

    found = answer(filled, "/s/keywords", category="genre")

    counts = [(each["keyword"], each["pieces"]) for each in found["keywords"]]
    assert counts == [("drama", 3), ("horror", 2), ("Space", 1), ("alien life", 1)]
    assert found["count"] == 4
    assert answer(filled, "/s/keywords", skip=1, limit=2)["keywords"] == found["keywords"][1:3]
    assert answer(filled, "/s/keywords", category="none") == {"count": 0, "keywords": []}


def test_keywords_that_the_vocabulary_joins_count_as_one(filled: Service) -> None:
    vocabulary = {"aliases": [{"from": ["genre/alien life"], "to": "genre/horror"}], "ignore": ["genre/Space"]}
    filled.put("/s/settings", json={"vocabulary": vocabulary})

    counts = Counter({each["keyword"]: each["pieces"] for each in answer(filled, "/s/keywords")["keywords"]})
    assert counts == {"horror": 3, "drama": 2}


@pytest.mark.parametrize(
    ("path", "parameter"),
    (
        ("/s/search", "q"),
        ("/s/search?q=", "q"),
        ("/s/search?q=" + "x" * 501, "q"),
        ("/s/search?q=x&kind=keywords", "kind"),
        ("/s/search?q=x&limit=0", "limit"),
        ("/s/search?q=x&skip=-1", "skip"),
        ("/s/keywords?category=", "category"),
        ("/s/keywords?limit=no", "limit"),
        ("/s/categories?skip=-1", "skip"),
        ("/s/catalogs?limit=0", "limit"),
        ("/s/extras?examples=0", "examples"),
        ("/s/activity?days=0", "days"),
    ),
)
def test_what_cannot_be_looked_for_is_named(filled: Service, path: str, parameter: str) -> None:
    refused = filled.get(path)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["parameter"] == parameter


def test_spaces_alone_find_an_id_and_no_text(filled: Service) -> None:
    filled.submit("s", piece(" ", "x"))

    assert found_ids(filled, " ") == [" "]


def test_a_key_learns_which_sources_its_account_has(service: Service) -> None:
    for name in ("b", "a"):
        service.submit(name, piece("x", "y"))
    service.submit("other", piece("x", "y"), key=(other := service.new_key(account="others", plan="basic")))

    own, of_others = answer(service, "/-/account"), service.get("/-/account", key=other).json()

    assert [(each["source"], each["pieces"]) for each in own["sources"]] == [("a", 1), ("b", 1)]
    assert (own["count"], own["account"]) == (2, service.account)
    assert own["sources"][0]["indexedVersion"] is None
    service.get(f"/{own['sources'][0]['source']}")
    assert answer(service, "/-/account")["sources"][0]["indexedVersion"] == 1
    assert [each["source"] for each in of_others["sources"]] == ["other"]
    assert [each["source"] for each in answer(service, "/-/account", skip=1, limit=1)["sources"]] == ["b"]
    for key, code in (
        (service.new_key(admin=True), "not-a-tenant"),
        (service.new_key(origins=["https://shop.example"]), "not-in-browsers"),
    ):
        refused = service.get("/-/account", key=key, headers={"origin": "https://shop.example"})
        assert (refused.status_code, refused.json()["code"]) == (403, code)


def test_the_health_of_a_catalogue_names_what_is_wrong_with_it(service: Service) -> None:
    service.submit("s", piece("a", "robot", "x"), piece("b", "Robots", "x"), piece("c", "alone"))

    found = service.findings()

    assert (found["pieces"], found["version"]) == (3, answer(service, "/s")["version"])
    keywords = found["keywords"]
    assert keywords["usedOnce"]["count"] == 3
    assert keywords["writtenAlike"] == {
        "count": 1,
        "examples": [
            [
                {"category": "genre", "keyword": "Robots", "pieces": 1},
                {"category": "genre", "keyword": "robot", "pieces": 1},
            ]
        ],
    }
    assert keywords["lonely"] == {"count": 1, "examples": ["c"], "wordsOnly": 0}
    assert found["unreached"] == {"count": 1, "examples": ["c"], "lists": 3, "of": 3, "done": True}
    assert found["likes"]["count"] == 0


def test_findings_are_of_the_version_that_the_next_request_sees(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    before = service.findings()
    service.submit("s", piece("b", "x"))

    after = service.findings()

    assert (before["keywords"]["lonely"]["count"], after["keywords"]["lonely"]["count"]) == (2, 0)
    assert after["madeAt"] >= before["madeAt"]


def test_findings_of_before_are_answered_while_others_are_made_also_by_another_process(
    applications: Applications, settings: NodeSettings
) -> None:
    def state(found: Any) -> Any:
        return [found[name] for name in ("version", "madeAt", "keywords", "unreached")]

    many = [piece(f"p{number:04}", "x", f"k{number % 50}") for number in range(1999)]
    with applications.service(settings) as service, PromptClient(web_application(service.settings)) as client:
        service.submit("s", piece("a", "alone"), *many)
        before = service.findings()
        other = Service(client, service.settings, account=service.account)
        other.key = service.key
        again = answer(other, "/s/health", wait="false")
        service.submit("s", piece("a", "x"))
        later = answer(other, "/s/health", wait="false")
        after = other.findings()

    assert (state(again), state(later)) == (state(before), state(before))
    assert (again["done"], later["done"], after["version"]) == (False, False, before["version"] + 1)
    assert after["keywords"]["lonely"]["count"] == 0


def test_what_was_found_about_a_source_goes_with_it(applications: Applications, settings: NodeSettings) -> None:
    with applications.service(settings) as service, service.opened_storage() as storage:
        folder, counts = Path(service.settings.data) / FINDINGS_FOLDER, []
        service.submit("s", piece("a", "x"))
        service.findings()
        for _ in range(2):
            FindingsFiles(folder).keep_only(storage.sources.list_large(0))
            counts.append(len(list(folder.iterdir())))
            service.delete("/s?confirm=s")

    assert counts == [1, 0]


def test_days_tell_what_people_did_and_were_shown(filled: Service) -> None:
    def record(kind: str, timestamp: str) -> None:
        path = f"/s/users/kim/interactions/{kind}/content/alien"
        assert filled.post(path, params={"timestamp": timestamp}).status_code == 200

    today, yesterday = datetime.now(UTC), datetime.now(UTC) - timedelta(days=1)
    for kind, moment in (("Play", today), ("Watch", today), ("Watch", yesterday), ("Play", today - timedelta(days=9))):
        record(kind, moment.isoformat())
    filled.put("/s/placements/home", json={"kind": "popular"})
    shown = filled.get("/s/placements/home/list?user=lee")
    seen = {"listId": shown.headers["x-penchant-list"], "content": ["alien"]}
    reported = filled.post("/s/impressions", json=[seen])
    assert reported.status_code == 202, reported.text
    play(filled, "lee")

    found = answer(filled, "/s/activity", days=2)

    nothing = {"lists": 0, "shown": 0, "opened": 0, "played": 0}
    counts = {"lists": 1, "shown": 1, "opened": 1, "played": 1}
    assert found == {
        "days": [
            {"day": f"{yesterday:%Y-%m-%d}", "interactions": {"Watch": 1}, **nothing},
            {"day": f"{today:%Y-%m-%d}", "interactions": {"Play": 2, "Watch": 1}, **counts},
        ],
        "complete": True,
    }
    assert len(answer(filled, "/s/activity")["days"]) == 30
    assert answer(filled, "/s/activity", days=1, placements="true")["days"][0]["placements"] == {"home": counts}


def test_who_is_erased_or_too_old_is_in_no_day(filled: Service) -> None:
    play(filled, "kim")
    old = (datetime.now(UTC) - timedelta(days=5)).isoformat()
    assert filled.post("/s/users/lee/interactions/Play/content/alien", params={"timestamp": old}).status_code == 200
    assert sum(each["interactions"].get("Play", 0) for each in answer(filled, "/s/activity")["days"]) == 2
    filled.delete("/s/users/kim")
    filled.put("/s/settings", json={"retentionDays": 3})

    assert [each["interactions"] for each in answer(filled, "/s/activity")["days"]] == [{}] * 30


def test_one_piece_is_put_on_a_list_and_taken_off_it(filled: Service) -> None:
    filled.put("/s/blacklist", json=["a2", "later"])
    path = "/s/blacklist/content/alien"

    assert [filled.put(path).status_code, filled.put(path).status_code] == [202, 202]
    assert filled.get("/s/blacklist").json() == ["a2", "later", "alien"]
    assert filled.delete("/s/blacklist/content/later").status_code == 202
    assert filled.get("/s/blacklist").json() == ["a2", "alien"]
    assert filled.put("/s/whitelist/content/c").status_code == 202
    assert filled.get("/s/whitelist").json() == ["c"]


def test_pieces_are_put_on_a_list_and_taken_off_as_one_change_beside_what_others_change(filled: Service) -> None:
    filled.put("/s/blacklist", json=["e"])

    added = filled.post("/s/blacklist/content", json=["b", "e", "a"])
    listed = filled.get("/s/blacklist").json()
    filled.delete("/s/blacklist/content", json=["e", "b", "none"])

    assert (added.status_code, listed, filled.get("/s/blacklist").json()) == (202, ["e", "b", "a"], ["a"])
    assert len(filled.get("/s/blacklist/versions").json()["versions"]) == 3
    assert [each["action"] for each in filled.get("/s/audit?limit=1").json()["entries"]] == ["blacklist.replace"]


def test_of_pieces_that_a_list_has_no_room_for_none_is_put_on_it(filled: Service) -> None:
    whole = [f"p{number}" for number in range(MAX_LIST_LENGTH - 1)]
    filled.put("/s/whitelist", json=whole)

    full = filled.post("/s/whitelist/content", json=["p0", "b", "c"])
    twice = filled.post("/s/whitelist/content", json=["b", "b"])
    fitting = filled.post("/s/whitelist/content", json=["p0", "b"])

    assert [each.json()["code"] for each in (full, twice)] == ["too-many-entries", "invalid-input"]
    assert fitting.status_code == 202
    assert filled.get("/s/whitelist").json() == [*whole, "b"]


def test_changes_are_found_by_kind_and_name(filled: Service) -> None:
    for piece_id in ("a2", "alien"):
        filled.put(f"/s/blacklist/content/{piece_id}")
    filled.delete("/s/blacklist/content/alien")

    entries = answer(filled, "/s/audit", action="blacklist.add", name="alien")["entries"]
    assert [(each["action"], each["subject"]) for each in entries] == [("blacklist.add", "s/alien")]
    assert answer(filled, "/s/audit", name="b")["entries"] == []


def test_pieces_are_read_with_their_keywords_as_lists_go_by_them(filled: Service) -> None:
    filled.put("/s/settings", json={"vocabulary": {"aliases": [{"from": ["genre/Space"], "to": "genre/horror"}]}})

    read = filled.post("/s/content/read?include=terms", json=["alien", "no such"]).json()

    assert read["content"][0]["terms"] == {"genre": {"horror": 1}}
    assert filled.post("/s/content/read?include=x", json=["alien"]).status_code == 422


def test_placements_tell_what_they_showed_of_a_piece(filled: Service) -> None:
    filled.put("/s/placements/row", json={"kind": "new"})
    wait_until(lambda: "seen" in answer(filled, "/s/placements", content="alien"))
    assert answer(filled, "/s/placements", content="alien")["seen"] is None
    assert "seen" not in answer(filled, "/s/placements")


def test_an_export_is_of_the_newest_where_it_is_limited(filled: Service) -> None:
    for _ in range(3):
        play(filled, "kim")

    assert len(answer(filled, "/s/users/kim/export", limit=2)["interactions"]) == 2

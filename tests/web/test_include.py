"""What entries of lists carry of their pieces (interface, section 10)."""

import asyncio
from typing import Any

import pytest

from penchant.service.lists.inclusion import PieceInclusion
from serving import Service
from web.test_whom import SHOP, Page

PIECES: list[dict[str, Any]] = [
    {
        "id": key,
        "label": f"Piece {key}",
        "categories": {"tag": ["x", key]},
        "filters": {"catalogs": ["c"], "availableFrom": "2020-01-01T00:00:00Z"},
        "extras": {"url": f"/{key}", "cost": 3.50, "nested": {"deep": [1, None]}},
    }
    for key in "abc"
] + [{"id": "d", "categories": {"tag": ["x"]}}]
PATHS = (
    "/s/content/a/similar",
    "/s/users/u/recommendation",
    "/s/users/u/again",
    "/s/popular",
    "/s/new?at=2026-01-01",
    "/s/placements/home/list",
)


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", *PIECES)
    service.put("/s/placements/home", json={"kind": "popular"})
    service.post("/s/users/u/interactions/Play/content/b")
    return service


def entries(service: Service, path: str) -> dict[str, dict[str, Any]]:
    answer = service.get(path)
    assert answer.status_code == 200, answer.text
    return {entry["id"]: entry for entry in answer.json()["content"]}


@pytest.mark.parametrize("path", PATHS)
def test_entries_of_every_list_carry_what_is_asked_for(shop: Service, path: str) -> None:
    query = ("&" if "?" in path else "?") + "include=label,extras&include=catalogs"
    plain, found = entries(shop, path), entries(shop, path + query)

    assert list(plain) == list(found)
    for key, entry in found.items():
        piece = next(each for each in PIECES if each["id"] == key)
        expected = {"extras": piece.get("extras", {})}
        expected |= {"label": piece["label"], "catalogs": ["c"]} if "label" in piece else {}
        assert entry == plain[key] | expected


def test_single_members_of_extras_and_windows_are_included(shop: Service) -> None:
    entry = entries(shop, "/s/content/a/similar?include=extras.url,extras.gone,available")["b"]

    assert (entry["extras"], entry["availableFrom"]) == ({"url": "/b"}, "2020-01-01T00:00:00Z")
    assert "availableUntil" not in entry
    assert "label" not in entry


def test_words_are_included_those_that_a_piece_was_sent_with_too(service: Service) -> None:
    own = {"id": "own", "label": "Jaws", "categories": {"words": ["gull", {"key": "jaws", "weight": 3}]}}
    jaws = {"id": "jaws", "label": "Jaws", "categories": {}}
    service.post("/s/content?words=auto", json=[jaws, own, {"id": "jaws2", "label": "The jaws", "categories": {}}])

    found = entries(service, "/s/content/jaws/similar?include=words")
    assert {key: entry["words"] for key, entry in found.items()} == {"jaws2": ["the", "jaws"], "own": ["gull", "jaws"]}


def test_what_a_piece_has_not_is_left_out(service: Service) -> None:
    some = {"id": "some", "categories": {"tag": ["x"], "words": []}, "filters": {"catalogs": []}}
    service.submit("s", *({"id": key, "categories": {"tag": ["x"]}} for key in "ab"), some)

    found = entries(service, "/s/content/a/similar?include=catalogs,words,label,available")
    assert found["b"].keys() == {"id", "score"}
    assert (found["some"]["catalogs"], found["some"]["words"]) == ([], [])
    service.put("/s/settings", json={"words": {"language": "none"}})
    assert entries(service, "/s/content/a/similar?include=words")["b"]["words"] == []


def test_pieces_that_are_read_by_ids_have_their_words(service: Service) -> None:
    own = {"id": "own", "label": "Jaws", "categories": {"words": ["gull", {"key": "jaws", "weight": 3}]}}
    jaws = {"id": "jaws", "label": "Jaws", "categories": {}, "extras": {"exact": 1.50}}
    service.post("/s/content?words=auto", json=[jaws, own])
    plain = service.post("/s/content/read", json=["own", "jaws"]).json()["content"]

    answer = service.post("/s/content/read?include=words", json=["own", "jaws"])

    words = [["gull", "jaws"], ["jaws"]]
    assert answer.json()["content"] == [piece | {"words": each} for piece, each in zip(plain, words, strict=True)]
    assert '"exact":1.5' in answer.text
    service.put("/s/settings", json={})
    off = service.post("/s/content/read?include=words", json=["own", "jaws"]).json()["content"]
    assert [each.get("words") for each in off] == [["gull", "jaws"], None]
    assert service.post("/s/content/read?include=label", json=["own"]).status_code == 422


def test_pages_read_the_words_of_what_may_be_shown(service: Service) -> None:
    jaws = {"id": "jaws", "label": "Jaws", "categories": {}, "extras": {"cost": 1}}
    later = {"id": "later", "label": "Later", "categories": {}, "filters": {"availableFrom": "2999-01-01T00:00:00Z"}}
    service.post("/s/content?words=auto", json=[jaws, later])
    key = service.new_key(origins=("https://shop.example",), scopes=("read",))

    headers = {"origin": "https://shop.example"}
    answer = service.post("/s/content/read?include=words", json=["jaws", "later"], key=key, headers=headers).json()

    (found,), missing = answer["content"], answer["missing"]
    assert (found["words"], found["extras"], missing) == (["jaws"], {}, ["later"])


def test_lists_of_several_carry_them_too(shop: Service) -> None:
    similar = shop.post("/s/similar?include=label", json=["a", "gone"]).json()
    people = shop.post("/s/recommendations?include=label", json=["u"]).json()
    page = shop.post("/s/lists", json={"lists": [{"placement": "home"}], "include": ["label"]}).json()["lists"]

    assert [entry["label"] for entry in similar[0]["content"] if entry["id"] == "b"] == ["Piece b"]
    assert "error" in similar[1]
    assert all("label" in entry or entry["id"] == "d" for entry in (*people[0]["content"], *page[0]["content"]))


def test_they_are_those_of_the_version_of_the_answer(shop: Service) -> None:
    path = "/s/content/a/similar?include=label"
    tag = shop.get(path).headers["etag"]
    assert shop.get(path, headers={"if-none-match": tag}).status_code == 304
    shop.submit("s", PIECES[1] | {"label": "Other"})

    assert entries(shop, path)["b"]["label"] == "Other"
    assert shop.get(path, headers={"if-none-match": tag}).status_code == 200


@pytest.mark.slow
def test_pages_get_what_is_public_and_keys_without_reading_nothing(shop: Service) -> None:
    shop.put("/s/settings", json={"publicExtras": ["url"]})
    browser, from_shop = Page(shop).key, {"origin": SHOP}
    answer = shop.get("/s/content/a/similar?include=extras", key=browser, headers=from_shop)
    assert [each["extras"] for each in answer.json()["content"] if each["id"] == "b"] == [{"url": "/b"}]
    named = "/s/content/a/similar?include=extras.url,extras.cost"
    for key, expected in ((browser, {"url": "/b"}), (None, {"url": "/b", "cost": 3.5}), (browser, {"url": "/b"})):
        # In turn: what is remembered for the one is not what the other is answered.
        answer = shop.get(named, key=key, headers=from_shop)
        assert [each["extras"] for each in answer.json()["content"] if each["id"] == "b"] == [expected]

    personal = shop.new_key(scopes=["personal"])
    assert shop.get("/s/users/u/recommendation", key=personal).status_code == 200
    refused = shop.get("/s/users/u/recommendation?include=label", key=personal)
    assert (refused.status_code, refused.json()["code"]) == (403, "outside-scope")


def test_what_a_list_is_about_and_liked_pieces_in_reasons_have_labels_where_entries_do(service: Service) -> None:
    service.submit("s", *({"id": f"p{n}", "label": f"Piece {n}", "categories": {"tag": ["x"]}} for n in range(8)))
    service.put("/s/placements/since", json={"kind": "because"})
    for user in "abcd":
        for piece in ("p0", "p1"):
            service.post(f"/s/users/{user}/interactions/RateLike/content/{piece}")
    service.post("/s/users/u/interactions/RateLike/content/p0")
    page: dict[str, Any] = {"user": "u", "lists": [{"placement": "since"}]}

    (row,) = service.post("/s/lists", json=page | {"include": ["label"]}).json()["lists"]
    (plain,) = service.post("/s/lists", json=page | {"include": ["extras"]}).json()["lists"]
    alone = service.get("/s/placements/since/list?user=u&include=label").json()
    reasons = entries(service, "/s/users/u/recommendation?include=label&explain=true")["p1"]["why"]

    assert row["seed"] == alone["seed"] == {"contentId": "p0", "label": "Piece 0"}
    assert plain["seed"] == {"contentId": "p0"}
    liked, *_ = next(part["pieces"] for part in reasons["parts"] if part["part"] == "audience")
    assert (liked["id"], liked["label"]) == ("p0", "Piece 0")


def test_pieces_that_change_while_a_list_is_made_are_included_as_they_are_then(
    shop: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, changes = PieceInclusion.encode, [PIECES[1] | {"label": "Another"}]

    async def encode_after_a_change(self: PieceInclusion, *view: Any, **public: Any) -> bytes:
        if changes:
            await asyncio.to_thread(shop.submit, "s", changes.pop())
        return await encode(self, *view, **public)

    monkeypatch.setattr(PieceInclusion, "encode", encode_after_a_change)

    assert entries(shop, "/s/content/a/similar?include=label")["b"]["label"] == "Another"

"""Kinds of lists that packages bring: placements show them, with all that follows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server
from penchant.service.lists.kinds import KINDS
from penchant_client import Client
from penchant_rows.model import PlacementKind
from penchant_rows.service.kinds import SEEDED_KINDS
from visitors import Visitor

SAMPLE = Path(__file__).parent / "sample"
PAGES = ("desk", "placements", "card", "front")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "placements.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a source that has a placement of a package's kind."""
    pieces = [
        {"id": f"p{day}", "categories": {}, "filters": {"availableFrom": f"2026-01-0{day}T00:00:00Z"}}
        for day in (3, 1, 2, 4)
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path_factory.mktemp("kinds") / "data") as running:
            running.client.post("/s/content", json=pieces)
            placement = {"kind": "oldest", "blacklist": ["p2"], "whitelist": ["p4"]}
            assert running.client.put("/s/placements/first", json=placement).status_code < 300
            yield running


def ids(answered: Any) -> list[str]:
    return [each["id"] for each in answered["content"]]


def test_lists_pages_and_what_a_person_hid_follow_from_the_kind(server: Server) -> None:
    client, page = server.client, {"user": "ann", "lists": [{"placement": "first"}]}
    assert ids(client.get("/s/placements/first/list").json()) == ["p4", "p1", "p3"]

    client.put("/s/users/ann/preferences", json={"hidden": ["p1"]})

    assert ids(client.get("/s/placements/first/list?user=ann").json()) == ["p4", "p3"]
    assert ids(client.post("/s/lists", json=page).json()["lists"][0]) == ["p4", "p3"]


def test_reasons_and_previews_follow_from_the_kind(server: Server) -> None:
    draft = {"name": "first", "placement": {"kind": "new", "fallback": "oldest"}, "users": ["bob"]}

    explained = server.client.get("/s/placements/first/list?explain=true").json()
    (previewed,) = server.client.post("/s/preview/placement", json=draft).json()["lists"]

    assert explained["kind"] == "oldest"
    assert [each["why"]["parts"][0]["share"] for each in explained["content"]] == [
        pytest.approx(1 - each["score"]) for each in explained["content"]
    ]
    assert [each["id"] for each in previewed["before"]] == ["p4", "p1", "p3"]
    assert [each["id"] for each in previewed["after"]] == ["p4", "p3", "p2", "p1"]


def test_a_kind_is_described_and_one_that_no_package_brings_is_refused(server: Server) -> None:
    refused = server.client.put("/s/placements/other", json={"kind": "oldestt"})
    schemas = server.client.get("/-/openapi.json").json()["components"]["schemas"]

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["detail"].endswith("because, keyword, oldest.")
    assert schemas["PlacementKind"]["enum"][-1] == schemas["Placement"]["properties"]["kind"]["enum"][-1] == "oldest"


def test_every_kind_has_a_row_and_a_place_in_the_table_of_kinds() -> None:
    rows = PAGE.read_text().partition("| `kind` |")[2].partition("\n\n")[0].splitlines()
    kinds = {*(each.name for each in KINDS), *SEEDED_KINDS}

    assert kinds == set(PlacementKind)
    assert {kind for kind in PlacementKind if any(f"`{kind}`" in row.split("|")[1] for row in rows[2:])} == kinds


@pytest.mark.slow
def test_a_placement_of_a_kind_that_is_gone_is_read_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SAMPLE))
    first, spare = {"kind": "oldest", "title": "First"}, {"kind": "oldest", "fallback": "new"}
    with Server(tmp_path / "data") as server:
        key = server.key
        server.client.post("/s/content", json=[{"id": "a", "categories": {}}])
        assert server.client.put("/s/placements/first", json=first).status_code == 200
        assert server.client.put("/s/placements/spare", json=spare).status_code == 200
        assert server.client.put("/s/placements/other", json={"kind": "new"}).status_code == 200
        assert server.client.put("/s/drafts/d", json={"placements": {"first": first}}).status_code == 200

    monkeypatch.delenv("PYTHONPATH")
    with Server(tmp_path / "data") as server:
        client = server.client
        client.headers["x-api-key"] = key
        refused = client.get("/s/placements/first/list")
        page = {"lists": [{"placement": "first"}, {"placement": "spare"}]}
        lists = client.post("/s/lists", json=page).json()["lists"]
        described = [
            client.get(f"/s/placements/first{each}").status_code for each in ("/card", "/results", "/versions")
        ]
        visitor = Visitor(server, key)
        shown = {each: visitor.get(each, source="s", name="first").status_code for each in PAGES}
        opened = visitor.get("placement", source="s", name="first").text

        assert client.get("/s/placements/first").json() == {"title": "First", "kind": "oldest"}
        assert len(client.get("/s/placements").json()["placements"]) == 3
        assert client.get("/s/drafts/d").json()["placements"] == {"first": {"title": "First", "kind": "oldest"}}
        assert (refused.status_code, refused.json()["code"]) == (409, "kind-not-installed")
        assert "'oldest', which no package that is installed brings" in refused.json()["detail"]
        assert (lists[0]["error"]["code"], [each["id"] for each in lists[1]["content"]]) == (
            "kind-not-installed",
            ["a"],
        )
        assert client.get("/s/placements/other/list").status_code == 200
        assert described == [200, 200, 200]
        assert shown == dict.fromkeys(PAGES, 200)
        assert 'value="oldest" checked' in opened


def test_the_client_reads_lists_and_cards_of_the_kind(server: Server) -> None:
    with Client(server.url, server.key) as client:
        listed, card = client.placement_list("s", "first"), client.placement_card("s", "first")
        (of_page,) = client.page_lists("s", [{"placement": "first"}]).lists

    assert [listed.kind, of_page.kind, card.kind] == ["oldest"] * 3

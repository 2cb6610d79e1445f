"""The service where the package is not installed, in processes of its own: rows rest as they are stored."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server, hide_package
from visitors import HOME, Visitor, text_of

PIECES = [{"id": name, "label": name, "categories": {"genre": ["horror"]}} for name in ("jaws", "deep", "reef")]
ROW = {"kind": "new", "title": "Newest", "pins": [{"id": "deep", "position": 1}]}
OTHERS = ("penchant_words", "penchant_import", "penchant_lab", "penchant_batch", "penchant_mcp")


def penchant(*words: str) -> str:
    ran = subprocess.run([sys.executable, "-m", "penchant", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def walk(visitor: Visitor) -> dict[str, Any]:
    """Return the pages to which links lead from the first one, by their addresses."""
    pages: dict[str, Any] = {}
    ahead = [HOME]
    while ahead:
        address = ahead.pop()
        if address not in pages and "/static/" not in address:
            pages[address] = page = visitor.ask("GET", address)
            links = [html.unescape(each).partition("#")[0] for each in re.findall(r'href="([^"]+)"', page.text)]
            ahead += [each for each in (*links, page.headers.get("location", "")) if each.startswith(HOME)]
    return pages


def test_rows_rest_without_the_package_and_answer_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(tmp_path, "penchant_rows")
    data, exported, saved = tmp_path / "data", tmp_path / "films.ndjson", tmp_path / "saved"
    with Server(data) as server:
        key = server.key
        server.client.post("/films/content", json=PIECES)
        assert server.client.put("/films/placements/home", json=ROW).status_code == 200
        assert server.client.put("/films/settings", json={"fourEyes": True}).status_code == 200
        assert server.client.put("/films/drafts/autumn", json={"blacklist": ["reef"]}).status_code == 200
        shown = server.client.get("/films/placements/home/list?user=kim")
        list_id = shown.headers["x-penchant-list"]
        seen = [{"listId": list_id, "userId": "kim", "content": ["deep"]}]
        assert server.client.post("/films/impressions", json=seen).status_code == 202
        drafts = server.client.get("/films/drafts").json()
    penchant("export", "--data", str(data), "--source", "films", "--output", str(exported), "--with", "placements")

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Server(data) as server:
        server.client.headers["x-api-key"] = key
        assert "penchant-rows" not in server.client.get("/-/version").json()["packages"]
        for path in ("placements", "placements/home/list", "drafts"):
            assert server.client.get(f"/films/{path}").status_code == 404
        assert server.client.get("/films/settings").json()["fourEyes"] is True
        # What names a list of a row is stored, as of a list that nobody knows.
        acted = server.client.post(f"/films/users/kim/interactions/Click/content/jaws?list={list_id}")
        assert acted.status_code == 200, acted.text
        profile = server.client.get("/films/users/kim/recommendation/profile").json()
        assert profile[0]["categories"] == {"genre": {"horror": 1000}}
        assert server.client.put("/films/settings", json={"halfLifeDays": 7}).status_code == 200
        erased = server.client.delete("/films/users/kim")
        assert "impressions" in erased.headers["x-penchant-unreached"].split(", ")
        doctor = json.loads(penchant("doctor", "--data", str(data), "--quick", "--json"))
        assert "placements" in doctor["database"]["tablesOfPluginsThatAreMissing"]
    penchant("backup", "--data", str(data), str(saved))
    penchant("restore", "--data", str(tmp_path / "restored"), str(saved))

    monkeypatch.delenv("PYTHONPATH")
    for folder in (data, tmp_path / "restored"):
        with Server(folder) as server:
            server.client.headers["x-api-key"] = key
            assert server.client.get("/films/placements/home").json() == ROW
            assert server.client.get("/films/users/kim/export").json().get("impressions") is None
            assert server.client.get("/films/drafts").json() == drafts
            settings = server.client.get("/films/settings").json()
            assert (settings["fourEyes"], settings["halfLifeDays"]) == (True, 7)


def test_all_pages_of_the_desk_are_there_where_it_is_the_only_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(tmp_path, "penchant_rows", *OTHERS)
    with Server(tmp_path / "data") as server:
        # What packages keep is there, too, and is none of the pages' business.
        server.client.post("/films/content", json=PIECES)
        server.client.post("/films/users/kim/interactions/Click/content/jaws")
        settings = {"fourEyes": True, "words": {"from": ["label"]}}
        assert server.client.put("/films/settings", json=settings).status_code == 200
        key = server.key

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Server(tmp_path / "data") as server:
        server.client.headers["x-api-key"] = key
        assert "placements" not in server.client.get("/-/key").json()["plan"]["features"]
        assert server.client.get("/films/health").json()["recordsShown"] is False
        visitor = Visitor(server, key)
        pages = walk(visitor)

        assert {
            address: page.status_code for address, page in pages.items() if page.status_code not in {200, 303}
        } == {}
        assert {"desk", "piece", "user", "lists", "versions"} <= {
            each.partition("?")[0][len(HOME) + 1 :] for each in pages
        }
        unasked = {address for address, page in pages.items() if re.search(r"[Pp]roposal|New row", text_of(page.text))}
        assert unasked == set()
        health = visitor.get("health", source="films").text
        assert ("penchant[rows]" in health, "Still being found out" in health) == (True, False)
        missing = visitor.get("proposals", source="films")
        assert (missing.status_code, "needs the package penchant-rows" in missing.text) == (404, True)

        hidden = visitor.fill(visitor.get("piece", source="films", id="reef"), f"{HOME}/piece", do="hide")
        saved = visitor.fill(visitor.get("settings", source="films"), f"{HOME}/settings", do="save", halfLifeDays="7")
        assert (hidden.status_code, saved.status_code) == (303, 303)
        assert server.client.get("/films/blacklist").json() == ["reef"]
        stored = server.client.get("/films/settings").json()
        assert (stored["halfLifeDays"], stored["fourEyes"], stored["words"]["from"]) == (7, True, ["label"])

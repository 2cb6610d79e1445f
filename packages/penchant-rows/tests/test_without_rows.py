"""The service where the package is not installed, in processes of its own: rows rest as they are stored."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.servers import Server, hide_package
from visitors import HOME, Visitor

PIECES = [{"id": name, "label": name, "categories": {"genre": ["horror"]}} for name in ("jaws", "deep", "reef")]
ROW = {"kind": "new", "title": "Newest", "pins": [{"id": "deep", "position": 1}]}
PAGES = ("pieces", "health", "try", "usage", "keys")


def penchant(*words: str) -> str:
    ran = subprocess.run([sys.executable, "-m", "penchant", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


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
        visitor = Visitor(server, key)
        pages = {page: visitor.ask("GET", f"{HOME}/{page}", params={"source": "films"}).status_code for page in PAGES}
        assert {page: status for page, status in pages.items() if status not in {200, 403}} == {}
        doctor = json.loads(penchant("doctor", "--data", str(data), "--quick", "--json"))
        assert "placements" in doctor["database"]["tablesOfPluginsThatAreMissing"]
    penchant("backup", "--data", str(data), str(saved))
    penchant("restore", "--data", str(tmp_path / "restored"), str(saved))

    monkeypatch.delenv("PYTHONPATH")
    for folder in (data, tmp_path / "restored"):
        with Server(folder) as server:
            server.client.headers["x-api-key"] = key
            assert server.client.get("/films/placements/home").json() == ROW
            assert server.client.get("/films/drafts").json() == drafts
            settings = server.client.get("/films/settings").json()
            assert (settings["fourEyes"], settings["halfLifeDays"]) == (True, 7)

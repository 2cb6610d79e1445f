"""The service where the package is not installed, in processes of its own: words rest as they are stored."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.servers import Server, hide_package

PIECES = [
    {"id": "jaws", "label": "The shark", "categories": {}},
    {"id": "deep", "label": "A shark", "categories": {"genre": ["horror"]}},
]
LATER = {"id": "reef", "label": "Shark reef", "categories": {"genre": ["horror"]}}


def test_words_rest_without_the_package_and_count_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(tmp_path, "penchant_words")
    data, likes = tmp_path / "data", "/films/content/jaws/similar"
    with Server(data) as server:
        key = server.key
        server.client.post("/films/content?words=auto", json=PIECES)
        before = server.client.get(likes).content
        settings = server.client.get("/films/settings").content
        assert json.loads(before)["content"][0]["score"] < 1

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Server(data) as server:
        server.client.headers["x-api-key"] = key
        assert "penchant-words" not in server.client.get("/-/version").json()["packages"]
        assert server.client.get(likes).json()["content"] == []
        assert server.client.get("/films/settings").content == settings
        # As any parameter that there is not.
        assert server.client.post("/other/content?words=auto", json=[LATER]).status_code == 202
        assert "words" not in server.client.get("/other/settings").json()
        assert server.client.get(f"{likes}?include=words").status_code == 422
        assert server.client.post("/films/preview/words", json=PIECES).status_code == 404
        assert server.client.put("/films/settings", json={"words": {"keep": 3}}).status_code == 422
        assert server.client.put("/films/settings", json={"halfLifeDays": 7}).json()["words"]["keep"] == 40
        assert server.client.post("/films/content", json=[LATER]).status_code == 202
        assert server.client.get("/films/content/deep/similar").json()["content"][0]["id"] == "reef"
        told = subprocess.run(
            [sys.executable, "-m", "penchant", "doctor", "--data", str(data), "--quick", "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert json.loads(told.stdout)["database"]["keywordsOfPackagesThatAreMissing"] == "words"

    monkeypatch.delenv("PYTHONPATH")
    with Server(data) as server:
        server.client.headers["x-api-key"] = key
        found = {each["id"]: each["words"] for each in server.client.get(f"{likes}?include=words").json()["content"]}
        assert found == {"deep": ["shark"], "reef": ["shark", "reef"]}

"""The package that ``docs/how-to/packages.md`` writes, as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "packages.md"


def written(folder: Path) -> None:
    """Write the files of the page into a folder, and what pip would write beside them."""
    (folder / "penchant_stickers").mkdir()
    for name, text in re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text)
    info = folder / "penchant_stickers-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: penchant-stickers\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[penchant]\nstickers = penchant_stickers.plugin\n")


def command(*words: str) -> str:
    """Run ``penchant`` in a process that looks at its own path for packages, and return what it printed."""
    line = [sys.executable, "-m", "penchant", *words]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_package_of_the_page_does_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pieces = [{"id": each, "categories": {"genre": ["horror"]}, "extras": {"sticker": "cult"}} for each in ("a", "b")]
    with Server(tmp_path / "data") as server:
        client = server.client
        client.post("/films/content", json=pieces)
        put = client.put("/films/content/a/sticker", json={"sticker": "staff pick", "setBy": "ed"})
        assert (put.status_code, put.json()) == (200, {"sticker": "staff pick", "setBy": "ed"})
        assert client.get("/films/users/ed/export").json()["stuckPieces"] == ["a"]
        exported = command("export", "--data", str(server.data), "--source", "films", "--with", "stickers")
        assert exported.splitlines()[-1] == '{"sticker":["a","staff pick","ed"]}'
        (tmp_path / "films.ndjson").write_text(exported)
        command("import", "--data", str(server.data), "--source", "copy", str(tmp_path / "films.ndjson"))
        client.delete("/films/users/ed")
        assert client.get("/films/content/a/sticker").json() == {"sticker": "staff pick"}
        stuck = [client.get(f"/{source}/users/ed/export").json().get("stuckPieces") for source in ("films", "copy")]
        assert stuck == [None, ["a"]]

        client.put("/films/settings", json=client.get("/films/settings").json() | {"stickers": True})
        assert client.get("/films/content/a/similar?include=sticker").json()["content"][0]["sticker"] == ["cult"]
        assert [each["id"] for each in client.get("/films/newest/horror?most=1").json()["content"]] == ["a"]
        assert client.get("/films/newest/horror?most=0").json()["code"] == "invalid-input"
        wait_until(lambda: 'penchant_background_seconds_total{task="newest"}' in client.get("/-/metrics").text)
        assert "penchant-stickers" in client.get("/-/version").json()["packages"]
        assert "Sticker" in client.get("/-/openapi.json").json()["components"]["schemas"]

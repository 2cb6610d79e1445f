"""Files of 0.1.0: made once by `python make.py PENCHANT FOLDER`, PENCHANT being the command of a checkout of 0.1.0.

`postgresql.sql` is what `pg_dump --inserts` gave after `penchant move` of that release had taken `penchant.db` there.
They are kept as that release wrote them, so that what later ones open is the real thing and not what they believe it
to be. A second run would give other keys and moments, and is needed for nothing.
"""

import gzip
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

MANY = 1_005
"""Pieces of one source: from a thousand on bodies are compressed by a dictionary."""
DAY = "2026-11-%02dT10:00:00.000Z"
READ = (
    "films",
    "films/ids",
    "films/content",
    "films/content/heat",
    "films/content/a%2Fb%20%C3%A9",
    "films/content/heat/similar?algo=jaccard",
    "films/content/heat/similar?algo=cosine",
    "films/whitelist",
    "films/blacklist",
    "films/settings",
    "films/users/ann/interactions",
    "films/users/bob/interactions",
    "films/users/ann/recommendation/profile",
    "films/users/ann/export",
    "films/users/bob/export",
    "many/ids",
    "many/content?skip=500&limit=20",
    "many/settings",
    "empty/ids",
)
"""What is read of it, before and after."""


def films() -> list[dict[str, Any]]:
    """Return pieces of all forms: weighted, plain, nested, with extras, filters, and nothing."""
    return [
        {
            "id": "heat",
            "label": "Heat",
            "categories": {
                "genre": [{"key": "crime", "weight": 90}, {"key": "drama", "weight": 40}],
                "people": {"director": ["Mann"], "actor": [{"key": "De Niro", "weight": 70}, "Pacino"]},
            },
            "filters": {"catalogs": ["free", "a,b"], "availableFrom": "2020-01-01T00:00:00Z"},
            "extras": {"year": 1995, "nested": {"list": [1, 2.5, None, "\u0000"]}},
        },
        {
            "id": "ronin",
            "categories": {
                "genre": [{"key": "crime", "weight": 60}, "spy"],
                "people": {"actor": [{"key": "De Niro", "weight": 80}]},
            },
        },
        {"id": "plain", "label": "Plain", "categories": {"genre": ["crime", "drama", "spy"]}},
        {"id": "a/b é", "categories": {"genre": ["drama", {"weight": 3}], "mood": []}},
        {
            "id": "window",
            "categories": {"genre": ["crime"]},
            "filters": {"availableUntil": "2026-01-01T00:00:00Z"},
        },
        {"id": "gone", "categories": {"genre": ["crime"]}},
        {"id": "termless", "categories": {}},
    ]


class Server:
    """A served folder, asked with one key."""

    def __init__(self, command: str, data: Path, key: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}/", headers={"x-api-key": key}, trust_env=False)
        self._process = subprocess.Popen([command, "serve", "--data", str(data), "--port", str(port)])
        for _ in range(300):
            try:
                self.ask("GET", "-/health/ready")
            except httpx.HTTPError:
                time.sleep(0.1)
            else:
                return

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer."""
        answer = self._client.request(method, path, json=body)
        return answer.raise_for_status().json()

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(30)


def change(server: Server) -> None:
    """Make sources, and change them in every way that there is."""
    server.ask("POST", "films/content", films())
    server.ask("DELETE", "films/content/gone")
    server.ask("PUT", "films/whitelist", ["plain", "not there"])
    server.ask("PUT", "films/blacklist", ["ronin"])
    settings = {"categoryWeights": {"genre": 2.5, "people/actor": 1}, "halfLifeDays": 0, "retentionDays": 36_500}
    server.ask("PUT", "films/settings", settings)
    acts = [("ann", "Watch", "heat"), ("ann", "RateLike", "heat"), ("ann", "RateDislike", "window")]
    acts += [("bob", "Click", "later"), ("bob", "Purchase", "a/b é"), ("eve", "Watch", "heat")]
    bulk = [
        {"userId": user, "type": kind, "contentId": piece, "timestamp": DAY % day, "eventId": f"event {day}"}
        for day, (user, kind, piece) in enumerate(acts, start=1)
    ]
    server.ask("POST", "films/interactions", bulk)
    server.ask("POST", f"films/users/ann/interactions/Play/content/ronin?timestamp={DAY % 9}")
    server.ask("DELETE", "films/users/eve")
    server.ask("DELETE", "films/users/never")
    pieces = [{"id": f"p{n:04}", "categories": {"tag": [f"t{n % 7}", f"u{n % 11}"]}} for n in range(MANY)]
    server.ask("POST", "many/content", pieces[:1000])
    server.ask("POST", "many/content", pieces[1000:])
    server.ask("POST", "empty/content", films()[:1])
    server.ask("DELETE", "empty/content/heat")
    server.ask("POST", "removed/content", films()[:3])
    server.ask("PUT", "removed/blacklist", ["heat"])
    server.ask("POST", "removed/users/ann/interactions/Watch/content/heat")
    server.ask("DELETE", "removed?confirm=removed")


def main(command: str, kept: Path) -> None:
    """Make the files."""
    folder = Path(tempfile.mkdtemp())
    data = folder / "data"

    def run(*words: str) -> str:
        return subprocess.run([command, *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    key, revoked = (run("keys", "create", "--data", str(data), "--account", "press") for _ in range(2))
    run("keys", "create", "--data", str(data), "--account", "press", "--plan", "basic")
    admin = run("keys", "create", "--data", str(data), "--account", "office", "--admin")
    run("keys", "revoke", "--data", str(data), revoked.split("_")[1])
    server = Server(command, data, key)
    try:
        change(server)
        versions = {name: server.ask("GET", name)["version"] for name in ("films", "many", "empty")}
        answers = {path: server.ask("GET", path) for path in READ}
    finally:
        server.stop()
    facts = {"key": key, "revoked": revoked, "admin": admin, "versions": versions, "answers": answers}
    (kept / "facts.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    run("backup", "--data", str(data), str(folder / "backup.db"))
    whole = ("--account", "press", "--source", "films", "--with", "all")
    run("export", "--data", str(data), *whole, "--output", str(folder / "films.ndjson"))
    shutil.copy(data / "penchant.db", folder / "penchant.db")
    for name in ("penchant.db", "backup.db", "films.ndjson"):
        (kept / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

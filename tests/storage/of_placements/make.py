"""A database of the last revision whose event ids were of no person: made once by `python make.py FOLDER` with it.

It lies between 0.1.0 and the release after it, and has what 0.1.0 has not: browser keys and a signing secret, two
placements of one experiment, one of them grown, and interactions with event ids. A second run would give other keys,
and is needed for nothing.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from penchant.bootstrap import web_application
from penchant.settings import NodeSettings

PEOPLE = [f"person {number}" for number in range(60)]
SHOP = "https://shop.example"


def fill(client: TestClient) -> None:
    """Make a source with what people did, and two placements of one experiment."""
    pieces = [{"id": f"p{n}", "categories": {"tag": [f"t{n % 3}", f"u{n % 5}"]}} for n in range(12)]
    client.post("/shop/content", json=pieces).raise_for_status()
    bulk: list[dict[str, Any]] = [
        {"userId": user, "type": "Purchase", "contentId": f"p{n % 12}", "eventId": f"order-{n}"}
        for n, user in enumerate(PEOPLE)
    ]
    client.post("/shop/interactions", json=bulk).raise_for_status()
    for share in (0.1, 0.3, 0.5):
        spec = {"kind": "popular", "experiment": "rows", "variants": [{"name": "new", "share": share, "kind": "new"}]}
        client.put("/shop/placements/grown", json=spec).raise_for_status()
    client.put("/shop/placements/made", json=spec).raise_for_status()


def variants(client: TestClient, placement: str) -> list[str]:
    """Return which variant of a placement each person sees."""
    return [
        client.get(f"/shop/placements/{placement}/list", params={"user": user}).json()["variant"] for user in PEOPLE
    ]


def main(kept: Path) -> None:
    """Make the files."""
    data = Path(tempfile.mkdtemp()) / "data"

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "penchant", words[0], words[1], "--data", str(data), *words[2:]]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    key, secret = run("keys", "create"), run("keys", "secret")
    browser = run("keys", "create", "--browser", "--origin", SHOP)
    with TestClient(web_application(NodeSettings(data=str(data))), headers={"x-api-key": key}) as client:
        fill(client)
        facts = {
            "key": key,
            "secret": secret,
            "browser": browser,
            "people": PEOPLE,
            "origin": SHOP,
            "grown": variants(client, "grown"),
            "ids": client.get("/shop/ids").json(),
        }
    (kept / "penchant.db.gz").write_bytes(gzip.compress((data / "penchant.db").read_bytes(), mtime=0))
    (kept / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

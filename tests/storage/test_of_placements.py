"""A database of the revision before event ids were a person's, in this one: its events, keys and experiments.

It lies between 0.1.0 and the release after it, and was made by that revision (`of_placements/make.py` in the history).
"""

import gzip
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from clocks import set_back
from penchant.bootstrap import web_application
from penchant.cli import commands
from penchant.settings import NodeSettings
from penchant.storage import open_storage, restore
from penchant.wire import sign_user

KEPT = Path(__file__).parent / "of_placements"
FACTS = json.loads((KEPT / "facts.json").read_text())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "penchant.db").write_bytes(gzip.decompress((KEPT / "penchant.db.gz").read_bytes()))
    return folder


@pytest.fixture(autouse=True)
def when_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go by a clock of then: what people did is too old to be kept one day."""
    set_back(monkeypatch, date(2026, 12, 1))


@pytest.fixture
def client(data: Path) -> Iterator[TestClient]:
    application = web_application(NodeSettings(data=str(data)), clock=time.time)
    with TestClient(application, headers={"x-api-key": FACTS["key"]}) as opened:
        yield opened


def tables(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "penchant.db")) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_its_file_is_restored_and_the_table_of_ended_sessions_goes(data: Path, tmp_path: Path) -> None:
    assert "ended_sessions" in tables(data)
    restore(data / "penchant.db", tmp_path / "restored", replace=False)

    open_storage(folder=tmp_path / "restored").close()

    assert tables(tmp_path / "restored") & {"sessions", "ended_sessions"} == {"sessions"}


def test_event_ids_are_known_to_their_people_alone(client: TestClient) -> None:
    whose, another = FACTS["people"][:2]
    path = "/shop/users/{}/interactions/Click/content/p7?event-id=order-0"

    again = client.post(path.format(whose)).json()
    other = client.post(path.format(another)).json()

    assert (again["type"], again["contentId"]) == ("Purchase", "p0")
    assert (other["type"], other["contentId"]) == ("Click", "p7")
    listed = client.get(f"/shop/users/{another}/interactions").json()
    assert [each["contentId"] for each in listed] == ["p7", "p1"]


def test_its_browser_key_is_answered_for_who_is_signed(client: TestClient) -> None:
    person = FACTS["people"][0]
    signed = sign_user(person, FACTS["secret"], int(time.time()) + 600)
    headers = {"x-api-key": FACTS["browser"], "origin": FACTS["origin"]}

    assert client.get("/shop/content/p0", headers=headers).status_code == 200
    assert client.get(f"/shop/users/{person}/recommendation", headers=headers).json()["code"] == "not-signed"
    asked = client.get(f"/shop/users/{person}/recommendation", headers=headers | {"x-penchant-user": signed})
    assert asked.status_code == 200


@pytest.mark.slow
def test_people_keep_their_variants(client: TestClient) -> None:
    found = [
        client.get("/shop/placements/grown/list", params={"user": user}).json()["variant"] for user in FACTS["people"]
    ]

    assert found == FACTS["grown"]


@pytest.mark.slow
def test_it_agrees_with_itself_and_its_export_is_taken_by_an_import(client: TestClient, data: Path) -> None:
    file = data.parent / "shop.ndjson"
    words = ["--source", "shop", "--with", "all", "--output", str(file)]

    assert CliRunner().invoke(commands, ["check", "--data", str(data)]).exit_code == 0
    written = CliRunner().invoke(commands, ["export", "--data", str(data), *words])
    assert written.exit_code == 0, written.output
    new = ["--data", str(data.parent / "new"), "--source", "shop"]
    taken = CliRunner().invoke(commands, ["import", *new, str(file)])
    assert taken.exit_code == 0, taken.output
    key = CliRunner().invoke(commands, ["keys", "create", *new[:2]]).stdout.strip()
    application = web_application(NodeSettings(data=new[1]), clock=time.time)
    with TestClient(application, headers={"x-api-key": key}) as imported:
        assert imported.get("/shop/ids").json() == FACTS["ids"] == client.get("/shop/ids").json()
        again = imported.post(f"/shop/users/{FACTS['people'][0]}/interactions/Click/content/p7?event-id=order-0")
        assert again.json()["type"] == "Purchase"

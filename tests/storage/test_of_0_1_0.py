"""Databases, backups and exports of 0.1.0 in this revision: opened, read whole, written, exported, compared."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from databases import new_database
from penchant.bootstrap import web_application
from penchant.cli import commands
from penchant.settings import NodeSettings
from penchant.storage import restore

KEPT = Path(__file__).parent / "of_0_1_0"
FACTS = json.loads((KEPT / "facts.json").read_text())
ADMINISTRATION = {"x-api-key": FACTS["admin"]}

VERSION_OF_REMOVED = 5
"""Three pieces, a list, and the deletion."""
IN_THE_EXPORT = ("content/heat", "whitelist", "blacklist", "settings", "users/ann/export")


def unpack(name: str, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.decompress((KEPT / f"{name}.gz").read_bytes()))
    return path


@pytest.fixture(params=("database", "backup", "postgresql"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> NodeSettings:
    """Settings under which what 0.1.0 has left is opened."""
    data, address = tmp_path / "data", None
    if request.param == "database":
        unpack("penchant.db", data / "penchant.db")
    elif request.param == "backup":
        restore(unpack("backup.db", tmp_path / "backup.db"), data, replace=False)
    else:
        import psycopg  # noqa: PLC0415  # only where a server could be started

        address = new_database(request.getfixturevalue("postgresql"))
        with psycopg.connect(address) as connection:
            connection.execute(gzip.decompress((KEPT / "postgresql.sql.gz").read_bytes()))
    return NodeSettings(data=str(data), database=address)


@pytest.fixture
def client(old: NodeSettings) -> Iterator[TestClient]:
    with TestClient(web_application(old), headers={"x-api-key": FACTS["key"]}) as opened:
        yield opened


def options_of(settings: NodeSettings) -> list[str]:
    database = [] if settings.database is None else ["--database", settings.database]
    return ["--data", settings.data, *database]


def covers(new: Any, old: Any) -> bool:
    """Return whether an answer says all that an old one said; objects may have gained members."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(name in new and covers(new[name], old[name]) for name in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(new) == len(old) and all(map(covers, new, old))
    return bool(new == old)


def test_everything_reads_as_it_did(client: TestClient) -> None:
    for path, answer in FACTS["answers"].items():
        assert covers(client.get(f"/{path}").json(), answer), path


def test_keys_are_what_they_were(client: TestClient) -> None:
    listed = client.get("/-/admin/keys", headers=ADMINISTRATION).json()["keys"]

    assert client.get("/films", headers={"x-api-key": FACTS["revoked"]}).status_code == 401
    assert len(listed) == 4
    assert client.get("/removed").status_code == 404


def test_changes_go_on_from_the_versions_that_were_given(client: TestClient) -> None:
    new = [{"id": "new", "categories": {"a": ["b"]}}]
    for name in ("films", "many"):
        assert client.post(f"/{name}/content", json=new).json()["version"] == FACTS["versions"][name] + 1

    assert client.post("/removed/content", json=[]).json()["version"] > VERSION_OF_REMOVED
    assert client.get("/many/content/new").json()["id"] == "new"


def test_event_ids_are_still_known_and_people_still_erased(client: TestClient) -> None:
    acts = [{"userId": "ann", "type": "Watch", "contentId": "heat", "eventId": f"event {name}"} for name in (1, "new")]
    stored = client.post("/films/interactions", json=acts)

    assert stored.json() == {"accepted": 1, "duplicates": 1}
    assert client.delete("/films/users/ann").status_code == 202
    assert client.get("/films/users/ann/interactions").json() == []


def test_what_is_stored_agrees_with_itself(client: TestClient, old: NodeSettings) -> None:
    checked = CliRunner().invoke(commands, ["check", *options_of(old)])

    assert checked.exit_code == 0, checked.output
    assert client.get("/-/health/ready").status_code == 200


def test_its_export_is_written_as_it_was(old: NodeSettings, tmp_path: Path) -> None:
    file = tmp_path / "films.ndjson"
    source = ["--account", "press", "--source", "films", "--with", "all"]
    done = CliRunner().invoke(commands, ["export", *options_of(old), *source, "--output", str(file)])

    assert done.exit_code == 0, done.output
    before = gzip.decompress((KEPT / "films.ndjson.gz").read_bytes()).splitlines()
    for new, line in zip(file.read_bytes().splitlines(), before, strict=True):
        assert covers(json.loads(new), json.loads(line)), line


def test_its_export_is_taken_by_an_import(tmp_path: Path) -> None:
    file = unpack("films.ndjson", tmp_path / "films.ndjson")
    settings = NodeSettings(data=str(tmp_path / "data"))
    account = [*options_of(settings), "--account", "press"]
    done = CliRunner().invoke(commands, ["import", *account, "--source", "films", str(file)])
    assert done.exit_code == 0, done.output
    key = CliRunner().invoke(commands, ["keys", "create", *account]).stdout.strip()

    with TestClient(web_application(settings), headers={"x-api-key": key}) as client:
        for path in IN_THE_EXPORT:
            answer = client.get(f"/films/{path}").json()
            assert covers(answer, FACTS["answers"][f"films/{path}"]), path

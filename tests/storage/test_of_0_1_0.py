"""Databases, backups and exports of 0.1.0 in this revision: opened, read whole, written, exported, compared.

They are kept as that release wrote them, so that what is opened is the real thing. `postgresql.sql` is what `pg_dump
--inserts` gave after its `penchant move`; the script that had it make them is in the history (`of_0_1_0/make.py`).
"""

import functools
import gzip
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import Connection, Inspector, inspect, text
from starlette.testclient import TestClient

from clocks import set_back
from databases import connection_beside, new_database
from penchant.bootstrap import storage_of, web_application
from penchant.cli import commands
from penchant.settings import NodeSettings
from penchant.storage import SessionRecord, restore
from penchant.storage.schema import metadata
from penchant_engine.model import DAY_MS

pytestmark = pytest.mark.slow

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


@pytest.fixture(autouse=True)
def when_it_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go by a clock of then: what is kept for a year only is gone one day."""
    set_back(monkeypatch, date(2026, 12, 1))


@pytest.fixture(params=("database", "backup", "postgresql"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> NodeSettings:
    """Settings under which what 0.1.0 has left is opened."""
    data, address = tmp_path / "data", None
    if request.param == "database":
        unpack("penchant.db", data / "penchant.db")
    elif request.param == "backup":
        restore(unpack("backup.db", tmp_path / "backup.db"), data, replace=False)
    else:
        address = dumped_database(request.getfixturevalue("postgresql"))
    return NodeSettings(data=str(data), database=address)


def dumped_database(postgresql: str) -> str:
    """Return the address of a new database with what 0.1.0 has left in one."""
    import psycopg  # noqa: PLC0415  # only where a server could be started

    address = new_database(postgresql)
    with psycopg.connect(address) as connection:
        connection.execute(gzip.decompress((KEPT / "postgresql.sql.gz").read_bytes()))
    return address


@pytest.fixture(params=("database", "postgresql"))
def migrated(request: pytest.FixtureRequest, tmp_path: Path) -> NodeSettings:
    """Settings of a copy of what 0.1.0 has left that this revision has opened before, which takes long the first time.

    A backup that was restored is a file like another one from then on.
    """
    if request.param == "database":
        (tmp_path / "penchant.db").write_bytes(_migrated_file())
        return NodeSettings(data=str(tmp_path))
    postgresql = request.getfixturevalue("postgresql")
    database = new_database(postgresql, template=_migrated_template(postgresql))
    return NodeSettings(data=str(tmp_path), database=database)


@functools.cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = unpack("penchant.db", Path(folder) / "penchant.db")
        storage_of(NodeSettings(data=folder)).close()
        return path.read_bytes()


@functools.cache
def _migrated_template(postgresql: str) -> str:
    address = dumped_database(postgresql)
    with tempfile.TemporaryDirectory() as folder:
        storage_of(NodeSettings(data=folder, database=address)).close()
    return address.partition("?")[0].rpartition("/")[2]


def client_of(settings: NodeSettings) -> TestClient:
    return TestClient(web_application(settings, clock=time.time), headers={"x-api-key": FACTS["key"]})


@pytest.fixture
def client(migrated: NodeSettings) -> Iterator[TestClient]:
    with client_of(migrated) as opened:
        yield opened


def options_of(settings: NodeSettings) -> list[str]:
    database = [] if settings.database is None else ["--database", settings.database]
    return ["--data", settings.data, *database]


def beside(settings: NodeSettings) -> AbstractContextManager[Connection]:
    return connection_beside(Path(settings.data), settings.database)


def schema_of(settings: NodeSettings) -> dict[str, Any]:
    """Return the columns, keys and indexes of every table; in no order, and without defaults."""
    with beside(settings) as connection:
        return _schema(inspect(connection))


def _schema(found: Inspector) -> dict[str, Any]:
    return {
        name: (
            {(each["name"], str(each["type"]), each["nullable"]) for each in found.get_columns(name)},
            found.get_pk_constraint(name)["constrained_columns"],
            {
                (
                    each["name"],
                    tuple(each["column_names"]),
                    bool(each["unique"]),
                    *(f"{name}: {option}" for name, option in each.get("dialect_options", {}).items()),
                )
                for each in found.get_indexes(name)
            },
        )
        for name in found.get_table_names()
    }


def covers(new: Any, old: Any) -> bool:
    """Return whether an answer says all that an old one said; objects may have gained members."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(name in new and covers(new[name], old[name]) for name in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(new) == len(old) and all(map(covers, new, old))
    return bool(new == old)


def test_everything_reads_as_it_did(old: NodeSettings) -> None:
    with client_of(old) as client:
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
    others = [{"userId": "bob", "type": "Click", "contentId": "ronin", "eventId": "event 1"}] * 2
    assert client.post("/films/interactions", json=others).json() == {"accepted": 1, "duplicates": 1}
    assert client.get("/films/users/bob/interactions?type=Click&content-id=ronin").json()
    assert client.delete("/films/users/ann").status_code == 202
    assert client.get("/films/users/ann/interactions").json() == []


def test_its_keys_of_event_ids_are_looked_for_where_it_had_some(migrated: NodeSettings) -> None:
    """On PostgreSQL everywhere: nodes of 0.1.0 may still write."""
    with_events = "SELECT DISTINCT name FROM sources JOIN event_ids ON event_ids.source_id = sources.source_id"
    marked = {name for (name,) in rows_of(migrated, "SELECT name FROM sources WHERE own_events")}

    assert rows_of(migrated, with_events) == [("films",)]
    assert marked == (set() if migrated.database else {"empty", "many", "removed"})


def test_what_is_stored_agrees_with_itself(client: TestClient, migrated: NodeSettings) -> None:
    checked = CliRunner().invoke(commands, ["check", *options_of(migrated)])

    assert checked.exit_code == 0, checked.output
    assert client.get("/-/health/ready").status_code == 200


def test_its_export_is_written_as_it_was(migrated: NodeSettings, tmp_path: Path) -> None:
    file = tmp_path / "films.ndjson"
    source = ["--account", "press", "--source", "films", "--with", "all"]
    done = CliRunner().invoke(commands, ["export", *options_of(migrated), *source, "--output", str(file)])

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

    with TestClient(web_application(settings, clock=time.time), headers={"x-api-key": key}) as client:
        for path in IN_THE_EXPORT:
            answer = client.get(f"/films/{path}").json()
            assert covers(answer, FACTS["answers"][f"films/{path}"]), path


def test_its_schema_becomes_that_of_a_new_database(old: NodeSettings, request: pytest.FixtureRequest) -> None:
    address = None if old.database is None else new_database(request.getfixturevalue("postgresql"))
    new = NodeSettings(data=f"{old.data}-new", database=address)

    for each in (old, new):
        storage_of(each).close()

    assert schema_of(old) == schema_of(new)
    assert schema_of(old).keys() >= metadata.tables.keys()


def test_nodes_that_start_on_it_at_once_wait_for_each_other(old: NodeSettings) -> None:
    with ThreadPoolExecutor(4) as starting:
        opened = list(starting.map(storage_of, [old] * 4))

    for storage in opened:
        assert storage.upkeep.check() == []
        storage.close()


def test_its_keys_have_all_scopes_and_new_ones_can_be_limited(client: TestClient) -> None:
    wish = {"account": "press", "scopes": ["read"]}
    reader = client.post("/-/admin/keys", headers=ADMINISTRATION, json=wish).json()
    listed = client.get("/-/admin/keys", headers=ADMINISTRATION).json()["keys"]

    assert {(*each["scopes"],) for each in listed[:-1]} == {("read", "personal", "interact", "write")}
    assert client.get("/films/content/heat", headers={"x-api-key": reader["key"]}).status_code == 200
    refused = client.delete("/films/content/heat", headers={"x-api-key": reader["key"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "outside-scope")
    signing = client.post("/-/admin/accounts/press/secret", headers=ADMINISTRATION)
    assert signing.status_code == 201


def test_sessions_begin_and_end_and_new_event_ids_are_exported(client: TestClient, migrated: NodeSettings) -> None:
    act = {"userId": "ann", "type": "Watch", "contentId": "heat", "eventId": "new", "timestamp": "2026-11-10T10:00:00Z"}
    assert client.post("/films/interactions", json=[act]).json()["accepted"] == 1
    with closing(storage_of(migrated)) as storage:
        record = SessionRecord(b"mine", "key", seen_at=1, ends_at=int(time.time() * 1000) + DAY_MS)
        storage.sessions.begin(record)

        assert storage.sessions.find(b"mine") == record
        storage.sessions.end(b"mine")
        assert storage.sessions.find(b"mine") is None
    exported = client.get("/films/users/ann/export").json()["interactions"]
    assert [each.get("eventId") for each in exported].count("new") == 1
    assert len(exported) == 5


def test_its_deleted_source_is_purged_and_no_version_given_again(migrated: NodeSettings) -> None:
    with closing(storage_of(migrated)) as storage:
        now = int(time.time() * 1000) + 8 * DAY_MS
        before = len(rows_of(migrated, "SELECT source_id FROM sources"))
        while storage.upkeep.purge(lambda _: 36_500, now=now):
            pass

        assert len(rows_of(migrated, "SELECT source_id FROM sources")) == before - 1
        floors = rows_of(migrated, "SELECT version_floor FROM accounts WHERE version_floor IS NOT NULL")
        assert floors == [(VERSION_OF_REMOVED,)]
        assert storage.upkeep.check() == []


def rows_of(settings: NodeSettings, statement: str) -> list[tuple[Any, ...]]:
    with beside(settings) as connection:
        return [tuple(row) for row in connection.execute(text(statement))]


def test_nodes_that_are_still_of_0_1_0_go_on_writing(migrated: NodeSettings) -> None:
    """A node of 0.1.0 beside ours names no column that came since."""
    with closing(storage_of(migrated)) as storage:
        with beside(migrated) as connection:
            connection.execute(text("INSERT INTO accounts (account_id, name) VALUES (7, 'new')"))
            connection.execute(
                text(
                    "INSERT INTO keys (key_id, account_id, plan, admin, secret_hash, created_at)"
                    " VALUES ('theirs', 7, 'full', :no, :hash, 1)"
                ),
                {"no": False, "hash": b"h"},
            )
            connection.execute(
                text(
                    "INSERT INTO interactions"
                    " (source_id, version, user_key, piece_key, type, occurred_at, user_id, piece_id)"
                    " SELECT source_id, 1000000, user_key, piece_key, type, occurred_at, user_id, piece_id"
                    " FROM interactions WHERE type <> 0 ORDER BY source_id, version LIMIT 1"
                )
            )

        theirs = storage.keys.find("theirs")
        assert theirs is not None
        assert (theirs.scopes, theirs.origins, theirs.signing_secret) == ("", "", None)
        assert rows_of(migrated, "SELECT event_id FROM interactions WHERE version = 1000000") == [(None,)]

"""What is exported is imported again, and gives the same bytes."""

import gzip
import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from databases import connection_beside, opened_file
from factories import piece
from import_folders import Folder, run
from penchant.cli import commands
from penchant.importing import StoredTarget, export_lines
from penchant.storage import Storage, source_id
from penchant.storage.hashing import account_id
from penchant.storage.parts import load_parts, tables_of
from penchant.storage.schema import marks, metadata
from penchant_import.options import ImportOptions
from penchant_import.running import Import
from serving import Service
from strategies import VALUES, examples

NOW = time.time_ns() // 1_000_000
EVERYTHING = ("interactions", "lists", "settings", "placements", "preferences")
IDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(
    lambda text: text not in {".", ".."}
)
INTERACTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "userId": IDS,
            "type": st.sampled_from(("Watch", "RateLike", "RateDislike")),
            "contentId": IDS,
            "timestamp": st.integers(0, 3).map(lambda n: f"{time.strftime('%Y')}-01-01T00:00:00.00{n}Z"),
            "eventId": st.sampled_from("123"),
        },
        optional={"value": VALUES},
    ),
    max_size=12,
)

PLACEMENT = {
    "name": "front",
    "placement": {"kind": "popular", "variants": [{"name": "a", "share": 0.3}, {"name": "b", "share": 0.2}]},
    "buckets": [[0, 1000, "a"], [1000, 3000, "b"], [5000, 7000, "a"]],
}
TABLES = {table.name: table for table in (*metadata.tables.values(), *tables_of(load_parts(), of_sources=True))}
CARRIED = {
    "sources": ("settings",),
    "pieces": ("piece_id", "body"),
    "lists": ("kind", "position", "piece_id"),
    "placements": ("name",),
    "drafts": ("name", "title", "state", "body"),
    "placement_versions": ("name", "body", "assignment"),
    "interactions": ("user_id", "piece_id", "type", "occurred_at", "event_id", "portion"),
    "preferences": ("user_id", "body"),
}
"""The tables that an export carries, by the columns that people have given."""
LEFT_OUT = {
    "steering_versions": "what settings and lists were",
    "accounts": "belongs to no source",
    "keys": "belongs to no source",
    "secrets": "belongs to no source",
    "sessions": "belongs to no source",
    "audit": "belongs to no source",
    "usage": "belongs to no source",
    "pulls": "where a service reads from again and again; another one has its own",
    "pull_runs": "what pulls of this service did",
    "counters": "versions of this history; another source has its own",
    "event_ids": "made of the event ids of interactions",
    "taken_back": "made of the event ids of interactions",
    "dictionaries": "made of the pieces, to compress them",
    "owed_erasures": "whom packages that this service misses are to forget",
    "impressions": "name people by a secret of the database",
    "placement_counts": "counted from impressions",
    "placement_people": "counted from impressions",
    "placement_pieces": "counted from impressions",
    "lineage": "tells of the database itself",
    "unfinished_move": "tells of the database itself",
}
"""The tables that an export leaves out, and why: `penchant backup` and `move` carry them."""


SETTINGS = {"halfLifeDays": 1.5, "words": {"keep": 3}, "vocabulary": {"ignore": ["genre/x"]}}


def exported(storage: Storage, source: str = "s") -> bytes:
    with storage.sources.open_export(storage.accounts.ensure("default"), source) as export:
        return b"".join(export_lines(export, EVERYTHING, NOW))


def target(storage: Storage, source: str = "s") -> StoredTarget:
    return StoredTarget(storage, account="default", source=source, actor="me")


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(IDS, max_size=5), listed=st.lists(IDS, unique=True, max_size=3), interactions=INTERACTIONS)
def test_export_import_export_gives_equal_bytes(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], listed: list[str], interactions: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("export")
    folders = [path / "one", path / "other"]
    for folder in folders:
        folder.mkdir()
    rows: list[dict[str, Any]] = [piece(each, "x", each, extras={"\u0000": [None, 1.50, each]}) for each in ids]
    rows += [{"whitelist": listed}, {"settings": SETTINGS}, *interactions, *interactions]
    rows += [{"preferences": {"userId": each, "keywords": {"genre": {each: -0.5}}, "hidden": [each]}} for each in ids]
    rows += [{"placement": PLACEMENT}, {"draft": {"name": "d", "edits": {"blacklist": ["x"]}}}]
    Folder(folders[0]).write("a.ndjson", *map(json.dumps, rows))
    with closing(opened_file(path / "data")) as storage:
        run("ndjson", Folder(folders[0]), target(storage))
        first = exported(storage)
        (folders[1] / "b.ndjson").write_bytes(first)
        work = Import("ndjson", Folder(folders[1]).files(), ImportOptions(), target=target(storage, "t"))
        work.check_all(path, lambda _done: None)
        work.run(lambda _done: None)

        assert exported(storage, source="t") == first
        assert work.tally.duplicates == 0
        assert work.tally.preferences == len(set(ids))
        events = {(each["userId"], each["eventId"]) for each in interactions}
        assert first.count(b'"userId"') == len(events) + len(set(ids))


@pytest.fixture
def told(service: Service) -> Callable[..., Any]:
    """A function that runs the command on the service's data, which goes on."""
    where = ["--data", service.settings.data]
    where += ["--database", service.settings.database] if service.settings.database else []

    def run_command(*words: str, source: str = "s") -> Any:
        result = CliRunner().invoke(commands, [*words, *where, "--source", source])
        assert result.exit_code == 0, result.output
        return result

    return run_command


def test_the_command_exports_what_is_asked_for_while_the_service_runs(
    service: Service, told: Callable[..., Any], tmp_path: Path
) -> None:
    service.submit("s", piece("b", "x"), piece("a", "y"))
    service.put("/s/whitelist", json=["b"])
    service.post("/s/users/u/interactions/Watch/content/a")
    file = tmp_path / "all.ndjson.gz"

    plain = told("export").stdout.splitlines()
    told("export", "--with", "all", "--output", str(file))
    everything = gzip.decompress(file.read_bytes()).splitlines()

    assert [json.loads(line)["id"] for line in plain] == ["a", "b"]
    assert [min(json.loads(line)) for line in everything[2:]] == ["whitelist", "blacklist", "settings", "contentId"]
    assert told("export", "--with", "lists").stdout.splitlines()[2:] == ['{"whitelist":["b"]}', '{"blacklist":[]}']


def test_what_is_imported_while_the_service_runs_counts_in_the_next_request(
    service: Service, told: Callable[..., Any], tmp_path: Path
) -> None:
    service.submit("s", piece("b", "x"))
    file = tmp_path / "new.csv"
    file.write_text("id,genre\na,x\n")

    report = json.loads(told("import", "--from", "csv", str(file), "--json").stdout)

    assert report["created"] == 1
    assert report["mapped"][0] == {"file": "new.csv", "field": "id", "to": "id", "count": 1}
    assert service.get("/s/content/b/similar").json()["content"] == [{"id": "a", "score": 0.0}]


@pytest.mark.slow
def test_every_table_that_holds_what_people_gave_comes_back(
    service: Service, told: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "all.ndjson"
    service.submit("s", piece("b", "x"), piece("a", "y"))
    service.put("/s/blacklist", json=["b", "a"])
    service.put("/s/settings", json={"halfLifeDays": 7})
    for share in (0.5, 0.3):
        # What is given up by one and taken by the other shows whether the people of a variant stay the same.
        variants = [{"name": "one", "share": share}, {"name": "other", "share": 1 - share}]
        service.put("/s/placements/front", json={"kind": "popular", "variants": variants})
    draft = {"title": "T", "note": "n", "settings": {}, "placements": {"x": {"kind": "new"}}, "content": [piece("c")]}
    assert service.put("/s/drafts/spring", json=draft).status_code == 200
    service.post("/s/users/u/interactions/Watch/content/a?event-id=e")
    service.put("/s/users/u/preferences", json={"hidden": ["b"], "keywords": {"genre": {"x": 1}}})
    service.post("/s/users/off/interactions/Watch/content/a?event-id=e")
    service.put("/s/users/off/preferences", json={"personal": False})

    told("export", "--with", "all", "--output", str(file))
    for _ in range(2):
        told("import", str(file), source="t")

    assert CARRIED.keys() | LEFT_OUT.keys() == TABLES.keys() | marks.tables.keys()
    with connection_beside(Path(service.settings.data), service.settings.database) as connection:
        for table, columns in CARRIED.items():
            before, after = (rows_of(connection, table, columns, source) for source in "st")
            assert before, table
            assert after == (before[-1:] if table == "placement_versions" else before), table


def rows_of(connection: Connection, table: str, columns: tuple[str, ...], source: str) -> list[Any]:
    """Return what a table has of a source, in the order of versions where there are some."""
    found = TABLES[table]
    order = found.c.version if table in {"interactions", "placement_versions"} else found.c[columns[0]]
    statement = select(*(found.c[name] for name in columns)).order_by(order)
    number = source_id(account_id("default"), source)
    return [tuple(row) for row in connection.execute(statement.where(found.c.source_id == number))]


@pytest.mark.parametrize(
    ("line", "pointer"),
    (
        ({"preferences": {"hidden": ["a"]}}, "/userId"),
        ({"preferences": {"userId": "kim", "keywords": {"genre": {"x": 2}}}}, "/keywords/genre/x"),
        ({"placement": {"name": "front", "placement": {"kind": "best"}}}, "/placement/kind"),
        ({"placement": PLACEMENT | {"name": ".."}}, "/name"),
        ({"placement": PLACEMENT | {"buckets": [[0, 3000, "a"]]}}, "/buckets"),
        ({"placement": PLACEMENT | {"buckets": [[0, 3000, "a"], [2000, 4000, "b"]]}}, "/buckets"),
        ({"placement": PLACEMENT | {"buckets": 7}}, "/buckets"),
        ({"placement": PLACEMENT | {"people": 7}}, "/people"),
        ({"draft": {"name": "..", "edits": {}}}, "/name"),
        ({"draft": {"name": "d", "edits": {"blacklist": [1]}}}, "/edits/blacklist/0"),
    ),
)
def test_a_placement_or_preferences_with_a_fault_are_named_by_file_line_and_pointer(
    folder: Folder, target: StoredTarget, line: dict[str, Any], pointer: str
) -> None:
    folder.write("a.ndjson", json.dumps({"placement": PLACEMENT | {"name": "good"}}), json.dumps(line))

    work = run("ndjson", folder, target, skip_invalid=True)

    assert [(each.file, each.line, each.pointer) for each in work.tally.invalid] == [("a.ndjson", 2, pointer)]
    assert work.tally.placements == 1


def test_people_with_the_same_event_id_come_back_each_with_their_own(
    folder: Folder, target: StoredTarget, storage: Storage
) -> None:
    moment = f"{time.strftime('%Y')}-01-01T00:00:00.000Z"
    bought = {"type": "Purchase", "contentId": "a", "timestamp": moment, "eventId": "order-1"}
    folder.write("a.ndjson", *(json.dumps({"userId": user} | bought) for user in "uvu"))
    first = run("ndjson", folder, target)
    folder.write("a.ndjson", *(line.decode() for line in exported(storage).splitlines()))
    again = run("ndjson", folder, target)

    assert (first.tally.interactions, first.tally.duplicates) == (3, 1)
    assert (again.tally.interactions, again.tally.duplicates) == (2, 2)
    assert exported(storage).count(b'"eventId":"order-1"') == 2


def test_event_ids_that_clients_gave_are_exported_and_those_of_imports_are_made_again(
    folder: Folder, target: StoredTarget, storage: Storage
) -> None:
    moment = f"{time.strftime('%Y')}-01-01T00:00:00.000Z"
    watched = {"userId": "u", "type": "Watch", "contentId": "a", "timestamp": moment}
    folder.write("a.ndjson", json.dumps(watched), json.dumps(watched | {"eventId": "own"}))
    run("ndjson", folder, target)

    lines = [json.loads(line) for line in exported(storage).splitlines() if b"userId" in line]

    assert lines == [watched, watched | {"eventId": "own"}]

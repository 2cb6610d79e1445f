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

from factories import piece
from importing.conftest import Folder, run
from penchant.cli import commands
from penchant.importing import ExportParts, StoredTarget, export_lines
from penchant.storage import Storage, open_storage
from serving import Service
from strategies import examples

NOW = time.time_ns() // 1_000_000
EVERYTHING = ExportParts(interactions=True, lists=True, settings=True)
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
            "eventId": st.uuids().map(str),
        }
    ),
    max_size=12,
)


def exported(storage: Storage, source: str = "s") -> bytes:
    with storage.sources.open_export(storage.accounts.ensure("default"), source) as export:
        return b"".join(export_lines(export, EVERYTHING, NOW))


def target(storage: Storage, source: str = "s") -> StoredTarget:
    return StoredTarget(storage, account="default", source=source, actor="me")


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
    rows += [{"whitelist": listed}, {"settings": {"halfLifeDays": 1.5}}, *interactions, *interactions]
    Folder(folders[0]).write("a.ndjson", *map(json.dumps, rows))
    with closing(open_storage(folder=path / "data")) as storage:
        run("ndjson", Folder(folders[0]), target(storage))
        first = exported(storage)
        (folders[1] / "b.ndjson").write_bytes(first)
        work = run("ndjson", Folder(folders[1]), target(storage, "t"))

        assert exported(storage, source="t") == first
        assert work.tally.duplicates == 0
        assert first.count(b'"userId"') == len(interactions)


@pytest.fixture
def told(service: Service) -> Callable[..., Any]:
    """A function that runs the command on the service's data, which goes on."""
    where = ["--data", service.settings.data]
    where += ["--database", service.settings.database] if service.settings.database else []

    def run_command(*words: str) -> Any:
        result = CliRunner().invoke(commands, [*words, *where, "--source", "s"])
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
    assert [min(json.loads(line)) for line in everything[2:]] == [
        "whitelist",
        "blacklist",
        "settings",
        "contentId",
    ]
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

"""``penchant tune`` as a process: it proposes, applies where it is asked to, and takes that back."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acceptance.servers import command
from cli.conftest import Running
from kernel_cache import KERNELS
from penchant.cli.importing import load_ndjson
from penchant.model import SourceSettings
from penchant.storage import ReplaceSettings, Storage, open_storage
from penchant.wire import decode_settings

pytestmark = pytest.mark.slow

MISLED = b'{"blend":{"content":0,"audience":0,"popularity":1},"halfLifeDays":60}'
QUICK = ("--candidates", "6", "--people", "100")


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def opened(data: Path, database: str | None = None) -> Storage:
    return open_storage(folder=data, database_url=database)


def settings_of(data: Path, database: str | None = None) -> SourceSettings:
    with closing(opened(data, database)) as storage:
        _, curation = storage.sources.read_curation(storage.accounts.ensure("default"), "s")
    return decode_settings(curation.settings)


def put(data: Path, settings: bytes, database: str | None = None) -> None:
    with closing(opened(data, database)) as storage:
        storage.submit(
            ReplaceSettings(account_id=storage.accounts.ensure("default"), source="s", settings=settings)
        ).result()


def filled(tmp_path: Path, groups: int, database: str | None = None, people: int = 330) -> Path:
    """Return a data folder with a source in which people of a group like the same pieces."""
    random = np.random.default_rng(0)
    pieces = [{"id": f"p{number:02d}", "categories": {"genre": [f"g{number % 7}"]}} for number in range(80)]
    events = [
        {"userId": f"u{person}", "contentId": f"p{piece:02d}", "type": "RateLike"}
        for person in range(people)
        for piece in random.choice(np.arange(person % groups, 80, groups), 12, replace=False).tolist()
    ]
    for name, rows in (("pieces", pieces), ("interactions", events)):
        (tmp_path / f"{name}.ndjson").write_text(lines(rows))
    data = tmp_path / "data"
    with closing(opened(data, database)) as storage:
        files = {name: tmp_path / f"{name}.ndjson" for name in ("pieces", "interactions")}
        load_ndjson(storage, "default", "s", **files)
    put(data, MISLED, database)
    return data


@pytest.fixture(autouse=True)
def shared_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENCHANT_KERNEL_FOLDER", str(KERNELS))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("tuning"), groups=4)


def tuned(data: Path, *words: str) -> Any:
    return command("tune", "--data", str(data), "--source", "s", *words)


def test_settings_are_proposed_applied_and_taken_back_by_force_where_they_were_changed_since(tmp_path: Path) -> None:
    data = filled(tmp_path, groups=4)
    before = settings_of(data)

    proposed = tuned(data, *QUICK)
    assert proposed.returncode == 0, proposed.stderr
    assert "Put them in force with --apply" in proposed.stdout
    assert "  blend.audience: 0 -> 0." in proposed.stdout
    assert settings_of(data) == before

    applied = tuned(data, *QUICK, "--apply", "--json")
    assert applied.returncode == 0, applied.stderr
    told = json.loads(applied.stdout)
    assert told["better"]
    assert told["objections"] == []
    assert told["testPeople"] >= 200
    assert told["applied"]
    assert told["testGain"]["low"] > 0
    after = settings_of(data)
    assert after == decode_settings(json.dumps(told["settings"]).encode()) != before
    assert after.half_life_days == before.half_life_days

    put(data, b'{"halfLifeDays":5}')
    refused = tuned(data, "--rollback")
    assert refused.returncode == 1
    assert "The settings were changed since they were tuned; --force gives that up." in refused.stderr
    assert settings_of(data).half_life_days == 5
    rolled_back = tuned(data, "--rollback", "--force")
    assert rolled_back.returncode == 0, rolled_back.stderr
    assert settings_of(data) == before
    with closing(opened(data)) as storage:
        actions = [(entry.actor, entry.action, entry.count) for entry in storage.accounts.list_audit(limit=2)]
    # Two of each, of one minute: one entry each.
    assert actions == [("command-line", "settings.replace", 2), ("", "settings.replace", 2)]
    assert tuned(data, "--rollback").returncode == 1


def test_too_few_people_are_told_and_nothing_is_applied(tmp_path: Path) -> None:
    data = filled(tmp_path, groups=4, people=60)

    done = tuned(data, *QUICK, "--apply")
    as_json = tuned(data, *QUICK, "--apply", "--json")

    assert done.returncode == as_json.returncode == 0, done.stderr
    told = json.loads(as_json.stdout)
    why = f"{told['testPeople']} people can judge; 200 are needed."
    assert done.stdout.splitlines() == ["Nothing is certainly better than the settings in force.", why]
    assert (told["better"], told["applied"], told["settings"], told["tried"]) == (False, False, None, 0)
    assert told["objections"] == [why]
    assert settings_of(data) == decode_settings(MISLED)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    (
        (["--source", "none"], 1, "The account 'default' has no source 'none'."),
        (["--source", "none", "--rollback"], 1, "The account 'default' has no source 'none'."),
        (["--source", "s", "--rollback"], 1, "No tuned settings of 's' were applied from this data folder."),
        (["--folder", ".", "--apply"], 2, "--apply and --rollback are for a --source"),
        (["--source", "s", "--people", "1"], 2, "1 is not in the range"),
    ),
)
def test_what_cannot_be_tuned_is_told_in_a_line(
    refused: Running, source: Path, words: list[str], code: int, told: str
) -> None:
    where = [str(source.parent) if word == "." else word for word in words]

    ended, said = refused("tune", "--data", str(source), *where)

    assert ended == code, said
    assert told in said

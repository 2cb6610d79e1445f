"""``penchant doctor``: all that support asks for, and nothing that is secret."""

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penchant.bootstrap import start_log
from penchant.cli import commands
from penchant.errors import InvalidSettings
from penchant.settings import NodeSettings, load_settings
from penchant.telemetry import KEPT_ERROR_BYTES, last_errors, logger
from serving import Service

SECRET = "very-secret"
SETTINGS = f"""
redis = "redis://:{SECRET}@redis.internal"
tracing-endpoint = "https://user:{SECRET}@traces.internal"
trusted-proxies = ["10.0.0.1"]
dashboard-proxy-header = "x-{SECRET}"
dashboard-proxy-groups-header = "x-groups"
cors-origins = ["https://{SECRET}.example"]
image-hosts = ["{SECRET}.example"]
workers = 3
[[dashboard-groups]]
group = "{SECRET}"
role = "viewer"
account = "{SECRET}"
[plans.{SECRET}]
sources = 1
"""


@pytest.fixture
def quiet_log() -> object:
    """The project's log as it was, whatever a test has made of it."""
    handlers, level, propagate = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.propagate = handlers, propagate
    logger.setLevel(level)


def doctor(*words: str) -> Result:
    return CliRunner().invoke(commands, ["doctor", *words])


def fail(settings: NodeSettings, times: int = 1) -> None:
    start_log(settings)
    for _ in range(times):
        try:
            load_settings({"port": f"{SECRET}"}, environment={})
        except InvalidSettings:
            logger.exception("it failed for %s", SECRET, extra={"fields": {"person": SECRET}})


@pytest.mark.usefixtures("quiet_log")
def test_nothing_planted_as_a_secret_is_told(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(SETTINGS)
    monkeypatch.setenv("PENCHANT_KEY", SECRET)
    service.submit(SECRET, {"id": SECRET, "categories": {"a": [SECRET]}})
    service.post(f"/{SECRET}/users/{SECRET}/interactions/Watch/content/{SECRET}")
    service.new_key(account=SECRET)
    fail(service.settings)

    for words in ((), ("--json",)):
        told = doctor("--data", service.settings.data, "--settings", str(file), *words)

        assert told.exit_code == 0, told.output
        assert SECRET not in told.output
        assert service.key.split("_")[1] not in told.output
        assert all(word in told.output for word in ("numpy", "workers", "redis", "InvalidSettings", "settings.py:"))


@pytest.mark.usefixtures("quiet_log")
def test_it_tells_settings_sizes_checks_and_the_last_errors(service: Service) -> None:
    service.submit("s", {"id": "a", "categories": {}}, {"id": "b", "categories": {}})
    fail(service.settings)

    told = json.loads(doctor("--data", service.settings.data, "--json").output)

    assert told["settings"]["data"] == service.settings.data
    assert told["database"]["server"].startswith("sqlite 3.")
    assert (told["sizes"]["sources"], told["sizes"]["pieces"]) == (1, 2)
    assert told["checks"]["problems"] == 0
    (error,) = told["lastErrors"]
    assert (error["message"], error["kind"]) == ("it failed for %s", "penchant.errors.InvalidSettings")


@pytest.mark.slow
def test_what_is_broken_is_told_and_ends_with_1(service: Service, tmp_path: Path) -> None:
    service.submit("s", {"id": "a", "categories": {}})
    with closing(sqlite3.connect(Path(service.settings.data) / "penchant.db")) as connection:
        connection.execute("UPDATE counters SET live = 7")
        connection.commit()
    away = "postgresql://penchant:very-secret@127.0.0.1:9/penchant"

    counted = doctor("--data", service.settings.data)
    unreachable = doctor("--data", str(tmp_path), "--database", away)

    assert counted.exit_code == 1
    assert "problems: 1" in counted.output
    assert "penchant check" in counted.output
    assert doctor("--data", service.settings.data, "--quick").exit_code == 0
    assert unreachable.exit_code == 1
    assert "storage-unavailable" in unreachable.output
    assert SECRET not in unreachable.output


def test_without_data_it_makes_none(tmp_path: Path) -> None:
    told = doctor("--data", str(tmp_path / "data"))

    assert told.exit_code == 0, told.output
    assert "not there yet" in told.output
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_log")
def test_the_file_of_errors_stays_small_and_has_the_newest(tmp_path: Path) -> None:
    settings = NodeSettings(data=str(tmp_path))
    fail(settings, 600)
    logger.warning("no error")
    logger.error("the newest")

    (file,) = tmp_path.iterdir()

    assert file.stat().st_size <= KEPT_ERROR_BYTES
    assert last_errors(file)[-1].message == "the newest"
    assert file.stat().st_mode & 0o077 == 0
    assert logging.getLogger("penchant").handlers

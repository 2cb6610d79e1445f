"""Where settings come from, and which are accepted."""

from pathlib import Path
from typing import Any

import pytest

from penchant.errors import InvalidSettings
from penchant.model import BASIC_PLAN, FULL_PLAN, Feature
from penchant.settings import (
    PUBLISHED_FILE,
    NodeSettings,
    PlanSettings,
    PublishedSettings,
    changed_settings,
    load_settings,
    merge_settings,
    publish_settings,
)


def test_command_line_comes_before_environment_before_file(tmp_path: Path) -> None:
    file = tmp_path / "penchant.toml"
    file.write_text('port = 1\nhost = "file"\nbody-limit-bytes = 7\n')
    environment = {"PENCHANT_PORT": "2", "PENCHANT_HOST": "environment", "PENCHANT_METRICS_PUBLIC": "false"}

    settings = load_settings({"port": 3, "host": None}, file=file, environment=environment)

    assert (settings.port, settings.host, settings.body_limit_bytes) == (3, "environment", 7)
    assert not settings.metrics_public


def test_lists_in_the_environment_are_split_at_commas() -> None:
    settings = load_settings(environment={"PENCHANT_CORS_ORIGINS": "https://a.example, https://b.example"})

    assert settings.cors_origins == ("https://a.example", "https://b.example")


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("port = 4321\n")

    assert load_settings(environment={"PENCHANT_SETTINGS": str(file)}).port == 4321


@pytest.mark.parametrize(
    ("text", "said"),
    (
        ("port = 0", "setting"),
        ('port = "x"', "setting"),
        ("shard-pieces = 5000", r"line 1: there is no setting `shard-pieces`\. See docs/reference/settings\.md"),
        ("base-path = 'x/'", "setting"),
        ("log-level = 'loud'", "setting"),
        ("=", "setting"),
        ("[plans.p]\nfeatures = ['no']", "setting"),
    ),
)
def test_an_unacceptable_setting_is_a_clear_error(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "penchant.toml"
    file.write_text(text)

    with pytest.raises(InvalidSettings, match=said):
        load_settings(file=file, environment={})


PROXIED = {
    "trusted-proxies": ["10.0.0.1"],
    "dashboard-proxy-header": "Remote-User",
    "dashboard-proxy-groups-header": "Remote-Groups",
    "dashboard-groups": [{"group": "newsroom", "account": "tv", "role": "editor"}, {"group": "it", "role": "admin"}],
}


@pytest.mark.parametrize(
    ("other", "said"),
    (
        ({"trusted-proxies": []}, "dashboard-proxy-header needs trusted-proxies"),
        ({"trusted-proxies": ["10.0.0.1", "0.0.0.0/0"]}, "not every address"),
        ({"trusted-proxies": ["::/0"]}, "not every address"),
        ({"dashboard-proxy-groups-header": None}, "need each other"),
        ({"dashboard-proxy-header": None}, "need each other"),
        ({"dashboard-proxy-header": None, "dashboard-proxy-groups-header": None}, "dashboard-groups .* need"),
        ({"dashboard-proxy-groups-header": "remote-user"}, "the same header"),
        ({"dashboard-proxy-header": "remote_user"}, "dashboard-proxy-header"),
        ({"dashboard-proxy-sign-out": "javascript:alert(1)"}, "sign-out"),
        ({"dashboard-groups": [{"group": "g", "role": "editor"}]}, "'g' .* needs an account"),
        ({"dashboard-groups": [{"group": "g", "role": "admin", "account": "tv"}]}, "leave the account out"),
        ({"dashboard-groups": [{"group": "g", "role": "owner", "account": "tv"}]}, "owner"),
        ({"dashboard-groups": [{"group": "g,h", "role": "viewer", "account": "tv"}]}, "group"),
        ({"dashboard-groups": [{"group": "g", "role": "viewer", "account": "tv", "plan": "no"}]}, "unknown plan 'no'"),
    ),
)
def test_signing_in_by_a_proxy_is_set_whole_or_not_at_all(other: dict[str, Any], said: str) -> None:
    assert load_settings(PROXIED, environment={}).dashboard_proxy_header == "Remote-User"

    values = {name: value for name, value in (PROXIED | other).items() if value is not None}
    with pytest.raises(InvalidSettings, match=said):
        load_settings(values, environment={})


def test_a_missing_file_that_was_named_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings):
        load_settings(file=tmp_path / "no.toml", environment={})


def test_plans_are_configured_and_built_in(tmp_path: Path) -> None:
    file = tmp_path / "penchant.toml"
    file.write_text('[plans.press]\nfeatures = ["filters", "lists"]\nrequests-per-second = 5\npieces-per-source = 10\n')
    settings = load_settings(file=file, environment={})

    press = settings.plan("press")
    assert press is not None
    assert press.features == {Feature.FILTERS, Feature.LISTS}
    assert (press.requests_per_second, press.pieces_per_source, press.sources) == (5, 10, None)
    assert (settings.plan("full"), settings.plan("basic"), settings.plan("no")) == (FULL_PLAN, BASIC_PLAN, None)
    assert settings.plan_names() == ["basic", "full", "press"]
    assert NodeSettings().plan_names() == ["basic", "full"]


def test_what_may_change_while_it_runs_does_and_nothing_else() -> None:
    running = NodeSettings(port=1, log_level="info")
    read = NodeSettings(port=2, log_level="debug")

    merged = merge_settings(running, read)

    assert merged == NodeSettings(port=1, log_level="debug")
    assert changed_settings(running, merged) == ["log-level"]
    assert changed_settings(merged, read) == ["port"]


def test_published_settings_are_found_once_and_hold_no_secret(tmp_path: Path) -> None:
    start = NodeSettings(database="postgresql://user:secret@host/db", port=1)
    plans = {"press": PlanSettings(features=(Feature.LISTS,), sources=0)}
    published = PublishedSettings(start, tmp_path)
    assert published.newer() is None

    publish_settings(tmp_path, NodeSettings(plans=plans, port=2, database="postgresql://other"))

    found = published.newer()
    assert found is not None
    assert (found.plans, found.port, found.database) == (plans, 1, start.database)
    assert published.newer() is None
    (file,) = tmp_path.iterdir()
    assert b"postgresql" not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    publish_settings(tmp_path, NodeSettings())
    assert published.newer() == start


def test_published_settings_that_cannot_be_read_are_told_once(tmp_path: Path) -> None:
    (tmp_path / PUBLISHED_FILE).mkdir()
    published = PublishedSettings(NodeSettings(), tmp_path)

    with pytest.raises(IsADirectoryError):
        published.newer()

    assert published.newer() is None


def test_nothing_is_published_to_a_process_that_counts_alone() -> None:
    assert PublishedSettings(NodeSettings(), None).newer() is None

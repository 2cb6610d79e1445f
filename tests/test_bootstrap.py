"""What the parent of the workers prepares for them."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from acceptance.processes import wait_until
from penchant.bootstrap import METRICS_FOLDER, METRICS_LOCK, shared_metrics, storage_of, web_application
from penchant.cli.keys import make_key
from penchant.errors import StorageUnavailable
from penchant.live.election import Election
from penchant.settings import METRICS_VARIABLE, NodeSettings, metrics_folder


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the environment back as it was: other tests count alone."""
    monkeypatch.setenv(METRICS_VARIABLE, "")


def test_workers_get_a_folder_that_goes_with_the_service(settings: NodeSettings) -> None:
    with shared_metrics(settings):
        folder = metrics_folder()
        assert folder is not None
        assert folder.parent == Path(settings.data) / METRICS_FOLDER
        assert folder.is_dir()

    assert not folder.exists()


def test_only_folders_that_no_service_holds_are_removed(settings: NodeSettings) -> None:
    home = Path(settings.data) / METRICS_FOLDER
    for name in ("left", "held", "starting"):
        (home / name).mkdir(parents=True)
    (home / "left" / METRICS_LOCK).touch()
    holder = Election(home / "held" / METRICS_LOCK)
    holder.try_win()

    with shared_metrics(settings):
        assert {path.name for path in home.iterdir()} - {str(metrics_folder())} > {"held", "starting"}
        assert not (home / "left").exists()
    holder.close()


def test_two_services_on_a_data_folder_count_apart(settings: NodeSettings) -> None:
    with shared_metrics(settings):
        first = metrics_folder()
        with shared_metrics(settings):
            assert first is not None
            assert metrics_folder() != first
            assert first.is_dir()


def test_a_data_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(StorageUnavailable, match="data folder"),
        shared_metrics(NodeSettings(data=str(tmp_path / "file"))),
    ):
        pass


def test_a_folder_for_metrics_that_cannot_be_made_is_a_clear_error(settings: NodeSettings) -> None:
    Path(settings.data).mkdir()
    (Path(settings.data) / METRICS_FOLDER).touch()

    with pytest.raises(StorageUnavailable, match="cannot be written"), shared_metrics(settings):
        pass


def test_housekeeping_removes_what_ended_before_the_days_of_the_settings(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(METRICS_VARIABLE)
    with closing(storage_of(settings)) as storage:
        record, _ = make_key(storage, account="one", plan="full")
        storage.keys.create(replace(record, key_id="ended", expires_at=1), actor="test")
        _, key = make_key(storage, account="one", plan="full", admin=True)

    with TestClient(web_application(settings), headers={"x-api-key": key}) as client:
        wait_until(lambda: len(client.get("/-/admin/keys").json()["keys"]) == 2)
        assert "penchant_rows_purged_total" in client.get("/-/metrics").text

"""What the parent of the workers prepares for them."""

import functools
import multiprocessing
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy as np
import pytest
from starlette.testclient import TestClient

from acceptance.processes import wait_until
from penchant.bootstrap import METRICS_FOLDER, METRICS_LOCK, kernel_folder, shared_metrics, storage_of, web_application
from penchant.bootstrap.processes import build_apart, fork_builds
from penchant.cli.keys import make_key
from penchant.errors import StorageUnavailable, UnknownSource
from penchant.hooks import packages
from penchant.live.election import Election
from penchant.live.segment_files import SEGMENT
from penchant.model import EncodedPiece
from penchant.settings import METRICS_VARIABLE, CurrentSettings, NodeSettings, metrics_folder
from penchant.storage import DeleteSource, SubmitPieces
from penchant_batch import stand_ins as stand_in_ranges
from penchant_engine.index.layout import LikenessNorms, SparseRows
from penchant_engine.index.people.item_item import StandInQuery


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
        wait_until(lambda: "penchant_rows_purged_total 1.0\n" in client.get("/-/metrics").text)


@contextmanager
def forking(tasks: Connection) -> Iterator[None]:
    """Have what is sent built by a process that has opened nothing."""
    never, _kept = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=fork_builds, args=(tasks, (never,)))
    process.start()
    yield
    process.kill()
    process.join()


@pytest.mark.slow
def test_a_source_that_is_deleted_meanwhile_is_no_fault_of_what_builds(settings: NodeSettings) -> None:
    tasks, of_builder = multiprocessing.Pipe()
    build = functools.partial(build_apart, of_builder, CurrentSettings(settings))
    with forking(tasks), shared_metrics(settings), closing(storage_of(settings)) as storage:
        account, piece = storage.accounts.ensure("one"), EncodedPiece(id="a", body=b'{"id":"a","categories":{}}')
        storage.submit(SubmitPieces(account_id=account, source="s", pieces=[piece])).result()
        (head,) = storage.sources.read_heads([(account, "s")])
        assert head is not None
        build(SEGMENT.name, head, None)
        storage.submit(DeleteSource(account_id=account, source="s")).result()

        with pytest.raises(UnknownSource):
            build(SEGMENT.name, head, None)


@pytest.mark.parametrize("cluster", (None, "127.0.0.1:9"))
def test_without_a_cluster_nobody_else_finds_stand_ins(
    settings: NodeSettings, cluster: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stand_in_ranges, "LEAST", 0)
    none, starts = np.zeros(0), np.zeros(1, dtype=np.int64)
    rows = SparseRows(starts, np.zeros(0, dtype=np.uint32), none)
    query = StandInQuery(rows, rows, LikenessNorms(none, none, 0.0), np.zeros(0, dtype=np.int64))

    assert packages().stand_in_search(msgspec.structs.replace(settings, cluster=cluster))(query) is None
    assert len(caplog.records) == (cluster is not None)


def test_kernels_of_all_data_folders_lie_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (NodeSettings(data=str(tmp_path / name)) for name in ("one", "other"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kernel_folder(one) == kernel_folder(other) == tmp_path / "cache" / "penchant" / "kernels"
    assert kernel_folder(one).stat().st_mode & 0o077 == 0

    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kernel_folder(one) == tmp_path / "home" / ".cache" / "penchant" / "kernels"
    assert kernel_folder(NodeSettings(kernel_folder=str(tmp_path / "named"))) == tmp_path / "named"


def test_kernels_lie_in_the_data_folder_where_the_cache_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = NodeSettings(data=str(tmp_path / "data"))
    own = tmp_path / "data" / "kernels"

    # No home, as system users may have none.
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    assert kernel_folder(settings) == own

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kernel_folder(settings) != own
    (tmp_path / "cache" / "penchant" / "kernels").chmod(0o777)
    assert kernel_folder(settings) == own


def test_what_shard_processes_have_left_in_a_data_folder_is_passed_over(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(METRICS_VARIABLE)
    folder = Path(settings.data)
    folder.mkdir(mode=0o700)
    for name in ("shard-token", "shard-placement.json"):
        (folder / name).write_text("left")

    with TestClient(web_application(settings)) as client:
        assert client.get("/-/health/ready").json() == {"status": "ok"}

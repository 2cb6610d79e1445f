"""What health warns of: a PostgreSQL that acknowledges changes before they are on a disk, and pulls that fail."""

from contextlib import closing
from pathlib import Path

from starlette.testclient import TestClient

from acceptance.servers import free_port
from databases import new_database
from penchant.bootstrap import storage_of, web_application
from penchant.service.pulling import Puller, PullSpec
from penchant.settings import NodeSettings
from storage.test_postgresql import set_for_new_sessions


def test_health_warns_where_commits_are_not_synced_by_permission(postgresql: str, tmp_path: Path) -> None:
    address = new_database(postgresql)
    set_for_new_sessions(address, "synchronous_commit", "off")
    settings = NodeSettings(data=str(tmp_path / "data"), database=address, allow_unsynced_commits=True)
    with TestClient(web_application(settings)) as client:
        health = client.get("/-/health/ready").json()

    assert health["status"] == "ok"
    assert "synchronous_commit = off" in health["warnings"][0]


def test_health_warns_of_pulls_that_fail_without_their_names(tmp_path: Path) -> None:
    host = f"127.0.0.1:{free_port()}"
    settings = NodeSettings(data=str(tmp_path / "data"), pull_hosts=(host,))
    with closing(storage_of(settings)) as storage:
        puller = Puller(storage, settings)
        spec = PullSpec(format="csv", address=f"http://{host}/x.csv", every_s=3600)
        puller.add("shop", spec, account="default", source="s", actor="test")
        puller.run("shop")
    with TestClient(web_application(settings)) as client:
        health = client.get("/-/health/ready").json()

    assert health == {
        "status": "ok",
        "warnings": ["Pulls that failed the last time: 1; `penchant pull list` tells which."],
    }

"""What health warns of: a PostgreSQL that acknowledges changes before they are on a disk."""

from pathlib import Path

from starlette.testclient import TestClient

from databases import new_database
from penchant.bootstrap import web_application
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

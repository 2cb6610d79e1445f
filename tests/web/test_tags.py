"""ETags tell an outsider nothing, and stay what they are for those who hold them."""

import hashlib
import re
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from factories import piece
from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import make_key
from penchant.settings import NodeSettings
from penchant.storage.hashing import account_id, source_id

PATHS = ("/s/ids", "/s/content?limit=1", "/s/content/a", "/s/content/a/similar", "/s/content/a/why/b", "/s/popular")


def tags_of(settings: NodeSettings, key: str) -> list[str]:
    with TestClient(web_application(settings), headers={"x-api-key": key}) as client:
        return [client.get(path).headers["etag"] for path in PATHS]


def filled(folder: Path) -> tuple[NodeSettings, str]:
    settings = NodeSettings(data=str(folder))
    with closing(storage_of(settings)) as storage:
        _, key = make_key(storage, account="one", plan="full")
    with TestClient(web_application(settings), headers={"x-api-key": key}) as client:
        assert client.post("/s/content", json=[piece("a", "x"), piece("b", "x")]).status_code == 202
    return settings, key


@pytest.mark.slow
def test_tags_stay_over_a_restart_and_are_another_database_s_never(tmp_path: Path) -> None:
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")

    assert tags_of(*one) == tags_of(*one)
    assert not set(tags_of(*one)) & set(tags_of(*other))


@pytest.mark.slow
def test_tags_show_no_number_and_follow_from_none(tmp_path: Path) -> None:
    settings, key = filled(tmp_path / "data")
    account = account_id("one")
    with TestClient(web_application(settings), headers={"x-api-key": key}) as client:
        body = client.get("/s/content/a").content
    guessed = hashlib.blake2b(body, digest_size=12, key=account.to_bytes(8, "big")).hexdigest()

    for tag in tags_of(settings, key):
        assert re.fullmatch(r'W/"[0-9a-f]{24}"', tag)
        assert guessed not in tag
        assert f"{account:x}" not in tag
        assert f"{source_id(account, 's'):x}" not in tag

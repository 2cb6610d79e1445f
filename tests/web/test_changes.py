"""The change feed (interface, section 9): applied by a follower it gives what the source has."""

import json
import threading
import time
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from serving import Service

pytestmark = pytest.mark.nodes


class Follower:
    """What somebody elsewhere knows of a source by its change feed alone."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pieces: dict[str, Any] = {}
        self.query = ""
        self.begin: dict[str, Any] = {}
        self.changes: list[dict[str, Any]] = []

    def follow(self, more: str = "") -> None:
        """Ask for what is new and apply it."""
        answer = self.service.get(f"/s/changes?{self.query}{more}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/x-ndjson"
        self.begin, *self.changes, end = [json.loads(line) for line in answer.text.splitlines()]
        assert (self.begin["type"], end) == ("begin", {"type": "end", "version": self.begin["version"]})
        assert answer.headers["x-penchant-version"] == str(end["version"])
        if self.begin["complete"]:
            self.pieces.clear()
        for change in self.changes:
            if change["type"] == "delete":
                self.pieces.pop(change["id"], None)
            else:
                self.pieces[change["piece"]["id"]] = change["piece"]
        self.query = f"since={end['version']}&history={self.begin['history']}"

    def is_level(self) -> bool:
        """Return whether it has what the source has."""
        listed = self.service.get("/s/content").json()["content"]
        return {each["id"]: each for each in listed} == self.pieces


def test_a_follower_has_what_the_source_has_after_every_change(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    follower = Follower(service)
    follower.follow()
    assert follower.begin["complete"]
    assert follower.is_level()

    service.submit("s", piece("b", "y", label="new"), piece("c\u2028\n".strip(), "z"))
    service.delete("/s/content/a")
    follower.follow()

    assert not follower.begin["complete"]
    assert sorted(change["type"] for change in follower.changes) == ["delete", "upsert", "upsert"]
    assert follower.is_level()


def test_without_a_change_there_is_nothing_between_begin_and_end(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()

    follower.follow()

    assert (follower.changes, follower.begin["complete"]) == ([], False)


def test_a_change_of_lists_raises_the_version_alone(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()
    before = follower.begin["version"]

    service.put("/s/blacklist", json=["a"])
    follower.follow()

    assert follower.changes == []
    assert follower.begin["version"] > before


@pytest.mark.parametrize("path", ("/s/content", "/s?confirm=s"))
def test_after_everything_was_deleted_the_follower_begins_anew(service: Service, path: str) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    follower = Follower(service)
    follower.follow()

    service.delete(path)
    service.submit("s", piece("c", "x"))
    follower.follow()

    assert follower.begin["complete"]
    assert list(follower.pieces) == ["c"]


def test_a_version_of_another_history_leads_nowhere(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()

    for query in ("since=999999999", f"since={follower.begin['version']}&history=9-9"):
        follower.query = query
        follower.follow()
        assert follower.begin["complete"]
        assert follower.is_level()


def test_a_request_that_waits_is_answered_by_the_next_change(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()
    waiting = threading.Thread(target=follower.follow, args=("&wait=25",))

    waiting.start()
    time.sleep(0.5)
    assert waiting.is_alive()
    service.submit("s", piece("b", "x"))
    waiting.join(timeout=300)

    assert [change["piece"]["id"] for change in follower.changes] == ["b"]


def test_a_request_that_waited_in_vain_has_no_change(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()

    follower.follow("&wait=1")

    assert follower.changes == []


@pytest.fixture
def with_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penchant.service.changes.MAX_WAITING_OF_ACCOUNT", 1)


@pytest.mark.usefixtures("with_one_wait", "alone")
def test_no_account_takes_the_waits_of_all(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    follower = Follower(service)
    follower.follow()
    waiting = threading.Thread(target=follower.follow, args=("&wait=25",))
    waiting.start()
    wait_until(lambda: "penchant_waiting_followers 1.0\n" in service.get("/-/metrics").text)

    refused = service.get(f"/s/changes?{follower.query}&wait=1")
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"] == "1"
    assert service.get(f"/s/changes?{follower.query}").status_code == 200

    service.submit("s", piece("b", "x"))
    waiting.join(timeout=300)
    assert not waiting.is_alive()
    assert service.get(f"/s/changes?{follower.query}&wait=1").status_code == 200


@pytest.mark.usefixtures("alone")
def test_what_followers_get_is_counted(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    follower = Follower(service)
    follower.follow()
    service.delete("/s/content/a")
    follower.follow()

    assert "penchant_changes_sent_total 3.0\n" in service.get("/-/metrics").text
    assert "penchant_waiting_followers 0.0\n" in service.get("/-/metrics").text

"""SIGHUP: a source goes over to other shards and other hosts, and no list is wrong or refused meanwhile."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acceptance.processes import wait_until
from acceptance.servers import free_port
from acceptance.test_shards import Scene
from penchant.live.builder import SMALLEST_FILE

pytestmark = pytest.mark.slow


class ReloadedScene(Scene):
    """A service on two shards, whose settings are read anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(folder)

    def reload(self, told: str = "settings reloaded", **options: Any) -> None:
        """Have the service read other settings, and wait for what the log tells of them."""
        lines = (f"{name.replace('_', '-')} = {msgspec.json.encode(value).decode()}" for name, value in options.items())
        (self.folder / "penchant.toml").write_text("\n".join(lines))
        before = self.server.log().count(told)
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.server.log().count(told) > before)

    def is_settled(self, shards: int, segments: list[int]) -> bool:
        """Return whether so many shards are asked and no others, for files of so many segments; asks for lists."""
        self.ask()
        report = self.report()
        return (
            len(report["shards"]) == shards
            and [each["segments"] for each in report["sources"]] == segments
            and "penchant_shard_host_sets 1.0" in self.server.client.get("/-/metrics").text
        )


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReloadedScene]:
    played = ReloadedScene(tmp_path_factory.mktemp("resharding"))
    try:
        played.fill()
        wait_until(lambda: played.is_settled(2, [2]))
        yield played
    finally:
        played.end()


def test_hosts_that_are_none_leave_the_others(scene: ReloadedScene) -> None:
    for hosts in (["nowhere"], ["127.0.0.1:65536"]):
        scene.reload("the settings stay as they were", shard_pieces=SMALLEST_FILE, shards=3, shard_hosts=hosts)

    assert scene.is_settled(2, [2])


def test_other_shards_are_asked_and_those_before_may_end(scene: ReloadedScene) -> None:
    one, two, three, four = (each.address for each in scene.shards)
    scene.reload(shard_pieces=SMALLEST_FILE, shards=3, shard_hosts=[two, three, four])
    wait_until(lambda: scene.is_settled(3, [3]))
    before = scene.settled("node")

    assert scene.shards[0].end() == 0
    for _ in range(20):
        scene.ask()

    assert scene.settled("node") == before
    scene.shards[0].start()
    # Twice in a row, of which the first is not waited for; and hosts alone.
    scene.reload(shard_pieces=SMALLEST_FILE, shards=2, shard_hosts=[one, two])
    scene.reload(shard_pieces=SMALLEST_FILE, shards=3, shard_hosts=[one, two, three])
    wait_until(lambda: scene.is_settled(3, [3]))
    scene.reload(shard_pieces=SMALLEST_FILE, shards=3, shard_hosts=[four, three, two])
    wait_until(lambda: scene.is_settled(3, [3]) and scene.report()["shards"][0]["replicas"][0]["address"] == four)


def test_hosts_that_do_not_answer_cost_no_list(scene: ReloadedScene) -> None:
    nobody = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    scene.reload(shard_pieces=SMALLEST_FILE, shards=2, shard_hosts=nobody)

    # Until a minute is over the file before is asked for.
    wait_until(lambda: scene.is_settled(2, [2]))
    before = scene.settled("node")
    scene.ask()
    assert scene.settled("node") > before


def test_sources_go_back_to_one_segment(scene: ReloadedScene) -> None:
    scene.reload(shards=2)

    wait_until(lambda: scene.report() == {"shards": [], "sources": []})
    wait_until(lambda: "penchant_shard_host_sets 0.0" in scene.server.client.get("/-/metrics").text)
    for _ in range(5):
        scene.ask()

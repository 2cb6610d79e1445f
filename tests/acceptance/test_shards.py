"""Shard processes that are killed or stopped under requests: no list is wrong, partial or refused for it."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, new_key
from penchant.live.builder import SMALLEST_FILE
from serving import served_alone
from shards import ShardProcess

pytestmark = pytest.mark.slow

COUNT = SMALLEST_FILE + 200
PLACEMENT = {"kind": "recommendations", "diversity": 0.5, "categoryWeights": {"genre": 2.5}}
LISTS = 3
"""Lists that are compared at a time, each of which is searched in two segments."""


class Scene:
    """A service on a source of two segments, each searched by two processes."""

    def __init__(self, folder: Path) -> None:
        data = folder / "data"
        self.shards = [ShardProcess(data) for _ in range(4)]
        hosts = ["+".join(each.address for each in pair) for pair in (self.shards[:2], self.shards[2:])]
        self.serve(folder, {"shard-hosts": hosts})

    def serve(self, folder: Path, options: dict[str, Any]) -> None:
        """Start a service with these options and a source of two segments."""
        options |= {"shard-pieces": SMALLEST_FILE, "shards": 2}
        settings = folder / "penchant.toml"
        settings.write_text(
            "\n".join(f"{name} = {msgspec.json.encode(value).decode()}" for name, value in options.items())
        )
        data = folder / "data"
        self.server = Server(data, "--settings", str(settings))
        self.admin = new_key(data, admin=True)
        self.running = ExitStack()
        self.alone = self.running.enter_context(served_alone(data, self.server.key))
        self.asked = 0

    def fill(self) -> None:
        pieces = [
            {
                "id": f"p{number}",
                "categories": {"genre": [f"g{number % 7}"], "tag": [{"key": f"t{number % 97}", "weight": number % 5}]},
                "filters": {"catalogs": ["site"] if number % 3 else []},
            }
            for number in range(COUNT)
        ]
        for first in range(0, COUNT, 1_000):
            assert self.server.client.post("/s/content", json=pieces[first : first + 1_000]).status_code == 202
        for number in range(60):
            path = f"/s/users/u{number % 4}/interactions/Play/content/p{number * 7}"
            assert self.server.client.post(path).status_code == 200
        assert self.server.client.put("/s/placements/home", json=PLACEMENT).status_code == 200
        self.settle()

    def settle(self) -> None:
        """Wait until both services have weighed what people like, of all pieces as they are now.

        Until then both may have the same lists, and one of them goes over to others first.
        """
        recorded = self.server.client.post("/s/users/u4/interactions/Play/content/p7")
        headers = {"x-penchant-min-audience-version": recorded.headers["x-penchant-interactions-version"]}
        for client in (self.server.client, self.alone):
            wait_until(
                lambda client=client: client.get("/s/users/u4/recommendation", headers=headers).status_code == 200  # type: ignore[misc]  # mypy cannot infer it
            )

    def end(self) -> None:
        self.running.close()
        self.server.stop()
        for each in self.shards:
            each.process.send_signal(signal.SIGCONT)
            each.end(signal.SIGKILL)

    def ask(self) -> None:
        """Compare lists that no worker remembers, for a piece and people, with those of a service without shards."""
        self.asked += 1
        user = f"u{self.asked % 5}"
        wanted: dict[str, Any] = {"take": 30, "exclude": f"p{self.asked + 1}"}
        chosen = {"catalogs": "site"} if self.asked % 2 else {}
        by = "both" if self.asked % 3 else "content"
        self._compare(f"/s/content/p{self.asked % COUNT}/similar", wanted | chosen | {"by": by})
        self._compare(f"/s/users/{user}/recommendation", wanted | chosen)
        self._compare("/s/placements/home/list", wanted | {"user": user})

    def _compare(self, path: str, wanted: dict[str, Any]) -> None:
        assert _list(self.server.client, path, wanted) == _list(self.alone, path, wanted), path

    def report(self) -> dict[str, Any]:
        """Return what the service tells operators."""
        answer = self.server.client.get("/-/admin/shards", headers={"x-api-key": self.admin})
        assert answer.status_code == 200, answer.text
        report: dict[str, Any] = answer.json()
        return report

    def count(self, outcome: str) -> float:
        """Return how many scans had an outcome."""
        lines = self.server.client.get("/-/metrics").text.splitlines()
        wanted = ("penchant_shard_scans_total{", f'outcome="{outcome}"')
        return sum(float(line.split()[-1]) for line in lines if all(each in line for each in wanted))

    def settled(self, outcome: str) -> float:
        """Return how many scans had an outcome until now: metrics are added up once a second."""
        time.sleep(1.1)
        return self.count(outcome)


def _list(client: httpx.Client, path: str, wanted: dict[str, Any]) -> list[tuple[str, float]]:
    answer = client.get(path, params=wanted)
    assert answer.status_code == 200, answer.text
    return [(each["id"], each["score"]) for each in answer.json()["content"]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    played = Scene(tmp_path_factory.mktemp("shards"))

    def is_answered() -> bool:
        played.ask()
        return played.count("answered") >= 2 * len(played.shards)

    try:
        played.fill()
        wait_until(is_answered)
        yield played
    finally:
        played.end()


def test_changes_after_the_file_count_at_once(scene: Scene) -> None:
    changed = [{"id": f"p{number}", "categories": {"genre": ["g1"], "tag": ["t1"]}} for number in range(5)]
    assert scene.server.client.post("/s/content", json=changed).status_code == 202
    assert scene.server.client.delete("/s/content/p9").status_code == 202
    scene.settle()

    for _ in range(20):
        scene.ask()


@pytest.mark.parametrize("how", (signal.SIGKILL, signal.SIGSTOP))
def test_processes_that_are_lost_cost_no_list(scene: Scene, how: signal.Signals) -> None:
    before = scene.settled("node")
    lost = scene.shards[0], scene.shards[3]
    for each in lost:
        each.process.send_signal(how)

    for _ in range(20):
        scene.ask()

    assert scene.settled("node") == before
    for each in lost:
        if how is signal.SIGSTOP:
            each.process.send_signal(signal.SIGCONT)
        else:
            each.process.wait()
            each.start()


def test_operators_see_which_processes_answer(scene: Scene) -> None:
    wait_until(lambda: answering(scene) == [True] * 4)
    report = scene.report()
    assert [sum(shard["scans"].values()) > 0 for shard in report["shards"]] == [True] * 2
    assert [(each["source"], each["segments"]) for each in report["sources"]] == [("s", 2)]
    assert scene.server.client.get("/-/health/ready").json() == {"status": "ok"}

    lost = scene.shards[2:]
    lost[0].process.send_signal(signal.SIGSTOP)
    lost[1].end(signal.SIGKILL)

    wait_until(lambda: answering(scene) == [True, True, False, False])
    assert [shard["reachable"] for shard in scene.report()["shards"]] == [True, False]
    silent, gone = scene.report()["shards"][1]["replicas"]
    assert (silent["address"], silent["segments"]) == (lost[0].address, [])
    assert silent["since"] > silent["answeredAt"]
    assert all(each["reason"] for each in (silent, gone))
    health = scene.server.client.get("/-/health/ready")
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert ["No process of shard 1 answers" in each for each in health.json()["warnings"]] == [True]

    lost[0].process.send_signal(signal.SIGCONT)
    lost[1].start()
    wait_until(lambda: answering(scene) == [True] * 4)
    assert scene.server.client.get("/-/health/ready").json() == {"status": "ok"}


def answering(scene: Scene) -> list[bool]:
    """Return of each process whether it answers."""
    return [each["reachable"] for shard in scene.report()["shards"] for each in shard["replicas"]]


def test_with_all_processes_gone_the_node_searches(scene: Scene) -> None:
    before = scene.settled("node")
    # The others may still be starting.
    assert [each.end() for each in scene.shards[1:3]] == [0, 0]
    for each in scene.shards[::3]:
        each.end(signal.SIGKILL)

    for _ in range(5):
        scene.ask()

    assert scene.settled("node") == before + 2 * LISTS * 5

"""Two nodes on one database, of which one is an hour behind or ahead: both answer alike, and no time goes back.

What one of them does for all is done by one, and at its moment: scheduled drafts.
"""

import contextlib
import time
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from faults.campaign import Row, is_full, require_clean, try_fault, under_load
from faults.client import Client
from faults.cluster import Cluster
from faults.load import Target
from faults.node import Node
from penchant.bootstrap import storage_of
from penchant.cli.keys import make_key
from penchant.service.administration import roll_secret
from penchant.settings import NodeSettings
from penchant.wire import format_timestamp, sign_user
from penchant.wire.signing import MAX_SIGNED_S

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

RUNNING_S = 60.0 if is_full() else 3.0
SHIFT = """
import time
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + SECONDS
time.time_ns = lambda: _time_ns() + SECONDS * 1_000_000_000
"""


def shifted(folder: Path, seconds: int) -> dict[str, str]:
    """Return the environment of a process whose clock is wrong by so much, by a file in a folder."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SHIFT.replace("SECONDS", str(seconds)))
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize(("seconds", "where"), ((-3_600, "behind"), (3_600, "ahead")))
def test_a_clock_that_is_wrong_hides_and_turns_back_nothing(
    cluster: Cluster, tmp_path: Path, seconds: int, where: str
) -> None:
    environment = shifted(tmp_path / "shift", seconds)
    right = Node(tmp_path / "right" / "data", database=cluster.url)
    wrong = Node(tmp_path / "wrong" / "data", database=cluster.url, key=right.key, environment=environment)
    row = Row(f"a node whose clock is an hour {where}")
    target = Target([right.port, wrong.port], right.key)
    changed = []

    def run() -> None:
        client = Client(target.ports, target.key)
        ending = time.monotonic() + RUNNING_S
        while time.monotonic() < ending:
            changed.append(client.ask("GET", "/s0").json()["updatedAt"])
            time.sleep(0.01)
        client.close()

    try:
        with under_load(target) as load:
            try_fault(load, row, run, lambda: None)
            row.tell(load)
            require_clean(load)
        assert changed == sorted(changed)
        assert (right.stop(), wrong.stop()) == (0, 0)
    finally:
        right.kill()
        wrong.kill()


@pytest.mark.parametrize(("seconds", "signed"), ((-3_600, [200, 200, 401]), (3_600, [401, 401, 200])))
def test_whatever_its_clock_a_node_publishes_drafts_at_their_moment_but_judges_signed_people_by_it(
    cluster: Cluster, tmp_path: Path, seconds: int, signed: list[int]
) -> None:
    right = Node(tmp_path / "right" / "data", database=cluster.url, workers=1)
    environment = shifted(tmp_path / "shift", seconds)
    wrong = Node(tmp_path / "wrong" / "data", database=cluster.url, key=right.key, environment=environment, workers=1)
    by_right, by_wrong = Client([right.port], right.key), Client([wrong.port], right.key)
    origin = "https://shop.example"
    with contextlib.closing(storage_of(NodeSettings(data=str(tmp_path), database=cluster.url))) as storage:
        secret = roll_secret(storage, "default", actor="test").secret
        browser = make_key(storage, account="default", origins=[origin])[1]

    def statuses(client: Client) -> list[int]:
        """Return what is answered to people whose time ended, ends within the hour and is the longest."""
        people = [sign_user("kim", secret, int(time.time()) + left_s) for left_s in (-1_800, 1_800, MAX_SIGNED_S - 60)]
        path, headers = "/s/users/kim/recommendation", {"x_api_key": browser, "origin": origin}
        return [client.ask("GET", path, x_penchant_user=person, **headers).status for person in people]

    def steps(name: str) -> list[str]:
        return [each["step"] for each in by_wrong.ask("GET", f"/s/drafts/{name}").json()["steps"]]

    try:
        assert by_right.ask("POST", "/s/content", [{"id": "a", "categories": {}}]).status == 202
        for name, ahead_s in (("soon", 1), ("far", 1_800), ("then", 1_800)):
            at = format_timestamp(int((time.time() + ahead_s) * 1_000))
            assert by_right.ask("PUT", f"/s/drafts/{name}", {"placements": {name: {"kind": "new"}}}).status == 200
            assert by_right.ask("POST", f"/s/drafts/{name}/schedule", {"at": at}).status == 200
        assert (statuses(by_right), statuses(by_wrong)) == ([401, 200, 200], signed)
        assert right.stop() == 0
        wait_until(lambda: steps("soon")[0] != "schedule")
        # Of one round the far one is published first: if that one is not, it was not taken for due.
        cluster.ask("UPDATE drafts SET due_at = extract(epoch FROM now()) * 1000 - 60000 WHERE name = 'then'")
        wait_until(lambda: steps("then")[0] != "schedule")

        assert [steps("soon"), steps("then")] == [["publish", "schedule", "save"]] * 2
        assert steps("far") == ["schedule", "save"]
    finally:
        for client in (by_right, by_wrong):
            client.close()
        right.kill()
        wrong.kill()

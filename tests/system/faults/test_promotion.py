"""A PostgreSQL killed under load, its standby promoted: two nodes go on with what is stored, and no more."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.campaign import (
    AFTERWARDS_S,
    RECOVERY_S,
    Row,
    require_clean,
    say,
    seconds_to_service,
    times,
    try_fault,
    under_load,
)
from faults.checker import ask, piece_path, similar_path
from faults.client import Answer, Client
from faults.cluster import Cluster, new_cluster
from faults.load import Load, Target
from faults.node import Node
from faults.proxy import Proxy

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

EPOCHS = "SELECT min(epoch) FROM sources"
LOST_S = 2.0
"""How long changes are acknowledged that the standby does not receive."""
VERSIONS = "SELECT sum(version) FROM counters"


@pytest.fixture
def kept() -> Iterator[contextlib.ExitStack]:
    """What is ended after the test."""
    with contextlib.ExitStack() as stack:
        yield stack


class Pair:
    """A primary, the place of its standby, and two nodes that know both addresses."""

    def __init__(self, kept: contextlib.ExitStack, folder: Path) -> None:
        self._kept = kept
        self.primary = self._keep(new_cluster())
        self._other = Path(tempfile.mkdtemp(prefix="pg-"))
        hosts = f"{self.primary.sockets},{self._other}"
        address = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
        self.nodes: list[Node] = []
        for name in ("one", "two"):
            key = self.nodes[0].key if self.nodes else ""
            self.nodes.append(Node(folder / name / "data", database=address, key=key, workers=1))
            kept.callback(self.nodes[-1].kill)
        self.target = Target([node.port for node in self.nodes], self.nodes[0].key)

    def standby(self, upstream: str = "") -> Cluster:
        """Return a standby of the primary, at the other address."""
        upstream = upstream or f"host={self.primary.sockets}"
        standby = self._keep(self.primary.standby(f"{upstream} user=postgres", self._other))
        self.primary.wait_for("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", "1")
        return standby

    def promote(self, standby: Cluster) -> Cluster:
        """Make a standby the primary, and return the one of before."""
        standby.promote()
        before, self.primary, self._other = self.primary, standby, self.primary.sockets
        return before

    def each(self) -> list[Client]:
        """Return a client of each node."""
        clients = [Client([node.port], node.key) for node in self.nodes]
        for client in clients:
            self._kept.callback(client.close)
        return clients

    def _keep(self, cluster: Cluster) -> Cluster:
        self._kept.callback(cluster.remove)
        return cluster


@pytest.fixture
def pair(kept: contextlib.ExitStack, tmp_path: Path) -> Pair:
    return Pair(kept, tmp_path)


def set_standbys(cluster: Cluster, names: str) -> None:
    cluster.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    cluster.ask("SELECT pg_reload_conf()")


def test_a_killed_primary_takes_nothing_away_that_a_synchronous_standby_has(pair: Pair) -> None:
    row = Row("kill -9 of the primary, its synchronous standby promoted")
    with under_load(pair.target) as load:
        for _ in range(times()):
            standby = pair.standby()
            set_standbys(pair.primary, "*")
            pair.primary.wait_for("SELECT max(sync_state) FROM pg_stat_replication", "sync")
            epoch = int(pair.primary.ask(EPOCHS))

            def mend(standby: Cluster = standby) -> None:
                pair.promote(standby)

            try_fault(load, row, pair.primary.kill, mend)
            assert int(standby.ask(EPOCHS)) > epoch
        row.tell(load)
        require_clean(load)
    assert [node.stop() for node in pair.nodes] == [0, 0]


def test_what_an_asynchronous_standby_did_not_receive_is_gone_everywhere(
    pair: Pair, kept: contextlib.ExitStack
) -> None:
    row = Row("kill -9 of the primary, an asynchronous standby promoted")
    for number in range(times()):
        stream = Proxy(pair.primary.socket)
        kept.callback(stream.end)
        standby = pair.standby(f"host=127.0.0.1 port={stream.port}")
        load = Load(pair.target)
        lose: list[Callable[[], None]] = []

        def cut_off(stream: Proxy = stream, lose: list[Callable[[], None]] = lose, load: Load = load) -> None:
            reached = pair.primary.ask("SELECT pg_current_wal_lsn()")
            pair.primary.wait_for(f"SELECT bool_and(replay_lsn >= '{reached}') FROM pg_stat_replication", "t")
            stream.tell("hold")
            lose.append(load.ledger.keep())

        load.audit(cut_off)
        lost = make_lost_source(pair, f"/lost-{number}")
        time.sleep(LOST_S)
        before = [read_all(client, load) for client in pair.each()]
        versions = {name: load.ledger.version(name) for name in pair.target.sources}
        epoch = int(pair.primary.ask(EPOCHS))
        pair.primary.kill()
        load.close()
        lose[0]()
        stream.end()
        old = pair.promote(standby)
        row.service_s.append(seconds_to_service(pair.target, time.monotonic()))

        require_lost(pair, lost)
        for node in pair.nodes:
            load.checker.audit([node.port], node.key, pair.target.sources)
        gone = require_no_version_of_before(pair, versions)
        require_no_tag_of_before(pair, before)
        assert int(standby.ask(EPOCHS)) > epoch
        # The two take turns at the addresses: every second time it is the new one that is first.
        if number % 2 == 0:
            require_replaced(pair, old)
        again = Load(pair.target, ledger=load.ledger)
        time.sleep(AFTERWARDS_S)
        again.audit()
        again.close()
        for each in (load, again):
            require_clean(each)
        row.failing_s.append(0.0)
        row.tell(load)
        say(f"{gone} versions gone, {sum(map(len, before))} ETags of before asked with")
    assert [node.stop() for node in pair.nodes] == [0, 0]


Lost = tuple[str, list[dict[str, Any]], list[Answer], Answer]


def make_lost_source(pair: Pair, source: str) -> Lost:
    """Make a source and a placement; return path, pieces, what each node answers of it, and a list of the placement."""
    pieces = [{"id": name, "categories": {"own": ["x"]}, "extras": {"number": 0}} for name in ("a", "b")]
    clients = pair.each()
    assert clients[0].ask("POST", f"{source}/content", pieces).status == 202
    assert clients[0].ask("PUT", f"{source}/placements/row", {"kind": "new"}).status == 200
    answers = [client.ask("GET", source + path) for client in clients for path in LOST_PATHS]
    listed = clients[0].ask("GET", f"{source}/placements/row/list")
    assert {each.status for each in (*answers, listed)} == {200}
    return source, pieces, answers, listed


LOST_PATHS = ("/content", "/content/a", "/content/a/similar")


def require_lost(pair: Pair, lost: Lost) -> None:
    """The source is there on no node; made again with as many versions it is another one."""
    source, pieces, before, listed = lost
    clients = pair.each()
    report = [{"listId": listed.headers["x-penchant-list"], "content": ["a"]}]
    for client in clients:
        assert {client.ask("GET", source + path).status for path in LOST_PATHS} == {404}
        assert client.ask("POST", f"{source}/impressions", report).status == 404
    others = [each | {"categories": {"own": [each["id"]]}, "extras": {"number": 1}} for each in pieces]
    assert clients[0].ask("POST", f"{source}/content", others).status == 202
    # Versions are those of before, so that nothing but the epoch tells one from the other.
    assert clients[0].ask("PUT", f"{source}/blacklist", []).version == before[0].version
    paths = [(client, source + path) for client in clients for path in LOST_PATHS]
    for (client, path), old in zip(paths, before, strict=True):
        new = client.ask("GET", path, if_none_match=old.headers["etag"])
        assert (new.status, new.version) == (200, old.version)
        assert new.body != old.body
    assert clients[0].ask("GET", f"{source}/placements/row/list").status == 404


def read_all(client: Client, load: Load) -> dict[str, Answer]:
    """Return what a node answers with an ETag, by path, while changes go on."""
    paths = [
        path
        for source in load.target.sources
        for thing, _ in load.ledger.things(source)
        if thing.kind != "blacklist"
        for path in (similar_path(thing, 0), piece_path(thing, 0), f"/{source}/content", f"/{source}/blacklist")
    ]
    answers = {path: client.ask("GET", path) for path in dict.fromkeys(paths)}
    return {path: answer for path, answer in answers.items() if answer.status == 200 and "etag" in answer.headers}


def require_no_tag_of_before(pair: Pair, before: list[dict[str, Answer]]) -> None:
    """A tag of before is answered by 304 only where the answer is the same."""
    for client, answers in zip(pair.each(), before, strict=True):
        for path, old in answers.items():
            new = client.ask("GET", path, if_none_match=old.headers["etag"])
            assert new.status in {200, 304, 404}, new.body
            if new.status == 304:
                assert ask(client, path).body == old.body, path


def require_no_version_of_before(pair: Pair, versions: dict[str, int]) -> int:
    """No node says that it has what was lost, or waits for it for ever; return how many versions are gone."""
    gone = 0
    for name, version in versions.items():
        for client in pair.each():
            status = ask(client, f"/{name}").json()
            listed = client.ask("GET", f"/{name}/content")
            assert listed.version == status["version"] < version
            waited = client.ask("GET", f"/{name}/content", x_penchant_min_version=str(version))
            assert waited.status == 503
            assert int(waited.headers["retry-after"]) >= 1
        gone += version - status["version"]
    return gone


def require_replaced(pair: Pair, old: Cluster) -> None:
    """A primary of before that comes back, first in the address, is written by nobody."""
    old.start()
    stored = old.ask(VERSIONS)
    pair.primary.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    for client, node in zip(pair.each(), pair.nodes, strict=True):
        deadline = time.monotonic() + RECOVERY_S
        while True:
            refused = client.ask("POST", "/s0/content", [{"id": "late", "categories": {}}])
            assert refused.status == 503, refused.body
            if all("another one has replaced" in told for told in (refused.json()["detail"], node.log())):
                break
            assert time.monotonic() < deadline, refused.body
            time.sleep(0.2)
        assert "retry-after" in refused.headers
    assert old.ask(VERSIONS) == stored
    old.stop()
    seconds_to_service(pair.target, time.monotonic())

"""The checker finds what it is there to find: without this, its zeros would say nothing."""

import itertools
from collections.abc import Iterator

import pytest

from faults.checker import Checker, Findings
from faults.client import Client
from faults.ledger import Ledger, Thing
from faults.load import Load, Size, Target
from faults.node import Node

pytestmark = pytest.mark.stress

SOURCE = "s0"
_SOURCES = itertools.count()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    running = Node(tmp_path_factory.mktemp("checker") / "data", workers=1)
    yield running
    running.kill()


class Bench:
    """A ledger, and a client that stores what the ledger is told or not told of."""

    def __init__(self, node: Node, source: str) -> None:
        self.ledger = Ledger()
        self.findings = Findings()
        self.checker = Checker(self.ledger, self.findings)
        self.client = Client([node.port], node.key)
        self.thing = Thing(source, "batch", "b")
        self._node = node

    def submit(self, number: int, *, told: bool = True) -> None:
        history = self.ledger.history(self.thing)
        place = history.begin(number)
        answer = self.client.ask("POST", f"/{self.thing.source}/content", self.thing.pieces(number))
        assert answer.status == 202
        if told:
            self.ledger.acknowledge(self.thing.source, answer.json()["version"])
            history.acknowledge(place)

    def found(self) -> dict[str, int]:
        self.checker.audit([self._node.port], self._node.key, [self.thing.source])
        return {kind: self.findings.counts[kind] for kind in ("lost", "torn", "wrong")}


@pytest.fixture
def bench(node: Node) -> Iterator[Bench]:
    made = Bench(node, f"source{next(_SOURCES)}")
    yield made
    made.client.close()


@pytest.mark.parametrize("told", (True, False))
def test_what_is_stored_as_acknowledged_is_found_well_and_what_was_not_may_be_stored_or_not(
    bench: Bench, *, told: bool
) -> None:
    bench.submit(1)
    bench.submit(2, told=told)
    if not told:
        bench.ledger.history(bench.thing).begin(3)

    assert bench.found() == {"lost": 0, "torn": 0, "wrong": 0}


def test_what_was_acknowledged_and_not_stored_is_lost(bench: Bench) -> None:
    bench.submit(1)
    history = bench.ledger.history(bench.thing)
    history.acknowledge(history.begin(2))

    assert bench.found()["lost"] == 1


def test_a_submission_of_which_a_part_is_stored_is_torn(bench: Bench) -> None:
    bench.submit(1)
    history = bench.ledger.history(bench.thing)
    history.acknowledge(history.begin(2))
    half = bench.thing.pieces(2)[:120]
    assert bench.client.ask("POST", f"/{bench.thing.source}/content", half).status == 202

    assert bench.found()["torn"] == 1


def test_a_lost_interaction_and_one_stored_twice_are_found(bench: Bench) -> None:
    bench.submit(1)
    person = bench.ledger.person(bench.thing.source, "p")
    for content in ("x", "y", "y", "z"):
        path = f"/{bench.thing.source}/users/p/interactions/Click/content/{content}"
        assert bench.client.ask("POST", path).status == 200
    person.acknowledged |= {"x", "y", "lost"}
    person.sent |= {"x", "y", "lost"}

    # Lost is one, wrong are the one stored twice and the one never sent.
    assert bench.found() == {"lost": 1, "torn": 0, "wrong": 2}


@pytest.mark.parametrize("question", ("similar", "content"))
def test_an_answer_of_an_older_state_is_wrong(bench: Bench, question: str) -> None:
    bench.submit(1)
    bench.submit(2)
    path = f"/{bench.thing.source}/content/b-150" + ("/similar?algo=cosine" if question == "similar" else "")
    answer = bench.client.ask("GET", path)
    history = bench.ledger.history(bench.thing)
    bench.checker.judge(bench.thing, 150, question, answer, (history.floor(), 0, 0))
    assert bench.findings.faults == 0

    history.acknowledge(history.begin(3))
    bench.checker.judge(bench.thing, 150, question, answer, (history.floor(), 0, 0))
    assert bench.findings.faults == 1


def test_an_answer_of_an_older_version_is_wrong(bench: Bench) -> None:
    bench.submit(1)
    answer = bench.client.ask("GET", f"/{bench.thing.source}/content/b-000")
    floor = bench.ledger.history(bench.thing).floor()

    bench.checker.judge(bench.thing, 0, "content", answer, (floor, answer.version, answer.version))
    assert bench.findings.faults == 0
    bench.checker.judge(bench.thing, 0, "content", answer, (floor, answer.version + 1, 0))
    bench.checker.judge(bench.thing, 0, "content", answer, (floor, 0, answer.version + 1))
    assert bench.findings.counts["wrong"] == 2


def test_a_change_that_undoes_others_under_load_is_found(node: Node) -> None:
    load = Load(Target([node.port], node.key), Size(writers=2, readers=1))
    try:
        load.audit()
        assert load.findings.faults == 0
        client = Client([node.port], node.key)
        thing = Thing(SOURCE, "trio", f"{load.name}first")
        query = "&".join(f"id={each}" for each in thing.ids())
        assert client.ask("DELETE", f"/{SOURCE}/content?{query}").status == 202
        client.close()

        assert load.audit().counts["lost"] == 1
    finally:
        load.close()

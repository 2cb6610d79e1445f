"""Compares what the service answers with what the ledger says that it must: nothing lost, torn or wrong."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from faults.client import Answer, Client, Unanswered
from faults.ledger import TAKE, History, Ledger, State, Thing

SETTLING_S = 60.0
"""How long a request of an audit may be refused before the audit gives up."""
PAGE = 1_000
CONNECTIONS = 4
"""Connections that an audit asks over, so that every worker is asked."""
EXAMPLES = 20


class Asked(Protocol):
    """What can be asked: a service elsewhere, or one in this process."""

    def ask(self, method: str, path: str) -> Answer:
        """Return what is answered.

        Raises:
            Unanswered: there was no whole answer.
        """


class Findings:
    """What was found, by kind, with the first examples; safe for threads.

    ``lost``, ``torn`` and ``wrong`` have to stay 0. ``refused`` counts answers of 503 and 429, ``unanswered``
    requests without an answer, ``stale`` those marked as such.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []
        self.failed_at = 0.0

    def note(self, kind: str, example: object = "") -> None:
        """Count one."""
        with self._guard:
            self.counts[kind] += 1
            if kind in {"lost", "torn", "wrong"} and len(self.examples) < EXAMPLES:
                self.examples.append(f"{kind}: {example}")

    def fail(self, kind: str) -> None:
        """Count a request that was refused or not answered, and when."""
        self.note(kind)
        with self._guard:
            self.failed_at = time.monotonic()

    @property
    def faults(self) -> int:
        """How much is lost, torn and wrong."""
        return self.counts["lost"] + self.counts["torn"] + self.counts["wrong"]


class Checker:
    """Judges single answers while changes go on, and everything that is stored while they don't."""

    def __init__(self, ledger: Ledger, findings: Findings) -> None:
        self.ledger = ledger
        self.findings = findings

    # While changes go on.

    def judge(self, thing: Thing, place: int, question: str, answer: Answer, since: tuple[int, int, int]) -> None:
        """Judge an answer about a piece.

        ``question`` is ``similar`` or ``content``; ``since`` are the history's floor, the source's version when the
        request began, and the version that it asked for (0: none).
        """
        floor, version, asked = since
        about = f"{question} of {thing.source}/{thing.ids()[place]} at {answer.version}"
        if answer.status in {429, 503}:
            self.findings.fail("refused")
            if "retry-after" not in answer.headers:
                self.findings.note("wrong", f"{about}: {answer.status} without retry-after")
            return
        if answer.is_stale:
            self.findings.note("stale")
            if asked:
                self.findings.note("wrong", f"{about}: stale although a version was asked for")
        elif answer.status == 200 and answer.version < max(version, asked):
            self.findings.note("wrong", f"{about}: acknowledged was {version}, asked for {asked}")
        history = self.ledger.history(thing)
        allowed = history.ever() if answer.is_stale else history.allowed(floor)
        if not any(_fits(thing, place, question, state, answer) for state in allowed):
            found = answer.body[:300].decode(errors="replace")
            kind = "torn" if question == "similar" and answer.status == 200 else "wrong"
            self.findings.note(kind, f"{about}: {answer.status} {found}; allowed are {sorted(map(str, allowed))[:5]}")

    # While they don't.

    def audit(self, ports: list[int], key: str, sources: Iterable[str]) -> None:
        """Compare all that is stored with the ledger, and what each worker answers with what is stored."""
        clients = [Client(ports, key) for _ in range(CONNECTIONS)]
        self.compare(clients, sources)
        for client in clients:
            client.close()

    def compare(self, clients: Sequence[Asked], sources: Iterable[str]) -> None:
        """Compare, as `audit`, what is answered to clients."""
        for source in sources:
            stored = {each["id"]: each for each in ask(clients[0], f"/{source}/content").json()["content"]}
            status = ask(clients[0], f"/{source}").json()
            if status["pieces"] != len(stored) or status["indexedVersion"] < self.ledger.version(source):
                self.findings.note("wrong", f"{source}: {len(stored)} pieces are stored, its status is {status}")
            for thing, history in list(self.ledger.things(source)):
                state = self._audit_thing(clients[0], thing, history, stored)
                if thing.kind != "blacklist":
                    for client in clients:
                        self._audit_similar(client, thing, state)
            self._audit_people(clients[0], source)

    def _audit_thing(
        self, client: Asked, thing: Thing, history: History, stored: Mapping[str, dict[str, Any]]
    ) -> State:
        states: set[State]
        if thing.kind == "blacklist":
            listed = ask(client, f"/{thing.source}/blacklist").json()
            states = {int(each.rpartition(":")[2]) for each in listed} or {None}
        else:
            states = {stored[each]["extras"]["number"] if each in stored else None for each in thing.ids()}
        allowed = history.allowed(history.floor())
        if len(states) > 1:
            self.findings.note("torn", f"{thing} is stored in the states {states}")
        elif not states <= allowed:
            self.findings.note("lost", f"{thing} is stored as {states}, acknowledged was one of {allowed}")
        found = next(iter(states))
        history.settle(found)
        return found

    def _audit_similar(self, client: Asked, thing: Thing, state: State) -> None:
        place = len(thing.ids()) - 1
        answer = ask(client, similar_path(thing, place), accepted=(200, 404))
        if answer.is_stale or not _fits(thing, place, "similar", state, answer):
            found = answer.body[:300].decode(errors="replace")
            self.findings.note("wrong", f"{thing} is stored as {state}, but similar answers {answer.status} {found}")

    def _audit_people(self, client: Asked, source: str) -> None:
        for (of, user), person in list(self.ledger.people.items()):
            if of != source or person.audited == len(person.sent) + (person.erasure == "acknowledged"):
                continue
            person.audited = len(person.sent) + (person.erasure == "acknowledged")
            found = Counter(each["contentId"] for each in listed_interactions(client, source, user))
            if person.erasure == "acknowledged" and found:
                self.findings.note("lost", f"the erasure of {source}/{user}: there are {sorted(found)[:5]}")
            if person.erasure != "none" and not found:
                continue
            for missing in person.acknowledged - found.keys():
                self.findings.note("lost", f"the interaction of {source}/{user} with {missing}")
            for content, times in found.items():
                if times > 1:
                    self.findings.note("wrong", f"the interaction of {source}/{user} with {content}: {times} times")
                if content not in person.acknowledged and content not in person.sent:
                    self.findings.note("wrong", f"the interaction of {source}/{user} with {content}: never sent")


def similar_path(thing: Thing, place: int) -> str:
    """Return the path of the pieces similar to a piece."""
    return f"/{thing.source}/content/{quote(thing.ids()[place])}/similar?take=30&algo=cosine"


def piece_path(thing: Thing, place: int) -> str:
    """Return the path of a piece."""
    return f"/{thing.source}/content/{quote(thing.ids()[place])}"


def ask(client: Asked, path: str, *, accepted: tuple[int, ...] = (200,)) -> Answer:
    """Ask until there is an answer."""
    deadline = time.monotonic() + SETTLING_S
    while True:
        try:
            answer = client.ask("GET", path)
            if answer.status in accepted and not answer.is_stale:
                return answer
            found = f"{answer.status} {answer.body[:200]!r}"
        except Unanswered as error:
            found = str(error)
        assert time.monotonic() < deadline, f"{path} is not answered: {found}"
        time.sleep(0.1)


def listed_interactions(client: Asked, source: str, user: str) -> list[dict[str, Any]]:
    """Return all interactions of a person."""
    found: list[dict[str, Any]] = []
    while True:
        page = ask(client, f"/{source}/users/{user}/interactions?limit={PAGE}&skip={len(found)}").json()
        found += page
        if len(page) < PAGE:
            return found


def _fits(thing: Thing, place: int, question: str, state: State, answer: Answer) -> bool:
    """Return whether an answer is the one that a state has."""
    if state is None:
        return answer.status == 404 and answer.json()["code"] == "unknown-piece"
    if answer.status != 200:
        return False
    found = answer.json()
    if question == "content":
        return {key: found[key] for key in ("id", "categories", "extras")} == thing.pieces(state)[place]
    alike = [each["id"] for each in found["content"] if each["score"] == 0]
    rest = [each["score"] for each in found["content"] if each["score"] != 0]
    return alike == thing.similar(place, state) and rest == _others(thing, len(alike))


def _others(thing: Thing, alike: int) -> list[float]:
    """Return the scores of the pieces of a thing that are not quite alike, as many as fill the list."""
    count = min(TAKE, len(thing.ids()) - 1) - alike
    # Two keywords of 50 in common, and one more of 50 (the mean of the others) in one of the two.
    return [0.183503419072] * count

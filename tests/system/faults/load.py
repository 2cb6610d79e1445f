"""Writers and readers that keep a service busy and note what it acknowledges and answers."""

import contextlib
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from faults.checker import Checker, Findings, piece_path, similar_path
from faults.client import Answer, Client, Unanswered
from faults.ledger import Kind, Ledger, Person, State, Thing

TRIOS = 12
BATCHES = 2
"""Things of each kind that a writer has in its source."""
FOLLOWING = 150
"""Interactions of a person; then comes the next one."""
RETRY_S = 0.1
PAUSE_S = 0.002
_RUNS = itertools.count()
"""Each load has things of its own, so that several may follow each other on one service."""
QUIET_S = 90.0
"""How long changes under way may take to be acknowledged once no new ones begin."""


@dataclass(slots=True)
class Target:
    """The service under load: the ports of its nodes, a key, and the sources."""

    ports: list[int]
    key: str
    sources: tuple[str, ...] = ("s0", "s1")


@dataclass(slots=True)
class Size:
    """How many threads write and read."""

    writers: int = 4
    readers: int = 3


@dataclass(slots=True)
class _Gate:
    """Lets writers begin their next change, or not."""

    open: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    busy: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextlib.contextmanager
    def passed(self) -> Iterator[None]:
        """Wait for the gate, and count as busy meanwhile."""
        while not self.open.wait(0.1) and not self.ended.is_set():
            pass
        with self.changed:
            self.busy += 1
        try:
            yield
        finally:
            with self.changed:
                self.busy -= 1
                self.changed.notify_all()

    def wait_for_quiet(self) -> None:
        """Close the gate and wait until nobody is busy."""
        self.open.clear()
        with self.changed:
            quiet = self.changed.wait_for(lambda: self.busy == 0, timeout=QUIET_S)
        assert quiet, "changes are not acknowledged any more"


class Load:
    """Threads that change and read, until it is closed."""

    def __init__(self, target: Target, size: Size | None = None, ledger: Ledger | None = None) -> None:
        size = size or Size()
        self.target = target
        self.name = f"r{next(_RUNS)}"
        self.ledger = ledger or Ledger()
        self.findings = Findings()
        self.checker = Checker(self.ledger, self.findings)
        self._gate = _Gate()
        running = [_Writer(self, self._gate, number).run for number in range(size.writers)]
        running += [_Reader(self, self._gate).run for _ in range(size.readers)]
        self._threads = [threading.Thread(target=each, daemon=True) for each in running]
        self._prepare()
        self._gate.open.set()
        for thread in self._threads:
            thread.start()

    def _prepare(self) -> None:
        """Make the sources, so that no read finds too few pieces."""
        client = Client(self.target.ports, self.target.key)
        for source in self.target.sources:
            thing = Thing(source, "trio", f"{self.name}first")
            history = self.ledger.history(thing)
            place = history.begin(0)
            answer = client.ask("POST", f"/{source}/content", thing.pieces(0))
            assert answer.status == 202, answer.body
            history.acknowledge(place)
            self.ledger.acknowledge(source, answer.json()["version"])
            answer = client.ask("PUT", f"/{source}/blacklist", [])
            assert answer.status == 200, answer.body
            self.ledger.acknowledge(source, answer.version)
        client.close()

    def audit(self, meanwhile: Callable[[], None] = lambda: None) -> Findings:
        """Hold changes up, compare everything that is stored, and go on; return all that was found so far.

        ``meanwhile`` is called before changes go on.
        """
        self._gate.wait_for_quiet()
        self.checker.audit(self.target.ports, self.target.key, self.target.sources)
        meanwhile()
        self._gate.open.set()
        return self.findings

    def close(self) -> None:
        """End all threads."""
        self._gate.ended.set()
        for thread in self._threads:
            thread.join(QUIET_S)


class _Writer:
    """Changes things of its own in one source, each until it is acknowledged."""

    def __init__(self, load: Load, gate: _Gate, number: int) -> None:
        self._load = load
        self._gate = gate
        self._ledger = load.ledger
        self._findings = load.findings
        self._name = f"{load.name}w{number}"
        sources = load.target.sources
        self._source = sources[number % len(sources)]
        self._has_list = number < len(sources)
        self._random = random.Random(number)
        self._client = Client(load.target.ports, load.target.key)
        self._next = 0
        self._events = 0
        self._people = 0

    def run(self) -> None:
        """Change one thing after the other until the end."""
        while not self._gate.ended.is_set():
            with self._gate.passed():
                if not self._gate.ended.is_set():
                    self._change()
            time.sleep(PAUSE_S)
        self._client.close()

    def _change(self) -> None:
        self._next += 1
        chosen = self._random.random()
        if chosen < 0.35:
            self._submit(self._thing("trio", TRIOS))
        elif chosen < 0.45:
            thing = self._thing("trio", TRIOS)
            query = "&".join(f"id={quote(each)}" for each in thing.ids())
            self._bring(thing, None, "DELETE", f"/{self._source}/content?{query}", None)
        elif chosen < 0.6:
            self._submit(self._thing("batch", BATCHES))
        elif chosen < 0.65 and self._has_list:
            thing = Thing(self._source, "blacklist", "blacklist")
            self._bring(thing, self._next, "PUT", f"/{self._source}/blacklist", [f"n:{self._next}"])
        elif chosen < 0.67:
            self._erase()
        else:
            self._record()

    def _thing(self, kind: Kind, count: int) -> Thing:
        return Thing(self._source, kind, f"{self._name}{kind}{self._random.randrange(count)}")

    def _submit(self, thing: Thing) -> None:
        self._bring(thing, self._next, "POST", f"/{self._source}/content", thing.pieces(self._next))

    def _bring(self, thing: Thing, state: State, method: str, path: str, body: object) -> None:
        """Bring a thing to a state, trying until that is acknowledged."""
        history = self._ledger.history(thing)
        place = history.begin(state)
        answer = self._until_acknowledged(method, path, body)
        if answer is None:
            return
        version = answer.json()["version"] if method == "POST" else answer.version
        if not self._ledger.acknowledge(self._source, version):
            self._findings.note("wrong", f"two changes of {self._source} have the version {version}")
        history.acknowledge(place)

    def _record(self) -> None:
        """Record an interaction: with an event id until it is acknowledged, without one once."""
        self._events += 1
        with_id = self._random.random() < 0.7
        user = f"{self._name}-{self._people}"
        content = f"x{self._events}"
        person = self._ledger.person(self._source, user)
        path = f"/{self._source}/users/{user}/interactions/Click/content/{content}"
        person.send(content)
        if with_id:
            answer = self._until_acknowledged("POST", f"{path}?event-id={user}-{content}", None)
        else:
            answer = self._once("POST", path, None)
        if answer is not None:
            person.acknowledge(content)
            self._check_own(person, user, content)
        if len(person.sent) >= FOLLOWING:
            self._people += 1

    def _erase(self) -> None:
        """Erase the person of whom the last interactions were; the next ones are another's."""
        user, self._people = f"{self._name}-{self._people}", self._people + 1
        person = self._ledger.person(self._source, user)
        person.erase("sent")
        if self._until_acknowledged("DELETE", f"/{self._source}/users/{user}", None) is not None:
            person.erase("acknowledged")

    def _check_own(self, person: Person, user: str, content: str) -> None:
        """A person's own interactions are seen in the very next request."""
        assert content in person.acknowledged
        try:
            answer = self._client.ask("GET", f"/{self._source}/users/{user}/interactions?content-id={content}")
        except Unanswered:
            self._findings.fail("unanswered")
        else:
            if answer.status == 200 and [each["contentId"] for each in answer.json()] != [content]:
                self._findings.note("wrong", f"the interaction with {content} is listed as {answer.body!r}")

    def _until_acknowledged(self, method: str, path: str, body: object) -> Answer | None:
        """Return the acknowledgement, ``None`` where the end came before it."""
        while not self._gate.ended.is_set():
            answer = self._once(method, path, body)
            if answer is not None:
                return answer
            time.sleep(RETRY_S)
        return None

    def _once(self, method: str, path: str, body: object) -> Answer | None:
        try:
            answer = self._client.ask(method, path, body)
        except Unanswered:
            self._findings.fail("unanswered")
            return None
        if answer.status in {200, 202}:
            return answer
        self._findings.fail("refused")
        if answer.status not in {429, 503} or "retry-after" not in answer.headers:
            self._findings.note("wrong", f"{method} {path[:80]}: {answer.status} {answer.body[:200]!r}")
        return None


class _Reader:
    """Asks for pieces and for what is similar, with and without a version."""

    def __init__(self, load: Load, gate: _Gate) -> None:
        self._load = load
        self._gate = gate
        self._client = Client(load.target.ports, load.target.key)

    def run(self) -> None:
        """Ask until the end."""
        while not self._gate.ended.is_set():
            source = random.choice(self._load.target.sources)
            things = [each for each, _ in self._load.ledger.things(source) if each.kind != "blacklist"]
            try:
                self._ask(random.choice(things))
            except Unanswered:
                self._load.findings.fail("unanswered")
                time.sleep(RETRY_S)
            time.sleep(PAUSE_S)
        self._client.close()

    def _ask(self, thing: Thing) -> None:
        ledger = self._load.ledger
        place = random.randrange(len(thing.ids()))
        floor, version = ledger.history(thing).floor(), ledger.version(thing.source)
        headers: dict[str, str] = {}
        asked = 0
        if random.random() < 0.5:
            asked = version
            headers["x_penchant_min_version"] = str(version)
        question = random.choice(("similar", "content"))
        path = similar_path(thing, place) if question == "similar" else piece_path(thing, place)
        answer = self._client.ask("GET", path, **headers)
        self._load.findings.note("reads")
        self._load.checker.judge(thing, place, question, answer, (floor, version, asked))


def preload(target: Target, source: str, count: int) -> None:
    """Fill a source with pieces that nobody changes, so that it is large enough for a segment file."""
    client = Client(target.ports, target.key)
    for begin in range(0, count, 2_000):
        body: list[dict[str, Any]] = [
            {"id": f"still-{number}", "categories": {"still": [f"g{number % 97}", f"h{number % 31}"]}}
            for number in range(begin, min(begin + 2_000, count))
        ]
        answer = client.ask("POST", f"/{source}/content", body)
        assert answer.status == 202, answer.body
    client.close()

"""Load on a source while things fail: lists, reasons and previews, compared with those of a service without shards.

The source goes back and forth between two states, each change one submission. The version of an answer says in which
of them the source was, and what is right there was asked before anything failed. What changes are catalogs: what people
like does not depend on them, so that lists of one version are always the same.
"""

import itertools
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import httpx

from faults.client import Answer, Client, Unanswered

STATES = 2
NEIGHBOUR = 7 * 97
"""A piece and the one so many after it have all keywords in common."""
CHANGE_S = 2.0
PAUSE_S = 0.005
"""Between the requests of a thread: the machine has other work."""
LEARNING = 4
"""How often all answers have to be the same before anything fails, each time over another connection."""
PLACEMENT = {"kind": "recommendations", "diversity": 0.5, "categoryWeights": {"genre": 2.5}}
SETTLING_S = 60.0
EXAMPLES = 5


class Asked(Protocol):
    """What answers requests."""

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Answer one."""


class AskedAlone:
    """A service in this process, as `Client` asks others."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Answer a request."""
        answer = self._client.request(method, path, json=body)
        return Answer(answer.status_code, answer.headers, answer.content)


@dataclass(frozen=True, slots=True)
class Question:
    """A request; ``is_list``: its answer is a list, of which ids and scores have to be the same."""

    path: str
    is_list: bool = True
    body: str | None = None

    def ask(self, client: Asked, number: int) -> Answer:
        """Send it; no worker remembers an answer without this piece, which is none."""
        joint = "&" if "?" in self.path else "?"
        options = f"{joint}take=30&exclude=none-{number}" if self.is_list else ""
        body = None if self.body is None else json.loads(self.body)
        return client.ask("GET" if body is None else "POST", f"{self.path}{options}", body)

    def content(self, answer: Answer) -> str:
        """Return what has to be the same in all answers to it."""
        found = answer.json()
        if self.is_list:
            found = [(each["id"], each["score"]) for each in found["content"]]
        return json.dumps(found, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """When a request began, how long it took, and what came of it."""

    began: float
    seconds: float
    outcome: str


class Judge:
    """Tells right answers from others; knows which version is which state, and what is right in each."""

    def __init__(self) -> None:
        self._right: dict[tuple[Question, int], str] = {}
        self._versions: list[tuple[int, int]] = []
        self.examples: list[str] = []

    @property
    def version(self) -> int:
        """The newest version that is known."""
        return self._versions[-1][0]

    def note_version(self, version: int, state: int) -> None:
        """Note that a source is in a state from a version on."""
        self._versions.append((version, state))

    def state(self, version: int) -> int:
        """Return the state that a version has."""
        return next(state for known, state in reversed(self._versions) if known <= version)

    def learn(self, question: Question, answer: Answer) -> None:
        """Take an answer for right, of which each state has one."""
        content = question.content(answer)
        assert self._right.setdefault((question, self.state(answer.version)), content) == content

    def outcome(self, question: Question, answer: Answer, floor: int) -> str:
        """Return in a word what came of a request that was sent when ``floor`` was the newest version."""
        if answer.status != 200:
            lasting = "" if "retry-after" in answer.headers else " without retry-after"
            return f"{answer.status} {answer.json().get('code')}{lasting}"
        right, found = self._right[question, self.state(answer.version)], question.content(answer)
        if found == right and answer.version >= floor and not answer.is_stale:
            return "right"
        return self._remember("partial" if _is_partial(found, right) else "wrong", question, answer, right)

    def _remember(self, outcome: str, question: Question, answer: Answer, right: str) -> str:
        if len(self.examples) < EXAMPLES:
            found = f"{question.content(answer)}, {dict(answer.headers)}"
            self.examples.append(f"{outcome}: {question.path} at {answer.version}: {found} instead of {right}")
        return outcome


def _is_partial(found: str, right: str) -> bool:
    """Return whether an answer is a list with fewer than a right one, and nothing else."""
    lists = [json.loads(each) for each in (found, right)]
    return (
        all(isinstance(each, list) for each in lists)
        and len(lists[0]) < len(lists[1])
        and all(each in lists[1] for each in lists[0])
    )


class SourceLoad:
    """Threads that ask for a source, and one that changes it, from `begin` to `end`."""

    def __init__(self, port: int, key: str, source: str, count: int) -> None:
        self.samples: list[Sample] = []
        self.judge = Judge()
        self._port, self._key, self._source, self._count = port, key, source, count
        self._numbers = itertools.count()
        self._changing = threading.Lock()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._client = Client([port], key)
        self._asked = [number * 41 % count for number in range(10)]
        self._fill()
        self.questions = self._make_questions()

    def _fill(self) -> None:
        pieces = [self._piece(number, 0) for number in range(self._count)]
        for first in range(0, self._count, 1_000):
            self._submit(pieces[first : first + 1_000], 0)
        for number in range(60):
            path = f"/{self._source}/users/u{number % 4}/interactions/Play/content/p{number * 7 % self._count}"
            assert self._client.ask("POST", path).status == 200
        assert self._client.ask("PUT", f"/{self._source}/placements/home", PLACEMENT).status == 200

    def _piece(self, number: int, state: int) -> dict[str, object]:
        return {
            "id": f"p{number}",
            "categories": {"genre": [f"g{number % 7}"], "tag": [{"key": f"t{number % 97}", "weight": number % 5}]},
            "filters": {"catalogs": ["site"] if (number + state) % 3 else []},
        }

    def _submit(self, pieces: Sequence[dict[str, object]], state: int) -> None:
        answer = self._until_answered("POST", f"/{self._source}/content", pieces)
        self.judge.note_version(int(answer.json()["version"]), state)

    def _until_answered(self, method: str, path: str, body: object) -> Answer:
        deadline = time.monotonic() + SETTLING_S
        while True:
            try:
                answer = self._client.ask(method, path, body)
            except Unanswered:
                answer = None
            if answer is not None and answer.status in {200, 202}:
                return answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)

    def _make_questions(self) -> list[Question]:
        source = self._source
        chosen = ["", "?catalogs=site"]
        similar = [f"/{source}/content/p{number}/similar{chosen[number % 2]}" for number in self._asked]
        people = [f"/{source}/users/u{number}/recommendation{chosen[number % 2]}" for number in range(5)]
        placed = [f"/{source}/placements/home/list?user=u{number}&catalogs=site" for number in range(5)]
        why = [
            Question(f"/{source}/content/p{number}/why/p{number + 97}?catalogs=site", is_list=False)
            for number in self._asked[:3]
        ]
        draft = json.dumps({"id": "draft", "categories": {"genre": ["g1"], "tag": ["t5"]}})
        preview = [Question(f"/{source}/preview/similar?limit=10", is_list=False, body=draft)]
        return [*map(Question, [*similar, *people, *placed]), *why, *preview]

    def change(self, state: int) -> None:
        """Bring the source to a state, in one submission."""
        changed = [(number + NEIGHBOUR) % self._count for number in self._asked]
        self._submit([self._piece(number, state) for number in changed], state)

    def learn(self, alone: httpx.Client) -> None:
        """Ask a service without shards for all that will be asked, in each state; nobody else asks meanwhile."""
        for state in range(STATES):
            self.change(state)
            for question, answer in zip(self.questions, self._settled_answers(alone), strict=True):
                self.judge.learn(question, answer)

    def _settled_answers(self, alone: httpx.Client) -> list[Answer]:
        """Return the answers of a service without shards once they stay the same, and those of this one are these.

        What people like is counted and weighed at first.
        """
        deadline = time.monotonic() + SETTLING_S
        answers: list[Answer] = []
        known: list[str] = []
        same = 0
        while same < LEARNING:
            assert time.monotonic() < deadline, "answers do not settle"
            answers = self._answers(AskedAlone(alone))
            with closing(Client([self._port], self._key)) as client:
                served = self._contents(self._answers(client))
            found = self._contents(answers)
            same = (same + 1 if found == known else 1) if served == found else 0
            known = found
        return answers

    def _answers(self, client: Asked) -> list[Answer]:
        answers = [question.ask(client, next(self._numbers)) for question in self.questions]
        assert {answer.status for answer in answers} == {200}
        return answers

    def _contents(self, answers: Sequence[Answer]) -> list[str]:
        return [question.content(answer) for question, answer in zip(self.questions, answers, strict=True)]

    def begin(self, askers: int) -> None:
        """Start the threads."""
        running = [self._ask, *[self._ask] * (askers - 1), self._change]
        self._threads = [threading.Thread(target=each, daemon=True) for each in running]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End the threads."""
        self._ended.set()
        for thread in self._threads:
            thread.join(SETTLING_S)
        self._client.close()

    def _change(self) -> None:
        for state in itertools.cycle(range(STATES)):
            if self._ended.wait(CHANGE_S):
                return
            with self._changing:
                self.change(state)

    def _ask(self) -> None:
        client = Client([self._port], self._key)
        for question in itertools.cycle(self.questions):
            if self._ended.is_set():
                break
            floor, began = self.judge.version, time.monotonic()
            try:
                answer = question.ask(client, next(self._numbers))
                seconds = time.monotonic() - began
                outcome = self._judge(question, answer, floor)
            except Unanswered:
                seconds, outcome = time.monotonic() - began, "unanswered"
            self.samples.append(Sample(began, seconds, outcome))
            time.sleep(PAUSE_S)
        client.close()

    def _judge(self, question: Question, answer: Answer, floor: int) -> str:
        if answer.version > self.judge.version:
            # Its change is under way: what its version is, is known once it has been acknowledged.
            with self._changing:
                pass
        return self.judge.outcome(question, answer, floor)


@dataclass(frozen=True, slots=True)
class Window:
    """What came of the requests of some seconds."""

    counts: Counter[str]
    seconds: float
    times: list[float]

    @property
    def per_second(self) -> float:
        """Requests in a second."""
        return len(self.times) / self.seconds if self.seconds else math.nan

    @property
    def p99_ms(self) -> float:
        """The time that one request in a hundred takes longer than."""
        return 1000 * self.times[len(self.times) * 99 // 100] if self.times else math.nan

    @property
    def longest_ms(self) -> float:
        """The longest time of a request."""
        return 1000 * self.times[-1] if self.times else math.nan


def window(samples: Sequence[Sample], spans: Sequence[tuple[float, float]]) -> Window:
    """Return what came of the requests that began within some spans of time."""
    chosen = list(_within(samples, spans))
    counts = Counter(each.outcome for each in chosen)
    return Window(counts, sum(last - first for first, last in spans), sorted(each.seconds for each in chosen))


def _within(samples: Sequence[Sample], spans: Sequence[tuple[float, float]]) -> Iterator[Sample]:
    return (each for each in samples if any(first <= each.began < last for first, last in spans))

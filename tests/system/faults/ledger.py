"""What was changed, what of it was acknowledged, and hence what a read may answer.

Every thing that is changed has one writer, so that its states follow each other. What is not acknowledged may or may
not be stored: a read may then answer the last acknowledged state, or any that was sent after it.
"""

import functools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

BATCH = 200
"""Pieces of one submission that all carry its number."""
HALF = BATCH // 2
TAKE = 30

Kind = Literal["trio", "batch", "blacklist"]
State = int | None
"""The number of the change that made it, ``None`` where it does not exist."""
Note = Callable[..., None]
"""Takes each entry of a ledger, by name, when it is made: before what is sent, behind what is acknowledged."""


def _forget(**_entry: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Thing:
    """Pieces that are submitted and deleted together, or a source's blacklist."""

    source: str
    kind: Kind
    name: str

    def ids(self) -> list[str]:
        """Return the ids of its pieces, ascending."""
        if self.kind == "trio":
            return [f"{self.name}-{letter}" for letter in "abc"]
        return [f"{self.name}-{place:03}" for place in range(BATCH)]

    def pieces(self, number: int) -> list[dict[str, object]]:
        """Return its pieces as they are submitted: the number decides which of them are alike."""
        own = {"key": self.name, "weight": 50}, {"key": f"{self.name}:{number}", "weight": 50}
        return [
            {
                "id": each,
                "categories": {"own": list(own), "odd": [f"{self.name}:odd"] if self._is_other(place, number) else []},
                "extras": {"number": number},
            }
            for place, each in enumerate(self.ids())
        ]

    def similar(self, place: int, number: int) -> list[str]:
        """Return the pieces at distance 0 from one of its pieces, as they are listed."""
        other = self._is_other(place, number)
        alike = [each for at, each in enumerate(self.ids()) if at != place and self._is_other(at, number) == other]
        return alike[:TAKE]

    def _is_other(self, place: int, number: int) -> bool:
        """Return whether a piece has one more keyword than the rest: of odd numbers, the last or the latter half."""
        return number % 2 == 1 and place >= (2 if self.kind == "trio" else HALF)


class History:
    """The states that a thing was brought to, in order, and which of them was acknowledged last."""

    def __init__(self, note: Note = _forget) -> None:
        self._note = note
        self._states: list[State] = [None]
        self._ever: set[State] = {None}
        self._first = 0
        self._known = 0
        self._guard = threading.Lock()

    def begin(self, state: State) -> int:
        """Note that a state is being sent; return its place."""
        self._note(sent=state)
        with self._guard:
            self._states.append(state)
            self._ever.add(state)
            return self._first + len(self._states) - 1

    def acknowledge(self, place: int) -> None:
        """Note that a state is stored."""
        with self._guard:
            self._known = max(self._known, place)
        self._note(stored=place)

    def settle(self, state: State) -> None:
        """Note that this state was found while nothing was being sent: no other one can come any more."""
        with self._guard:
            self._known = self._first = self._first + len(self._states) - 1
            self._states = [state]

    def lose(self) -> None:
        """Let what was acknowledged since it was settled be stored or not."""
        with self._guard:
            self._known = self._first

    def floor(self) -> int:
        """Return the place of the last acknowledged state: a read that begins now answers it or a later one."""
        with self._guard:
            return self._known

    def allowed(self, floor: int) -> set[State]:
        """Return the states that a read may answer which began at a floor and has ended now."""
        with self._guard:
            return set(self._states[max(0, floor - self._first) :])

    def ever(self) -> set[State]:
        """Return every state that was sent: what a read may answer that is marked as stale."""
        with self._guard:
            return set(self._ever)


class Person:
    """Interactions of one person, each with a content id of its own, and perhaps an erasure after all of them.

    ``sent`` were answered by an error or not at all, or not yet: each is stored once or not at all.
    """

    def __init__(self, note: Note = _forget) -> None:
        self._note = note
        self.acknowledged: set[str] = set()
        self.sent: set[str] = set()
        self.audited = -1
        self.erasure: Literal["none", "sent", "acknowledged"] = "none"

    def send(self, content: str) -> None:
        """Note that an interaction is being sent."""
        self._note(sent=content)
        self.sent.add(content)

    def acknowledge(self, content: str) -> None:
        """Note that an interaction is stored."""
        self.acknowledged.add(content)
        self._note(stored=content)

    def erase(self, state: Literal["sent", "acknowledged"]) -> None:
        """Note that an erasure is being sent, or is stored."""
        self.erasure = state
        self._note(erasure=state)


class Ledger:
    """All things of all sources, the interactions, and the versions that acknowledgements named."""

    def __init__(self, note: Note = _forget) -> None:
        self._note = note
        self._guard = threading.Lock()
        self._things: dict[Thing, History] = {}
        self._versions: dict[str, int] = defaultdict(int)
        self._acknowledged: Counter[tuple[str, int]] = Counter()
        self.people: dict[tuple[str, str], Person] = {}
        self.changes = 0

    def history(self, thing: Thing) -> History:
        """Return the history of a thing, which is made if it is missing."""
        with self._guard:
            return self._things.setdefault(thing, History(self._noting(thing=[thing.source, thing.kind, thing.name])))

    def things(self, source: str) -> Iterator[tuple[Thing, History]]:
        """Yield the things of a source with their histories."""
        with self._guard:
            known = list(self._things.items())
        yield from (each for each in known if each[0].source == source)

    def person(self, source: str, user: str) -> Person:
        """Return what is known of a person."""
        with self._guard:
            return self.people.setdefault((source, user), Person(self._noting(person=[source, user])))

    def acknowledge(self, source: str, version: int) -> bool:
        """Note the version of an acknowledged change; tell whether no other change had it."""
        with self._guard:
            self.changes += 1
            self._versions[source] = max(self._versions[source], version)
            self._acknowledged[source, version] += 1
            is_first = self._acknowledged[source, version] == 1
        self._note(source=source, version=version)
        return is_first

    def keep(self) -> Callable[[], None]:
        """Return what lets everything that is acknowledged from now on be stored or not; nothing is being sent."""
        with self._guard:
            people = {name: set(person.acknowledged) for name, person in self.people.items()}
            versions = dict(self._versions)

        def lose() -> None:
            for history in self._things.values():
                history.lose()
            for name, person in self.people.items():
                person.sent |= person.acknowledged
                person.acknowledged, person.audited = people.get(name, set()), -1
                if person.erasure == "acknowledged":
                    person.erasure = "sent"
            with self._guard:
                self._versions = defaultdict(int, versions)
                self._acknowledged.clear()

        return lose

    def version(self, source: str) -> int:
        """Return the highest acknowledged version: a read that begins now has to be at it at least."""
        with self._guard:
            return self._versions[source]

    def _noting(self, **about: object) -> Note:
        return functools.partial(self._note, **about)


def replayed(entries: Iterable[Mapping[str, Any]]) -> Ledger:
    """Return the ledger of which these are the entries."""
    ledger = Ledger()
    for entry in entries:
        match entry:
            case {"thing": [source, kind, name], "sent": state}:
                ledger.history(Thing(source, kind, name)).begin(state)
            case {"thing": [source, kind, name], "stored": place}:
                ledger.history(Thing(source, kind, name)).acknowledge(place)
            case {"person": [source, user], "sent": content}:
                ledger.person(source, user).send(content)
            case {"person": [source, user], "stored": content}:
                ledger.person(source, user).acknowledge(content)
            case {"person": [source, user], "erasure": state}:
                ledger.person(source, user).erase(state)
            case {"source": source, "version": version}:
                ledger.acknowledge(source, version)
    return ledger

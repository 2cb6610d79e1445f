"""Histories: what many clients asked at once and were answered, and whether one thing after the other explains it.

The order is given by the versions that the service itself names, so that no order has to be searched for: changes of
a source and reads of it, sorted by version, have to agree with real time, and each read has to see of everything the
last change before it. A change without an answer may have happened at any moment after it was sent, or never.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Value = int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request about a source or a person, from when it was sent to when it was answered (s).

    ``values`` are what a change has made of things, or what a read has seen of them. ``version`` is that of the
    answer; a change without one was not acknowledged. ``asked`` is the version that a read asked for.
    """

    subject: str
    kind: Literal["change", "read"]
    begin: float
    end: float
    version: int | None
    values: Mapping[str, Value]
    asked: int = 0

    def __str__(self) -> str:
        """Return what a person wants to see of it."""
        return f"{self.kind} at {self.version} ({self.begin:.4f} to {self.end:.4f}) {dict(self.values)}"


def faults_of_source(steps: Sequence[Step]) -> list[str]:
    """Return what no order of the changes and reads of one source explains."""
    known = [step for step in steps if step.version is not None]
    changes = [step for step in known if step.kind == "change"]
    reads = [step for step in known if step.kind == "read"]
    found = [f"an older version than {step.asked}: {step}" for step in reads if (step.version or 0) < step.asked]
    if len({step.version for step in changes}) < len(changes):
        found.append("two changes have one version")
    return found + _against_time(known, {"change"}) + _Values(changes, _unknown(steps)).faults(reads)


def _unknown(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.version is None and step.kind == "change"]


def _against_time(steps: Sequence[Step], raising: Collection[str] = ()) -> list[str]:
    """Return steps that began after another one had ended, and are at a version before it.

    Those of the kinds ``raising`` have to be at a greater one.
    """
    found = []
    ended = sorted(steps, key=lambda step: step.end)
    place, last = 0, None
    for step in sorted(steps, key=lambda step: step.begin):
        while ended[place].end < step.begin:
            if last is None or _version(ended[place]) > _version(last):
                last = ended[place]
            place += 1
        if last is not None and _version(step) < _version(last) + (step.kind in raising):
            found.append(f"{step} began after {last} had ended")
    return found


def _version(step: Step) -> int:
    assert step.version is not None
    return step.version


class _Values:
    """What reads may see of things, by version."""

    def __init__(self, changes: Sequence[Step], unknown: Sequence[Step]) -> None:
        self._versions: dict[str, list[int]] = defaultdict(list)
        self._values: dict[str, list[Value]] = defaultdict(list)
        self._unknown: dict[str, list[tuple[float, Value]]] = defaultdict(list)
        for step in sorted(changes, key=_version):
            for thing, value in step.values.items():
                self._versions[thing].append(_version(step))
                self._values[thing].append(value)
        for step in unknown:
            for thing, value in step.values.items():
                self._unknown[thing].append((step.begin, value))

    def faults(self, reads: Sequence[Step]) -> list[str]:
        """Return what reads saw that was not so at their version."""
        found, shown = [], dict[tuple[str, int], int]()
        for read in sorted(reads, key=_version):
            for thing, value in read.values.items():
                place = bisect_right(self._versions[thing], _version(read))
                last = self._values[thing][place - 1] if place else None
                # An unacknowledged change that was seen once is there for good, until another change.
                is_over = shown.get((thing, place), _version(read)) < _version(read)
                if value == last and not is_over:
                    continue
                if not any(value == other and begin < read.end for begin, other in self._unknown[thing]):
                    found.append(f"{thing} was {last}: {read}")
                elif value != last:
                    shown.setdefault((thing, place), _version(read))
        return found


def faults_of_person(steps: Sequence[Step]) -> list[str]:
    """Return what no order of the changes and reads of one person explains; reads name no version here.

    A read sees the first so many changes, in the order of their versions: all that had ended when it began, none that
    began after its end, and no fewer than a read that had ended when it began.
    """
    changes = sorted((step for step in steps if step.kind == "change" and step.version is not None), key=_version)
    # To erase a person of whom there is nothing makes no version.
    found = _against_time(changes)
    states = [dict[str, Value]()]
    for step in changes:
        states.append({**states[-1], **step.values})
    seen = list[tuple[float, int]]()
    for read in sorted((step for step in steps if step.kind == "read"), key=lambda step: step.end):
        least = max((place for place, step in enumerate(changes, start=1) if step.end < read.begin), default=0)
        least = max(least, max((place for end, place in seen if end < read.begin), default=0))
        most = min((place for place, step in enumerate(changes) if step.begin > read.end), default=len(changes))
        unsure = {
            (thing, value) for step in _unknown(steps) if step.begin < read.end for thing, value in step.values.items()
        }
        fitting = (place for place in range(least, most + 1) if _fits(states[place], read.values, unsure))
        place = next(fitting, -1)
        if place < 0:
            found.append(f"of changes {least} to {most} none leads to {read}")
        else:
            seen.append((read.end, place))
    return found


def _fits(state: Mapping[str, Value], values: Mapping[str, Value], unsure: set[tuple[str, Value]]) -> bool:
    return all(value == state.get(thing) or (thing, value) in unsure for thing, value in values.items())

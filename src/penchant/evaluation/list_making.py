"""List making: the lists of all methods as the work of a plan, cut into shares of methods and people.

A method that is fitted is one share, since fitting takes most of its time and cannot be cut; what needs no fitting is
cut by people. Linear algebra adds up in another order for other numbers of rows and threads: so a share is what it is
however many processes there are, and each of them works with one thread.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from penchant.cluster import Files, Work, WorkPlan
from penchant.evaluation import work_files
from penchant.evaluation.contenders import CONTENT, FITTED, PENCHANT, Contenders
from penchant.evaluation.histories import SourceHistory
from penchant.evaluation.metrics import RECALLED
from penchant.evaluation.trials import BATCH, EvaluationRequest, Trial, in_batches
from penchant.index import IntArray
from penchant.service.bulk_lists import KernelChoice

RANGE = 4 * BATCH
"""People of a share: some tenths of a second of lists."""
COSTLY = ("EASE", "iALS", "RP3beta", "item-kNN", PENCHANT, CONTENT)
"""Methods whose shares come first, so that no process begins a long one when the others are about to end."""
TRIAL = "trial"
WORK = "penchant.evaluation.list_making:prepare"


class MethodShare(NamedTuple):
    """The lists of a method for some of the people who are asked for; ``case`` numbers the requests."""

    case: int
    method: str
    begin: int
    end: int


class StoredLists(msgspec.Struct, frozen=True, kw_only=True):
    """`MadeLists` as bytes."""

    parameters: str
    seconds: float
    lists: bytes


class MadeLists(NamedTuple):
    """The lists of a share, shape (n_people, 20), what was chosen for the method, and how long the lists took."""

    parameters: str
    seconds: float
    lists: IntArray

    def encoded(self) -> bytes:
        """Return it as bytes."""
        lists = self.lists.astype("<i8").tobytes()
        return msgspec.msgpack.encode(StoredLists(parameters=self.parameters, seconds=self.seconds, lists=lists))

    @classmethod
    def decoded(cls, content: bytes) -> "MadeLists":
        """Return what `encoded` has made of it."""
        stored = msgspec.msgpack.decode(content, type=StoredLists)
        lists = np.frombuffer(stored.lists, dtype="<i8").astype(np.int64).reshape(-1, RECALLED)
        return cls(stored.parameters, stored.seconds, lists)


def shares_of(case: int, methods: Sequence[str], people: int) -> list[MethodShare]:
    """Return the shares of a request with so many people."""
    ordered = sorted(methods, key=lambda name: COSTLY.index(name) if name in COSTLY else len(COSTLY))
    return [
        MethodShare(case, method, begin, min(people, begin + size))
        for method in ordered
        for size in (people if method in FITTED else RANGE,)
        for begin in range(0, people, size)
    ]


class ListMaker:
    """Makes the lists of shares; what it has made ready for the last request and method it keeps."""

    def __init__(self, history: SourceHistory, requests: Sequence[EvaluationRequest]) -> None:
        self._history = history
        self._requests = requests
        self._case = -1
        self._people: IntArray
        self._contenders: Contenders

    def make(self, share: MethodShare) -> MadeLists:
        """Return the lists of a share."""
        if share.case != self._case:
            request = self._requests[share.case]
            trial = Trial.of(self._history, request)
            self._case, self._people = share.case, trial.people
            self._contenders = Contenders(trial.knowledge, request)
        contender = self._contenders.contender(share.method)
        # The time of making lists; a method that is fitted was fitted before.
        began = time.perf_counter()
        lists = in_batches(contender.lists, self._people[share.begin : share.end])
        return MadeLists(contender.parameters, time.perf_counter() - began, lists)


class ListWork(NamedTuple):
    """What is in the file of a plan."""

    history: SourceHistory
    requests: Sequence[EvaluationRequest]
    shares: Sequence[MethodShare]
    kernels: KernelChoice


def write_plan(work: ListWork, folder: Path) -> WorkPlan:
    """Write the file of the work, and return its plan: an item for each share."""
    work_files.write_work(folder / TRIAL, tuple(work))
    return WorkPlan(work=WORK, files=(TRIAL,), count=len(work.shares), size=1)


def read_history(folder: Path) -> SourceHistory:
    """Return the history in the file of a work."""
    return ListWork(*work_files.read_work((folder / TRIAL).read_bytes())).history


def prepare(files: Files) -> Work:
    """Return what makes the lists of shares."""
    stored = ListWork(*work_files.read_work(files[TRIAL]))
    stored.kernels.use()
    maker = ListMaker(stored.history, stored.requests)

    def work(begin: int, _end: int) -> bytes:
        return maker.make(stored.shares[begin]).encoded()

    return work

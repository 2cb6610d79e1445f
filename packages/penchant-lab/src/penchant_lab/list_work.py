"""List work: the lists that methods or settings give, as the work of a plan, an item for each of them and some people.

Whoever does an item reads the history and makes the same `ListMaker` of it. Linear algebra adds up in another order for
other numbers of rows and threads: so an item is what it is however many processes there are, and each of them works
with one thread.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from penchant.pickling import new_pickler
from penchant_batch.executor import Files, Work, WorkPlan
from penchant_batch.lists import KernelChoice
from penchant_engine.index import IntArray
from penchant_lab.histories import SourceHistory
from penchant_lab.metrics import RECALLED

FILE = "trial"


class _StoredLists(msgspec.Struct, frozen=True, kw_only=True):
    """`MethodLists` as bytes."""

    parameters: str
    seconds: float
    lists: bytes


class MethodLists(NamedTuple):
    """The lists of an item, shape (n_people, 20), what was chosen for the method, and how long the lists took."""

    lists: IntArray
    parameters: str = ""
    seconds: float = 0.0

    def encode(self) -> bytes:
        """Return it as bytes."""
        lists = self.lists.astype("<i8").tobytes()
        return msgspec.msgpack.encode(_StoredLists(parameters=self.parameters, seconds=self.seconds, lists=lists))

    @classmethod
    def decode(cls, content: bytes) -> "MethodLists":
        """Return what `encode` has made of it."""
        stored = msgspec.msgpack.decode(content, type=_StoredLists)
        lists = np.frombuffer(stored.lists, dtype="<i8").astype(np.int64).reshape(-1, RECALLED)
        return cls(lists, stored.parameters, stored.seconds)


class ListMaker(Protocol):
    """Makes the lists of items; what it has made ready for the last ones it keeps."""

    def make(self, item: int) -> MethodLists:
        """Return the lists of an item."""


class ListWork(NamedTuple):
    """What is in the file of a plan: ``maker`` gives, of a history and a request, what makes the lists."""

    history: SourceHistory
    maker: Callable[[SourceHistory, Any], ListMaker]
    request: Any
    kernels: KernelChoice

    def write_plan(self, count: int, folder: Path) -> WorkPlan:
        """Write the file, and return the plan of so many items."""
        with (folder / FILE).open("wb") as file:
            new_pickler(file).dump(tuple(self))
        return WorkPlan(work="penchant_lab.list_work:prepare", files=(FILE,), count=count, size=1)

    @classmethod
    def read(cls, content: Any) -> "ListWork":
        """Return what is in a file, whose buffer this is.

        It may run code as it is read: files of work lie where nobody but their writer can write.
        """
        return cls(*pickle.loads(content))  # noqa: S301


def read_history(folder: Path) -> SourceHistory:
    """Return the history in the file of a work."""
    return ListWork.read((folder / FILE).read_bytes()).history


def prepare(files: Files) -> Work:
    """Return what makes the lists of items."""
    stored = ListWork.read(files[FILE])
    stored.kernels.use()
    maker = stored.maker(stored.history, stored.request)
    return lambda item, _end: maker.make(item).encode()

"""Stand-in ranges: the stand-ins of the pieces of a large source, found by an executor in ranges of these pieces.

query    what tells how alike pieces are, and the pieces, as arrays
context  the kernels to search with
"""

import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant.bootstrap import kernel_folder
from penchant.errors import Refused
from penchant.live.array_files import FileKind, Stamp, arrays_in, write_file
from penchant.settings import NodeSettings
from penchant.telemetry import logger
from penchant_batch.executor import Executor, Files, Work, WorkPlan, executor_of
from penchant_batch.lists import KernelChoice
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import RIDGE
from penchant_engine.index.layout import LikenessNorms, SparseRows
from penchant_engine.index.people.item_item import STAND_INS, FoundStandIns, StandInQuery, StandInSearch

LEAST = 50_000
"""Pieces that want stand-ins from which a cluster is asked: below, Ray takes about as long to begin as is saved."""
RANGE = 1_000
"""Pieces of a range: a third of a second of a core where there are 100,000, three seconds where there is a million."""
CONTEXT = "context"
WORK = "penchant_batch.stand_ins:prepare"
STAMP = Stamp(0, 0, 0, 0, 0)
"""The file is of one work, in a folder of its own."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredQuery:
    """A query as arrays."""

    query: StandInQuery

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        norms, rows = self.query.norms, {"terms": self.query.terms, "postings": self.query.postings}
        arrays = {f"{kind}-{name}": array for kind, each in rows.items() for name, array in each._asdict().items()}
        arrays |= {"profiles": norms.profiles, "roots": norms.roots, "mean": np.asarray([norms.mean])}
        return arrays | {"pieces": self.query.pieces}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "StoredQuery":
        """Return the query of these arrays, as `arrays` names them."""
        terms, postings = (
            SparseRows(*(arrays[f"{kind}-{name}"] for name in SparseRows._fields)) for kind in ("terms", "postings")
        )
        norms = LikenessNorms(arrays["profiles"], arrays["roots"], float(arrays["mean"][0]))
        return cls(query=StandInQuery(terms, postings, norms, arrays["pieces"]))


QUERY = FileKind(name="query", suffix=".query", magic=b"penchant standin", format=1, of_arrays=StoredQuery.of_arrays)


def search_by(executor_of: Callable[[WorkPlan, Path], Executor], kernels: Path) -> StandInSearch:
    """Return what has an executor find stand-ins; few are not worth one, and none come of one that fails."""

    def search(query: StandInQuery) -> FoundStandIns | None:
        if len(query.pieces) < LEAST:
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="penchant-stand-ins-") as folder:
                plan = write_plan(query, kernels, Path(folder))
                with contextlib.closing(executor_of(plan, Path(folder))) as executor:
                    parts = executor.gather(range(plan.range_count), ())
        except (Refused, OSError) as error:
            logger.warning("the cluster has found no stand-ins, so that this process does: %s", error)
            return None
        return join_parts(parts)

    return search


def write_plan(query: StandInQuery, kernels: Path, folder: Path) -> WorkPlan:
    """Write the files of the work, and return its plan: an item for each piece that wants stand-ins.

    Raises:
        OSError: a file cannot be written.
    """
    write_file(QUERY, folder / QUERY.name, STAMP, StoredQuery(query=query))
    (folder / CONTEXT).write_bytes(msgspec.json.encode(KernelChoice(str(kernels.absolute()), (RIDGE,))))
    files = (QUERY.name, CONTEXT)
    return WorkPlan(work=WORK, files=files, count=len(query.pieces), size=RANGE)


def prepare(files: Files) -> Work:
    """Return what finds the stand-ins of a range of pieces."""
    msgspec.json.decode(bytes(files[CONTEXT]), type=KernelChoice).use()
    query = StoredQuery.of_arrays(arrays_in(QUERY, files[QUERY.name], QUERY.name, STAMP)).query

    def work(begin: int, end: int) -> bytes:
        stand_ins, likenesses = engine.stand_ins(*query._replace(pieces=query.pieces[begin:end]), STAND_INS)
        return stand_ins.astype("<i8").tobytes() + likenesses.astype("<f8").tobytes()

    return work


def join_parts(parts: Sequence[bytes]) -> FoundStandIns:
    """Return what the ranges of all pieces, in order, have become."""
    halves = [(part[: len(part) // 2], part[len(part) // 2 :]) for part in parts]
    stand_ins = np.frombuffer(b"".join(first for first, _ in halves), dtype="<i8").astype(np.int64)
    likenesses = np.frombuffer(b"".join(second for _, second in halves), dtype="<f8").astype(np.float64)
    return stand_ins.reshape(-1, STAND_INS), likenesses.reshape(-1, STAND_INS)


def search_on(cluster: str, settings: NodeSettings) -> StandInSearch:
    """Return what has a cluster find stand-ins, with the kernels of the settings."""
    return search_by(lambda plan, folder: executor_of(plan, folder, cluster), kernel_folder(settings))

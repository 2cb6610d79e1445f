"""Loading figures: how fast a source becomes an index out of SQL, as in a worker that finds no segment file."""

from contextlib import closing
from typing import Any

from penchant.bench.report import BenchReport, alternated, median
from penchant.bench.server import BenchTarget
from penchant.index import Snapshot, engine
from penchant.live.following import apply_feed
from penchant.live.segment_files import MAX_MERGED
from penchant.storage import SourceHead, Storage, open_storage

ROUNDS = 3


def measure(report: BenchReport, served: BenchTarget, kernels: Any) -> None:
    """Add the figure of the largest source of a service that has ended; ``kernels`` are the compiled ones, in use."""
    with closing(open_storage(folder=served.folder, database_url=served.database)) as storage:
        head = max(storage.sources.list_large(1), key=lambda head: head.piece_count)

        def plain(_: int) -> None:
            engine.use({})
            try:
                _load(storage, head)
            finally:
                engine.use(kernels)

        times = alternated({"kernel": lambda _: _load(storage, head), "plain": plain}, ROUNDS, 1, 0)
    speeds = {name: head.piece_count / median(each) * 1000 for name, each in times.items()}
    report.add(
        "cost, loading a source from SQL", speeds["kernel"], "pieces/s", against=("without kernels", speeds["plain"])
    )


def _load(storage: Storage, head: SourceHead) -> None:
    with storage.sources.follow_content(head.account_id, head.name, None) as feed:
        apply_feed(Snapshot.empty(), feed, max_merged=MAX_MERGED)

"""Loading figures: how fast a source becomes an index out of SQL, as in a worker that finds no segment file."""

from contextlib import closing

from penchant.bench.report import BenchReport, alternated, median
from penchant.bench.server import BenchTarget
from penchant.index import Snapshot
from penchant.live.following import apply_feed
from penchant.live.segment_files import MAX_MERGED
from penchant.storage import SourceHead, Storage, open_storage

ROUNDS = 3


def measure(report: BenchReport, served: BenchTarget) -> None:
    """Add the figure of the largest source of a service that has ended."""
    with closing(open_storage(folder=served.folder, database_url=served.database)) as storage:
        head = max(storage.sources.list_large(1), key=lambda head: head.piece_count)
        times = alternated({"load": lambda _: _load(storage, head)}, ROUNDS, 1, 0)
    report.add("cost, loading a source from SQL", head.piece_count / median(times["load"]) * 1000, "pieces/s")


def _load(storage: Storage, head: SourceHead) -> None:
    with storage.sources.follow_content(head.account_id, head.name, None) as feed:
        apply_feed(Snapshot.empty(), feed, max_merged=MAX_MERGED)

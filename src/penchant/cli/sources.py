"""Sources: how commands that need the pieces of one open it."""

from pathlib import Path

from penchant.errors import UnknownSource
from penchant.live.following import Follower, View
from penchant.live.segment_files import SegmentFiles, Segments
from penchant.storage import Storage
from penchant.telemetry import Metrics


def view_of(storage: Storage, folder: Path, account: str, source: str) -> View:
    """Return a source as it is now, from its segment file in a folder where there is one.

    Raises:
        UnknownSource: there is none.
    """
    account_id = storage.accounts.find(account)
    head = None if account_id is None else storage.sources.read_head(account_id, source)
    if head is None:
        raise UnknownSource(f"The account {account!r} has no source of this name.")
    metrics = Metrics()
    return Follower(storage, Segments(metrics, SegmentFiles(folder)), metrics).catch_up(None, head)

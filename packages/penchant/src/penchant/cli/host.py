"""Host: what the command line gives commands of other packages that bring something into a source of its data."""

import functools
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from penchant.bootstrap import builders_of, data_folder, index_folder
from penchant.cli.locations import DataLocation
from penchant.cli.options import COMMAND_LINE, DEMO_KEY_FILE, account_of, head_of, view_of
from penchant.cli.output import output_file
from penchant.cli.progress import Move, progress_bar
from penchant.errors import PenchantError
from penchant.findings import KeywordVariants, variants
from penchant.importing import (
    MAX_STORED_PIECES,
    BodyChecks,
    JudgedSource,
    StoredTarget,
    count_figures,
    join_vocabulary,
    sampled_source,
)
from penchant.live.builder import builder_lock
from penchant.live.segment_files import SEGMENT
from penchant.service.administration import key_answer
from penchant.settings import NodeSettings
from penchant.storage import Erasure, Storage
from penchant.telemetry import Metrics
from penchant.wire.settings import read_settings, unread_of

CHECKPOINTS = "imports"
"""The folder, in the data folder, of what imports under way have done."""


class ImportedSource(StoredTarget):
    """A source of a data folder, into which a command imports."""

    def __init__(self, storage: Storage, settings: NodeSettings, account: str, source: str) -> None:
        where = settings.database or str(Path(settings.data).resolve())
        super().__init__(storage, account=account, source=source, actor=COMMAND_LINE, address=where)
        self.account = account
        self.folder = Path(settings.data)
        self.checkpoints = self.folder / CHECKPOINTS
        self.limits = settings.piece_limits
        self.asking = _asking(storage, settings, account)
        self.judged: Callable[[], AbstractContextManager[JudgedSource | None]] = functools.partial(
            _judged, storage, settings, account, source
        )


@dataclass(frozen=True, slots=True)
class CommandHost:
    """The service of the data that options name."""

    def checks(self, source: ImportedSource | None = None) -> BodyChecks:
        """Return the checks of requests, with the limits of a source's service."""
        return BodyChecks() if source is None else BodyChecks(source.limits)

    @contextmanager
    def opened(self, place: Any, account: str | None, source: str) -> Iterator[ImportedSource]:
        """Give a source of a data folder, which is made where it is missing."""
        with _location(place).opened(make=True) as (settings, storage):
            yield ImportedSource(storage, settings, account_of(storage, account), source)

    @contextmanager
    def known(self, place: Any, account: str, source: str) -> Iterator[StoredTarget]:
        """Give a source that there is; raises `UnknownSource`."""
        with _location(place).opened() as (_, storage):
            head_of(storage, account, source)
            yield StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)

    def figures(
        self, sample: Any, settings: Mapping[str, Any], count: int, source: ImportedSource | None = None
    ) -> Mapping[str, Any]:
        """Return what lists come of a source, or else of a sample of so many pieces."""
        now = time.time_ns() // 1_000_000
        pieces = sample.pieces.values()
        if source is not None:
            with source.judged() as judged:
                if judged is not None:
                    sample.rows.clear()  # they are read again, from the source
                    return count_figures(judged, pieces, now)
        return count_figures(
            sampled_source(sample, read_settings(settings, unread_of(settings)), count, now), pieces, now
        )

    def join_vocabulary(self, settings: Mapping[str, Any], words: Mapping[str, Any], replaces: bool) -> Any:  # noqa: FBT001  # as the protocol has it
        """Return settings with a vocabulary added to theirs, or in its place."""
        return join_vocabulary(settings, words, replaces=replaces)

    def variants(self, place: Any, account: str, source: str) -> KeywordVariants:
        """Return keywords of a source that are likely meant as one."""
        with _location(place).opened() as (settings, storage):
            return variants(view_of(storage, Path(settings.data), account, source).snapshot)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file that a command was asked for, whole or not at all."""
        with output_file(path) as file:
            file.write(content)

    def progress(self, description: str) -> AbstractContextManager[Move]:
        """Give the function that tells progress on standard error."""
        return progress_bar(Console(stderr=True), description)


def _location(place: Any) -> DataLocation:
    return DataLocation(data=place.data, database=place.database, settings_file=place.settings_file)


def _asking(storage: Storage, settings: NodeSettings, account: str) -> tuple[str, str, str]:
    """Return how sources of an account are asked for: where, the word for the key, how one is made.

    That is the demo's key, one that is made, or one of its own.
    """
    data = "" if settings.data == NodeSettings().data else f" --data {shlex.quote(settings.data)}"
    key_file = Path(settings.data) / DEMO_KEY_FILE
    records = [each for each in storage.keys.list_all() if each.account == account and not each.origins]
    active = {each.key_id for each in records if key_answer(each).state == "active"}
    with suppress(OSError):
        if not active.isdisjoint(key_file.read_text(encoding="ascii", errors="replace").split("_")):
            return settings.own_address, f"$(cat {shlex.quote(str(key_file))})", ""
    making = f"KEY=$(penchant keys create{data} --account {shlex.quote(account)})" if not active else ""
    return settings.own_address, "$KEY", making or "KEY=…   # a key of the account"


def _build_file(storage: Storage, settings: NodeSettings) -> None:
    """Build segment files that are due where no service does: the verdict maps them, and so does the first start.

    Where they cannot be written, both read the database.
    """
    folder = data_folder(settings)
    if settings.database is None and not builder_lock(folder).is_won_by_anyone():
        with suppress(PenchantError, OSError):
            builders_of(storage, settings, Metrics())[SEGMENT.name].build_due()


@contextmanager
def _judged(storage: Storage, settings: NodeSettings, account: str, source: str) -> Iterator[JudgedSource | None]:
    """Give a source as its readers see it now; ``None`` where it is too large to be looked at in passing."""
    account_id = storage.accounts.find(account)
    head = None if account_id is None else storage.sources.read_head(account_id, source)
    if account_id is not None and head is not None:
        _build_file(storage, settings)
    if account_id is None or head is None or head.piece_count > MAX_STORED_PIECES:
        yield None
        return
    view = view_of(storage, index_folder(settings), account, source)
    with storage.sources.follow_interactions(account_id, source, None) as feed:
        rows = (
            (row.user_key, row.piece_id, row.type, row.occurred_at, row.portion)
            for batch in feed.batches
            for row in batch
            if not isinstance(row, Erasure)
        )
        yield JudgedSource(
            snapshot=view.snapshot,
            piece_count=view.snapshot.piece_count,
            settings=view.settings,
            image_hosts=settings.image_hosts,
            rows=rows,
            blacklisted=view.blacklisted,
        )

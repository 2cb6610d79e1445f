"""A SQLite file with a source that grows, and the builder and followers of its data folder."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from databases import prepare_file
from penchant.live import builder as building
from penchant.live import counting, segment_files
from penchant.live.array_files import ArrayFiles, PublishedFile
from penchant.live.builder import Builder
from penchant.live.following import apply_feed
from penchant.live.segment_files import SegmentFiles
from penchant.model import EncodedPiece, NewInteraction, SourceSettings
from penchant.storage import (
    Command,
    DeletePieces,
    EraseUser,
    RecordInteractions,
    ReplaceSettings,
    SourceHead,
    Storage,
    SubmitPieces,
    open_storage,
)
from penchant.telemetry import Metrics
from penchant.wire import encode_settings
from penchant_engine.index import Snapshot
from penchant_engine.model import InteractionType


def numbered(number: int) -> dict[str, Any]:
    """Return one of endless pieces that are alike by turns."""
    keywords = ["abc"[number % 3], "de"[number % 2]]
    return {"id": f"p{number}", "categories": {"genre": keywords, "tag": [{"key": "a", "weight": number % 7}]}}


class Sources:
    """The sources of one account, changed and read as storage does it."""

    def __init__(self, folder: Path, *, database_url: str | None = None) -> None:
        self.folder = folder
        if database_url is None:
            prepare_file(folder)
        self.storage: Storage = open_storage(folder=folder, database_url=database_url)
        self.account = self.storage.accounts.ensure("one")

    def submit(self, *numbers: int, source: str = "s", **members: Any) -> None:
        """Store numbered pieces, with these members in place of theirs."""
        pieces = [numbered(number) | members for number in numbers]
        encoded = [EncodedPiece(id=piece["id"], body=msgspec.json.encode(piece)) for piece in pieces]
        self.do(SubmitPieces(account_id=self.account, source=source, pieces=encoded))

    def delete(self, *numbers: int, source: str = "s") -> None:
        """Delete numbered pieces."""
        self.do(DeletePieces(account_id=self.account, source=source, ids=[f"p{number}" for number in numbers]))

    def record(
        self,
        user: str,
        piece: str,
        kind: str = "Watch",
        *,
        at: int | None = None,
        source: str = "s",
        portion: int | None = None,
    ) -> None:
        """Store an interaction, at a moment in milliseconds or now."""
        new = NewInteraction(user_id=user, type=InteractionType(kind), piece_id=piece, occurred_at=at, portion=portion)
        self.do(RecordInteractions(account_id=self.account, source=source, interactions=[new]))

    def erase(self, user: str, source: str = "s") -> None:
        """Erase a person."""
        self.do(EraseUser(account_id=self.account, source=source, user_id=user))

    def configure(self, settings: SourceSettings, source: str = "s") -> None:
        """Replace the settings of a source."""
        self.do(ReplaceSettings(account_id=self.account, source=source, settings=encode_settings(settings)))

    def do(self, command: Command[Any]) -> None:
        """Carry a command out."""
        self.storage.submit(command).result(timeout=120)

    def head(self, source: str = "s") -> SourceHead:
        """Return where a source stands."""
        found = self.storage.sources.read_head(self.account, source)
        assert found is not None
        return found

    def rebuilt(self, source: str = "s") -> Snapshot:
        """Return the snapshot of a source out of SQL alone."""
        with self.storage.sources.follow_content(self.account, source, None) as feed:
            return apply_feed(Snapshot.empty(), feed)

    def purged(self) -> None:
        """Remove all rows that no answer needs, tombstones as after a year."""
        while self.storage.upkeep.purge(lambda _: 1, now=int(time.time() * 1000) + 400 * 86_400_000):
            continue


def newest_file(files: ArrayFiles[Any], sources: Sources) -> PublishedFile:
    """Return the newest file of a source, which is there."""
    found = files.newest(sources.head())
    assert found is not None
    return found


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources of three pieces or interactions have files, which are replaced after two changes."""
    monkeypatch.setattr(building, "SMALLEST_FILE", 3)
    monkeypatch.setattr(building, "LEAST_CHANGES", 2)
    monkeypatch.setattr(segment_files, "ADOPTED_CHANGES", 2)
    monkeypatch.setattr(counting, "SMALLEST_LIKES", 3)
    monkeypatch.setattr(counting, "LEAST_INTERACTIONS", 2)


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[Sources]:
    opened = Sources(tmp_path / "data")
    yield opened
    opened.storage.close()


@pytest.fixture
def files(tmp_path: Path) -> SegmentFiles:
    return SegmentFiles(tmp_path / "data" / "index")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def builder(sources: Sources, files: SegmentFiles, metrics: Metrics) -> Builder:
    return Builder(sources.storage, files, metrics)

"""Changes that requests wait for: what is given up, or takes too long, is taken back unless it has begun."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penchant.errors import StorageUnavailable
from penchant.live import database as database_module
from penchant.live.database import AsyncStorage
from penchant.model import EncodedPiece
from penchant.storage import Storage, SubmitPieces
from penchant.storage.piece_writes import PieceSubmission
from penchant.storage.storage import open_storage
from penchant.storage.transaction import CONTENT_LANE
from penchant.telemetry import Metrics


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(folder=tmp_path)
    yield opened
    opened.close()


def submitting(piece_id: str) -> SubmitPieces:
    return SubmitPieces(account_id=1, source="s", pieces=[EncodedPiece(id=piece_id, body=b"{}")])


@contextmanager
def held(storage: Storage) -> Iterator[None]:
    """Have another writer keep the file meanwhile, so that the first change has begun and later ones wait."""
    begun, released = threading.Event(), threading.Event()

    def hold() -> None:
        with storage.keys._transactions.write():
            begun.set()
            released.wait()

    holding = threading.Thread(target=hold)
    holding.start()
    begun.wait()
    try:
        yield
    finally:
        released.set()
        holding.join()


async def ids_after(database: AsyncStorage) -> set[str]:
    await database.change(submitting("last"))
    with database.storage.pieces.open_ids(1, "s") as listing:
        return {piece.id for batch in listing.batches for piece in batch}


async def begin(
    storage: Storage, database: AsyncStorage, piece_id: str, *, queued: int
) -> asyncio.Task[PieceSubmission]:
    task = asyncio.create_task(database.change(submitting(piece_id)))
    await asyncio.sleep(0)
    await asyncio.to_thread(wait_until_queued, storage, queued)
    return task


def wait_until_queued(storage: Storage, number: int) -> None:
    while storage._lanes[CONTENT_LANE].queued[0] != number:
        time.sleep(0.001)


async def test_a_change_that_is_given_up_while_it_waits_is_not_carried_out(storage: Storage) -> None:
    database = AsyncStorage(storage, Metrics())
    with held(storage):
        first = await begin(storage, database, "begun", queued=0)
        second = await begin(storage, database, "given up", queued=1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second

    await first
    assert await ids_after(database) == {"begun", "last"}
    database.close()


async def test_a_change_that_takes_too_long_is_refused_and_carried_out_if_it_has_begun(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = AsyncStorage(storage, Metrics())
    with held(storage):
        monkeypatch.setattr(database_module, "CHANGE_TIMEOUT_S", 0.1)
        first = await begin(storage, database, "begun", queued=0)
        second = await begin(storage, database, "waiting", queued=1)
        for each in (first, second):
            with pytest.raises(StorageUnavailable, match="may or may not be stored"):
                await each

    monkeypatch.undo()
    assert await ids_after(database) == {"begun", "last"}
    database.close()


async def test_a_change_whose_task_is_cancelled_once_it_is_stored_is_given_up_once(storage: Storage) -> None:
    database = AsyncStorage(storage, Metrics())
    task = asyncio.create_task(database.change(submitting("stored")))
    await asyncio.sleep(0)
    # In this thread, so that the event loop cannot hear of the commit before the cancellation.
    while storage.sources.read_head(1, "s") is None:
        pass
    task.cancel("no more")
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await ids_after(database) == {"stored", "last"}
    database.close()


async def test_changes_that_share_a_commit_go_on_each_in_its_own_context(storage: Storage) -> None:
    database, name = AsyncStorage(storage, Metrics()), contextvars.ContextVar[str]("name")

    async def change(piece_id: str) -> str:
        name.set(piece_id)
        await database.change(submitting(piece_id))
        return name.get()

    with held(storage):
        changes = [asyncio.create_task(change(f"p{number}")) for number in range(8)]
        await asyncio.sleep(0)

    assert await asyncio.gather(*changes) == [f"p{number}" for number in range(8)]
    database.close()


def test_an_event_loop_that_comes_after_another_one_hears_of_changes(storage: Storage) -> None:
    database = AsyncStorage(storage, Metrics())
    versions = [asyncio.run(database.change(submitting("p"))).version for _ in range(2)]

    assert versions[0] < versions[1]
    database.close()

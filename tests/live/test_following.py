"""A source that is loaded portion by portion is whole, and one that cannot be read leaves nothing behind."""

import threading

import pytest
from sqlalchemy import update

from databases import connection_beside
from live.conftest import Sources
from penchant.errors import StorageIncompatible
from penchant.live import following
from penchant.storage import source_reader
from penchant.storage.schema import pieces


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reader, "BATCH_ROWS", 2)
    monkeypatch.setattr(following, "READ_PIECES", 3)


def test_portions_that_are_read_ahead_are_all_there(sources: Sources) -> None:
    sources.submit(*range(9))
    sources.delete(4)

    snapshot = sources.rebuilt()

    assert list(snapshot.merged().ids) == [f"p{number}" for number in range(9) if number != 4]


def test_what_cannot_be_read_ahead_is_told_and_no_thread_is_left(sources: Sources) -> None:
    sources.submit(*range(9))
    with connection_beside(sources.folder) as connection:
        connection.execute(update(pieces).where(pieces.c.piece_id == "p8").values(codec=9))
    before = threading.active_count()

    with pytest.raises(StorageIncompatible, match="codec 9"):
        sources.rebuilt()

    assert threading.active_count() == before

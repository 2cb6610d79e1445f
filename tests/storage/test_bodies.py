"""Compressed bodies, the same on both databases: what is read is what was stored, and no source sees another's text."""

import gc
from contextlib import ExitStack, closing

import pytest
from sqlalchemy import delete, func, select, update

from penchant.storage import ClearPieces, DeleteSource, Storage
from penchant.storage.bodies import TRAINED_FROM
from penchant.storage.schema import CODEC_ZSTD, counters, dictionaries, pieces, sources
from storage.commands import bodies, done, head, submit
from storage.conftest import Opening

MANY = 12
"""Connections of which some are closed when they are given back, not kept."""


def read(storage: Storage, account: int, source: str = "s") -> dict[str, bytes]:
    with storage.pieces.open_page(account, source) as listing:
        return {piece.id: piece.body for batch in listing.batches for piece in batch}


def test_listings_may_be_left_in_their_midst(opening: Opening, caplog: pytest.LogCaptureFixture) -> None:
    with closing(opening()) as storage:
        account = storage.accounts.ensure("a")
        submit(storage, account, bodies(500))

        with ExitStack() as opened:
            pages = [opened.enter_context(storage.pieces.open_page(account, "s")) for _ in range(MANY)]
            begun = [iter(page.batches) for page in pages]
            assert all(map(next, begun))
        del pages, begun
        gc.collect()

    assert caplog.text == ""


def codecs(opening: Opening) -> dict[int, int]:
    with opening.beside() as connection:
        rows = connection.execute(select(pieces.c.codec, func.count()).group_by(pieces.c.codec))
        return {row[0]: row[1] for row in rows}


def test_a_large_source_is_compressed_and_reads_the_same(opening: Opening) -> None:
    first, second = bodies(TRAINED_FROM - 1), bodies(TRAINED_FROM, TRAINED_FROM - 1)
    with closing(opening()) as storage:
        account = storage.accounts.ensure("a")
        submit(storage, account, first)
        submit(storage, account, second)
        assert codecs(opening) == {0: len(first), 1: len(second)}
        with opening.beside() as connection:
            compressed = select(func.sum(func.length(pieces.c.body))).where(pieces.c.codec == CODEC_ZSTD)
            assert connection.execute(compressed).scalar_one() < sum(map(len, second.values())) / 2

    with closing(opening()) as storage:
        assert read(storage, account) == first | second
        assert storage.pieces.read(account, "s", "piece-01500")[1] == second["piece-01500"]
        with storage.sources.follow_content(account, "s", None) as feed:
            assert {row.id: row.body for batch in feed.batches for row in batch} == first | second
        assert storage.upkeep.check() == []


def test_bodies_of_several_dictionaries_are_read_together(opening: Opening) -> None:
    with closing(opening()) as storage:
        account, other = storage.accounts.ensure("a"), storage.accounts.ensure("b")
        submit(storage, account, bodies(1_500))
        submit(storage, other, bodies(1, 5_000))
        submit(storage, other, bodies(1_500, 5_000))
        own, moved = head(storage, account).source_id, head(storage, other).source_id
        with opening.beside() as connection:
            later = pieces.c.version + 10_000
            moving = update(pieces).where(pieces.c.source_id == moved).values(source_id=own, version=later)
            connection.execute(moving)
            connection.execute(update(dictionaries).values(source_id=own))

    with closing(opening()) as storage, storage.sources.follow_content(account, "s", None) as feed:
        assert {row.id: row.body for batch in feed.batches for row in batch} == bodies(1_500) | bodies(1_500, 5_000)


def test_small_submissions_lead_to_a_dictionary_too(opening: Opening, storage: Storage) -> None:
    account = storage.accounts.ensure("a")
    submit(storage, account, bodies(TRAINED_FROM))
    before = codecs(opening)

    submit(storage, account, bodies(1, TRAINED_FROM))

    assert codecs(opening)[1] == before.get(1, 0) + 1
    assert read(storage, account) == bodies(TRAINED_FROM + 1)


def test_bodies_too_much_alike_for_a_dictionary_are_stored_all_the_same(storage: Storage) -> None:
    account = storage.accounts.ensure("a")
    alike = {f"p{number}": b"{}" for number in range(TRAINED_FROM + 1)}

    submit(storage, account, alike)

    assert read(storage, account) == alike


@pytest.mark.slow
def test_a_dictionary_goes_when_its_source_is_cleared(opening: Opening) -> None:
    for command in (ClearPieces, DeleteSource):
        with closing(opening()) as storage:
            account = storage.accounts.ensure("a")
            submit(storage, account, bodies(TRAINED_FROM + 1))
            other = storage.accounts.ensure("b")
            submit(storage, other, bodies(TRAINED_FROM + 1))

            done(storage, command(account_id=account, source="s"))
            submit(storage, account, bodies(TRAINED_FROM + 5, 7))

        with closing(opening()) as storage:
            assert read(storage, account) == bodies(TRAINED_FROM + 5, 7)
            assert read(storage, other) == bodies(TRAINED_FROM + 1)
            assert storage.upkeep.check() == []


def test_a_dictionary_of_a_lost_history_is_taken_for_none_of_the_new_one(opening: Opening) -> None:
    after = bodies(TRAINED_FROM + 5, 7_000)
    with closing(opening()) as storage:
        account = storage.accounts.ensure("a")
        submit(storage, account, bodies(TRAINED_FROM + 5))
        # As after a rollback, or the promotion of a standby that had not received it: versions begin anew.
        with opening.beside() as connection:
            for table in (pieces, dictionaries, counters, sources):
                connection.execute(delete(table))

        submit(storage, account, after)

    with closing(opening()) as storage:
        assert read(storage, account) == after


@pytest.mark.slow
def test_a_missing_dictionary_is_found_by_the_check(opening: Opening) -> None:

    with closing(opening()) as storage:
        account = storage.accounts.ensure("a")
        submit(storage, account, bodies(TRAINED_FROM))
        with opening.beside() as connection:
            connection.execute(delete(dictionaries))
        assert any("cannot be read" in problem for problem in storage.upkeep.check())

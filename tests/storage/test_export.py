"""All of a source is read in one transaction, on every database."""

from penchant.model import EncodedPiece, InteractionType, NewInteraction
from penchant.storage import DeleteSource, EraseUser, RecordInteractions, Storage, SubmitPieces


def record(storage: Storage, *happened: tuple[str, str, int]) -> None:
    interactions = [
        NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id=piece_id, occurred_at=moment)
        for user, piece_id, moment in happened
    ]
    account_id = storage.accounts.ensure("a")
    storage.submit(RecordInteractions(account_id=account_id, source="s", interactions=interactions)).result()


def submit(storage: Storage, *ids: str) -> None:
    pieces = [EncodedPiece(id=each, body=b"{}") for each in ids]
    storage.submit(SubmitPieces(account_id=storage.accounts.ensure("a"), source="s", pieces=pieces)).result()


def exported(storage: Storage, since: int) -> tuple[list[str], list[tuple[str, str, int]]]:
    with storage.sources.open_export(storage.accounts.ensure("a"), "s") as export:
        pieces = [piece.id for batch in export.pieces for piece in batch]
        interactions = [each for batch in export.interactions(since) for each in batch]
    return pieces, [(each.user_id, each.piece_id, each.occurred_at) for each in interactions]


def test_interactions_come_by_time_and_then_as_they_were_recorded(storage: Storage) -> None:
    submit(storage, "b", "a")
    record(storage, ("u", "z", 5), ("u", "y", 5), ("v", "x", 4), ("v", "w", 3))

    assert exported(storage, 4) == (["a", "b"], [("v", "x", 4), ("u", "z", 5), ("u", "y", 5)])


def test_what_was_erased_or_of_a_deleted_source_is_not_exported(storage: Storage) -> None:
    submit(storage, "b")
    record(storage, ("old", "z", 5))
    storage.submit(DeleteSource(account_id=storage.accounts.ensure("a"), source="s")).result()
    submit(storage, "a")
    record(storage, ("u", "z", 5), ("gone", "z", 5))
    storage.submit(EraseUser(account_id=storage.accounts.ensure("a"), source="s", user_id="gone")).result()

    assert exported(storage, 0) == (["a"], [("u", "z", 5)])

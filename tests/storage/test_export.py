"""All of a source is read in one transaction, on every database."""

from penchant.model import NewInteraction
from penchant.storage import DeleteSource, RecordInteractions, Storage
from penchant_engine.model import InteractionType
from storage.commands import done, erasing, submitting

Act = tuple[str, str, int]
"""Who did something with which piece, and when."""


def record(storage: Storage, account: int, *acts: Act) -> None:
    interactions = [
        NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id=piece_id, occurred_at=moment)
        for user, piece_id, moment in acts
    ]
    done(storage, RecordInteractions(account_id=account, source="s", interactions=interactions))


def exported(storage: Storage, account: int, since: int) -> tuple[list[str], list[Act], list[tuple[str, str]]]:
    """Return the pieces, the interactions since a moment, and who and which pieces all of them are of, as columns."""
    with storage.sources.open_export(account, "s") as export:
        pieces = [piece.id for batch in export.pieces for piece in batch]
        versions = [version for page in export.columns.pages for version in page.versions.tolist()]
        people, shown = export.columns.user_ids(versions), export.columns.piece_ids(versions)
        interactions = [each for batch in export.interactions(since) for each in batch]
    acts = [(each.user_id, each.piece_id, each.occurred_at) for each in interactions]
    return pieces, acts, [(people[version], shown[version]) for version in versions]


def test_interactions_come_by_time_and_then_as_they_were_recorded(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "b", "a"))
    record(storage, account, ("u", "z", 5), ("u", "y", 5), ("v", "x", 4), ("é", "w", 3))

    pieces, acts, columns = exported(storage, account, 4)

    assert (pieces, acts) == (["a", "b"], [("v", "x", 4), ("u", "z", 5), ("u", "y", 5)])
    assert columns == [("u", "z"), ("u", "y"), ("v", "x"), ("é", "w")]


def test_what_was_erased_or_of_a_deleted_source_is_not_exported(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "b"))
    record(storage, account, ("old", "z", 5))
    done(storage, DeleteSource(account_id=account, source="s"))
    done(storage, submitting(account, "a"))
    record(storage, account, ("u", "z", 5), ("gone", "z", 5))
    done(storage, erasing(account, "gone"))

    assert exported(storage, account, 0) == (["a"], [("u", "z", 5)], [("u", "z")])

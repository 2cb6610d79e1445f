"""Writes of impressions, of what people did with what they were shown, and their erasure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, update

from penchant.model import NewImpression, StoredInteraction
from penchant.storage.dialect import WriteDialect
from penchant.storage.hashing import list_person, user_key
from penchant.storage.impression_ledger import ImpressionLedger
from penchant.storage.records import Outcome, RecordImpressions
from penchant.storage.schema import INTERACTIONS, counters, impressions, placement_people
from penchant.storage.secrets import LIST_IDS, read_secret


def record_impressions(
    connection: Connection, database: WriteDialect, row: Any, commands: Sequence[RecordImpressions]
) -> list[Outcome]:
    """Store the impressions of several commands, each piece of a list once; return an outcome for each.

    ``row`` is the source's, with its interactions counter locked.
    """
    ledger = ImpressionLedger(connection, database, row)
    ledger.load_lists([each.identity for command in commands for each in command.impressions])
    outcomes = []
    for command in commands:
        before = ledger.beyond
        accepted = sum(
            ledger.show(each, counts_until=each.shown_at + command.window_ms, by_page=command.by_page)
            for each in command.impressions
        )
        outcomes.append(
            Outcome(
                version=row.version,
                interactions_version=row.interactions_version,
                created=accepted,
                duplicates=len(command.impressions) - accepted,
                beyond=ledger.beyond - before,
            )
        )
    ledger.store()
    _tick(connection, row.source_id)
    return outcomes


def attribute(
    connection: Connection,
    database: WriteDialect,
    row: Any,
    recorded: Sequence[tuple[StoredInteraction, NewImpression | None, bool]],
) -> None:
    """Attribute interactions that were just stored to what their people were shown.

    Each comes with the piece in a list that it names, if it does, and whether a browser key has reported it.
    """
    ledger = ImpressionLedger(connection, database, row)
    named = [shown for _, shown, _ in recorded if shown is not None]
    # Most sources have no placements: to them it costs one look.
    if not named and ledger.is_empty():
        return
    secret = read_secret(connection, LIST_IDS)
    people = {
        each.user_id: list_person(secret, user_key(row.source_id, each.user_id))
        for each, shown, _ in recorded
        if shown is None
    }
    wanted: dict[bytes, set[str]] = defaultdict(set)
    for each, shown, _ in recorded:
        person = people[each.user_id] if shown is None else shown.identity.person
        if person:
            wanted[person].add(each.piece_id)
    ledger.load_lists([shown.identity for shown in named])
    ledger.load_people(wanted)
    for each, shown, by_page in recorded:
        if shown is None:
            person = people[each.user_id]
            ledger.attribute_to_last(each.type, each.piece_id, each.occurred_at, person, by_page=by_page)
        else:
            ledger.attribute(each.type, each.occurred_at, shown, by_page=by_page)
    ledger.store()


def forget_impressions(connection: Connection, row: Any, user_id: str) -> bool:
    """Delete what a person was shown; return whether there was anything. What was counted of it stays counted."""
    secret = read_secret(connection, LIST_IDS)
    if not secret:
        return False
    person = list_person(secret, user_key(row.source_id, user_id))
    # Those of earlier incarnations as well, which housekeeping has not removed yet. Apart: each is a range of an index.
    removed = [
        connection.execute(
            delete(table).where(table.c.source_id == row.source_id, table.c.person == person, is_of)
        ).rowcount
        for table in (impressions, placement_people)
        for is_of in (table.c.incarnation == row.incarnation, table.c.incarnation < row.incarnation)
    ]
    is_there = any(removed)
    if is_there:
        _tick(connection, row.source_id)
    return is_there


def _tick(connection: Connection, source: int) -> None:
    """Move the clock of a source's interactions on: by it a move to another database knows of a change."""
    connection.execute(
        update(counters)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .values(clock=counters.c.clock + 1)
    )

"""The interactions' counter of a source: its clock and its version, within the transaction that has locked it."""

from sqlalchemy import Connection, select, update

from penchant.storage.schema import INTERACTIONS, counters


def clock_of(connection: Connection, source: int) -> int:
    """Return the moment of the latest change of what people did or said, by the source's own clock."""
    statement = select(counters.c.clock).where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
    return int(connection.execute(statement).scalar_one())


def raise_version(connection: Connection, source: int, version: int, now: int, **others: int) -> None:
    """Set the version, the clock and other columns."""
    connection.execute(
        update(counters)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .values(version=version, clock=now, **others)
    )

"""Rows of placements, within the transaction of their caller: which are in force, how they come and go."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from penchant.errors import PlacementChanged, TooManyPlacements
from penchant.storage.records import PlacementRow, PutPlacement
from penchant.storage.schema import placement_versions, placements

VERSION_COLUMNS = (
    placement_versions.c.name,
    placement_versions.c.version,
    placement_versions.c.recorded_at,
    placement_versions.c.actor,
    placement_versions.c.body,
    placement_versions.c.assignment,
)


def to_placement_row(row: Any) -> PlacementRow:
    """Return the version in a row of `VERSION_COLUMNS`."""
    return PlacementRow(
        name=row.name,
        version=row.version,
        recorded_at=row.recorded_at,
        actor=row.actor,
        body=bytes(row.body),
        assignment=bytes(row.assignment),
    )


def read_placements(connection: Connection, source_id: int) -> list[PlacementRow]:
    """Return the placements of a source, ascending by name, each as it is now."""
    current = (placements.c.source_id == placement_versions.c.source_id) & (
        placements.c.name == placement_versions.c.name
    )
    current &= placements.c.version == placement_versions.c.version
    statement = select(*VERSION_COLUMNS).join(placements, current).where(placements.c.source_id == source_id)
    return [to_placement_row(row) for row in connection.execute(statement.order_by(placements.c.name))]


def placements_in_force(connection: Connection, source_id: int) -> Mapping[str, int]:
    """Return the version in force of each placement of a source, by name."""
    statement = select(placements.c.name, placements.c.version).where(placements.c.source_id == source_id)
    rows = connection.execute(statement.order_by(placements.c.name))
    return {row.name: row.version for row in rows}


def require_turn(connection: Connection, source_id: int, command: PutPlacement) -> None:
    """Check that a placement may be stored as the next version.

    Raises:
        PlacementChanged: another version is in force than the one that it follows, or a newer one of any placement.
        TooManyPlacements: it would be one too many.
    """
    in_force = placements_in_force(connection, source_id)
    is_overtaken = command.seen is not None and max(in_force.values(), default=0) > command.seen
    if in_force.get(command.name, 0) != command.after or is_overtaken:
        raise PlacementChanged("The placement was changed at the same moment; read it, and send the change again.")
    if command.name not in in_force and len(in_force) >= command.max_placements:
        raise TooManyPlacements(f"A source has up to {command.max_placements} placements; delete one first.")


def store_placement(connection: Connection, source_id: int, command: PutPlacement, version: int, now: int) -> None:
    """Store a placement as a version, put it in force, and forget versions past the number that is kept."""
    of_name = (placements.c.source_id == source_id) & (placements.c.name == command.name)
    connection.execute(delete(placements).where(of_name))
    key = {"source_id": source_id, "name": command.name, "version": version}
    connection.execute(insert(placements), key)
    what = {"recorded_at": now, "actor": command.actor, "body": command.body, "assignment": command.assignment}
    connection.execute(insert(placement_versions), key | what)
    kept = placement_versions.c.source_id == source_id
    kept &= placement_versions.c.name == command.name
    # The greatest version that is one too many; none, and so nothing to delete, while there are few.
    oldest = (
        select(placement_versions.c.version)
        .where(kept)
        .order_by(placement_versions.c.version.desc())
        .offset(command.max_versions)
        .limit(1)
    )
    connection.execute(delete(placement_versions).where(kept, placement_versions.c.version <= oldest.scalar_subquery()))


def remove_placement(connection: Connection, source_id: int, name: str) -> bool:
    """Remove a placement with its versions; return whether there was one."""
    found = False
    for table in (placements, placement_versions):
        found |= (
            connection.execute(delete(table).where(table.c.source_id == source_id, table.c.name == name)).rowcount > 0
        )
    return found


def forget_placements(connection: Connection, source_id: int) -> None:
    """Remove all placements of a source."""
    for table in (placements, placement_versions):
        connection.execute(delete(table).where(table.c.source_id == source_id))

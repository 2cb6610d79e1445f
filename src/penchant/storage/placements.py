"""Placements as they are stored: read by whoever edits them and shows their lists."""

from typing import Any

from sqlalchemy import ColumnElement, select

from penchant.storage.records import PlacementRow
from penchant.storage.schema import placement_versions, placements
from penchant.storage.transactions import Transactions

_COLUMNS = (
    placement_versions.c.name,
    placement_versions.c.version,
    placement_versions.c.recorded_at,
    placement_versions.c.actor,
    placement_versions.c.body,
    placement_versions.c.assignment,
)


class PlacementStore:
    """The placements of all sources; their rows never change, so that what was read of a version stays true."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_in_force(self, source_id: int) -> list[PlacementRow]:
        """Return the placements of a source, ascending by name, each as it is now."""
        current = (placements.c.source_id == placement_versions.c.source_id) & (
            placements.c.name == placement_versions.c.name
        )
        current &= placements.c.version == placement_versions.c.version
        statement = select(*_COLUMNS).join(placements, current).where(placements.c.source_id == source_id)
        with self._transactions.read() as connection:
            return [_to_row(row) for row in connection.execute(statement.order_by(placements.c.name))]

    def read_in_force(self, source_id: int, name: str) -> PlacementRow | None:
        """Return a placement as it is now; ``None`` where there is none of this name."""
        versions = select(placements.c.version).where(placements.c.source_id == source_id, placements.c.name == name)
        return self._read(source_id, name, placement_versions.c.version == versions.scalar_subquery())

    def read(self, source_id: int, name: str, version: int) -> PlacementRow | None:
        """Return a version of a placement; ``None`` where it is not kept."""
        return self._read(source_id, name, placement_versions.c.version == version)

    def _read(self, source_id: int, name: str, is_version: ColumnElement[bool]) -> PlacementRow | None:
        of_name = (placement_versions.c.source_id == source_id) & (placement_versions.c.name == name)
        with self._transactions.read() as connection:
            row = connection.execute(select(*_COLUMNS).where(of_name, is_version)).one_or_none()
        return None if row is None else _to_row(row)

    def list_versions(self, source_id: int, name: str) -> list[PlacementRow]:
        """Return the versions of a placement that are kept, newest first; the first is in force."""
        of_name = (placement_versions.c.source_id == source_id) & (placement_versions.c.name == name)
        statement = select(*_COLUMNS).where(of_name).order_by(placement_versions.c.version.desc())
        with self._transactions.read() as connection:
            return [_to_row(row) for row in connection.execute(statement)]


def _to_row(row: Any) -> PlacementRow:
    return PlacementRow(
        name=row.name,
        version=row.version,
        recorded_at=row.recorded_at,
        actor=row.actor,
        body=bytes(row.body),
        assignment=bytes(row.assignment),
    )

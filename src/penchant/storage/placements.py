"""Placements as they are stored: read by whoever edits them and shows their lists."""

from sqlalchemy import ColumnElement, select

from penchant.storage.placement_rows import VERSION_COLUMNS, read_placements, to_placement_row
from penchant.storage.records import PlacementRow
from penchant.storage.schema import placement_versions, placements
from penchant.storage.transactions import Transactions


class PlacementStore:
    """The placements of all sources; their rows never change, so that what was read of a version stays true."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_in_force(self, source_id: int) -> list[PlacementRow]:
        """Return the placements of a source, ascending by name, each as it is now."""
        with self._transactions.read() as connection:
            return read_placements(connection, source_id)

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
            row = connection.execute(select(*VERSION_COLUMNS).where(of_name, is_version)).one_or_none()
        return None if row is None else to_placement_row(row)

    def list_versions(self, source_id: int, name: str) -> list[PlacementRow]:
        """Return the versions of a placement that are kept, newest first; the first is in force."""
        of_name = (placement_versions.c.source_id == source_id) & (placement_versions.c.name == name)
        statement = select(*VERSION_COLUMNS).where(of_name).order_by(placement_versions.c.version.desc())
        with self._transactions.read() as connection:
            return [to_placement_row(row) for row in connection.execute(statement)]

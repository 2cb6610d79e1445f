"""Placements as they are stored: which are in force, their versions, how they come and go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import CONTENT
from penchant.storage.transaction import SourceChange, SourceCommand, WriteTransaction
from penchant_rows.errors import PlacementChanged, TooManyPlacements
from penchant_rows.storage.tables import placement_versions, placements


class PlacementRow(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a placement: when it was stored, by which key, and what; ``body`` and ``assignment`` are JSON.

    ``draft`` names the draft that it came with, if it did; ``stops`` is JSON by variant, `None` while none is stopped.
    """

    name: str
    version: int
    recorded_at: int
    actor: str
    body: bytes
    assignment: bytes
    draft: str | None = None
    stops: bytes | None = None


class PlacementEdit(NamedTuple):
    """A placement to be stored, or without a body removed; both as in `PutPlacement`, ``draft`` as in a row."""

    name: str
    body: bytes | None
    assignment: bytes = b""
    draft: str | None = None


_COLUMNS = tuple(placement_versions.c[each.name] for each in msgspec.structs.fields(PlacementRow))

_decode_stops = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPlacement(SourceCommand[SourceChange]):
    """Store a placement as the next version of its name; ``after`` is the version that it follows, 0 for none.

    ``seen`` is the newest version of any placement of the source that who sends it has gone by; ``None`` if by none.
    Of its versions the newest ``max_versions`` are kept. Fails with `PlacementChanged` where another version is in
    force by now, with `TooManyPlacements` where the source has ``max_placements`` others.
    """

    steers: ClassVar[bool] = True

    name: str
    body: bytes
    assignment: bytes
    after: int
    seen: int | None = None
    max_versions: int
    max_placements: int

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Store it at the next version of the source, which is the placement's."""
        row = transaction.require_source(self, CONTENT)
        require_turn(transaction.connection, row.source_id, self)
        version = transaction.raise_version(row)
        edit = PlacementEdit(self.name, self.body, self.assignment)
        store_placement(transaction, row, self, edit, version=version, max_versions=self.max_versions)
        return SourceChange(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlacement(SourceCommand[SourceChange]):
    """Delete a placement with all its versions; an unknown one is no error."""

    steers: ClassVar[bool] = True

    name: str

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Remove it; one change of the source, be it there or not."""
        row = transaction.require_source(self, CONTENT)
        remove_placement(transaction, row, self, self.name)
        return SourceChange(transaction.raise_version(row))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStops(SourceCommand[SourceChange]):
    """Note that variants of a version of a placement were stopped, each as JSON; what is noted already stays."""

    name: str
    version: int
    stops: Mapping[str, bytes]

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Note them; one change of the source where any is new."""
        row = transaction.require_source(self, CONTENT)
        is_new = _note_stops(transaction.connection, row.source_id, self)
        return SourceChange(transaction.raise_version(row) if is_new else row.version)


class PlacementStore:
    """The placements of all sources; what a version says never changes, so that it stays true once read."""

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
        with self._transactions.read() as connection:
            row = connection.execute(select(*_COLUMNS).where(_of_name(source_id, name), is_version)).one_or_none()
        return None if row is None else PlacementRow(**row._asdict())

    def list_versions(self, source_id: int, name: str) -> list[PlacementRow]:
        """Return the versions of a placement that are kept, newest first; the first is in force."""
        statement = select(*_COLUMNS).where(_of_name(source_id, name)).order_by(placement_versions.c.version.desc())
        with self._transactions.read() as connection:
            return [PlacementRow(**row._asdict()) for row in connection.execute(statement)]


def read_placements(connection: Connection, source_id: int) -> list[PlacementRow]:
    """Return the placements of a source, ascending by name, each as it is now."""
    current = (placements.c.source_id == placement_versions.c.source_id) & (
        placements.c.name == placement_versions.c.name
    )
    current &= placements.c.version == placement_versions.c.version
    statement = select(*_COLUMNS).join(placements, current).where(placements.c.source_id == source_id)
    return [PlacementRow(**row._asdict()) for row in connection.execute(statement.order_by(placements.c.name))]


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


def store_placement(
    transaction: WriteTransaction,
    row: Any,
    command: SourceCommand[Any],
    edit: PlacementEdit,
    *,
    version: int,
    max_versions: int,
) -> None:
    """Store a version of a placement, put it in force, and forget versions past the number that is kept.

    In the audit log it is an act of the command.
    """
    connection, source_id, body = transaction.connection, row.source_id, edit.body or b""
    of_name = (placements.c.source_id == source_id) & (placements.c.name == edit.name)
    connection.execute(delete(placements).where(of_name))
    key = {"source_id": source_id, "name": edit.name, "version": version}
    connection.execute(insert(placements), key)
    said = {"body": body, "assignment": edit.assignment, "draft": edit.draft, "stops": None}
    made = {"recorded_at": transaction.moment(row), "actor": command.actor}
    connection.execute(insert(placement_versions), key | made | said)
    kept = _of_name(source_id, edit.name)
    # The greatest version that is one too many; none, and so nothing to delete, while there are few.
    oldest = (
        select(placement_versions.c.version)
        .where(kept)
        .order_by(placement_versions.c.version.desc())
        .offset(max_versions)
        .limit(1)
    )
    connection.execute(delete(placement_versions).where(kept, placement_versions.c.version <= oldest.scalar_subquery()))
    transaction.note(command, "placement.replace", edit.name)


def _note_stops(connection: Connection, source_id: int, command: NoteStops) -> bool:
    """Note the stops of variants of a version, the first one of each; return whether any is new."""
    is_version = _of_name(source_id, command.name) & (placement_versions.c.version == command.version)
    row = connection.execute(select(placement_versions.c.stops).where(is_version)).one_or_none()
    known = {} if row is None or row.stops is None else _decode_stops(row.stops)
    if row is None or command.stops.keys() <= known.keys():
        return False
    stops = {name: msgspec.Raw(stop) for name, stop in command.stops.items()} | known
    connection.execute(update(placement_versions).where(is_version).values(stops=msgspec.json.encode(stops)))
    return True


def remove_placement(transaction: WriteTransaction, row: Any, command: SourceCommand[Any], name: str) -> None:
    """Remove a placement with its versions; where there was one, that is an act of the command in the audit log."""
    removed = [
        transaction.connection.execute(
            delete(table).where(table.c.source_id == row.source_id, table.c.name == name)
        ).rowcount
        for table in (placements, placement_versions)
    ]
    if any(removed):
        transaction.note(command, "placement.delete", name)


def _of_name(source_id: int, name: str) -> ColumnElement[bool]:
    return (placement_versions.c.source_id == source_id) & (placement_versions.c.name == name)

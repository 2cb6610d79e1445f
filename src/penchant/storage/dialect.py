"""Dialects: what writes need of a database beyond SQLAlchemy."""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, Table

from penchant.storage import statements
from penchant.storage.records import PieceRow


class WriteDialect(Protocol):
    """What a write needs of a database beyond SQLAlchemy."""

    @property
    def insert(self) -> statements.Insert:
        """The dialect's INSERT, which knows what to do on a conflict."""

    def upsert_pieces(self, connection: Connection, rows: Sequence[PieceRow]) -> None:
        """Insert or replace rows of pieces."""

    def append_rows(self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, their values in the order of the table's columns, whose keys are new."""

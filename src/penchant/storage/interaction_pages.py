"""Pages of interactions: many rows as a few columns, put together by the database, for whoever counts all of them.

A row for each would take most of the time of a first count in Python's objects. One row of an answer has thousands:

    count | greatest version | keys of people, 16 bytes each | keys of pieces | versions | moments and types

PostgreSQL gives numbers as eight bytes; SQLite, which has no such function, as `DIGITS` digits, by adding `OFFSET`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, text

from penchant.storage.hashing import KEY_BYTES
from penchant.storage.schema import ERASURE_CODE

ANSWER_ROWS = 20_000
"""Rows in one answer of the database, of some megabyte: more leave the processor's cache."""
ANSWERS = 25
"""Answers that make a page. Its reader numbers the people of each page, which is less work where they come often."""
IDS_AT_ONCE = 1_000
TYPES_ROOM = 16
"""A moment and a type are one number, so that the database writes one less for each row."""
OFFSET = 2 * 10**18
DIGITS = 19
"""With it numbers have so many digits, also those of moments before the year 1970, and 64 bits are enough."""

_ROWS = f"""
FROM (
    SELECT version, user_key, piece_key, occurred_at * {TYPES_ROOM} + type AS done FROM interactions
    WHERE source_id = :source AND version > :after AND version <= :until AND type <> {ERASURE_CODE}
    ORDER BY version LIMIT :rows
) AS page
"""
_PAGES = {
    "sqlite": text(
        f"""
        SELECT count(*), max(version),
            CAST(group_concat(user_key, '') AS BLOB), CAST(group_concat(piece_key, '') AS BLOB),
            group_concat({OFFSET} + version, ''), group_concat({OFFSET} + done, '')
        {_ROWS}"""  # constants of this module
    ),
    "postgresql": text(
        f"""
        SELECT count(*), max(version),
            string_agg(user_key, ''), string_agg(piece_key, ''),
            string_agg(int8send(version), ''), string_agg(int8send(done), '')
        {_ROWS}"""  # as above
    ),
}


class InteractionPage(NamedTuple):
    """Interactions as columns, in any order; keys of people and pieces have shape (n, 16)."""

    people: npt.NDArray[np.uint8]
    pieces: npt.NDArray[np.uint8]
    codes: npt.NDArray[np.int64]
    moments: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int64]


def interaction_pages(connection: Connection, source: int, after: int, until: int) -> Iterator[InteractionPage]:
    """Yield the interactions after a version, up to another one, without erasures.

    The database works without holding up other threads of this process.
    """
    statement = _PAGES[connection.dialect.name]
    parts: list[InteractionPage] = []
    count = ANSWER_ROWS
    while count == ANSWER_ROWS:
        asked = {"source": source, "after": after, "until": until, "rows": ANSWER_ROWS}
        row = connection.execute(statement, asked).one()
        count, after = row[0], row[1]
        if count:
            people, pieces = (np.frombuffer(keys, dtype=np.uint8).reshape(count, KEY_BYTES) for keys in row[2:4])
            versions, done = (_numbers(column) for column in row[4:6])
            parts.append(InteractionPage(people, pieces, done % TYPES_ROOM, done // TYPES_ROOM, versions))
        if parts and (count < ANSWER_ROWS or len(parts) == ANSWERS):
            yield InteractionPage(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            parts = []


def piece_ids(connection: Connection, source: int, versions: Sequence[int]) -> dict[int, str]:
    """Return the piece of each interaction, given by their versions."""
    found: dict[int, str] = {}
    for first in range(0, len(versions), IDS_AT_ONCE):
        # Numbers need no quoting, and SQLAlchemy takes longer for a thousand parameters than the database for the rows.
        some = ", ".join(map(str, map(int, versions[first : first + IDS_AT_ONCE])))
        statement = (
            f"SELECT version, piece_id FROM interactions WHERE source_id = {int(source)} AND version IN ({some})"
        )
        found |= {row[0]: row[1] for row in connection.exec_driver_sql(statement)}
    return found


def _numbers(column: Any) -> npt.NDArray[np.int64]:
    """Return the numbers of a column as this database has written them."""
    if isinstance(column, bytes):
        return np.frombuffer(column, dtype=">i8").astype(np.int64)
    # By place and not by number: a loop of Python's for each number takes ten times as long.
    digits = np.frombuffer(column.encode(), dtype=np.uint8).reshape(-1, DIGITS) - ord("0")
    found = np.zeros(len(digits), dtype=np.int64)
    for place in range(DIGITS):
        found *= 10
        found += digits[:, place]
    return found - OFFSET

"""Pages of interactions: many rows as a few columns, put together by the database, for whoever counts all of them.

A row for each would take most of the time of a first count in Python's objects. One row of an answer has a block: the
interactions of a thousand versions, as records one behind the other:

    key of the person, 16 bytes | key of the piece, 16 bytes | number: moment, type, place of the version in the block

PostgreSQL gives the number as eight bytes; SQLite, which has no such function, as `DIGITS` digits, by adding `OFFSET`.
Behind them is a record more for each that has a portion, which tells it: without keys, and with the portion in place of
the moment. So those without one, mostly all, cost nothing more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, text

from penchant.storage.hashing import KEY_BYTES
from penchant.storage.schema import ERASURE_CODE
from penchant.storage.statements import portions
from penchant_engine.model import RATINGS, TYPE_BITS, TYPE_MASK, WHOLE

VERSION_BITS = 10
"""Beside them 63 bits have room for the moments of all years that can be written, 1 to 9999."""
BLOCK_VERSIONS = (1 << VERSION_BITS) - 1
BLOCKS = 500
"""Blocks of a page. Its reader numbers the people of each page, which is less work where they come often."""
IDS_AT_ONCE = 1_000
OFFSET = 3 * 10**18
DIGITS, WORD_DIGITS = 19, 8
"""With the offset each number has so many digits, of which a word of 64 bits has eight."""

_NUMBER = f"(({{}} * {1 << TYPE_BITS} + type) * {1 << VERSION_BITS} + version - start)"
_MOMENT, _PORTION = _NUMBER.format("occurred_at"), _NUMBER.format("CAST(portion AS BIGINT)")
_TOLD = "FILTER (WHERE portion IS NOT NULL), '')"
_NO_KEYS = f"'{'00' * 2 * KEY_BYTES}'"
_RECORDS = {
    "sqlite": f"CAST(group_concat(user_key || piece_key || ({OFFSET} + {_MOMENT}), '')"
    f" || coalesce(group_concat(x{_NO_KEYS} || ({OFFSET} + {_PORTION}), '') {_TOLD} AS BLOB)",
    "postgresql": f"string_agg(user_key || piece_key || int8send({_MOMENT}), '')"
    f" || coalesce(string_agg(decode({_NO_KEYS}, 'hex') || int8send({_PORTION}), '') {_TOLD}",
}
# The plus keeps the last bound from being what rows are looked up by: that is the block's own.
_PAGES = {
    name: text(
        f"""
        WITH RECURSIVE blocks(start) AS (
            SELECT CAST(:after AS BIGINT)
            UNION ALL SELECT start + {BLOCK_VERSIONS} FROM blocks WHERE start + {BLOCK_VERSIONS} < :until
        )
        SELECT start, (
            SELECT {records} FROM interactions
            WHERE source_id = :source AND version > start AND version <= start + {BLOCK_VERSIONS}
                AND +version <= :until AND type <> {ERASURE_CODE}
        )
        FROM blocks
        """  # constants of this module
    )
    for name, records in _RECORDS.items()
}
_KEY = (np.uint8, KEY_BYTES)
_NUMBER_AT = 2 * KEY_BYTES
_BINARY = np.dtype([("people", _KEY), ("pieces", _KEY), ("number", ">i8")])
# The first word begins with three digits and ends with five that the second has as well.
_WRITTEN = np.dtype(
    {
        "names": ["people", "pieces", "first", "second", "third"],
        "formats": [_KEY, _KEY, "<u8", "<u8", "<u8"],
        "offsets": [0, KEY_BYTES, *(_NUMBER_AT + place for place in (0, 3, 11))],
        "itemsize": _NUMBER_AT + DIGITS,
    }
)
_JOINTS = ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0x00000000FFFFFFFF))
"""How neighbouring digits of a word become one number, then neighbouring numbers, and these again: what the one in
front counts, how many bits lie between them, and a mask of what stays."""


class InteractionPage(NamedTuple):
    """Interactions that count as columns, in any order; keys of people and pieces have shape (n, 16).

    ``codes`` are those of `penchant.model.event_code`.
    """

    people: npt.NDArray[np.uint8]
    pieces: npt.NDArray[np.uint8]
    codes: npt.NDArray[np.int64]
    moments: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int64]


class InteractionColumns(NamedTuple):
    """All interactions as pages, and what tells who and of which pieces those of some versions are."""

    pages: Iterable[InteractionPage]
    user_ids: Callable[[Sequence[int]], Mapping[int, str]]
    piece_ids: Callable[[Sequence[int]], Mapping[int, str]]


def interaction_pages(connection: Connection, source: int, after: int, until: int) -> Iterator[InteractionPage]:
    """Yield the interactions after a version, up to another one, without erasures and what counts for nothing.

    The database works without holding up other threads of this process.
    """
    statement = _PAGES[connection.dialect.name]
    step = BLOCKS * BLOCK_VERSIONS
    for begin in range(after, until, step):
        parameters = {"source": source, "after": begin, "until": min(begin + step, until)}
        blocks = {start: records for start, records in connection.execute(statement, parameters) if records}
        if blocks:
            yield _page(blocks, connection.dialect.name)


def piece_ids(connection: Connection, source: int, versions: Sequence[int]) -> dict[int, str]:
    """Return the piece of each interaction, given by their versions."""
    return _ids("piece_id", connection, source, versions)


def user_ids(connection: Connection, source: int, versions: Sequence[int]) -> dict[int, str]:
    """Return the person of each interaction, given by their versions."""
    return _ids("user_id", connection, source, versions)


def _ids(column: str, connection: Connection, source: int, versions: Sequence[int]) -> dict[int, str]:
    ids: dict[int, str] = {}
    for portion in portions(versions, IDS_AT_ONCE):
        # Numbers need no quoting, and SQLAlchemy takes longer for a thousand parameters than the database for the rows.
        some = ", ".join(map(str, map(int, portion)))
        statement = (
            f"SELECT version, {column} FROM interactions WHERE source_id = {int(source)} AND version IN ({some})"
        )
        ids |= {row[0]: row[1] for row in connection.exec_driver_sql(statement)}
    return ids


def _page(blocks: Mapping[int, bytes], dialect: str) -> InteractionPage:
    """Return the interactions in the records of some blocks, given by the version before the first of each."""
    form = _WRITTEN if dialect == "sqlite" else _BINARY
    records = np.frombuffer(b"".join(blocks.values()), dtype=form)
    numbers = _written(records) if dialect == "sqlite" else records["number"].astype(np.int64)
    befores = np.repeat(np.asarray(list(blocks)), [len(each) // form.itemsize for each in blocks.values()])
    done = numbers >> VERSION_BITS
    page = InteractionPage(
        people=records["people"],
        pieces=records["pieces"],
        codes=done & TYPE_MASK,
        moments=done >> TYPE_BITS,
        versions=befores + (numbers & BLOCK_VERSIONS),
    )
    ends = np.cumsum([len(each) for each in blocks.values()]) // form.itemsize
    return _portioned(page) if _is_told(page.people[ends - 1]).any() else page


def _is_told(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which records tell of portions, by their keys of people."""
    return np.asarray(~keys.any(axis=1))


def _portioned(page: InteractionPage) -> InteractionPage:
    """Return a page with what portions lack in its codes, without what tells of them and what counts for nothing."""
    tells = _is_told(page.people)
    own = np.flatnonzero(~tells)
    order = own[np.argsort(page.versions[own])]
    lacks = np.zeros(len(tells), dtype=np.int64)
    lacks[order[np.searchsorted(page.versions[order], page.versions[tells])]] = WHOLE - page.moments[tells]
    lacks[np.isin(page.codes, [kind.code for kind in RATINGS])] = 0
    counts = ~tells & (lacks < WHOLE)
    return InteractionPage(
        people=page.people[counts],
        pieces=page.pieces[counts],
        codes=(page.codes | lacks << TYPE_BITS)[counts],
        moments=page.moments[counts],
        versions=page.versions[counts],
    )


def _written(records: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return the numbers of records as SQLite has written them."""
    # Eight digits at a time: a pass for each of them takes four times as long.
    numbers = np.zeros(len(records), dtype=np.int64)
    for name, shared in (("first", 3 * WORD_DIGITS - DIGITS), ("second", 0), ("third", 0)):
        # The digits that are there twice are pushed out, and leave leading zeros.
        word = records[name].astype(np.uint64) << np.uint64(8 * shared)
        word &= np.uint64(0x0F0F0F0F0F0F0F0F)
        for base, bits, mask in _JOINTS:
            word = (word * np.uint64(base) + (word >> np.uint64(bits))) & np.uint64(mask)
        numbers = numbers * 10**WORD_DIGITS + word.astype(np.int64)
    return numbers - OFFSET

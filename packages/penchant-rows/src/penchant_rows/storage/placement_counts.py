"""Counts of what placements showed and what came of it, by placement, UTC day, variant and kind; no person is in them.

A row has one number for each position in a list and, of known people, one for each group of them
(`penchant.experiments`), as unsigned 32-bit integers, little-endian:

    position   unknown  1  2  ...  30  31 and more | group  0  1  ...  63

All writers of a source hold its counter's lock, so that a row may be read, added to and written again.

*Parts.* Nobody may weigh more than others because of seeing more, so counts tell apart in which stage of what a person
was shown they are: of the pieces that a version of a placement shows to a person the first 16 are in stage 0, as many
again in stage 1, twice as many in 2, and so on. Readers leave out the stages that few people have reached
(`service.placements.results`). What pins of editors showed is in a stage of its own.
What a quota raised counts as anything else, since a quota is a rule that variants try, and once more apart
(`RAISED`; D219 of docs/decisions.md). Counts also tell apart what
browser keys alone have reported. The stored kind has both beside the kind itself: rows of before have them of stage 0,
as reported by keys of servers.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from sqlalchemy import Connection, select, tuple_

from penchant.storage import statements
from penchant_engine.model import DAY_MS
from penchant_rows.storage.tables import placement_counts

SHOWN = 0
"""The kind that counts pieces that were shown; the code of a type of interaction counts those that led to one."""
LISTS = 100
"""The kind that counts lists of which something was shown; they have no position."""
SUCCEEDED = 101
"""The kind that counts pieces that led to any interaction but a dislike."""
RAISED = 24
"""What a quota raised is counted once more, under the kind and so much: no type has a code as great as that."""
FIRST_STAGE_PIECES = 16
"""Pieces of a person in stage 0: a list or two, which everybody who is shown anything has."""
STAGES = 12
"""Stages: the last one begins after 16,384 pieces of a person."""
PINNED_STAGE = 100
"""The stage of what a pin showed, whoever saw it: no rate goes by that."""
STAGE_PIECES = np.concatenate([[FIRST_STAGE_PIECES], FIRST_STAGE_PIECES << np.arange(STAGES - 1)])
"""How many pieces of a person each stage has; the last one has all others as well."""
_KIND_VALUES = 128
"""A stored kind is the kind and so many times twice the stage, and once more if browser keys alone have reported it."""
POSITIONS = 32
GROUPS = 64
_FIELDS = POSITIONS + GROUPS
_DTYPE = np.dtype("<u4")
KEYS_AT_ONCE = 200
"""Keys in one look-up: SQLite looks for each of them by itself, and bounds how many."""

Numbers = npt.NDArray[np.int64]


class CountKey(NamedTuple):
    """What a row of counts is of; ``kind`` is the stored one."""

    placement: str
    day: int
    variant: str
    kind: int


class PlacementDay(NamedTuple):
    """How much a placement did of a kind on a UTC day."""

    placement: str
    day: int
    kind: int
    total: int


def stored_kind(kind: int, stage: int, *, by_page: bool) -> int:
    """Return the kind under which a part of the counts of a kind is stored."""
    return kind + _KIND_VALUES * (2 * stage + by_page)


def stage_of(pieces: int) -> int:
    """Return the stage of the next piece that is shown to a person who was shown so many."""
    return min((pieces // FIRST_STAGE_PIECES).bit_length(), STAGES - 1)


class CountsTable(msgspec.Struct, frozen=True, eq=False):
    """Counts of a placement: a row for each variant, day, kind and part, by position and by group of people.

    A part is a stage, as reported by pages (with browser keys) alone or not.
    """

    variants: npt.NDArray[np.str_]
    days: Numbers
    kinds: Numbers
    stages: Numbers
    by_page: npt.NDArray[np.bool_]
    positions: Numbers
    groups: Numbers

    def only(self, rows: npt.NDArray[np.bool_]) -> "CountsTable":
        """Return some of the rows."""
        return CountsTable(*(getattr(self, column.name)[rows] for column in msgspec.structs.fields(self)))

    @property
    def pinned(self) -> "CountsTable":
        """The rows of what pins showed."""
        return self.only(self.stages == PINNED_STAGE)

    @property
    def unpinned(self) -> "CountsTable":
        """The rows of everything else."""
        return self.only(self.stages != PINNED_STAGE)

    @property
    def raised(self) -> "CountsTable":
        """The rows of what quotas raised, under the kinds that all is counted under."""
        kinds = self.kinds - RAISED
        rows = ((kinds >= SHOWN) & (self.kinds < LISTS)) | (kinds == SUCCEEDED)
        return replace(self, kinds=kinds).only(rows)

    def between(self, first: int, last: int) -> "CountsTable":
        """Return the rows from one day to another, both included."""
        return self.only((self.days >= first) & (self.days <= last))


def group_of(person: bytes) -> int | None:
    """Return the group of a person, always the same; ``None`` for nobody in particular."""
    return person[-1] % GROUPS if person else None


def day_of(moment: int) -> int:
    """Return the UTC day of a moment, counted from 1970."""
    return moment // DAY_MS


class CountAdditions:
    """What a transaction adds to the counts of a source."""

    def __init__(self) -> None:
        self._added: dict[CountKey, Numbers] = defaultdict(lambda: np.zeros(_FIELDS, np.int64))

    def add(self, key: CountKey, position: int, group: int | None, *, by: int = 1) -> None:
        """Count one more (or, by -1, less) at a position, in a group of people where it was for somebody known."""
        numbers = self._added[key]
        numbers[min(position, POSITIONS - 1)] += by
        if group is not None:
            numbers[POSITIONS + group] += by

    def store(self, connection: Connection, insert: statements.Insert, source: int, incarnation: int) -> None:
        """Add to the rows of the source."""
        for portion in statements.portions(self._added, KEYS_AT_ONCE):
            stored = _stored(connection, source, incarnation, portion)
            rows = [
                {"source_id": source, "incarnation": incarnation}
                | key._asdict()
                | {"numbers": (self._added[key] + stored.get(key, 0)).astype(_DTYPE).tobytes()}
                for key in portion
            ]
            connection.execute(statements.upsert(insert, placement_counts), rows)


def read_counts(
    connection: Connection, source: int, incarnation: int, placement: str, days: tuple[int, int]
) -> CountsTable:
    """Return the counts of a placement from one day to another, both included, ascending by day."""
    first, last = days
    counts = placement_counts.c
    statement = select(counts.variant, counts.day, counts.kind, counts.numbers).where(
        counts.source_id == source,
        counts.incarnation == incarnation,
        counts.placement == placement,
        counts.day >= first,
        counts.day <= last,
    )
    result = connection.execute(statement.order_by(counts.day))
    # All rows in one array, as the driver gives them: of a year there are thousands.
    rows = [] if result.cursor is None else result.cursor.fetchall()
    numbers = np.frombuffer(b"".join([row[3] for row in rows]), _DTYPE).reshape(-1, _FIELDS).astype(np.int64)
    stored = np.array([row[2] for row in rows], dtype=np.int64)
    parts = stored // _KIND_VALUES
    return CountsTable(
        variants=np.array([row[0] for row in rows], dtype=np.str_),
        days=np.array([row[1] for row in rows], dtype=np.int64),
        kinds=stored % _KIND_VALUES,
        stages=parts // 2,
        by_page=parts % 2 == 1,
        positions=numbers[:, :POSITIONS],
        groups=numbers[:, POSITIONS:],
    )


def counts_by_day(
    connection: Connection, source: int, incarnation: int, days: tuple[int, int], kinds: Sequence[int], limit: int
) -> list[PlacementDay]:
    """Return what each placement did on which UTC day, of some kinds, ascending.

    Of ``limit`` rows of counts at most, those of the latest days.
    """
    first, last = days
    counts = placement_counts.c
    statement = (
        select(counts.placement, counts.day, counts.kind, counts.numbers)
        .where(
            counts.source_id == source,
            counts.incarnation == incarnation,
            counts.day >= first,
            counts.day <= last,
            (counts.kind % _KIND_VALUES).in_(kinds),
        )
        .order_by(counts.day.desc())
        .limit(limit)
    )
    totals: dict[tuple[str, int, int], int] = defaultdict(int)
    for placement, day, kind, numbers in connection.execute(statement):
        totals[placement, day, kind % _KIND_VALUES] += int(np.frombuffer(numbers, _DTYPE, POSITIONS).sum())
    return [PlacementDay(*key, count) for key, count in sorted(totals.items())]


_KEY_COLUMNS = (
    placement_counts.c.placement,
    placement_counts.c.day,
    placement_counts.c.variant,
    placement_counts.c.kind,
)
_COLUMNS = (*_KEY_COLUMNS, placement_counts.c.numbers)


def _stored(connection: Connection, source: int, incarnation: int, keys: Sequence[CountKey]) -> dict[CountKey, Numbers]:
    statement = select(*_COLUMNS).where(
        placement_counts.c.source_id == source,
        placement_counts.c.incarnation == incarnation,
        tuple_(*_KEY_COLUMNS).in_(keys),
    )
    return {CountKey(*row[:4]): np.frombuffer(row[4], _DTYPE).astype(np.int64) for row in connection.execute(statement)}

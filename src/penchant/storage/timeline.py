"""In which history of the database does a statement run? A promoted standby begins one of its own.

What the standby had not received is gone, and its versions are given again to other changes. So a source's epoch
counts the server's timeline as well: what was held of the history that ended is let go, by nobody's doing.
"""

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ColumnElement

STEP_BITS = 20
"""By how many bits a timeline outweighs what raises the stored epoch, so that the sum of both is never the same."""


class TimelineEpoch(ColumnElement[int]):
    """What the database's timeline adds to a stored epoch: 0 on the first, and on SQLite always."""

    inherit_cache = True
    type = BigInteger()


@compiles(TimelineEpoch)
def _none(_element: TimelineEpoch, _compiler: Any, **_options: Any) -> str:
    return "0"


@compiles(TimelineEpoch, "postgresql")
def _timeline(_element: TimelineEpoch, _compiler: Any, **_options: Any) -> str:
    # The control file tells the timeline only after the next checkpoint; the name of a log file at once.
    number = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
    return f"(({number} - 1) << {STEP_BITS})"

"""The schema of the release after 0.1.0: all of it in an empty database, and what an earlier one lacks.

Nodes of 0.1.0 go on writing rows meanwhile: so a column that is added may be null, or keeps its default.
"""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, SmallInteger, Text, false

from penchant.storage.migrations.revisions import add_missing, add_to_part
from penchant.storage.schema import (
    BY_CODE_POINT,
    accounts,
    counters,
    ended_sessions,
    erasures_by_age,
    interactions,
    keys,
    lineage,
    metadata,
    people_off,
    pieces,
    preferences,
    sources,
)

revision = "0017"
down_revision = None


def upgrade() -> None:
    """Make the tables, columns and indexes that are missing, and remove a table that was never released."""
    connection = op.get_bind()
    metadata.create_all(connection)
    lineage.create(connection, checkfirst=True)
    for column in (
        *(accounts.c.version_floor, accounts.c.signing_secret),
        *(interactions.c.event_id, interactions.c.portion),
        *(keys.c.requests_per_second, keys.c.requests_per_month),
        *(sources.c.words, sources.c.words_wanted),
        pieces.c.words,
        preferences.c.off_person,
    ):
        add_missing(column.table, Column(column.name, column.type))
    add_missing(keys, *(Column(name, Text(), nullable=False, server_default="") for name in ("scopes", "origins")))
    add_to_part("placement_versions", Column("draft", BY_CODE_POINT))
    add_to_part(
        "impressions",
        Column("stage", SmallInteger, nullable=False, server_default="0"),
        Column("by_page", Integer, nullable=False, server_default="0"),
        Column("repeated", Boolean, nullable=False, server_default=false()),
    )
    erased_at = Column("erased_at", BigInteger, nullable=False, server_default="0")
    if add_missing(counters, erased_at) and connection.dialect.name == "postgresql":
        op.alter_column(counters.name, "erased_at", server_default=None)
    for index in (erasures_by_age, people_off):
        index.create(connection, checkfirst=True)
    ended_sessions.drop(connection, checkfirst=True)

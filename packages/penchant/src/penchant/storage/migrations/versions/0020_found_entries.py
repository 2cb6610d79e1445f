"""The audit log is found by account, source, actor and subject, and counts equal entries; of which source old ones are.

What nodes of before write meanwhile is found by account and actor alone: they do not say of which source it is.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, func, or_, select, update

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import audit, sources

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the columns and indexes, unless the table was made with them, and name the sources of the entries."""
    connection = op.get_bind()
    added = (Column("of_source", BigInteger), Column("times", Integer), Column("first_at", BigInteger))
    if add_missing(audit, *added):
        # Of `a/b/c` the source may be `a` or `a/b`: then the longer one is meant, which is seldom there.
        begins = func.substr(audit.c.subject, 1, func.length(sources.c.name) + 1) == sources.c.name.concat("/")
        named = (
            select(sources.c.source_id)
            .where(sources.c.account_id == audit.c.account_id, or_(sources.c.name == audit.c.subject, begins))
            .order_by(func.length(sources.c.name).desc())
            .limit(1)
            .scalar_subquery()
        )
        is_of_source = ~or_(audit.c.action.startswith("key."), audit.c.action.startswith("account."))
        connection.execute(update(audit).where(is_of_source).values(of_source=named))
    for index in sorted(audit.indexes, key=lambda each: str(each.name)):
        index.create(connection, checkfirst=True)

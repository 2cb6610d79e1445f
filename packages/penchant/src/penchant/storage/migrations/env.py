"""Alembic's entry point: runs the revisions on the connection that the caller opened."""

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], version_table=given["version_table"])
context.run_migrations()

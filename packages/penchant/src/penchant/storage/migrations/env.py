"""Alembic's entry point: runs the revisions on the connection that the caller opened."""

from alembic import context

from penchant.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()

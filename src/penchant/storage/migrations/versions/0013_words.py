"""The columns of words: by which rule a source's pieces have them, and those of each piece."""

from sqlalchemy import Column, LargeBinary

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import pieces, sources

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    add_missing(sources, Column(sources.c.words.name, LargeBinary), Column(sources.c.words_wanted.name, LargeBinary))
    add_missing(pieces, Column(pieces.c.words.name, LargeBinary))

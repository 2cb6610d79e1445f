"""The table of sessions at the dashboard that were ended before their time, which 0012 removes again."""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make nothing: of those who come from before, nobody needs the table any more."""

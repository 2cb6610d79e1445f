"""Durability of PostgreSQL: what its settings promise of a commit, and what they do not.

An answer of 202 says that the change is on a disk. With some settings the server says "committed" before that.
"""

from typing import Any

from penchant.errors import StorageUnavailable
from penchant.telemetry import logger

LOOK = (
    "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),"
    # The session keeps what was found: a reload of the server's settings must not change it behind our back.
    " set_config('synchronous_commit', current_setting('synchronous_commit'), false)"
)
UNSYNCED = {
    "synchronous_commit": "an acknowledged change may be gone after a crash of the server",
    "fsync": "a crash of the machine may lose acknowledged changes or damage the database",
}
"""What it means that one of these is off: then a 202 would say what is not so."""
TORN_PAGES = (
    "PostgreSQL runs with full_page_writes = off: unless its file system never writes half a page,"
    " a crash of the machine may damage the database."
)
"""Only a warning: on file systems that copy on write it is safe, and nobody can see from here which one it is."""


class DurabilityCheck:
    """Checks a server's settings, at each new connection and for each health request."""

    def __init__(self, *, allow_unsynced_commits: bool) -> None:
        self._allow_unsynced_commits = allow_unsynced_commits
        self._logged: set[str] = set()

    def run(self, connection: Any) -> list[str]:
        """Return what an operator should be warned of; each is logged once.

        ``connection`` is the driver's own, or whatever executes text as that does.

        Raises:
            StorageUnavailable: commits are not synced, and no setting allows that.
        """
        *found, full_page_writes, _ = connection.execute(LOOK).fetchone()
        off = [name for name, value in zip(UNSYNCED, found, strict=True) if value == "off"]
        if off and not self._allow_unsynced_commits:
            raise StorageUnavailable(
                f"PostgreSQL runs with {' and '.join(f'{name} = off' for name in off)}: {UNSYNCED[off[-1]]}. "
                "Turn it on, or accept the loss with the setting allow-unsynced-commits.",
                retry_after_s=10,
            )
        warnings = [f"PostgreSQL runs with {name} = off: {UNSYNCED[name]}." for name in off]
        if full_page_writes == "off":
            warnings.append(TORN_PAGES)
        for warning in warnings:
            self._log_once(warning)
        return warnings

    def _log_once(self, warning: str) -> None:
        if warning not in self._logged:
            self._logged.add(warning)
            logger.warning("%s", warning)

"""Reloading on SIGHUP: the settings are read anew, and all processes go by them without a restart."""

import threading
from collections.abc import Callable
from pathlib import Path

from penchant.errors import InvalidSettings
from penchant.settings import NodeSettings, changed_settings, merge_settings, publish_settings
from penchant.telemetry import logger, start_logging


class SettingsReloader:
    """Reads the settings of a running service anew when asked to, in a thread of its own.

    What cannot be read or accepted leaves everything as it was. ``folder`` is where the processes of the service
    count together.
    """

    def __init__(self, reading: Callable[[], NodeSettings], settings: NodeSettings, folder: Path) -> None:
        self._reading = reading
        self._settings = settings
        self._folder = folder
        self._asked = threading.Event()
        threading.Thread(target=self._run, name="penchant-reload", daemon=True).start()

    def ask(self, *_signal: object) -> None:
        """Have the settings read soon; what a signal's handler may do."""
        self._asked.set()

    def reload(self) -> None:
        """Read the settings now, publish those that may change, and log what became of the others."""
        try:
            read = self._reading()
            merged = merge_settings(self._settings, read)
            publish_settings(self._folder, merged)
        except (InvalidSettings, OSError) as error:
            # The message says what is wrong with the settings; a traceback would add nothing.
            logger.error("the settings stay as they were: %s", error)
            return
        changed = changed_settings(self._settings, merged)
        waiting = changed_settings(merged, read)
        self._settings = merged
        start_logging(merged.log_level, merged.log_format)
        logger.info("settings reloaded", extra={"fields": {"changed": changed}})
        if waiting:
            logger.warning("some changed settings want a restart", extra={"fields": {"waiting": waiting}})

    def _run(self) -> None:
        while True:
            self._asked.wait()
            # Cleared before reading: a signal that comes while the settings are read has them read once more.
            self._asked.clear()
            self.reload()

"""Published settings: those that may change while a service runs, as its processes learn of them.

server, on SIGHUP:  file -> load_settings -> publish_settings -> settings.json
other processes:    settings.json -> PublishedSettings.newer -> CurrentSettings.change -> on_change
"""

import os
from pathlib import Path

import msgspec

from penchant.settings import NodeSettings

RELOADED = frozenset(
    {
        "audit_retention_days",
        "body_limit_bytes",
        "interactions_limit_bytes",
        "list_limit_bytes",
        "piece_bytes",
        "piece_keywords",
        "settings_limit_bytes",
        "source_creations_per_minute",
        "body_timeout_s",
        "index_memory_bytes",
        "log_format",
        "log_level",
        "log_requests",
        "longest_delay_s",
        "metrics_public",
        "min_version_timeout_s",
        "plans",
        "send_rate_bytes",
        "send_timeout_s",
        "stale_reads_s",
    }
)
"""The settings that may change while the service runs; all others want a restart."""
PUBLISHED_FILE = "settings.json"
"""Where these stand for the processes of a service, in the folder where they count together."""


def merge_settings(running: NodeSettings, read: NodeSettings) -> NodeSettings:
    """Return what is in force once settings were read anew: those of `RELOADED` as read, the others as they run."""
    return msgspec.structs.replace(running, **{name: getattr(read, name) for name in RELOADED})


def changed_settings(one: NodeSettings, other: NodeSettings) -> list[str]:
    """Return the names, as in the file, of the settings that differ."""
    fields = msgspec.structs.fields(NodeSettings)
    return [field.encode_name for field in fields if getattr(one, field.name) != getattr(other, field.name)]


def publish_settings(folder: Path, settings: NodeSettings) -> None:
    """Let all processes that count together in a folder go by the settings of `RELOADED`; no other is written.

    Raises:
        OSError: the folder cannot be written.
    """
    fields = msgspec.structs.fields(NodeSettings)
    published = {field.encode_name: getattr(settings, field.name) for field in fields if field.name in RELOADED}
    # In one step: whoever reads meanwhile gets the old file or the new one, never a part.
    path = folder / PUBLISHED_FILE
    written = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(published))
    written.replace(path)


class PublishedSettings:
    """The settings of `RELOADED` as they were last published in a folder, over those of the start."""

    def __init__(self, settings: NodeSettings, folder: Path | None) -> None:
        self._settings = settings
        self._path = None if folder is None else folder / PUBLISHED_FILE
        self._seen: tuple[int, int] | None = None

    def newer(self) -> NodeSettings | None:
        """Return what was published since the last look, if anything was; in some microseconds.

        Raises:
            OSError, ValueError: it cannot be read, which is told once.
        """
        content = self._newer_content()
        if content is None:
            return None
        published = msgspec.json.decode(content)
        settings = msgspec.convert(msgspec.to_builtins(self._settings) | published, NodeSettings)
        return merge_settings(self._settings, settings)

    def _newer_content(self) -> bytes | None:
        if self._path is None:
            return None
        try:
            status = self._path.stat()
            # Of two files one after the other the number may be the same, the time of the change is not.
            seen = status.st_ino, status.st_mtime_ns
            if seen == self._seen:
                return None
            self._seen = seen
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

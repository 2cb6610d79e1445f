"""Published settings: those that may change while a service runs, as its processes learn of them.

server, on SIGHUP:  file -> load_settings -> publish_settings -> settings.json
other processes:    settings.json -> PublishedSettings.newer -> CurrentSettings.change -> on_change
"""

from pathlib import Path

import msgspec

from penchant.settings import NodeSettings
from penchant.watched_file import WatchedFile, replace_file

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
        "shard_hosts",
        "shard_pieces",
        "shard_replicas",
        "shards",
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
    replace_file(folder / PUBLISHED_FILE, msgspec.json.encode(published))


class PublishedSettings:
    """The settings of `RELOADED` as they were last published in a folder, over those of the start."""

    def __init__(self, settings: NodeSettings, folder: Path | None) -> None:
        self._settings = settings
        self._file = None if folder is None else WatchedFile(folder / PUBLISHED_FILE)

    def newer(self) -> NodeSettings | None:
        """Return what was published since the last look, if anything was; in some microseconds.

        Raises:
            OSError, ValueError: it cannot be read.
        """
        content = None if self._file is None else self._file.newer()
        if content is None:
            return None
        published = msgspec.json.decode(content)
        settings = msgspec.convert(msgspec.to_builtins(self._settings) | published, NodeSettings)
        return merge_settings(self._settings, settings)

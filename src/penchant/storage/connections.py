"""Connections to a database: how many there may be, and those in use and opened, counted for the metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, QueuePool, event

from penchant.telemetry import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a process uses a PostgreSQL server.

    ``connections`` are the most that it may hold, ``timeout_s`` is how long it waits for one.
    ``allow_unsynced_commits`` lets it use a server that acknowledges changes before they are on a disk.
    """

    connections: int = 16
    timeout_s: float = 10.0
    allow_unsynced_commits: bool = False


def count_connections(engines: Sequence[Engine], metrics: Metrics) -> None:
    """Count what these engines open from now on."""
    for engine in engines:
        _count(engine, metrics)


def connections_in_use(engines: Sequence[Engine]) -> int:
    """Return how many connections are taken from the pools of these engines."""
    return sum(engine.pool.checkedout() for engine in engines if isinstance(engine.pool, QueuePool))


def _count(engine: Engine, metrics: Metrics) -> None:
    @event.listens_for(engine, "connect")
    def opened(_connection: Any, _record: Any) -> None:
        metrics.connections_opened.inc()

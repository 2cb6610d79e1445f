"""Connections to a database, counted for the metrics: those in use, and those that were opened."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, QueuePool, event

from penchant.telemetry import Metrics


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

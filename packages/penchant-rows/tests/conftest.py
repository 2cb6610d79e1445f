"""Fixtures of the tests of rows: a service in this process, and databases of both kinds."""

from storage.conftest import account, filled_sides, opening, server, sides, storage
from web.conftest import alone, clock, filled, fresh, noon, service, visitor

__all__ = [
    "account",
    "alone",
    "clock",
    "filled",
    "filled_sides",
    "fresh",
    "noon",
    "opening",
    "server",
    "service",
    "sides",
    "storage",
    "visitor",
]

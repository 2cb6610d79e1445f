"""Fixtures of the tests of words: databases of both kinds."""

from storage.conftest import account, opening, server, storage

__all__ = ["account", "opening", "server", "storage"]

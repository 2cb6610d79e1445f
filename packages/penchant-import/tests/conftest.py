"""Fixtures of the tests of imports: a package has its own beside this, typed, under a name that no other has."""

from cli.conftest import refused
from import_folders import field_limit, folder, storage, target

__all__ = ["field_limit", "folder", "refused", "storage", "target"]

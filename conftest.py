"""Fixtures that the tests of all packages share lie in tests/shared_fixtures.py."""

pytest_plugins = ["shared_fixtures"]

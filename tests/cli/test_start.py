"""What a command imports is what it needs: a start is as quick, and as small, as its imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from penchant.storage import open_storage
from penchant.storage.migrations import PRESENT, revisions

pytestmark = pytest.mark.slow

LATE = {
    "alembic",
    "httpx",
    "jinja2",
    "llvmlite",
    "markdown_it",
    "numba",
    "opentelemetry",
    "psycopg",
    "pygments",
    "rich",
    "sqlalchemy.dialects.postgresql",
}
"""What a service on SQLite does without until somebody asks for it."""


def imported_by(program: str) -> set[str]:
    """Return the modules that a program has imported at its end."""
    program += "\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    return set(done.stdout.split())


def test_the_command_line_imports_no_command() -> None:
    assert not imported_by("import penchant.cli") & {"granian", "msgspec", "numpy", "penchant.storage", "sqlalchemy"}


def test_a_service_imports_neither_the_compiler_nor_what_renders_pages() -> None:
    loaded = imported_by("import penchant.cli.serve")

    assert {"granian", "numpy", "penchant.web", "sqlalchemy"} <= loaded
    assert not loaded & LATE


def test_what_packages_bring_is_imported_when_it_is_asked_for() -> None:
    loaded = imported_by(
        "from penchant.hooks import packages\n"
        "from penchant.settings import NodeSettings\n"
        "from penchant.web.routes import interface_operations\n"
        "interface_operations()\n"
        "packages().mounts(NodeSettings())"
    )

    assert {"penchant_desk.plugin", "penchant_rows.web", "penchant_words.texts"} <= loaded
    assert not loaded & (LATE | {"penchant_client", "penchant_desk.application", "stopwordsiso"})


def test_a_current_database_is_opened_without_alembic(tmp_path: Path) -> None:
    open_storage(folder=tmp_path).close()

    opening = f"import pathlib, penchant.storage as s; s.open_storage(folder=pathlib.Path({str(tmp_path)!r})).close()"
    assert "alembic" not in imported_by(opening)
    assert revisions.known_revisions()[0] == PRESENT

"""The rules of the code's shape that a test can hold."""

import ast
import re
from pathlib import Path

import pytest

import penchant

ROOT = Path(penchant.__file__).parent
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
LEVELS = (
    {"errors", "model"},
    {"settings", "telemetry", "tracing"},
    {"wire", "index", "profiles", "ranking", "storage"},
    {"live", "importing"},
    {"service"},
    {"web"},
    {"bootstrap"},
    {"bench", "evaluation"},
    {"cli"},
    {"__main__"},
    {"client"},
)
CLIENT_IMPORTS = {"client", "errors", "wire"}
"""The client stands apart: nobody imports it, and it shares only what is written over HTTP."""
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "versions" not in path.parts]
NAMES = [str(path.relative_to(ROOT)) for path in FILES]


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def level_of(part: str) -> int:
    return next(number for number, parts in enumerate(LEVELS) if part in parts)


def imported_parts(tree: ast.Module) -> set[str]:
    """Return which of the project's parts a file imports."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "penchant" else [node.module]
            )
            modules |= set(names)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in modules if name.startswith("penchant.") and "__version__" not in name}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_part_imports_itself_and_lower_levels_only(path: Path) -> None:
    part = part_of(path)
    if part in {"__init__", "demo"}:
        return
    for imported in imported_parts(ast.parse(path.read_text())):
        assert imported == part or level_of(imported) < level_of(part), f"{part} imports {imported}"


def test_the_client_stands_apart() -> None:
    imported = {part for path in (ROOT / "client").glob("*.py") for part in imported_parts(ast.parse(path.read_text()))}

    assert {"client", "wire"} <= imported <= CLIENT_IMPORTS


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_files_and_functions_stay_short_and_described(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MAX_FUNCTION_LINES, node.name
            inner = [each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]
            assert not inner, f"{node.name} imports"


@pytest.mark.parametrize(
    ("pattern", "homes"),
    (
        (r"\bos\.environ\b", "settings.py"),
        (r"\b(?:from|import) sqlalchemy\b", "storage/"),
        (r"\b(?:from|import) starlette\b", "web/"),
        (r"\bstatus_code\b", "web/|client/"),
        (r"\b(?:from|import) httpx\b", "client/"),
        (r"\b(?:from|import) click\b", "cli/"),
        (r"\b(?:from|import) granian\b", "cli/"),
    ),
)
def test_each_thing_lives_in_its_room(pattern: str, homes: str) -> None:
    strangers = [
        name
        for name, path in zip(NAMES, FILES, strict=True)
        if re.search(pattern, path.read_text()) and not re.search(homes, name)
    ]

    assert strangers == []


@pytest.mark.parametrize("part", ("index", "profiles.py", "ranking.py"))
def test_pure_parts_know_no_clock_thread_or_file(part: str) -> None:
    for path in [ROOT / part] if part.endswith(".py") else sorted((ROOT / part).glob("*.py")):
        imports = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not imports & {"time", "datetime", "threading", "asyncio", "os", "pathlib", "random"}


def test_no_two_rooms_are_called_utilities() -> None:
    assert not [name for name in NAMES if re.search(r"util|helper|common|core|manager", name)]

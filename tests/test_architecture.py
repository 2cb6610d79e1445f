"""The rules of the code's shape that a test can hold."""

import ast
import functools
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import penchant.errors

TOP = Path(__file__).parents[1]
PACKAGES = {path.parent.name: path for path in sorted(TOP.glob("packages/*/pyproject.toml"))}
"""The pyproject.toml of each package, by its name."""
ROOTS = [next((path.parent / "src").iterdir()) for path in PACKAGES.values()]
ROOT = Path(penchant.__file__).parent
MAX_FUNCTION_LINES = 60
IMPORTED_AS = {"markdown_it_py": "markdown_it"}
"""What a distribution is imported as where that is another name."""
MAY_KNOW_FILES = {"compiling", "moments", "owned_folders", "recommender"}
"""Modules of the engine that are no pure ones: what they know is said in their docstrings."""
MOST_FILES = 25
"""Files in a folder that can be overlooked at once."""
LEVELS = (
    {"covers", "differences", "errors", "normalizing", "pickling", "vocabulary"},
    {"hooks"},
    {"model"},
    {"enrichment"},
    {"clock", "settings", "telemetry", "tracing"},
    {"wire", "experiments", "storage", "findings"},
    {"live"},
    {"importing"},
    {"service"},
    {"web"},
    {"bootstrap"},
    {"cli"},
    {"__main__"},
    {"client"},
)
ENGINE_LEVELS = (
    {"bounded_cache", "computed", "errors", "moments", "owned_folders", "steps"},
    {"model"},
    {"attributes"},
    {"index", "repeats", "ranking"},
    {"views", "compiling"},
    {"lists"},
    {"checking"},
    {"frames"},
    {"conditions", "records"},
    {"catalogue", "interactions"},
    {"saving", "peers"},
    {"recommender"},
    {"lenskit", "rectools"},
    {"__init__"},
)
LEVELS_OF = {"penchant": LEVELS, "penchant_engine": ENGINE_LEVELS}
"""The levels of packages that have some; of the others no two modules need each other, and that is all."""
LATE_IMPORTS = {"redis", "opentelemetry", "scipy", "sparse_dot_topn", "psycopg", "llvmlite"}
LATE_IMPORTS |= {"importlib", "pyarrow", "pandas", "polars", "penchant", "penchant_desk", "penchant_engine", "jinja2"}
LATE_IMPORTS |= {"ray", "rdflib", "python_calamine", "stopwordsiso", "penchant_words"}
"""What a function may import: packages of extras, and slow ones that most commands do without, kernels among these."""
PEER_IMPORTS = {"pydantic", "pandas", "scipy"}
"""What the tools bring that a module is a model of, which has the name of its extra."""
ERRORS = {name for name, value in vars(penchant.errors).items() if isinstance(value, type)}
PARTICIPLE = re.compile(r"(?!Feed|Seed|String|Field)[A-Z][a-z]+(?:ed|ing|own|eld|ought)")
FILES = [path for root in ROOTS for path in sorted(root.rglob("*.py")) if "versions" not in path.parts]


def root_of(path: Path) -> Path:
    return next(root for root in ROOTS if root in path.parents)


def name_of(path: Path) -> str:
    root = root_of(path)
    return str(path.relative_to(root if root == ROOT else root.parent))


NAMES = [name_of(path) for path in FILES]


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@functools.cache
def definitions_in(path: Path) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, kinds)]


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in definitions_in(path) if not isinstance(node, ast.ClassDef)]


def part_of(path: Path) -> str:
    return path.relative_to(root_of(path)).parts[0].removesuffix(".py")


def level_of(part: str, levels: Sequence[set[str]]) -> int:
    return next(number for number, parts in enumerate(levels) if part in parts)


def imported_parts(path: Path) -> set[str]:
    """Return which parts of its own package a file imports, but for what only its types name."""
    own, text = root_of(path).name, re.sub(r"^if TYPE_CHECKING:\n(?: +.+\n)+", "", text_of(path), flags=re.MULTILINE)
    found = re.findall(rf"^ *(?:from|import) {own}(?:\.(\w+)| import (.+))", text, re.MULTILINE)
    return {part for one, several in found for part in (one or several).split(", ")} - {"__version__"}


def test_what_takes_the_square_of_a_text_is_called_where_the_text_is_cut_first() -> None:
    calls = re.compile(r"unicodedata\.normalize\(|html\.unescape\(|import HTMLParser")
    found = {name for name, path in zip(NAMES, FILES, strict=True) if calls.search(text_of(path))}
    # A page that somebody saved is read once, by the command of who has it.
    assert found == {
        "normalizing.py",
        "penchant_words/texts.py",
        "penchant_import/rules.py",
        "penchant_import/report.py",
        "penchant_import/formats/schema_org.py",
    }


def test_a_part_imports_itself_and_lower_levels_only() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        if root_of(path).name not in LEVELS_OF:
            continue
        part, levels = part_of(path), LEVELS_OF[root_of(path).name]
        for imported in imported_parts(path) if part not in {"__init__", "demo"} else ():
            assert imported == part or level_of(imported, levels) < level_of(part, levels), f"{name} imports {imported}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_what_its_pyproject_names(package: str) -> None:
    project = tomllib.loads(PACKAGES[package].read_text())["project"]
    named, extras = project["dependencies"], project.get("optional-dependencies", {})
    needed = {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in named}
    # The client is an extra of the service, and goes by its former name there.
    needed |= {"penchant_client"} if package == "penchant" else set()
    needed = {IMPORTED_AS.get(name, name) for name in needed} | {package.replace("-", "_")} | sys.stdlib_module_names
    for path in (path for path in FILES if root_of(path).name == package.replace("-", "_")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                # What may be missing, or takes long, is imported where it is used.
                late = LATE_IMPORTS if node.col_offset else set()
                late = late | PEER_IMPORTS | {path.stem} if path.stem in extras else late
                strangers = {name.split(".")[0] for name in names} - needed - late
                assert not strangers, f"{name_of(path)} imports {strangers}"


def test_all_packages_are_of_one_version() -> None:
    texts = [path.read_text() for root in ROOTS for path in root.glob("*.py")]
    versions = [version for text in texts for version in re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)]
    pins = {pin for path in PACKAGES.values() for pin in re.findall(r'"penchant[\w-]*==(.+?)"', path.read_text())}
    clients = {json.loads(path.read_text())["version"] for path in TOP.glob("clients/*/package*.json")}
    (chart,) = re.findall(r"^version: (.+)$", (TOP / "deploy" / "chart" / "Chart.yaml").read_text(), re.MULTILINE)

    assert len(versions) == len(PACKAGES)
    assert len({*versions}) == 1
    assert pins == clients == {chart} == {*versions}


@pytest.mark.slow
def test_files_are_described_and_functions_stay_short() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        assert ast.get_docstring(tree_of(path)), name
        for function in functions_of(path):
            assert (function.end_lineno or 0) - function.lineno < MAX_FUNCTION_LINES, f"{name}: {function.name}"


@pytest.mark.slow
def test_only_extras_and_slow_packages_are_imported_in_functions_one_for_each_with_a_reason() -> None:
    for home, path in zip(NAMES, FILES, strict=True):
        lines = text_of(path).splitlines()
        importers = defaultdict(set)
        for function in functions_of(path) if re.search(r"^ +(?:from|import) ", text_of(path), re.MULTILINE) else ():
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    name = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
                    importers[name.split(".")[0]].add(function.name)
                    has_reason = re.search(r"# noqa: PLC0415  # \w", lines[node.lineno - 1])
                    assert has_reason, f"{home}: {function.name} says no reason"

        # What a package brings is imported when it is asked for.
        if home.endswith("/plugin.py"):
            continue
        assert set(importers) <= LATE_IMPORTS, home
        assert {name: found for name, found in importers.items() if len(found) > 1} == {}, home


@pytest.mark.parametrize(
    ("pattern", "homes"),
    (
        (r"\bos\.environ\b", "settings.py|penchant_engine/compiling.py|penchant_import/commands/"),
        (r"\b(?:from|import) sqlalchemy\b", "storage/"),
        (r"\b(?:from|import) starlette\b", "web/"),
        (r"\bstatus_code\b", "web/|penchant_client/"),
        (r"\b(?:from|import) httpx\b", "penchant_client/|penchant_mcp/"),
        (
            r"\b(?:from|import) click\b",
            "cli/|commands?/|penchant_batch/recommend.py|/command.py",
        ),
        (r"\b(?:from|import) granian\b", "cli/|penchant_desk/command"),
        (r"[\"'](?:Click|Bookmark|RateDislike)[\"']", "penchant_engine/model.py|penchant_client/records.py"),
    ),
)
def test_each_thing_lives_in_its_room(pattern: str, homes: str) -> None:
    strangers = [
        name
        for name, path in zip(NAMES, FILES, strict=True)
        if re.search(pattern, text_of(path)) and not re.search(homes, name)
    ]

    assert strangers == []


NAMES_WORDS = {"enrichment.py", "findings.py"}
"""What of the core names words of texts: what stood alone before others could."""


def test_the_core_names_no_words_of_texts() -> None:
    strangers = {
        name
        for name, path in zip(NAMES, FILES, strict=True)
        if root_of(path).name == "penchant" and re.search(r"penchant_words|WORDS_CATEGORY|stop_?words", text_of(path))
    }

    assert strangers == NAMES_WORDS


@pytest.mark.slow
def test_no_module_is_needed_by_what_it_needs() -> None:
    modules = {".".join(path.relative_to(root_of(path).parent).with_suffix("").parts): path for path in FILES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        imports = [node for node in tree_of(path).body if isinstance(node, ast.ImportFrom)]
        named = {(f"{node.module}.{each.name}", node.module or "") for node in imports for each in node.names}
        needs[name] = {module if module in modules else home for module, home in named if home in modules}

    # Raises `CycleError`, which names the circle.
    assert len([*TopologicalSorter(needs).static_order()]) == len(modules)


def test_a_room_can_be_overlooked() -> None:
    files = Counter(path.parent.relative_to(TOP).as_posix() for root in ROOTS for path in root.rglob("*.py"))

    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}


OF_ROWS = re.compile(r"(?<!dis)placement|impression|drafts?\b|import penchant_rows|from penchant_rows", re.IGNORECASE)
NAMES_ROWS = {
    "model.py": "the feature `placements` of plans (interface)",
    "settings.py": "the feature `placements` of plans",
    "wire/catalogue_answers.py": "findings and days of a source count what its rows showed",
    "wire/samples.py": "a sample of these, and of a piece that is tried, a draft",
    "wire/schemas.py": "pieces that are tried",
    "wire/pieces.py": "pieces that are tried",
    "service/health_reports.py": "members of health and activity (interface)",
    "web/curation.py": "members of health and activity (interface)",
    "web/parameters.py": "members of health and activity (interface)",
    "web/explanations.py": "pieces that are tried",
}
"""Files of the core that name a placement, an impression or a draft, or import what is of rows, with the reason."""


def test_the_core_names_no_rows_where_it_needs_not() -> None:
    found = {
        name
        for name, path in zip(NAMES, FILES, strict=True)
        if root_of(path).name in LEVELS_OF and OF_ROWS.search(text_of(path))
    }

    assert found == NAMES_ROWS.keys()


PURE = [ROOT / "experiments.py", *(path for path in FILES if root_of(path).name == "penchant_engine")]


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_pure_parts_know_no_clock_thread_or_file(path: Path) -> None:
    if part_of(path) not in MAY_KNOW_FILES and "compiled" not in path.parts:
        imports = {
            alias.name for node in ast.walk(tree_of(path)) if isinstance(node, ast.Import) for alias in node.names
        }
        assert not imports & {"time", "datetime", "threading", "asyncio", "os", "pathlib", "random"}


@pytest.mark.slow
def test_a_class_name_exists_once_and_is_a_noun() -> None:
    homes = defaultdict(list)
    for name, path in zip(NAMES, FILES, strict=True):
        for node in definitions_in(path):
            if isinstance(node, ast.ClassDef):
                # The client has the service's errors and records under their names.
                homes[name.startswith("penchant_client/"), node.name.lstrip("_")].append(name)

    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
    assert [name for _, name in homes if PARTICIPLE.fullmatch(name) and name not in ERRORS] == []


def test_no_two_rooms_are_called_utilities() -> None:
    assert not [name for name in NAMES if re.search(r"util|helper|common|core|manager", name)]


def test_decisions_are_short_the_newest_first_and_what_code_cites_exists() -> None:
    page = (TOP / "docs" / "decisions.md").read_text()
    entries = re.findall(r"^- (.*(?:\n  .*)*)", page, re.MULTILINE)
    numbers = [int(number) for number in re.findall(r"^- \*\*D(\d+)\. ", page, re.MULTILINE)]
    cited = {int(number) for path in FILES for number in re.findall(r"\bD(\d+)\s+of docs/decisions\.md", text_of(path))}

    assert len(entries) == len(numbers), "a decision begins with its number"
    assert numbers == sorted(set(numbers), reverse=True), "a new one takes the next number and stands above all others"
    assert [entry for entry in entries if entry.count("\n") >= 5] == [], "a decision has five lines at most"
    assert len(cited) >= 15
    assert cited <= set(numbers)


def test_a_word_of_the_glossary_has_one_meaning() -> None:
    glossary = (TOP / "docs" / "reference" / "glossary.md").read_text()
    rows = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", glossary, re.MULTILINE)
    words = [word for word, _ in rows]

    assert len(words) >= 40
    assert [word for word in words if words.count(word) > 1] == []


def test_the_architecture_is_short_and_draws_every_part() -> None:
    page = (TOP / "ARCHITECTURE.md").read_text()
    diagram = page.split("```")[1]
    parts = {part_of(path) for path in FILES if root_of(path).name in LEVELS_OF} - {"__init__"}

    assert len(page.splitlines()) <= 200
    assert [part for part in sorted(parts) if not re.search(rf"\b{part}\b", diagram)] == []


def test_what_contributing_points_to_is_there() -> None:
    page = (TOP / "CONTRIBUTING.md").read_text()
    pointers = re.findall(r"`([a-z_/]+\.py)(?:: (\w+))?`", page)
    homes = {
        path: next(
            (folder for folder in (*ROOTS, *(root.parent for root in ROOTS), TOP) if (folder / path).is_file()), None
        )
        for path, _ in pointers
    }

    assert len(pointers) > 40
    assert [path for path, home in homes.items() if home is None] == [], "moved: say in CONTRIBUTING.md where it is now"
    for path, name in pointers:
        text = ((homes[path] or ROOT) / path).read_text()
        assert not name or re.search(rf"\b(def|class) {name}\b|^{name}\b.* = ", text, re.MULTILINE), (path, name)

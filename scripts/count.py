"""Counts the house: lines and files of the code, files a folder, lines of tests, words of documents.

sh scripts/count            this checkout
sh scripts/count OTHER ...  others, such as a worktree of the revision before
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

EVERYDAY = ("found", "made", "asked", "wanted", "said", "told")
"""Words of everyday speech that are no name for a concept (CONTRIBUTING, names)."""


def code_lines(text: str) -> int:
    """Return how many lines have code: neither blank, nor comment, nor docstring."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines & {number for number, line in enumerate(text.splitlines(), start=1) if line.strip()})


def names(text: str) -> Counter[str]:
    """Return how often each name is used in a file."""
    tree = ast.parse(text)
    used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return Counter(used)


MADE = "<!-- by scripts/"
"""What stands behind this in a document was written by a script."""


def words(paths: Iterable[Path]) -> int:
    """Return how many words documents have that somebody has written."""
    return sum(len(path.read_text().partition(MADE)[0].split()) for path in paths)


def documents_of(root: Path) -> list[Path]:
    """Return the documents of a checkout, but for the changelog, which only grows."""
    beside = [path for path in root.glob("*.md") if path.name != "CHANGELOG.md"]
    return [*beside, *(root / "docs").rglob("*.md"), *root.glob("packages/*/README.md")]


def sources_of(root: Path) -> list[Path]:
    """Return the files of all packages of a checkout, or of the one that there was."""
    folders = [*root.glob("packages/*/src")] or [root / "src"]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def counts(root: Path) -> dict[str, str]:
    """Return what is counted of a checkout, by what it is called."""
    source = {path: path.read_text() for path in sources_of(root)}
    tests = [path.read_text() for path in sorted((root / "tests").rglob("*.py"))]
    folders = Counter(path.parent for path in source)
    fullest, files = folders.most_common(1)[0]
    everyday = sum((names(text) for text in source.values()), Counter[str]())
    return {
        "lines of all src": str(sum(text.count("\n") for text in source.values())),
        "  of these code": str(sum(map(code_lines, source.values()))),
        "files": str(len(source)),
        "most files in a folder": f"{files} ({fullest.relative_to(root)})",
        "lines of tests": str(sum(text.count("\n") for text in tests)),
        "words of documents": str(words(documents_of(root))),
        "  beside the code": str(words(root.glob("packages/*/src/**/*.md"))),
        "everyday words as names": " ".join(f"{each} {everyday[each]}" for each in EVERYDAY),
        "private names of numba": str(sum(len(re.findall(r"numba\.core|\._tm\b", text)) for text in source.values())),
    }


def main(roots: list[str]) -> None:
    """Print the table of some checkouts, a column each."""
    here = Path(__file__).parent.parent
    tables = [counts(Path(root)) for root in roots or [str(here)]]
    for name in tables[0]:
        print(f"{name:26}" + "".join(f"{table[name]:>28}" for table in tables))


if __name__ == "__main__":
    main(sys.argv[1:])

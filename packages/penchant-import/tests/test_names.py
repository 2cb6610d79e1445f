"""Names of this package: a word of everyday speech is no name for what others call."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import penchant_import

WORDS = re.compile(r"(?:\b|_)(?:told|found|shown|each|asked|leave|said|wanted|made|gone|held)(?:\b|_)", re.IGNORECASE)
OF_OTHERS = {"shown_in"}
"""Members that records of the service have, which hands these out."""


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield what a module, and the classes in it, define for others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        for inner in node.body if isinstance(node, ast.Module | ast.ClassDef) else ():
            targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_no_definition_is_called_by_a_word_of_everyday_speech() -> None:
    files = sorted(Path(penchant_import.__file__).parent.rglob("*.py"))

    names = {name for file in files for name in names_in(ast.parse(file.read_text(encoding="utf-8")))}

    assert len(names) > 800
    assert sorted(name for name in names if WORDS.search(name)) == sorted(OF_OTHERS)

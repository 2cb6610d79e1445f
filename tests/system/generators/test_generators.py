"""Clients of generators that npm and PyPI have: each compiles and does a round with a service. CI runs these."""

import shutil

import pytest

from generators.workshop import HERE, PYTHON, TOOLS, Workshop

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="no .generators: sh scripts/generators installs the tools"),
]


@pytest.mark.parametrize("form", ("exact", "generators"))
def test_linters_have_nothing_to_say(workshop: Workshop, form: str) -> None:
    (workshop.folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')

    workshop.run("redocly", "lint", "--max-problems", "1000", f"{form}.json")
    assert "No results" in workshop.run("spectral", "lint", "--fail-severity", "hint", f"{form}.json")


def test_openapi_typescript_with_openapi_fetch(workshop: Workshop) -> None:
    workshop.run("openapi-typescript", "exact.json", "-o", "exact.ts")

    workshop.run_typescript("fetch", "--noUncheckedIndexedAccess")


def test_hey_api(workshop: Workshop) -> None:
    workshop.run("openapi-ts", "-i", "exact.json", "-o", "hey", "-c", "@hey-api/client-fetch")

    workshop.run_typescript("hey")


def test_openapi_python_client(workshop: Workshop) -> None:
    # A text here: our own type checker knows no generated code.
    shutil.copy(HERE / "programs" / "client.txt", workshop.folder / "client.py")
    (workshop.folder / "config.json").write_text('{"content_type_overrides": {"application/x-ndjson": "text/plain"}}')
    words = ("--path", "generators.json", "--output-path", "penchant_client", "--meta", "none")
    said = workshop.run("openapi-python-client", "generate", *words, "--config", "config.json")

    assert "WARNING" not in said, said  # it leaves out what it cannot read, and goes on
    workshop.run("mypy", "--config-file=", "--strict", "client.py")
    assert "passed" in workshop.run(PYTHON, "client.py")

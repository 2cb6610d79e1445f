"""Clients that other people's generators make of the OpenAPI document: each compiles and does a round with a service.

The tools are installed by ``sh scripts/generators``, pinned by their locks, into ``.generators``; without them these
tests are skipped.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.servers import Server

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".generators"
PROGRAMS = HERE / "programs"
BUNDLED = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--types", "node")
RESOLUTION = ("--module", "preserve", "--moduleResolution", "bundler")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="no .generators: sh scripts/generators installs the tools"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("generators") / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture
def folder(server: Server) -> Path:
    """A folder among the tools, so that these find their libraries, with both forms of the document."""
    place = TOOLS / "work"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "ruff.toml").touch()  # what is generated is put in order by its generator's rules, not by ours
    for name, address in (("exact", "/-/openapi.json"), ("generators", "/-/openapi.json?for=generators")):
        (place / f"{name}.json").write_bytes(server.client.get(address).content)
    return place


def run(folder: Path, server: Server, *words: str) -> str:
    """Run a tool or a program in the folder and return what it printed; it must end well."""
    bins = [str(TOOLS / "node_modules" / ".bin"), str(TOOLS / "python" / "bin"), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(bins), "ADDRESS": server.url, "KEY": server.key}
    done = subprocess.run(
        list(words), cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ("exact", "generators"))
def test_linters_have_nothing_to_say(folder: Path, server: Server, form: str) -> None:
    (folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')

    run(folder, server, "redocly", "lint", "--max-problems", "1000", f"{form}.json")
    assert "No results" in run(folder, server, "spectral", "lint", "--fail-severity", "hint", f"{form}.json")


def test_openapi_typescript_with_openapi_fetch(folder: Path, server: Server) -> None:
    shutil.copy(PROGRAMS / "fetch.ts", folder)
    run(folder, server, "openapi-typescript", "exact.json", "-o", "exact.ts")

    run(folder, server, "tsc", *BUNDLED, "--noUncheckedIndexedAccess", *RESOLUTION, "fetch.ts")
    run(folder, server, "esbuild", "fetch.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=out.mjs")
    assert "passed" in run(folder, server, "node", "out.mjs")


def test_hey_api(folder: Path, server: Server) -> None:
    shutil.copy(PROGRAMS / "hey.ts", folder)
    run(folder, server, "openapi-ts", "-i", "exact.json", "-o", "hey", "-c", "@hey-api/client-fetch")

    run(folder, server, "tsc", *BUNDLED, *RESOLUTION, "hey.ts")
    run(folder, server, "esbuild", "hey.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=out.mjs")
    assert "passed" in run(folder, server, "node", "out.mjs")


def test_openapi_python_client(folder: Path, server: Server) -> None:
    shutil.copy(PROGRAMS / "client.txt", folder / "client.py")  # our own type checker knows no generated code
    words = ("--path", "generators.json", "--output-path", "penchant_client", "--meta", "none")
    run(folder, server, "openapi-python-client", "generate", *words)

    run(folder, server, "mypy", "--config-file=", "--strict", "client.py")
    assert "passed" in run(folder, server, str(TOOLS / "python" / "bin" / "python"), "client.py")


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
def test_oapi_codegen(folder: Path, server: Server) -> None:
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / "tools" / name, folder)
    shutil.copy(PROGRAMS / "main.go", folder)
    (folder / "penchant").mkdir()
    words = ("-package", "penchant", "-generate", "types,client", "-o", "penchant/penchant.go", "generators.json")
    run(folder, server, "go", "tool", "oapi-codegen", *words)

    run(folder, server, "go", "build", "-o", "client", ".")
    assert "passed" in run(folder, server, "./client")

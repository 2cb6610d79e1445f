"""Clients of oapi-codegen and openapi-generator in six languages: each compiles and does a round with a service."""

import shutil
from pathlib import Path

import pytest

from generators.workshop import HERE, PYTHON, TOOLS, Workshop

JAVA = TOOLS / "java"
NAMES = {
    "invokerPackage": "penchant",
    "apiPackage": "penchant.api",
    "modelPackage": "penchant.model",
    "openApiNullable": "false",
    "annotationLibrary": "none",
    "documentationProvider": "none",
}
"""Of Java: where everything lies, and nothing that needs further libraries."""


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program}")


openapi_generator = pytest.mark.skipif(
    not JAVA.is_dir(), reason="no openapi-generator: sh scripts/generators installs it where there are Java and Maven"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="no .generators: sh scripts/generators installs the tools"),
]


def generate(workshop: Workshop, language: str, *words: str, into: str = "client", **properties: str) -> Path:
    """Have openapi-generator make a client, and return its folder."""
    (jar,) = JAVA.glob("openapi-generator-cli-*.jar")
    listed = ",".join(f"{name}={value}" for name, value in properties.items())
    more = ("-p", listed) if listed else ()
    workshop.run(
        "java", "-jar", str(jar), "generate", "-i", "generators.json", "-g", language, "-o", into, *words, *more
    )
    return workshop.folder / into


@needs("go")
def test_oapi_codegen(workshop: Workshop) -> None:
    workshop.fetch("main.go", "go.mod", "go.sum")
    (workshop.folder / "penchant").mkdir()
    words = ("-package", "penchant", "-generate", "types,client", "-o", "penchant/penchant.go", "generators.json")
    workshop.run("go", "tool", "oapi-codegen", *words)

    workshop.run("go", "build", "-o", "client", ".")
    assert "passed" in workshop.run("./client")


@openapi_generator
@needs("go")
def test_openapi_generator_go(workshop: Workshop) -> None:
    workshop.fetch("round.go", "go.mod", "go.sum")
    made = generate(workshop, "go", into="penchant", packageName="penchant", withGoMod="false", isGoSubmodule="true")
    shutil.rmtree(made / "test")  # its tests of nothing need further modules

    workshop.run("go", "build", "-o", "client", ".")
    assert "passed" in workshop.run("./client")


@openapi_generator
@pytest.mark.parametrize("library", ("okhttp-gson", "native"))
def test_openapi_generator_java(workshop: Workshop, library: str) -> None:
    workshop.fetch("Round.java", f"{library}/Connection.java")
    made = generate(workshop, "java", "--library", library, **NAMES)

    sources = [str(path) for path in (made / "src" / "main").rglob("*.java")]
    libraries = str(JAVA / "lib" / "*")
    workshop.run("javac", "-nowarn", "-cp", libraries, "-d", "out", "Round.java", "Connection.java", *sources)
    assert "passed" in workshop.run("java", "-cp", f"out:{libraries}", "Round", f"{library}/films")


@openapi_generator
def test_openapi_generator_typescript_fetch(workshop: Workshop) -> None:
    generate(workshop, "typescript-fetch")

    workshop.run_typescript("round")


@openapi_generator
def test_openapi_generator_python(workshop: Workshop) -> None:
    made = generate(workshop, "python", packageName="penchant_client")

    # A text here: our own type checker knows no generated code.
    shutil.copy(HERE / "programs" / "round.txt", made / "round.py")
    assert "passed" in workshop.run(PYTHON, "client/round.py")


@openapi_generator
@needs("cargo")
def test_openapi_generator_rust(workshop: Workshop) -> None:
    workshop.fetch("round.rs", "Cargo.toml")
    generate(workshop, "rust", packageName="penchant", supportAsync="false", avoidBoxedModels="true")

    assert "passed" in workshop.run("cargo", "run", "--quiet")


@openapi_generator
def test_openapi_generator_csharp(workshop: Workshop) -> None:
    generate(workshop, "csharp", packageName="Penchant")

    pytest.skip("made, but neither compiled nor run: Debian and the other package registries have no .NET SDK")

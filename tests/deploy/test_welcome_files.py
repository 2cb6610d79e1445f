"""Files that forges, editors and visitors read: they name scripts that exist and the Pythons that are supported."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from penchant.cli.demo import GREETING

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(ROOT.glob(".*/workflows/*.yml"))
SCRIPT = re.compile(r"(?:sh|bash) ((?:scripts|\.ci)/[\w-]+)")
READ = [
    *WORKFLOWS,
    ROOT / ".pre-commit-config.yaml",
    ROOT / ".devcontainer" / "devcontainer.json",
    ROOT / ".ci" / "run",
    ROOT / "CONTRIBUTING.md",
]


def jobs_of(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text())["jobs"]
    return found


def test_both_forges_check_the_same() -> None:
    one, other = [json.dumps(jobs_of(file)).replace("ubuntu-latest", "docker") for file in WORKFLOWS]

    assert one == other


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=str)
def test_unit_and_full_run_on_every_python_from_the_oldest_on(workflow: Path) -> None:
    project = tomllib.loads((ROOT / "packages" / "penchant" / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"]

    for name in ("unit", "full"):
        versions = jobs_of(workflow)[name]["strategy"]["matrix"]["python"]
        assert versions == ["3.11", "3.12", "3.13", "3.14"]
        assert oldest == f">={versions[0]}"


@pytest.mark.parametrize("file", READ, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_script_that_is_named_exists(file: Path) -> None:
    named = SCRIPT.findall(file.read_text())

    assert named
    assert [script for script in named if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize(
    "script", sorted(path for path in (ROOT / "scripts").iterdir() if not path.suffix), ids=lambda script: script.name
)
def test_scripts_are_of_the_posix_shell(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


def test_the_readme_prints_what_the_demo_greets_with() -> None:
    (printed,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)

    told = GREETING.format(address="http://127.0.0.1:8080", key="pk_…", key_file="penchant-data/demo-key.txt")
    assert told.startswith(f"\n{printed}")


@pytest.mark.parametrize(
    "name", ("README.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "tests/README.md")
)
def test_relative_links_lead_somewhere(name: str) -> None:
    page = ROOT / name

    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []

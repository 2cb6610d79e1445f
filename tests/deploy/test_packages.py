"""Each package builds, and its wheel alone, beside what it names, answers the first example of its README."""

import doctest
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from acceptance.servers import Server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])
RUN = "import doctest, sys; sys.exit(bool(doctest.testfile(sys.argv[1], module_relative=False).failed))"
MAX_CLIENT_BYTES = 15_000_000
"""What a client takes with all that it needs (docs/how-to/client.md says 6 MB)."""


def needed_by(name: str) -> set[str]:
    """Return the distributions that one needs, and those that they need."""
    found, wanted = set[str](), [name]
    while wanted:
        each = wanted.pop()
        if each not in found:
            found.add(each)
            needs = map(Requirement, distribution(each).requires or ())
            wanted += [
                need.name.lower() for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})
            ]
    return found


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    packages = [str(path) for path in sorted((ROOT / "packages").iterdir())]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--no-build-isolation", "--wheel-dir", str(folder), *packages],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return folder


def installed(wheels: Path, package: str, folder: Path) -> Path:
    """Return a folder with the wheel of a package and all that it needs, and nothing else."""
    folder.mkdir(exist_ok=True)
    for name in needed_by(package):
        if name.startswith("penchant"):
            (wheel,) = wheels.glob(f"{name.replace('-', '_')}-*.whl")
            zipfile.ZipFile(wheel).extractall(folder)
            continue
        tops = {str(path).split("/", 1)[0] for path in distribution(name).files or ()}
        for top in tops - {"..", "__pycache__"}:
            if (SITE / top).exists() and not (folder / top).exists():
                (folder / top).symlink_to(SITE / top)
    return folder


@pytest.mark.parametrize(
    "package", ("penchant-engine", "penchant-import", "penchant-lab", "penchant-mcp", "penchant-rows", "penchant-words")
)
def test_a_wheel_alone_answers_the_first_example_of_its_readme(wheels: Path, package: str, tmp_path: Path) -> None:
    readme = ROOT / "packages" / package / "README.md"
    assert doctest.DocTestParser().get_examples(readme.read_text())

    ran = subprocess.run(
        [sys.executable, "-S", "-c", RUN, str(readme)],
        env={"PYTHONPATH": str(installed(wheels, package, tmp_path)), "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_client_alone_is_small_and_answers_the_first_example_of_its_readme(wheels: Path, tmp_path: Path) -> None:
    folder = installed(wheels, "penchant-client", tmp_path / "installed")
    readme = (ROOT / "packages" / "penchant-client" / "README.md").read_text()
    (example,) = re.findall(r"```py\n(.*?)```", readme, re.DOTALL)
    server = Server(tmp_path / "data")

    program = example.replace("http://127.0.0.1:8080", server.url).replace("pk_your_key", server.key)
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert server.stop() == 0
    assert "moon" in ran.stdout, ran.stderr
    files = [Path(top, name) for top, _, names in os.walk(folder, followlinks=True) for name in names]
    assert 1_000_000 < sum(each.stat().st_size for each in files) < MAX_CLIENT_BYTES

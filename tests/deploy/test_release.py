"""The script that cuts a release, tried on a clone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ("packages/penchant/src/penchant/__init__.py", "packages/penchant-client/src/penchant_client/version.py")
OTHERS = {
    "packages/penchant/pyproject.toml": 'needs = ["penchant-engine==0.9.0", "penchant==0.9.0", "click==8.5"]\n',
    "clients/elements/package.json": '{\n  "version": "0.9.0"\n}\n',
    "clients/elements/package-lock.json": '"version": "0.9.0",\n' + "\n" * 9 + '"version": "0.9.0"\n',
    "deploy/chart/Chart.yaml": "name: penchant\nversion: 0.9.0\n",
}
"""What names the version besides; further down in a lock file it is another's."""
ENTRY = "## Unreleased\n\n### Added\n\n- Something.\n"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with what the script reads: version, changelog, and the script itself."""
    folder = tmp_path / "clone"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/release", folder / "scripts")
    for name in VERSIONS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('__version__ = "0.9.0"\n')
    for name, text in OTHERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{ENTRY}\n## 0.9.0 (2026-01-01)\n\n- The first.\n")
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@example.org")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def release(clone: Path, version: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "scripts/release", version], cwd=clone, capture_output=True, text=True, check=False)


def test_a_release_dates_its_section_sets_the_version_and_is_tagged(clone: Path) -> None:
    done = release(clone, "0.10.0")

    assert done.returncode == 0, done.stderr
    changelog = (clone / "CHANGELOG.md").read_text()
    assert re.search(r"## Unreleased\n\n## 0\.10\.0 \(\d{4}-\d\d-\d\d\)\n\n### Added\n\n- Something\.\n", changelog)
    for name, text in OTHERS.items():
        expected = text.replace("0.9.0", "0.10.0", 1 if "lock" in name else -1)
        assert (clone / name).read_text() == expected, name
    assert {(clone / name).read_text() for name in VERSIONS} == {'__version__ = "0.10.0"\n'}
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "log", "-1", "--format=%s") == "Release 0.10.0"
    assert "### Added\n\n- Something." in git(clone, "tag", "--list", "--format=%(contents)", "v0.10.0")


@pytest.mark.parametrize("version", ("0.9.0", "0.8.9", "1", "1.0.0rc1", ""))
def test_a_version_that_is_no_later_one_is_refused(clone: Path, version: str) -> None:
    assert release(clone, version).returncode == 1
    assert git(clone, "tag") == ""


def test_a_tree_with_changes_is_refused(clone: Path) -> None:
    (clone / "new").write_text("")

    done = release(clone, "0.10.0")

    assert (done.returncode, git(clone, "tag")) == (1, "")
    assert "not committed" in done.stderr


def test_a_changelog_without_anything_new_is_refused(clone: Path) -> None:
    assert release(clone, "0.10.0").returncode == 0

    done = release(clone, "0.11.0")

    assert (done.returncode, git(clone, "tag")) == (1, "v0.10.0")
    assert "Unreleased" in done.stderr

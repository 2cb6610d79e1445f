"""Without Ray: nothing imports it, and what needs it says what to install."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import penchant
import penchant_batch
import penchant_client
import penchant_desk
import penchant_engine
import penchant_import
import penchant_lab
import penchant_mcp
import penchant_rows
import penchant_words
from penchant.cli import places

COMMANDS = ("evaluate", "recommend", "serve", "tune")
MODULES = ", ".join(
    ("penchant.__main__", "penchant.bootstrap", *(places()[name].partition(":")[0] for name in COMMANDS))
)
REFUSED = """
import json, sys
from penchant.cli import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["penchant", *words]
    try:
        main()
    except SystemExit as ended:
        print(ended.code)
"""
IMPORTED = f"import sys, {MODULES}; print('ray' in sys.modules)"


def without_ray(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with all that is installed here but Ray."""
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if entry.name.partition("-")[0] != "ray":
            (folder / entry.name).symlink_to(entry)
    packages = (
        penchant,
        penchant_batch,
        penchant_client,
        penchant_desk,
        penchant_engine,
        penchant_import,
        penchant_lab,
        penchant_mcp,
        penchant_rows,
        penchant_words,
    )
    sources = [Path(each.__file__ or "").parent.parent for each in packages]
    return subprocess.run(
        [sys.executable, "-S", *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(map(str, [folder, *sources])), "PENCHANT_CLUSTER": "127.0.0.1:6379"},
    )


@pytest.mark.slow
def test_every_command_that_asks_a_cluster_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    commands = [["recommend", "--out", "lists.ndjson"], ["evaluate"], ["tune"]]
    where = ["--source", "s", "--data", str(tmp_path / "data")]

    ran = without_ray(tmp_path / "packages", "-c", REFUSED, json.dumps([[*words, *where] for words in commands]))

    told = "penchant: A cluster needs Ray: install penchant-batch[ray], or leave the setting `cluster` out."
    assert (ran.stdout.split(), ran.stderr.strip().splitlines()) == (["1"] * 3, [told] * 3)


@pytest.mark.slow
def test_nothing_imports_ray() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)

    assert (ran.stdout, ran.stderr) == ("False\n", "")

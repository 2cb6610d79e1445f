"""``penchant simulate`` as a process: figures and a plot, with clear words where that cannot be."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from acceptance.servers import command
from kernel_cache import KERNELS

pytestmark = pytest.mark.slow

WORKS = Path(str(files("penchant.demo"))) / "works"
SHORT = ("simulate", "--folder", str(WORKS), "--people", "10", "--days", "2")


@pytest.fixture(autouse=True)
def shared_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENCHANT_KERNEL_FOLDER", str(KERNELS))
    monkeypatch.chdir(tmp_path)


def test_it_writes_figures_by_day_and_a_plot(tmp_path: Path) -> None:
    done = command(*SHORT, "--condition", "cold30", "--noise", "0.5", "--plot", "loop.svg", "--json", "loop.json")

    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "loop.json").read_text())
    assert (report["noise"], report["cold"], report["pieces"], report["rotation"]) == (0.5, True, 365, 0)
    assert [each["name"] for each in report["methods"]] == ["penchant", "content", "popular", "oracle"]
    assert [day["day"] for day in report["methods"][0]["days"]] == [0, 1]
    assert "works: 365 pieces, 10 people, 2 days, 50% noise, most newcomers without likes" in done.stdout
    drawn = (tmp_path / "loop.svg").read_text()
    assert drawn.startswith("<svg ")
    assert drawn.count("<polyline") == 6 * 4 + 3 + 1, "κ but of the oracle, the content's share of penchant alone"


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    words = (*SHORT, "--method", "penchant", "--plot", "loop.svg", "--json", "-")

    first, first_plot = command(*words), (tmp_path / "loop.svg").read_bytes()
    again, other = command(*words), command(*words[:-4], "--json", "-", "--seed", "1")

    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout != other.stdout
    assert first_plot == (tmp_path / "loop.svg").read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    (
        (("--days", "1000"), "1000 is not in the range 2<=x<=365"),
        (("--condition", "cold3"), "Did you mean cold30"),
        (("--most-pieces", "5"), "works has 5 pieces; more than 25 are needed"),
        (("--source", "x"), "Name one"),
    ),
)
def test_what_cannot_be_simulated_is_said(words: tuple[str, ...], told: str) -> None:
    done = command(*SHORT, *words)

    assert done.returncode in {1, 2}
    assert told in " ".join(done.stderr.replace("│", " ").split())

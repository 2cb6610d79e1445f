"""Every command that the pages on quality and tuning print runs as it stands there."""

import re
import shlex
from importlib.resources import files
from pathlib import Path

import pytest

from acceptance.servers import KERNELS, command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILMS = Path(str(files("penchant.demo"))) / "films"
LESS = {"tune": ["--candidates", "2", "--people", "50"], "evaluate": ["--people", "50"]}
"""The same with less effort; later options win."""


def printed() -> list[str]:
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("quality.md", "tuning.md")]
    blocks = re.findall(r"```sh\n(.*?)```", "".join(pages), re.DOTALL)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("pages") / "data"
    loaded = command(
        "import", "--data", str(data), "--source", "films", "--shift-times",
        "--pieces", str(FILMS / "pieces.ndjson.gz"), "--interactions", str(FILMS / "interactions.ndjson.gz"),
    )  # fmt: skip
    assert loaded.returncode == 0, loaded.stderr
    return data


def test_the_pages_print_commands() -> None:
    assert len(printed()) >= 10


@pytest.mark.parametrize("line", printed())
def test_a_printed_command_runs(line: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENCHANT_KERNEL_FOLDER", str(KERNELS))
    settings = tmp_path / "settings.json"
    settings.write_text('{"halfLifeDays": 30}')
    places = {"--data": str(data), "--folder": str(FILMS), "--source-settings": str(settings)}
    words = shlex.split(line)[1:]
    for place in range(1, len(words)):
        words[place] = places.get(words[place - 1], words[place].replace("FILE", str(tmp_path / "out")))

    done = command(*words, *LESS[words[0]])

    if "--rollback" in words:
        # Chance decides whether there is something to take back.
        assert done.returncode in {0, 1}
        assert "Traceback" not in done.stderr
        return
    assert done.returncode == 0, done.stderr
    if "--json" in words:
        assert (tmp_path / "out").exists()
        assert (tmp_path / "out.svg").exists()

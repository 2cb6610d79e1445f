"""Every command, request and answer in the documents is run against a real process, in order."""

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server, command, new_key
from documents.blocks import RUN_LANGUAGES, Block, blocks_of, pages_in_order
from documents.reading import Reader, agrees, commands, is_whole, matches
from penchant.storage import open_storage

ROOT = Path(__file__).parents[2]
OPERATIONS = pages_in_order()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *OPERATIONS]
APART = [*OPERATIONS, *(ROOT / "docs" / "how-to" / name for name in ("import.md", "packages.md"))]
"""Pages that are followed otherwise: one after the other, and by those of imports, a format at a time, and of hooks."""
BEGINNING = [ROOT / "README.md", ROOT / "docs" / "tutorial" / "quickstart.md"]
"""Who has followed one finds in the other what it prints all the same."""
READINGS = [BEGINNING, *([path] for path in DOCUMENTS if path not in [*APART, *BEGINNING]), OPERATIONS]
"""What is followed in one go."""
EMPTY = {"client.md", "service.md"}
"""Documents that begin with no source; all others find the demo's."""
MOST_NOT_RUN = 16
"""Blocks that no test can run, all together: each says why, and there should be few."""


def blocks() -> list[Block]:
    return [block for path in DOCUMENTS for block in blocks_of(path)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the demo's catalogues."""
    data = tmp_path_factory.mktemp("demo") / "penchant-data"
    loaded = command("demo", "--load-only", "--data", str(data))
    assert loaded.returncode == 0, loaded.stderr
    return data


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, demo: Path) -> Path:
    """The folder in which a document is followed, with the data that it begins with."""
    if request.node.callspec.params["reading"][0].name not in EMPTY:
        shutil.copytree(demo, tmp_path / "penchant-data")
    return tmp_path


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("PENCHANT_MCP", "true")
    with Server(folder / "penchant-data") as running:
        yield running


@pytest.fixture(scope="module")
def idle_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all documents that ask none."""
    with Server(tmp_path_factory.mktemp("idle") / "penchant-data") as running:
        yield running


def is_run(block: Block) -> bool:
    return block.language in RUN_LANGUAGES and block.not_run is None


def blocks_in(reading: Sequence[Path]) -> list[Block]:
    return [block for path in reading for block in blocks_of(path)]


def readings(*, running: bool) -> list[Any]:
    """Return the readings that run something, or those that run nothing."""
    chosen = [reading for reading in READINGS if any(map(is_run, blocks_in(reading))) is running]
    return [pytest.param(reading, id=reading[0].name) for reading in chosen]


@pytest.mark.slow
@pytest.mark.parametrize("reading", readings(running=True))
def test_a_document_s_blocks_do_what_it_says(reading: Sequence[Path], folder: Path, server: Server) -> None:
    admin = new_key(server.data, admin=True)
    demo_key = server.data / "demo-key.txt"
    key = server.key
    if demo_key.exists():
        key = demo_key.read_text().strip()
        # As who follows has it: the demo's account alone has keys.
        with contextlib.closing(open_storage(folder=server.data)) as storage:
            storage.keys.revoke(server.key.split("_")[1], actor="test")
    reader = Reader(folder, server, key, ADMIN_KEY=admin, KEY_ID="")

    reader.follow(blocks_in(reading))


@pytest.mark.slow
@pytest.mark.parametrize("reading", readings(running=False))
def test_settings_in_a_document_that_runs_nothing_are_read(
    reading: Sequence[Path], tmp_path: Path, idle_server: Server
) -> None:
    Reader(tmp_path, idle_server, idle_server.key).follow(blocks_in(reading))


def test_blocks_that_are_not_run_say_why_and_are_few() -> None:
    marked = [block for block in blocks() if block.not_run is not None]

    for block in marked:
        print(f"{block}: {block.language}, not run: {block.not_run}")  # noqa: T201  # the list is the point
        assert block.language in RUN_LANGUAGES, block
        assert len(block.not_run or "") > 10, block
    assert len(marked) <= MOST_NOT_RUN


def test_most_blocks_are_run() -> None:
    run = Counter(block.language for block in blocks() if is_run(block))

    assert run.total() > 5 * MOST_NOT_RUN
    assert set(run) >= {"sh", "console", "http", "json"}


def test_every_block_of_a_document_names_its_language() -> None:
    for path in DOCUMENTS:
        fences = sum(line.startswith("```") for line in path.read_text(encoding="utf-8").splitlines())

        assert fences == 2 * len(blocks_of(path)), path


# The reader itself


def test_commands_of_a_console_end_where_the_shell_would_stop_reading() -> None:
    text = "$ one -d '\n  [1,\n   2]'\nout\nput\n$ two \\\n  more\n$ three\n"

    assert list(commands(text)) == [("one -d '\n  [1,\n   2]'", "out\nput"), ("two \\\n  more", ""), ("three", "")]
    assert not is_whole("echo 'x")


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    (
        ('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1}', True),
        ('{"a": 1}', '{"a":2}', False),
        ('{"a": 1, "b": 2}', '{"a":1}', False),
        ('{"a": 1}', '{"a":"…"}', True),
        ("[1, 2, 3]", '[1, "…"]', True),
        ("[2, 2, 3]", '[1, "…"]', False),
        ("wrote 12 pieces in 0.3 s", "wrote 12 pieces in … s", True),
        ("wrote 13 pieces in 0.3 s", "wrote 12 pieces in … s", False),
        ("more than expected", "more", False),
    ),
)
def test_what_is_printed_is_compared(printed: str, expected: str, same: bool) -> None:  # noqa: FBT001
    assert agrees(printed, expected) is same


def test_a_list_of_another_length_differs() -> None:
    assert not matches([1], [1, 2])
    assert not matches([1, 2], [1])
    assert not matches(3, [1, "…"])

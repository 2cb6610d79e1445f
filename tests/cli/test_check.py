"""``penchant check``: compares the index in its folder, which has to have room for that."""

import json
import resource
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from databases import connection_beside
from live.conftest import Sources
from penchant.cli.upkeep import check
from penchant.errors import StorageUnavailable
from penchant.live import builder, checking
from penchant.live.builder import Builder
from penchant.live.segment_files import SegmentFiles
from penchant.telemetry import Metrics


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with a source, and its segment file."""
    for module in (builder, checking):
        monkeypatch.setattr(module, "SMALLEST_FILE", 3)
    sources = Sources(tmp_path / "data")
    sources.submit(*range(2_000))
    assert Builder(sources.storage, SegmentFiles(tmp_path / "data" / "index"), Metrics()).build_due() == 1
    sources.storage.close()
    return tmp_path / "data"


@pytest.mark.slow
def test_an_index_that_agrees_is_well_and_nothing_is_left(data: Path) -> None:
    before = set((data / "index").rglob("*"))

    done = CliRunner().invoke(check, ["--data", str(data)])

    assert (done.exit_code, done.output) == (0, "All is well.\n")
    assert set((data / "index").rglob("*")) == before


@pytest.mark.slow
def test_what_is_wrong_is_told_to_people_and_to_programs(data: Path) -> None:
    well = CliRunner().invoke(check, ["--data", str(data), "--json"])
    with connection_beside(data) as connection:
        connection.execute(text("UPDATE counters SET live = 7"))

    people, program = (CliRunner().invoke(check, ["--data", str(data), *words]) for words in ((), ("--json",)))

    assert (well.exit_code, json.loads(well.output)) == (0, {"problems": []})
    assert (people.exit_code, program.exit_code) == (1, 1)
    assert json.loads(program.output) == {"problems": people.output.splitlines()}
    assert "7" in people.output


@pytest.mark.slow
def test_a_folder_without_room_is_a_clear_error(data: Path) -> None:
    (segments,) = (data / "index").rglob("*.segment")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (segments.stat().st_size // 2, hard))
    try:
        done = CliRunner().invoke(check, ["--data", str(data)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert isinstance(done.exception, StorageUnavailable)
    assert "The index cannot be written" in str(done.exception)

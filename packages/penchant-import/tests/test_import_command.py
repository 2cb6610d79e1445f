"""``penchant import`` as it is called: what it prints, its exit codes, and where it notes how far it is."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from acceptance.servers import Server
from factories import piece
from penchant.bootstrap import data_folder
from penchant.cli import commands, progress
from penchant.cli.keys import make_key
from penchant.errors import InvalidInput, Refused, UnknownSource
from penchant.live.builder import SMALLEST_FILE, builder_lock
from penchant.live.segment_files import SegmentFiles
from penchant.settings import NodeSettings
from penchant.storage import open_storage
from penchant_import.running import BATCH_ROWS

Run = Callable[..., Result]


@pytest.fixture
def imported(tmp_path: Path) -> Run:
    """A function that imports into the source ``s`` of a data folder."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(commands, ["import", "--data", str(tmp_path / "data"), "--source", "s", *words])

    return run


def write(path: Path, *rows: Any) -> str:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def test_the_report_is_for_people_on_stderr_or_for_programs_on_stdout(imported: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", piece("a", "x", colour="blue"), piece("b", "x"))

    people, programs = imported(file), imported(file, "--json")

    assert people.stdout == ""
    assert people.stderr.startswith("s: 2 pieces stored, 2 new, 0 replaced\nMapped:\n")
    assert "Left out:\n  a.ndjson: colour: no member of a piece (1, first in line 1)\n" in people.stderr
    report = json.loads(programs.stdout)
    assert (report["replaced"], report["rows"], report["dryRun"]) == (2, 2, False)
    assert report["leftOut"] == [
        {"file": "a.ndjson", "field": "colour", "reason": "no member of a piece", "count": 1, "line": 1}
    ]


def test_a_dry_run_has_exit_code_1_where_rows_are_invalid_and_makes_no_folder(imported: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", piece("a", "x"), "{}")

    codes = [imported(file, "--dry-run", *more).exit_code for more in ((), ("--skip-invalid",))]

    assert codes == [1, 0]
    assert "a.ndjson, line 2: /id: The member id is missing" in imported(file, "--dry-run").stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_an_import_that_stops_reports_as_far_as_it_came_and_goes_on_later(imported: Run, tmp_path: Path) -> None:
    rows = [piece(f"p{number}", "x") for number in range(BATCH_ROWS)]
    file = write(tmp_path / "a.ndjson", *rows, "{}", piece("last", "x"))

    stopped = imported(file, "--json", "--no-check")
    gone_on = imported(file, "--json", "--skip-invalid")

    assert isinstance(stopped.exception, InvalidInput)
    assert json.loads(stopped.stdout)["invalid"][0]["line"] == BATCH_ROWS + 1
    assert json.loads(stopped.stdout)["pieces"] == BATCH_ROWS
    report = json.loads(gone_on.stdout)
    assert (report["resumedAtRow"], report["pieces"], report["invalidRows"]) == (BATCH_ROWS, BATCH_ROWS + 1, 1)
    assert f"s: goes on after {BATCH_ROWS} rows that are imported already" in gone_on.stderr


def test_nothing_is_stored_of_files_of_which_a_row_may_not_be(imported: Run, tmp_path: Path) -> None:
    rows = [piece(f"p{number}", "x") for number in range(BATCH_ROWS)]
    file = write(tmp_path / "a.ndjson", *rows, "{}", '{"id": 5}')

    refused = imported(file, "--json")
    listed = CliRunner().invoke(commands, ["export", "--data", str(tmp_path / "data"), "--source", "s"])

    assert isinstance(refused.exception, InvalidInput)
    assert refused.exception.detail.startswith("2 rows may not be stored, so nothing is")
    assert refused.exception.faults[0].pointer == f"a.ndjson, line {BATCH_ROWS + 1}: /id"
    assert json.loads(refused.stdout)["invalidRows"] == 2
    assert isinstance(listed.exception, UnknownSource)


def test_a_dry_run_shows_the_first_rows_as_they_would_be_stored(imported: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sku,name,genres\n" + "".join(f"{n},Name {n},x|y\n" for n in range(9)))

    people, programs = (
        imported(str(tmp_path / "a.csv"), "--from", "csv", "--dry-run", *more) for more in ((), ("--json",))
    )

    examples = json.loads(programs.stdout)["examples"]
    assert [example["id"] for example in examples] == ["0", "1", "2"]
    assert examples[0]["categories"] == {"genre": ["x", "y"]}
    assert "stored:\n  " + json.dumps(examples[0], separators=(",", ":"), ensure_ascii=False) in people.stderr
    assert "  a.csv: name -> label (9)" in people.stderr


def test_standard_input_is_read(tmp_path: Path) -> None:
    words = ["import", "--data", str(tmp_path / "data"), "--source", "s", "-", "--json"]
    lines = json.dumps(piece("a", "x")) + "\n{}\n"

    refused, taken = (CliRunner().invoke(commands, [*words, *more], input=lines) for more in ((), ("--skip-invalid",)))

    assert isinstance(refused.exception, InvalidInput)
    assert refused.exception.faults[0].pointer == "standard input, line 2: /id"
    assert json.loads(taken.stdout)["pieces"] == 1
    assert not (tmp_path / "data" / "imports").exists() or not list((tmp_path / "data" / "imports").iterdir())


@pytest.mark.slow
def test_restart_and_a_file_that_has_changed_begin_anew(imported: Run, tmp_path: Path) -> None:
    rows = [piece(f"p{number}", "x") for number in range(BATCH_ROWS)]
    file, state = write(tmp_path / "a.ndjson", *rows, "{}"), tmp_path / "state"
    for _ in range(2):
        assert imported(file, "--state", str(state), "--no-check").exit_code == 1
        assert state.exists()

    anew = imported(file, "--state", str(state), "--restart", "--skip-invalid", "--json")
    imported(file, "--state", str(state), "--no-check")
    write(tmp_path / "a.ndjson", *rows[1:])
    changed = imported(file, "--state", str(state), "--json")

    assert json.loads(anew.stdout)["resumedAtRow"] == 0
    assert json.loads(changed.stdout)["resumedAtRow"] == 0
    assert not state.exists()


def test_shifted_times_end_now(imported: Run, tmp_path: Path) -> None:
    row = {"userId": "u", "type": "Watch", "contentId": "a", "timestamp": "2001-01-01T00:00:00Z"}
    files = (
        "--pieces",
        write(tmp_path / "a.ndjson", piece("a", "x")),
        "--interactions",
        write(tmp_path / "i.ndjson", row),
    )
    assert imported(*files, "--shift-times", "--json").exit_code == 0

    words = ["export", "--data", str(tmp_path / "data"), "--source", "s", "--with", "interactions"]
    (_, line) = CliRunner().invoke(commands, words).stdout.splitlines()

    assert json.loads(line)["timestamp"][:10] in {
        time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago)) for ago in (0, 60)
    }
    assert imported("--pieces", write(tmp_path / "b.ndjson", piece("b", "x")), "--shift-times").exit_code == 0


@pytest.mark.parametrize(
    "words",
    (
        (),
        ("FILE", "--source", "-"),
        ("FILE", "--source", ""),
        ("FILE", "--from", "gorse", "--pieces", "FILE"),
        ("FILE", "--delimiter", "ab"),
        ("FILE", "--encoding", "klingon"),
        ("FILE", "--decimal", "x"),
        ("FILE", "--keywords", "genre"),
        ("FILE", "--catalogs", ":x"),
        ("FILE", "--type", "x=Sniff"),
        ("FILE", "--rating-scale", "0"),
        ("FILE", "--from", "xml"),
        ("FILE", "--url", "http://x"),
        ("no-such-file",),
    ),
)
def test_wrong_words_are_told_before_anything_is_done(imported: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = write(tmp_path / "a.ndjson", piece("a", "x"))

    assert imported(*(file if word == "FILE" else word for word in words)).exit_code == 2
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("key", ("", "a b", "a\nb", "ä"))
def test_a_key_that_is_none_is_not_sent(tmp_path: Path, key: str) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(key)
    file = write(tmp_path / "a.ndjson", piece("a", "x"))
    words = ["import", "--source", "s", "--url", "http://127.0.0.1:9", "--key-file", str(key_file), file]

    refused = CliRunner().invoke(commands, words)

    assert isinstance(refused.exception, Refused)
    assert "A key is needed" in refused.exception.detail


def test_an_empty_folder_holds_nothing_to_import(imported: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert isinstance(imported(str(tmp_path / "empty")).exception, Refused)


def test_without_a_terminal_lines_tell_how_far_it_is(
    imported: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0)

    told = imported(write(tmp_path / "a.ndjson", piece("a", "x"))).stderr

    assert told.splitlines()[:2] == ["s: checking: a.ndjson: 100 %, 1 rows", "s: a.ndjson: 100 %, 1 rows"]


@pytest.mark.slow
def test_on_a_terminal_a_bar_tells_how_far_it_is(tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", *[piece(f"p{number}", "x") for number in range(60)])
    ours, theirs = pty.openpty()
    words = ["import", "--data", str(tmp_path / "data"), "--source", "s", file]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen([sys.executable, "-m", "penchant", *words], stderr=theirs, env=environment) as process:
        os.close(theirs)
        told = b""
        try:
            while chunk := os.read(ours, 65536):
                told += chunk
        except OSError:  # the other side is closed
            pass
        assert process.wait(timeout=300) == 0
    os.close(ours)

    assert "━" in told.decode()
    assert "s: a.ndjson" in told.decode()
    assert "60 pieces stored" in told.decode()


def test_the_verdict_is_about_all_that_the_source_has(imported: Run, tmp_path: Path) -> None:
    imported(write(tmp_path / "a.ndjson", piece("a", "x"), piece("b", "x"), piece("c", "y")))
    file = write(tmp_path / "b.ndjson", piece("d", "z"))

    people, programs = imported(file), imported(file, "--json")

    verdict = json.loads(programs.stdout)["verdict"]
    assert (verdict["pieces"], verdict["alone"], verdict["empty"]) == (4, 2, 2)
    assert "  s: 2 of 4 pieces share a keyword with another, 2 with none\n" in people.stderr
    assert json.loads(imported(file, "--json", "--dry-run").stdout)["verdict"]["pieces"] == 1


def test_faults_of_one_kind_are_one_line_with_what_helps(imported: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,sku,title\n" + "".join(f",s{n},Name {n}\n" for n in range(5)) + "6,s6,Six\n")
    words = (str(tmp_path / "a.csv"), "--from", "csv", "--skip-invalid")

    people, programs = imported(*words), imported(*words, "--json")

    assert json.loads(programs.stdout)["faults"] == [
        {
            "pointer": "id",
            "detail": "Found no id; --id-column sku takes that column, which has one.",
            "remedy": "",
            "count": 5,
            "first": [{"file": "a.csv", "line": line} for line in (2, 3, 4)],
        }
    ]
    assert "  5 rows, first a.csv, lines 2, 3, 4: id: Found no id; --id-column sku takes" in people.stderr
    assert imported(*words, "--id-column", "sku", "--json").exit_code == 0


def test_files_in_which_nothing_is_recognised_are_an_error(imported: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "feed.xml", "<products>" + "<product><Namn>Mugg</Namn></product>" * 12 + "</products>")

    refused = imported(file, "--from", "merchant")

    assert refused.exit_code == 1
    assert isinstance(refused.exception, Refused)
    assert "feed.xml: a <products> with 12 <product>; Google's feed has <item>" in refused.exception.detail


def test_members_of_words_are_checked_before_anything_is_read(imported: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", piece("a", "x"))

    many = imported(file, "--words", ",".join(f"extras.m{number}" for number in range(9)))
    both = imported(file, "--words", "label", "--no-words")

    assert (many.exit_code, both.exit_code) == (2, 2)
    assert "--words:" in many.stderr


@pytest.mark.slow
@pytest.mark.parametrize("is_served", (False, True))
def test_an_import_without_a_service_leaves_the_file_from_which_one_starts(
    imported: Run, tmp_path: Path, *, is_served: bool
) -> None:
    builder = builder_lock(data_folder(NodeSettings(data=str(tmp_path / "data"))))
    assert not is_served or builder.try_win()

    result = imported(write(tmp_path / "a.ndjson", *(piece(str(n), f"k{n % 7}") for n in range(SMALLEST_FILE))))

    builder.close()
    files = SegmentFiles(tmp_path / "data" / "index")
    versions = [file.stamp.version for source_id in files.sources() for file in files.published(source_id)]
    # The settings with which it makes the source take a version, too.
    assert (result.exit_code, versions) == (0, [] if is_served else [SMALLEST_FILE + 1])


def make_keys(folder: Path, *accounts: str) -> None:
    with closing(open_storage(folder=folder)) as storage:
        for account in accounts:
            make_key(storage, account=account)
        make_key(storage, account="operators", admin=True)


def test_an_import_goes_to_the_only_account_with_keys_and_names_those_that_there_are(
    imported: Run, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.ndjson", piece("a", "x"))
    told = imported(file).stderr
    assert "s is in the account default at" in told
    # No server runs there, and none on another port is known of.
    assert "once `penchant serve` runs there. Ask for it by" in told
    make_keys(tmp_path / "data", "shop")

    assert "s is in the account shop at" in imported(file).stderr

    make_keys(tmp_path / "data", "press")
    refused = imported(file)
    assert isinstance(refused.exception, Refused)
    assert refused.exception.detail.startswith("The accounts press, shop have keys: ")
    assert "s is in the account press at" in imported(file, "--account", "press").stderr


@pytest.mark.slow
def test_what_an_import_says_at_its_end_works_in_a_shell(tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", piece("first piece", "x"), piece("b", "x"))
    data, bin_folder = tmp_path / "the data", Path(sys.executable).parent
    with Server(data, subcommand="demo") as server:
        for account in ("demo", "shop"):
            # The server's own key is of an account of its own.
            words = ["--data", str(data), "--source", "my shop", "--account", account, file]
            environment = os.environ | {"PENCHANT_PORT": str(server.port), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
            program = [str(bin_folder / "penchant"), "import", *words]
            told = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stderr
            lines = told[told.index("my shop is in the account") :].splitlines()
            script = "".join(f"{line}\n" for line in lines if line.startswith("  ")).replace("curl", "curl -sf")

            answered = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)

            assert [entry["id"] for entry in json.loads(answered.stdout)["content"]] == ["b"]
            assert lines[-1].endswith(f"{server.url}/-/dashboard")


def test_old_interactions_are_to_be_moved_only_where_that_helps(imported: Run, tmp_path: Path) -> None:
    def told(*days: str) -> str:
        rows = [{"userId": "u", "type": "Watch", "contentId": day, "timestamp": f"{day}T00:00:00Z"} for day in days]
        file = write(tmp_path / f"{'-'.join(days)}.ndjson", *rows)
        return imported("--interactions", file).stderr

    today = time.strftime("%Y-%m-%d", time.gmtime())

    assert "--shift-times moves them" in told("2001-01-01", "2001-02-01")
    assert "--shift-times" not in told("2001-01-01", today)

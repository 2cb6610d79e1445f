"""Imports into a real database: in batches, all or nothing, once, and from where they were."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from databases import new_database
from factories import piece
from import_folders import CHECKS, Folder, run
from penchant.errors import InvalidInput, Refused
from penchant.importing import StoredTarget
from penchant.storage import InteractionQuery, Storage, open_storage
from penchant_import.checkpoint import Checkpoint, CheckpointFile
from penchant_import.options import ImportOptions
from penchant_import.report import ImportReport, to_text
from penchant_import.running import BATCH_ROWS, Import, newest_moment


def lines(count: int, *, start: int = 0) -> list[str]:
    return [json.dumps(piece(f"p{number:06}", "x")) for number in range(start, start + count)]


def interaction(user: str, piece_id: str = "p1", **members: Any) -> str:
    return json.dumps({"userId": user, "type": "Watch", "contentId": piece_id, **members})


def piece_count(storage: Storage) -> int:
    head = storage.sources.read_head(storage.accounts.ensure("default"), "s")
    return -1 if head is None else head.piece_count


def recorded(storage: Storage, user: str) -> list[int]:
    head = storage.sources.read_head(storage.accounts.ensure("default"), "s")
    assert head is not None
    found = storage.people.list_interactions(head.source_id, InteractionQuery(user_id=user, since=0, limit=99))
    return [each.occurred_at for each in found]


class Interrupted(Exception):
    """The import is ended."""


class Failing(StoredTarget):
    """A source that takes some batches and then ends the import."""

    batches = 1

    def submit(self, pieces: Any) -> Any:
        if not self.batches:
            raise Interrupted
        self.batches -= 1
        return super().submit(pieces)


def test_a_batch_with_a_fault_is_not_stored_and_those_before_it_are(
    folder: Folder, storage: Storage, target: StoredTarget
) -> None:
    folder.write("a.ndjson", *lines(BATCH_ROWS + 10), '{"id":"bad","categories":{"g":[1]}}', "{")

    with pytest.raises(InvalidInput) as raised:
        run("ndjson", folder, target)

    assert f"a.ndjson, line {BATCH_ROWS + 11} may not be stored (and 1 more rows" in raised.value.detail
    assert piece_count(storage) == BATCH_ROWS


def test_rows_with_faults_are_left_out_if_wanted_each_with_its_place(
    folder: Folder, storage: Storage, target: StoredTarget
) -> None:
    wrong = ('{"id":"bad","categories":{"g":[1],"h":[""]}}', '{"id":"."', '{"id":"..","categories":{}}')
    folder.write("a.ndjson", *lines(3), *wrong, *lines(2, start=3))

    work = run("ndjson", folder, target, skip_invalid=True)

    assert piece_count(storage) == 5
    assert work.tally.invalid_rows == 3
    assert [(each.line, each.pointer) for each in work.tally.invalid] == [
        (4, "/categories/g/0"),
        (4, "/categories/h/0"),
        (5, ""),
        (6, "/id"),
    ]


def test_what_requests_do_not_accept_no_file_brings_in(folder: Folder, target: StoredTarget) -> None:
    bad = ("{}", '{"id":"x"}', '{"id":"x","categories":{"g":[{"key":"k","weight":1.5}]}}', '{"id":"x","categories":[]}')
    ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    folder.write(
        "a.ndjson",
        *bad,
        interaction("u", timestamp=ahead),
        interaction(""),
        '{"blacklist":["a","a"]}',
        '{"settings":{"halfLifeDays":-1}}',
    )

    work = run("ndjson", folder, target, skip_invalid=True)

    assert work.tally.invalid_rows == 8
    assert not work.tally.pieces + work.tally.interactions + work.tally.lists + work.tally.settings


def test_an_import_that_is_repeated_changes_nothing(folder: Folder, storage: Storage, target: StoredTarget) -> None:
    folder.write(
        "a.ndjson",
        *lines(3),
        interaction("u", timestamp="2026-11-01T00:00:00Z"),
        interaction("u"),
        interaction("v", eventId="e-1"),
    )

    first, second = run("ndjson", folder, target), run("ndjson", folder, target)

    assert (first.tally.created, first.tally.interactions, first.tally.duplicates) == (3, 3, 0)
    assert (second.tally.created, second.tally.replaced, second.tally.duplicates) == (0, 3, 3)
    assert len(recorded(storage, "u")) == 2


def test_the_same_row_twice_is_one(folder: Folder, storage: Storage, target: StoredTarget) -> None:
    folder.write("a.ndjson", *lines(1), *lines(1), *[interaction("u", timestamp="2026-11-01T00:00:00Z")] * 2)

    work = run("ndjson", folder, target)

    assert (work.tally.pieces, work.tally.superseded, work.tally.duplicates) == (2, 1, 1)
    assert len(recorded(storage, "u")) == 1


@pytest.mark.slow
def test_an_import_that_was_ended_goes_on_where_it_was(folder: Folder, storage: Storage, tmp_path: Path) -> None:
    folder.write("a.ndjson", *lines(3 * BATCH_ROWS + 5), "{}")
    state = CheckpointFile(tmp_path / "state" / "x.json")
    for batches in (1, 2):
        failing = Failing(storage, account="default", source="s", actor="me")
        failing.batches = batches
        work = Import("ndjson", folder.files(), ImportOptions(), target=failing, skip_invalid=True)
        work.resume(state, "fingerprint")
        with pytest.raises(Interrupted):
            work.run(lambda _done: None)
    assert work.resumed_at == BATCH_ROWS

    target = StoredTarget(storage, account="default", source="s", actor="me")
    work = Import("ndjson", folder.files(), ImportOptions(), target=target, skip_invalid=True)
    assert work.resume(state, "fingerprint") == 0
    work.run(lambda _done: None)

    head = storage.sources.read_head(storage.accounts.ensure("default"), "s")
    assert head is not None
    assert head.piece_count == 3 * BATCH_ROWS + 5
    assert head.version == head.piece_count + 1  # its settings, and none was stored twice
    assert (work.resumed_at, work.tally.pieces, work.tally.invalid_rows) == (3 * BATCH_ROWS, 3 * BATCH_ROWS + 5, 1)
    assert work.notes.all_mapped()[0].count == 3 * BATCH_ROWS + 5
    assert not state.path.exists()


def test_nothing_is_left_out_where_the_source_was_made_anew_since(
    folder: Folder, storage: Storage, target: StoredTarget, tmp_path: Path
) -> None:
    folder.write("a.ndjson", *lines(BATCH_ROWS + 1))
    state = CheckpointFile(tmp_path / "x.json")
    work = Import("ndjson", folder.files(), ImportOptions(), target=target, checks=CHECKS)
    work.tally.rows = BATCH_ROWS
    state.save(Checkpoint(fingerprint="f", created_at="2020-01-01T00:00:00.000Z", shift_ms=0, tally=work.tally))

    other = Import("ndjson", folder.files(), ImportOptions(), target=target, checks=CHECKS)
    assert other.resume(state, "f") is None
    other.run(lambda _done: None)

    assert piece_count(storage) == BATCH_ROWS + 1


def test_a_checkpoint_that_is_damaged_or_of_another_import_is_none(tmp_path: Path) -> None:
    state = CheckpointFile(tmp_path / "x.json")
    assert state.load("f") is None
    state.path.write_text("{")

    assert state.load("f") is None


def test_a_dry_run_tells_the_same_and_stores_nothing(folder: Folder, storage: Storage) -> None:
    folder.write("a.ndjson", *lines(2), "{}", interaction("u"), '{"whitelist":[]}', '{"settings":{}}')

    work = run("ndjson", folder, None)

    assert (work.tally.pieces, work.tally.interactions, work.tally.lists, work.tally.settings) == (2, 1, 1, 1)
    assert work.tally.invalid_rows == 1
    assert storage.accounts.find("default") is None


def test_members_that_are_no_part_of_a_piece_are_counted(folder: Folder, target: StoredTarget) -> None:
    odd = [piece(f"p{n}", "x", colour="blue") | {"categories": {"g": [{"key": "k", "size": 1}]}} for n in range(150)]
    folder.write("a.ndjson", *map(json.dumps, odd))

    work = run("ndjson", folder, target)

    found = {each.field: (each.count, each.line) for each in work.notes.all_left_out()}
    assert found == {"colour": (150, 1), "categories/g/*/size": (150, 1)}


def test_interactions_past_their_retention_are_told(folder: Folder, target: StoredTarget) -> None:
    folder.write("a.ndjson", *lines(2), interaction("u", timestamp="2001-01-01T00:00:00Z"))

    work = run("ndjson", folder, target)
    newest = newest_moment("ndjson", folder.files(), ImportOptions(), CHECKS)

    assert work.tally.expired == 1
    assert newest == 978307200000


def test_times_that_are_moved_keep_their_event_ids(folder: Folder, storage: Storage, target: StoredTarget) -> None:
    folder.write("a.ndjson", *lines(2), interaction("u", timestamp="2001-01-01T00:00:00Z"))
    for shift in (1000, 2000):
        work = Import("ndjson", folder.files(), ImportOptions(), target=target, checks=CHECKS)
        work.shift(shift)
        work.run(lambda _done: None)

    assert recorded(storage, "u") == [978307201000]


def test_lists_and_settings_make_the_source_they_need(folder: Folder, storage: Storage, target: StoredTarget) -> None:
    folder.write("a.ndjson", '{"settings":{"retentionDays":7}}', '{"whitelist":["b","a"]}', '{"blacklist":["c"]}')

    run("ndjson", folder, target)

    _, curation = storage.sources.read_curation(storage.accounts.ensure("default"), "s")
    assert (curation.whitelist, curation.blacklist) == (("b", "a"), ("c",))
    assert target.settings()["retentionDays"] == 7
    assert piece_count(storage) == 0


def test_a_report_tells_all_in_lines_for_people(folder: Folder, target: StoredTarget) -> None:
    folder.write(
        "a.ndjson", *lines(2), "{}", interaction("u", more=1, timestamp="2001-01-01T00:00:00Z"), '{"whitelist":[]}'
    )
    work = run("ndjson", folder, target, skip_invalid=True)
    others: dict[str, Any] = {"format": "ndjson", "source": "s", "dry_run": False, "resumed_at_row": 0, "seconds": 2.0}

    told = list(to_text(ImportReport.of(work.tally, work.notes, **others)))

    assert told[0] == "s: 2 pieces stored, 2 new, 0 replaced"
    assert "  a.ndjson: id -> id (2)" in told
    assert "  a.ndjson: more: no member of an interaction (1, first in line 4)" in told
    assert "  a.ndjson, line 3: /id: The member id is missing; it is required." in told
    assert told[-1] == "5 rows in 2.0 s, 2 rows/s"


@pytest.mark.slow
def test_large_pieces_come_in_smaller_batches(folder: Folder, storage: Storage, target: StoredTarget) -> None:
    text = "x" * 900_000
    folder.write("a.ndjson", *[json.dumps(piece(f"p{n}", "x", extras={"text": text})) for n in range(20)])
    told: list[int] = []

    work = Import("ndjson", folder.files(), ImportOptions(), target=target, checks=CHECKS)
    work.run(lambda done: told.append(done.rows))

    assert told == [9, 18, 20]
    assert piece_count(storage) == 20


def test_postgresql_takes_the_same(folder: Folder, postgresql: str, tmp_path: Path) -> None:
    folder.write("movies.csv", "id,title,genres", "7,Lamp,Drama|War", "8,Sea,War")
    folder.write("ratings.csv", "user,item,rating,timestamp", "1,7,4.0,1000000000", "1,8,2.0,1000000001")
    opened = open_storage(folder=tmp_path / "data", database_url=new_database(postgresql))

    for _ in range(2):
        work = run("csv", folder, StoredTarget(opened, account="default", source="s", actor="me"))

    assert (work.tally.replaced, work.tally.duplicates) == (2, 2)
    assert len(recorded(opened, "1")) == 2
    opened.close()


def test_a_file_of_nobody_is_no_empty_file(folder: Folder, target: StoredTarget) -> None:
    folder.write("a.csv", "user,item,event,time", "0,1,view,2026-11-01", "0,2,view,2026-11-01")

    with pytest.raises(Refused, match=r"a\.csv: interactions alone that are left out: '0' stands for nobody \(2\)"):
        run("csv", folder, target)


def _checked_first(folder: Folder, target: StoredTarget, room: Path | None, name: str = "ndjson") -> Import:
    work = Import(name, folder.files(), ImportOptions(), target=target, checks=CHECKS)
    work.check_all(room, lambda _done: None)
    return work


def test_what_was_checked_first_is_stored_without_reading_again(
    folder: Folder, target: StoredTarget, tmp_path: Path
) -> None:
    opinion = '{"userId":"u","type":"Click","contentId":"a"}'
    file = folder.write("a.ndjson", '{"id":"a","categories":{},"more":1}', opinion)

    work = _checked_first(folder, target, tmp_path)
    file.unlink()
    work.run(lambda _done: None)

    assert (work.tally.created, work.tally.interactions, work.tally.rows) == (1, 1, 2)
    assert [(each.field, each.count) for each in work.notes.all_left_out()] == [("more", 1)]


def test_columns_that_were_keywords_by_their_names_are_known_of_what_was_checked_first(
    folder: Folder, target: StoredTarget, tmp_path: Path
) -> None:
    folder.write("a.csv", "id,genre", "a,noir")

    work = _checked_first(folder, target, tmp_path, "csv")
    work.run(lambda _done: None)

    assert work.sample.named == {("genre", "genre", "")}


def test_without_room_for_what_was_checked_files_are_read_again(
    folder: Folder, target: StoredTarget, tmp_path: Path
) -> None:
    folder.write("a.ndjson", '{"id":"a","categories":{},"more":1}')

    work = _checked_first(folder, target, tmp_path / "not there")
    work.run(lambda _done: None)

    assert work.tally.created == 1
    assert [(each.field, each.count) for each in work.notes.all_left_out()] == [("more", 1)]

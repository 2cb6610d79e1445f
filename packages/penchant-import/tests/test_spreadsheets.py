"""Spreadsheets, as openpyxl writes them for Excel."""

import io
import zipfile
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import pytest

from import_folders import Folder, drafted, run
from penchant.errors import Refused
from penchant.importing import StoredTarget
from penchant_import.files import MAX_COLUMNS
from penchant_import.formats import spreadsheets

pytestmark = pytest.mark.slow
EVENING = datetime(2026, 11, 1, 20, 30)  # noqa: DTZ001  # times of sheets have no zone


def save(folder: Folder, name: str, **sheets: Iterable[Any]) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(folder.path / name)


def test_cells_are_read_as_what_they_hold(folder: Folder) -> None:
    films = [
        ["ISBN", "title", "genres", "year", "share", "live", "out", "shown", "at", "long"],
        [9780306406157, " Rope ", "crime|drama", 1948, 0.5, True, date(2026, 11, 1), EVENING],
        ["007", "Heat", "crime", None, None, None, None, None, time(20, 30), timedelta(hours=30)],
    ]
    save(folder, "films.xlsx", Films=films)

    rope, heat = folder.read("spreadsheet")

    extras = {"year": 1948, "share": 0.5, "live": True, "out": "2026-11-01", "shown": "2026-11-01T20:30:00"}
    assert rope == drafted("9780306406157", "Rope", genre=["crime", "drama"], extras=extras)
    assert heat["id"] == "007"
    assert heat["extras"] == {"at": "20:30:00", "long": "P1DT21600S"}


def test_the_first_sheet_that_holds_something_is_read_from_its_heading_on(folder: Folder) -> None:
    films = [[], [], ["id", "tags", None, "tags"], ["a", "x", 5, "y"], [], ["b", "z"], ["c", "", "", "", "behind"]]
    save(folder, "films.xlsx", Notes=[], Films=films, Prices=[["id", "price"], ["a", 5]], Empty=[])

    first, second, third = folder.read("spreadsheet")

    assert first == drafted("a", tag=["x", "y"], extras={"column 3": 5})
    assert second == drafted("b", tag=["z"])
    assert third.detail == "Found more than 4 columns."
    assert folder.left_out()["films.xlsx", "sheet Prices"] == ("the first sheet alone is read", 1, 1)


def test_interactions_of_a_sheet_are_stored(folder: Folder, target: StoredTarget) -> None:
    events = [["user", "item", "event", "ts"], [5, "a", "view", EVENING], ["kim", "a", "x", None]]
    save(folder, "events.xlsx", Events=events)

    first, *_ = folder.read("spreadsheet")
    work = run("spreadsheet", folder, target, skip_invalid=True)

    assert first == {"userId": "5", "type": "Click", "contentId": "a", "timestamp": "2026-11-01T20:30:00.000Z"}
    assert work.tally.interactions == 1


def test_what_is_no_spreadsheet_or_holds_nothing_is_refused(folder: Folder) -> None:
    save(folder, "films.xlsx", Films=[["id"], ["a"]])
    content = (folder.path / "films.xlsx").read_bytes()
    (folder.path / "films.xlsx").rename(folder.path / "films.csv")
    with pytest.raises(Refused, match="say so with --from spreadsheet"):
        folder.read("csv")
    (folder.path / "films.csv").unlink()

    for broken in (b"id\na\n", content[: len(content) // 2], _archive(b"nothing")):
        (folder.path / "films.xlsx").write_bytes(broken)
        with pytest.raises(Refused, match=r"films\.xlsx: no spreadsheet that can be read"):
            folder.read("spreadsheet")

    save(folder, "films.xlsx", Films=[])
    with pytest.raises(Refused, match="no sheet of it holds anything"):
        folder.read("spreadsheet")


def test_one_that_unpacks_to_too_much_or_is_too_wide_is_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder, "films.xlsx", Films=[["id", *(f"c{number}" for number in range(MAX_COLUMNS))], ["a"]])
    with pytest.raises(Refused, match="more than 1000 columns"):
        folder.read("spreadsheet")

    monkeypatch.setattr(spreadsheets, "MAX_DOCUMENT_BYTES", 100_000)
    (folder.path / "films.xlsx").write_bytes(_archive(b" " * 100_001))
    with pytest.raises(Refused, match="unpacks to over 100000 bytes; save it as CSV"):
        folder.read("spreadsheet")


@pytest.mark.parametrize("suffix", ("xlsx", "ods"))
def test_cells_that_stand_far_off_are_refused_before_they_take_memory(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    if suffix == "xlsx":
        save(folder, "films.xlsx", Films=[["id"], ["a"], *[[]] * 7, [*[None] * 9, "far"]])
    else:
        filled, blank = (f"<table:table-cell{each}/>" for each in (' office:string-value="a"', ""))
        repeated = ' table:number-columns-repeated="9"'
        row = f"<table:table-row>{blank.replace('/', repeated + '/')}{filled}</table:table-row>"
        rest = '<table:table-row table:number-rows-repeated="9"><table:table-cell/></table:table-row>'
        (folder.path / "films.ods").write_bytes(_archive((rest + row + rest).encode(), "content.xml"))
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", 99)

    with pytest.raises(Refused, match="there are over 99; clear those that stand far off"):
        folder.read("spreadsheet")
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", 100)
    if suffix == "xlsx":
        assert folder.read("spreadsheet")[0]["id"] == "a"
    else:
        # Of a document of LibreOffice there are only the cells.
        with pytest.raises(Refused, match="no spreadsheet that can be read"):
            folder.read("spreadsheet")


def test_a_hidden_sheet_is_left_out_and_a_title_above_the_heading_named(folder: Folder) -> None:
    book = openpyxl.Workbook()
    book.active.append(["id", "cost"])
    book.active.append(["secret", 5])
    book.active.sheet_state = "hidden"
    book.create_sheet("Films").append(["Films of 2026"])
    book.save(folder.path / "films.xlsx")

    with pytest.raises(
        Refused, match=r"no column of ids in line 1; name it with --id-column\. Found are Films of 2026\.$"
    ):
        folder.read("spreadsheet")
    assert folder.left_out()["films.xlsx", "sheet Sheet"] == ("it is hidden", 1, 1)


def test_a_duration_beyond_all_days_is_said_to_be_one(folder: Folder) -> None:
    save(folder, "films.xlsx", Films=[["id", "long"], ["a", 1e300]])
    book = openpyxl.load_workbook(folder.path / "films.xlsx")
    book["Films"]["B2"].number_format = "[h]:mm"
    book.save(folder.path / "films.xlsx")

    with pytest.raises(Refused, match="a duration in it is too long to be read; format its cell as a number"):
        folder.read("spreadsheet")


def _archive(content: bytes, name: str = "xl/workbook.xml") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def test_days_before_1900_are_left_out_as_no_reader_tells_them(folder: Folder) -> None:
    days = [date(1895, 6, 1), date(1899, 12, 31), date(1900, 1, 1), date(1900, 2, 28), date(1900, 3, 1), "1895-06-01"]
    save(folder, "films.xlsx", Films=[["id", "out"], *([str(number), day] for number, day in enumerate(days))])

    extras = [piece["extras"] for piece in folder.read("spreadsheet")]

    assert extras[:2] == [{}, {}]
    assert [each["out"] for each in extras[2:]] == ["1900-01-01", "1900-02-28", "1900-03-01", "1895-06-01"]
    reason, count, line = folder.left_out()["films.xlsx", "out"]
    assert (count, line) == (2, 2)
    assert "a day before 1900" in reason

"""Tables of Parquet and Arrow, files and streams: whatever type a column has, it is read or told, without pandas."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from arrow_types import columns_of_all_types, write_table
from import_folders import Folder, drafted
from penchant.errors import Refused
from penchant_import.options import KeywordColumn

TYPES = columns_of_all_types()
FAR = 2**62
WITHOUT_PANDAS = """
import importlib.abc, sys
class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, Refusal())
sys.path.insert(0, sys.argv[1])
from arrow_types import read_all
print(read_all(sys.argv[2]))
"""


def read(folder: Folder, kind: str = "stream", /, **columns: Any) -> list[Any]:
    write_table(folder.path / "a.arrow", pa.table(columns), kind)
    return folder.read("parquet")


def test_no_type_in_any_column_ends_in_anything_but_a_message_where_pandas_is_not_installed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_PANDAS, str(Path(__file__).parent), str(tmp_path)]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert int(ended.stdout) > 3 * len(TYPES)


@pytest.mark.parametrize("kind", ("parquet", "file", "stream"))
def test_files_and_streams_are_told_apart_by_their_beginning(folder: Folder, kind: str) -> None:
    rope = drafted("1", "Rope", genre=["crime"])

    assert read(folder, kind, id=["1"], title=["Rope"], genre=[["crime"]]) == [rope]


def test_whole_numbers_keep_every_digit(folder: Folder) -> None:
    numbers = [12345678901234567890, 12345678901234567891, 9007199254740993]
    wide = pa.array([Decimal(number) for number in numbers], pa.decimal128(38, 0))
    widest = pa.array([Decimal(10**70 + 1)] * 3, pa.decimal256(76, 0))

    pieces = read(folder, id=wide, isbn=widest, price=pa.array([Decimal("9.50")] * 3, pa.decimal128(9, 2)))

    assert [piece["id"] for piece in pieces] == [str(number) for number in numbers]
    assert pieces[0]["extras"] == {"isbn": str(10**70 + 1), "price": 9.5}
    ids = pa.array([2**64 - 1, 2**63], pa.uint64())
    assert [piece["id"] for piece in read(folder, id=ids)] == [str(2**64 - 1), str(2**63)]


def test_decimals_with_a_fraction_keep_every_digit(folder: Folder) -> None:
    number = "123456789012345678901234567890.5"
    ids = pa.array([Decimal(f"{number}0"), Decimal(number[:-1] + "00")], pa.decimal128(38, 2))

    assert [each["id"] for each in read(folder, id=ids)] == [number, number[:-2]]


def test_times_are_cut_to_milliseconds_and_infinity_is_no_end(folder: Folder) -> None:
    until = pa.array([1795855195123456789, None], pa.int64()).view(pa.timestamp("ns", "Europe/Paris"))
    ever = pa.array([2**63 - 1, 10**15], pa.int64()).view(pa.timestamp("us"))

    first, second = read(folder, id=["1", "2"], available_until=until, available_from=ever, seen=until)

    assert first["filters"] == {"availableUntil": "2026-11-28T08:39:55.123Z"}
    assert first["extras"] == {"seen": "2026-11-28T08:39:55.123+00:00"}
    assert second["filters"] == {"availableFrom": "2001-09-09T01:46:40.000Z"}
    days = pa.array([2**31 - 1, 20757], pa.int32()).view(pa.date32())
    assert [piece["filters"] for piece in read(folder, id=["1", "2"], available_until=days)] == [
        {},
        {"availableUntil": "2026-10-31T00:00:00.000Z"},
    ]


def test_times_of_96_bits_are_those_that_spark_wrote_in_any_year(folder: Folder) -> None:
    times = [datetime(9999, 12, 31, 1, 2, 3, 4567, UTC), datetime(1600, 1, 2, 3, 4, 5, 6789, UTC)]
    columns = {"id": ["1", "2"], "available_until": times, "seen": times, "shown": [{"on": time} for time in times]}
    parquet.write_table(pa.table(columns), folder.path / "a.parquet", use_deprecated_int96_timestamps=True)

    first, second = folder.read("parquet")

    assert first["filters"] == {"availableUntil": "9999-12-31T01:02:03.004Z"}
    assert first["extras"] == {
        "seen": "9999-12-31T01:02:03.004+00:00",
        "shown": {"on": "9999-12-31T01:02:03.004+00:00"},
    }
    assert second["filters"] == {"availableUntil": "1600-01-02T03:04:05.006Z"}


def test_bytes_that_are_no_text_are_refused_where_a_text_is_needed_and_left_out_elsewhere(folder: Folder) -> None:
    names = pa.array([b"caf\xe9", b"caf\xe8"])

    problem, _ = read(folder, id=names)

    assert "The column id holds bytes that are no UTF-8 ('caf\\xe9'); write it as texts in UTF-8." in problem.detail
    assert "tags holds bytes" in read(folder, id=["1"], tags=names[:1])[0].detail
    assert read(folder, id=["1", "2"], thumbnail=names) == [drafted("1"), drafted("2")]
    assert folder.left_out()["a.arrow", "thumbnail"] == ("bytes that are no text", 2, 1)


def test_columns_that_nobody_reads_are_told_and_not_converted(folder: Folder) -> None:
    shape = pa.array([b"\x01\x01\0\0\0"])
    spans = pa.array([pa.MonthDayNano([1, 2, 3])], pa.month_day_nano_interval())

    assert read(folder, id=["1"], shape=shape, spans=spans, __index_level_0__=[7]) == [drafted("1")]
    assert {name for _, name in folder.left_out()} == {"shape", "spans", "__index_level_0__"}


def test_maps_are_objects_of_their_own_rows(folder: Folder) -> None:
    rows = [[("b", 1)], None, [], [("c", None), ("d", 4)]]
    pairs = pa.array([[("a", 9)], *rows], pa.map_(pa.string(), pa.int64()))

    pieces = read(folder, id=["1", "2", "3", "4"], pairs=pairs.slice(1))

    assert [piece["extras"] for piece in pieces] == [
        {"pairs": {"b": 1}},
        {},
        {"pairs": {}},
        {"pairs": {"c": None, "d": 4}},
    ]


def test_of_interactions_other_columns_are_only_counted(folder: Folder) -> None:
    spans = pa.array([FAR, None, 1], pa.int64()).view(pa.duration("s"))
    times = pa.array([1795855195123456789] * 3, pa.int64()).view(pa.timestamp("ns"))
    others = {"spans": spans, "zero": [0, 0, 5], "text": ["", "a", None], "flag": [False, True, True]}

    events = read(folder, user=["u"] * 3, item=["a"] * 3, event=["view"] * 3, ts=times, **others)

    assert events[0]["timestamp"] == "2026-11-28T08:39:55.123Z"
    counts = {field: (count, line) for (_, field), (_, count, line) in folder.left_out().items()}
    assert counts == {"spans": (2, 1), "text": (1, 2), "flag": (2, 2), "zero": (1, 3)}


@pytest.mark.parametrize("values", ([["a"]], [{"a": 1}]))
def test_lists_and_objects_are_no_ids(folder: Folder, values: list[Any]) -> None:
    with pytest.raises(Refused, match="the column id holds neither texts, numbers nor times"):
        read(folder, id=values)


def test_lists_of_objects_are_their_names_and_texts_of_json_are_lists(folder: Folder) -> None:
    named = [[{"id": 1, "name": "Film noir"}, {"id": 2, "name": "Crime"}]]
    encoded = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['["dark", "sad"]']))

    (piece,) = read(folder, "parquet", id=["1"], genres=named, moods=encoded)

    assert piece["categories"] == {"genre": ["Film noir", "Crime"], "moods": ["dark", "sad"]}


def test_columns_of_one_name_are_numbered(folder: Folder) -> None:
    table = pa.Table.from_arrays([pa.array([each]) for each in "1ab"], names=["id", "tag", "tag"])
    write_table(folder.path / "a.arrow", table, "file")

    assert folder.read("parquet") == [drafted("1", tag=["a", "b"])]


def test_damaged_files_are_refused(folder: Folder) -> None:
    write_table(folder.path / "a.arrow", pa.table({"id": [str(n) for n in range(5_000)]}), "parquet")
    content = (folder.path / "a.arrow").read_bytes()
    (folder.path / "a.arrow").write_bytes(content[:50] + b"\xff" * 2_000 + content[2_050:])

    with pytest.raises(Refused, match=r"a\.arrow: no table of Parquet or Arrow"):
        folder.read("parquet")


def test_names_of_folders_are_columns_of_the_tables_in_them(folder: Folder) -> None:
    inner = folder.path / "catalog=books" / "genre=film%20noir" / "shelf=__HIVE_DEFAULT_PARTITION__"
    inner.mkdir(parents=True)
    write_table(inner / "a.parquet", pa.table({"id": ["1"]}), "parquet")
    (folder.path / "catalog=films").mkdir()
    folder.write("catalog=films/b.csv", "id,genre", "2,sea")
    chosen = (KeywordColumn(column="genre", category="kind"),)

    expected = drafted("1", kind=["film noir"], filters={"catalogs": ["books"]})
    assert folder.read("parquet", keywords=chosen) == [expected]
    assert folder.read("csv") == [drafted("2", genre=["sea"], filters={"catalogs": ["films"]})]


@pytest.mark.parametrize(
    ("log", "rows", "reader"),
    (
        ("_delta_log/00000000000000000000.json", "a.parquet", "delta"),
        ("_delta_log/00000000000000000000.json", "catalog=books/a.parquet", "delta"),
        ("metadata/00000-5ec80f33.metadata.json", "data/a.parquet", "iceberg"),
    ),
)
def test_tables_whose_files_hold_deleted_rows_too_are_refused(folder: Folder, log: str, rows: str, reader: str) -> None:
    for name in (log, rows):
        folder.path.joinpath("films", name).parent.mkdir(parents=True, exist_ok=True)
    folder.path.joinpath("films", log).write_text("{}")
    parquet.write_table(pa.table({"id": ["1"]}), folder.path / "films" / rows)

    with pytest.raises(Refused, match=rf"files/films: a table with a log, .* pl\.scan_{reader}\(…\)"):
        folder.read("parquet")

    folder.path.joinpath("films", log).unlink()
    assert [piece["id"] for piece in folder.read("parquet")] == ["1"]


def test_texts_in_lists_that_are_no_utf_8_are_refused_and_data_in_them_is_left_out(folder: Folder) -> None:
    cells = [[b"crime"], [b"drama", "Komödie".encode("latin-1")], [b"\x89PNG\x00\xff", b"noir"]]
    thumbs = [[{"name": "a", "bytes": b"\xff\x00"}]] * 3

    first, problem, third = read(
        folder, id=["1", "2", "3"], genres=pa.array(cells), moods=pa.array(cells), shots=thumbs
    )

    assert first == drafted("1", genre=["crime"], moods=["crime"], shots=["a"])
    assert problem.detail.endswith(r" holds bytes that are no UTF-8 ('Kom\xf6die'); write it as texts in UTF-8.")
    assert third["categories"] == {"genre": ["noir"], "moods": ["noir"], "shots": ["a"]}
    assert folder.left_out()["a.arrow", "genres"] == ("values of the type binary are not read", 2, 2)


@pytest.mark.parametrize(("kind", "bound"), ((pa.float64(), 2**53), (pa.float32(), 2**24)))
def test_ids_that_lost_digits_as_floats_are_refused_with_what_helps(folder: Folder, kind: Any, bound: int) -> None:
    numbers = pa.array([7.0, float(bound - 1), float(bound)], kind)

    first, second, problem = read(folder, id=numbers, size=numbers)

    assert (first["id"], second["id"]) == ("7", str(bound - 1))
    assert f"lost digits from {bound} on; write it as whole numbers or as texts, in DuckDB by CAST" in problem.detail
    read(folder, user=numbers, item=["1"] * 3, event=["view"] * 3, time=pa.array([1, 2, 3]).cast(pa.timestamp("s")))


def test_times_past_9999_are_told_where_a_time_is_needed_and_kept_elsewhere(folder: Folder) -> None:
    far = pa.array([316_537_897_600, -99_999_999_999_999, None]).view(pa.timestamp("s"))
    days = pa.array([3_663_633, 2**31 - 1, 0], pa.int32()).view(pa.date32())

    first, second, third = read(
        folder, id=["1", "2", "3"], available_from=days, available_until=far, seen=far, day=days
    )

    assert (first["filters"], third["filters"]) == ({}, {})
    assert first["extras"] == {"seen": "+12000-09-08T01:46:40+00:00", "day": "+12000-09-08"}
    assert second["extras"]["seen"].startswith("-3166")
    told = [each.reason for each in folder.notes.all_left_out()]
    assert "Found '+12000-09-08', a time in no year from 1 to 9999; none other is accepted." in told
    assert len(told) == 3


def test_lengths_of_time_are_texts_and_no_time(folder: Folder) -> None:
    spans = pa.array([90, None], pa.int64()).view(pa.duration("s"))

    problem, _ = read(folder, user=["u"] * 2, item=["a"] * 2, event=["view"] * 2, time=spans)

    assert "Found 'PT90S', which is no time; " in problem.detail
    assert read(folder, id=["1"], length=spans[:1])[0]["extras"] == {"length": "PT90S"}


PERIODS = {"Y": "2026", "Q": "2026Q1", "M": "2026-01", "3M": None, "W": None, "D": "2026-01-05"}


def test_periods_of_pandas_are_texts_or_told(folder: Folder) -> None:
    columns = {unit: pd.PeriodIndex(["2026-01-05", None], freq=unit) for unit in (*PERIODS, "h", "s")}
    pd.DataFrame({"id": ["1", "2"]} | columns).to_parquet(folder.path / "a.parquet")

    first, _ = folder.read("parquet")

    kept = {unit: text for unit, text in PERIODS.items() if text is not None}
    assert first["extras"] == kept | dict.fromkeys("hs", "2026-01-05T00:00:00+00:00")
    assert folder.left_out()["a.parquet", "W"][0] == "values of the type period[W-SUN] are not read"


@pytest.mark.parametrize("kind", ("ipc", "ipc_stream"))
def test_arrow_files_with_integers_of_128_bits_are_refused_with_a_cast_that_helps(folder: Folder, kind: str) -> None:
    frame = pl.DataFrame({"id": ["1"], "size": [2**100]}, schema_overrides={"size": pl.Int128})
    path = folder.path / "a.arrow"
    getattr(frame, f"write_{kind}")(path)

    with pytest.raises(Refused, match="a type that pyarrow cannot read") as refusal:
        folder.read("parquet")
    cast = re.search(r"in polars by df\.(.*)\.$", str(refusal.value))
    assert cast is not None
    getattr(eval(f"frame.{cast[1]}"), f"write_{kind}")(path)  # noqa: S307  # advice that works
    assert folder.read("parquet") == [drafted("1", extras={"size": str(2**100)})]


def test_an_id_of_zero_is_an_id(folder: Folder) -> None:
    pieces = read(folder, id=[0, 1, None, 3], title=["a", "b", "c", "d"])

    assert [each["id"] for each in pieces if isinstance(each, dict)] == ["0", "1", "3"]

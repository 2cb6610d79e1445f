"""Tables of Parquet and Arrow are read as data frames write them."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from import_folders import Folder, drafted, run
from penchant.errors import Refused
from penchant.importing import StoredTarget

pytestmark = pytest.mark.slow  # pandas takes a second to import


def pieces() -> pa.Table:
    return pa.table(
        {
            "item_id": [7, 8],
            "title": ["Rope", None],
            "genres": [["crime", "drama"], []],
            "moods": [["dark"], None],
            "year": [1948.0, None],
            "price": [Decimal("9.50"), Decimal(0)],
            "seen": [date(2026, 11, 1), None],
        }
    )


@pytest.mark.parametrize("name", ("a.parquet", "a.feather"))
def test_columns_of_lists_are_keywords_and_numbers_stay_numbers(folder: Folder, name: str) -> None:
    write = parquet.write_table if name.endswith("parquet") else feather.write_feather
    write(pieces(), folder.path / name)

    rope, other = folder.read("parquet")

    assert rope == drafted(
        "7", "Rope", genre=["crime", "drama"], moods=["dark"], extras={"year": 1948, "price": 9.5, "seen": "2026-11-01"}
    )
    assert other == drafted("8", extras={"price": 0})


def test_a_frame_of_interactions_keeps_its_times(folder: Folder, target: StoredTarget) -> None:
    frame = pd.DataFrame(
        {
            "user": [1, 2],
            "item": ["a", "b"],
            "event": ["view", "purchase"],
            "ts": [datetime(2026, 11, 1, 10, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)],
        }
    )
    frame.to_parquet(folder.path / "events.parquet")

    first, second = folder.read("parquet")
    work = run("parquet", folder, target)

    assert first == {"userId": "1", "type": "Click", "contentId": "a", "timestamp": "2026-11-01T10:00:00.000Z"}
    assert (second["type"], work.tally.interactions) == ("Purchase", 2)


def test_files_of_another_kind_and_tables_without_ids_are_refused(folder: Folder) -> None:
    folder.write("a.parquet", "no table")
    with pytest.raises(Refused, match=r"a.parquet: no table of Parquet or Arrow"):
        folder.read("parquet")

    for name in ("a.parquet", "a.pq"):
        folder.path.joinpath("a.parquet").unlink(missing_ok=True)
        parquet.write_table(pa.table({"x": [1]}), folder.path / name)
        with pytest.raises(Refused, match=r"no column of ids .* Found are x\.$"):
            folder.read("parquet")


def test_integers_of_128_bits_are_read_as_polars_writes_them(folder: Folder) -> None:
    ids = pl.Series("id", [10**30, -5], pl.Int128)
    pl.DataFrame([ids, pl.Series("title", ["Rope", "Sail"])]).write_parquet(folder.path / "a.parquet")

    assert folder.read("parquet") == [drafted(str(10**30), "Rope"), drafted("-5", "Sail")]

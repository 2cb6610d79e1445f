"""Data frames go in and come out, and answers are at home in a notebook."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from clocks import DAY_CLOCK
from factories import piece
from penchant import __version__, client
from penchant_client import (
    AsyncClient,
    Client,
    ClientError,
    InvalidArgument,
    Piece,
    Placement,
    PlacementVariant,
    Retries,
    to_frame,
)
from serving import Service

pytestmark = pytest.mark.slow  # its libraries take a second to import

ADDRESS = "http://testserver"
ONCE = Retries(attempts=1)
WATCHED = DAY_CLOCK.now() - timedelta(days=30)
COLUMNS: dict[str, Any] = {
    "isbn": [101, 102],
    "name": ["Tides", None],
    "shelf": [["sea", "islands"], ["sea"]],
    "times": [[90, 20], [70]],
    "mood": ["calm", None],
    "year": [1999.0, float("nan")],
    "shop": ["here", "here"],
}
CHOSEN: dict[str, Any] = {
    "id": "isbn",
    "label": "name",
    "categories": {"shelf": "shelf", "mood": "mood"},
    "weights": {"shelf": "times"},
    "catalogs": "shop",
    "extras": ["year"],
}


@pytest.fixture
def through(service: Service) -> Client:
    return Client(ADDRESS, service.key, retries=ONCE, http=service.client)


@pytest.mark.parametrize(
    "make",
    (
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda columns: pl.DataFrame(columns).to_dicts(),
    ),
)
def test_the_rows_of_a_frame_are_pieces(through: Client, make: Any) -> None:
    receipt = through.submit_frame("s", make(COLUMNS), **CHOSEN)

    assert receipt.created == 2
    assert [each.to_dict() for each in through.list_content("s")] == [
        {
            "id": "101",
            "label": "Tides",
            "categories": {"shelf": [{"key": "sea", "weight": 90}, {"key": "islands", "weight": 20}], "mood": ["calm"]},
            "filters": {"catalogs": ["here"]},
            "extras": {"year": 1999},
        },
        {"id": "102", "categories": {"shelf": [{"key": "sea", "weight": 70}]}, "filters": {"catalogs": ["here"]}},
    ]


@pytest.mark.parametrize(
    ("frame", "chosen", "said"),
    (
        (pd.DataFrame({"x": [1]}), {"id": "isbn"}, "no column 'isbn'; found are x"),
        (
            pd.DataFrame({"i": [1], "g": ["a"], "w": [[1, 2]]}),
            {"id": "i", "categories": ["g"], "weights": {"g": "w"}},
            "2 weights for 1",
        ),
        ("text", {"id": "x"}, "Found str; a data frame"),
        (pd.DataFrame({"i": ["a", None]}), {"id": "i"}, "Row 1: column 'i': the cell is empty"),
        (pa.table({"i": [b"a"]}), {"id": "i"}, "Row 0: column 'i': found bytes"),
        (pd.DataFrame({"i": [2.0**53, None]}), {"id": "i"}, "Row 0: column 'i': .* lost digits"),
    ),
)
def test_frames_that_do_not_fit_are_a_client_error(
    through: Client, frame: Any, chosen: dict[str, Any], said: str
) -> None:
    with pytest.raises(ClientError, match=said):
        through.submit_frame("s", frame, **chosen)


ACTS: dict[str, Any] = {
    "user_id": [7, 8],
    "item": ["a", "b"],
    "type": ["Watch", "Purchase"],
    "timestamp": [WATCHED, None],
    "value": [0.5, None],
    "event_id": ["e", None],
    "unread": [WATCHED.time(), WATCHED.time()],
}


def typed(columns: dict[str, Any]) -> pd.DataFrame:
    """The same with types of pandas that are none of Python: categories, nullable integers, nanoseconds."""
    frame = pd.DataFrame(columns)
    return frame.assign(
        user_id=frame["user_id"].astype("Int64"),
        type=frame["type"].astype("category"),
        timestamp=pd.to_datetime(frame["timestamp"]).dt.as_unit("ns") + pd.Timedelta(999, "ns"),
        value=frame["value"].astype("Float64"),
        event_id=frame["event_id"].astype("string"),
    )


def in_nanoseconds(columns: dict[str, Any]) -> pa.Table:
    """The same with moments that Python's times do not have."""
    moment = pa.array([int(WATCHED.timestamp() * 1000) * 1_000_000 + 999, None], pa.timestamp("ns", "Europe/Vienna"))
    return pa.table(columns | {"timestamp": moment, "unread": pa.array([1, 2], pa.duration("ns"))})


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, typed": typed,
    "pandas, of numpy": lambda columns: pd.DataFrame(columns | {"user_id": list(np.array([7, 8]))}, dtype=object),
    "polars": pl.DataFrame,
    "polars, typed": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col("timestamp").dt.cast_time_unit("ns"), pl.col("type").cast(pl.Categorical)
    ),
    "pyarrow": pa.table,
    "pyarrow, typed": in_nanoseconds,
    "rows": lambda columns: pl.DataFrame(columns).to_dicts(),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_the_rows_of_a_frame_are_interactions(through: Client, make: Callable[[dict[str, Any]], Any]) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x")])

    receipt = through.record_frame("s", make(ACTS), content_id="item")
    again = through.record_frame("s", make(ACTS), content_id="item")

    kept = through.export_user("s", "7").interactions[0]
    cut = WATCHED.replace(microsecond=WATCHED.microsecond // 1000 * 1000)
    assert (receipt.accepted, again.duplicates) == (2, 1)
    assert (kept.content_id, kept.type, kept.timestamp, kept.value, kept.event_id) == ("a", "Watch", cut, 0.5, "e")
    assert [(each.type, each.value) for each in through.list_interactions("s", "8")] == [("Purchase", None)] * 2


def test_a_type_of_all_rows_and_columns_of_other_names_are_said(through: Client) -> None:
    through.submit_content("s", [piece("1", "x")])
    frame = pd.DataFrame({"who": ["kim"], "movieId": [1], "when": [pd.Timestamp(WATCHED)]})

    through.record_frame("s", frame, user_id="who", content_id="movieId", type="Watch", timestamp="when")

    assert through.list_interactions("s", "kim")[0].content_id == "1"


@pytest.mark.parametrize("library", ("pandas", "polars", "pyarrow"))
def test_what_a_frame_of_interactions_says_goes_in_again(through: Client, library: Any) -> None:
    through.submit_content("s", [piece("a", "x")])
    through.record_interaction("s", "kim", "Watch", "a", timestamp=WATCHED)

    through.submit_content("t", [piece("a", "x")])
    through.record_frame("t", through.list_interactions("s", "kim").to_frame(library))

    assert [each.timestamp for each in through.list_interactions("t", "kim")] == [WATCHED]


@pytest.mark.parametrize(
    ("changed", "said"),
    (
        ({"user_id": ["kim", None]}, "Row 1: column 'user_id': the cell is empty"),
        ({"type": ["Watch", "Gaze"]}, "Row 1: column 'type'"),
        ({"timestamp": [964982703, 964982703]}, "Row 0: column 'timestamp': found 964982703.*unit='s'"),
        ({"timestamp": [WATCHED.replace(tzinfo=None)] * 2}, "Row 0: column 'timestamp': the time has no zone"),
        ({"value": [0.5, 4]}, "Row 1: column 'value'"),
        ({"item": [b"a", b"b"]}, "Row 0: column 'item': found bytes"),
        ({"item": [True, False]}, "Row 0: column 'item'"),
    ),
)
@pytest.mark.parametrize("make", (pd.DataFrame, pl.DataFrame, pa.table))
def test_an_error_names_the_row_and_the_column(through: Client, make: Any, changed: Any, said: str) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x")])

    with pytest.raises(ClientError, match=said):
        through.record_frame("s", make(ACTS | changed), content_id="item")


def test_rows_are_counted_from_the_first_of_all_requests(through: Client) -> None:
    through.submit_content("s", [piece("a", "x")])
    types = ["Click"] * 10_001 + ["Gaze"]
    frame = pl.DataFrame({"user_id": "kim", "type": types, "content_id": "a"})

    with pytest.raises(ClientError, match="Row 10001: column 'type'") as failed:
        through.record_frame("s", frame)

    assert failed.value.stored is not None
    assert failed.value.stored.accepted == 10_000


@pytest.mark.parametrize("make", (pd.DataFrame, pl.DataFrame, pa.table, pl.LazyFrame))
@pytest.mark.parametrize(
    ("ask", "said"),
    (
        (lambda client, frame: client.record_interactions("s", frame), "use record_frame"),
        (lambda client, frame: client.submit_content("s", frame), "use submit_frame"),
        (lambda client, frame: client.record_impressions("s", frame), "a list of SeenList"),
        (lambda client, frame: client.page_lists("s", frame), "a list of PageList"),
        (lambda client, frame: client.recommend_to_each("s", frame), "a column of it"),
        (lambda client, frame: client.similar_to_each("s", frame), "a column of it"),
        (lambda client, frame: client.delete_content("s", frame), "a column of it"),
        (lambda client, frame: client.put_blacklist("s", frame), "a column of it"),
        (lambda client, frame: client.recommend("s", "kim", exclude=frame), "a column of it"),
    ),
)
def test_a_frame_that_is_given_as_a_list_is_told_where_it_goes(
    through: Client, make: Any, ask: Callable[[Client, Any], object], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=f"This is a data frame: .*{said}"):
        ask(through, make({"id": ["a"]}))


def test_columns_of_frames_are_lists_of_ids(through: Client) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x")])

    for column in (pd.Series(["a"]), pl.Series(["a"])):
        assert [each.id for each in through.similar_to_each("s", column)] == ["a"]


def test_numbers_of_numpy_are_taken_everywhere(through: Client) -> None:
    weights = np.array([80, 20])
    keywords = [{"key": name, "weight": weight} for name, weight in zip("xy", weights, strict=True)]

    through.submit_content("s", [Piece(id="a", categories={"g": keywords}, extras={"v": weights}), piece("b", "x")])

    assert through.get_content("s", "a").categories["g"][0] == {"key": "x", "weight": 80}
    assert through.get_content("s", "a").extras == {"v": [80, 20]}
    assert len(through.list_ids("s", limit=np.int64(1))) == 1  # type: ignore[arg-type]  # numpy's are not typed so


@pytest.mark.parametrize("value", (object(), {1, 2}.__iter__(), {"a": {("b",): 1}}))
def test_what_json_does_not_have_is_a_client_error(through: Client, value: object) -> None:
    with pytest.raises(InvalidArgument, match="cannot be sent"):
        through.submit_content("s", [{"id": "a", "categories": {}, "extras": {"x": value}}])


def test_a_client_that_is_closed_and_addresses_that_are_none_are_client_errors() -> None:
    closed = Client("http://127.0.0.1:9", "pk_x", retries=ONCE)
    closed.close()

    with pytest.raises(InvalidArgument, match="closed"):
        closed.live()
    for address, key in (("http://[::1", "pk_x"), ("http://127.0.0.1:9", "pk_\u00e4\u20ac")):
        with Client(address, key, retries=ONCE) as strange, pytest.raises(ClientError):
            strange.live()


@pytest.mark.parametrize("library", ("pandas", "polars", "pyarrow"))
def test_lists_become_frames_with_a_row_for_each_entry(through: Client, library: Any) -> None:
    through.submit_content("s", [piece("a", "x", "y"), piece("b", "x"), piece("c", "z")])
    through.record_interaction("s", "kim", "Watch", "a", timestamp=WATCHED)

    similar = through.similar_content("s", "a").to_frame(library)
    acts = to_frame(through.iterate_interactions("s", "kim"), library)
    pieces = through.list_content("s").to_frame(library)

    assert held(similar, "id") == ["b"]
    assert names(similar) == ["id", "score"]  # no reasons were asked for, none have a column
    assert names(acts) == ["key.source", "key.user_id", "type", "content_id", "timestamp"]
    assert held(acts, "timestamp") == [WATCHED]
    assert held(pieces, "id") == ["a", "b", "c"]
    assert any(name.startswith("categories.") for name in names(pieces))
    assert held(to_frame(["a"], library), "id") == ["a"]


@pytest.mark.parametrize("library", ("pandas", "polars", "pyarrow"))
def test_every_list_becomes_a_frame_and_an_empty_one_has_its_columns(through: Client, library: Any) -> None:
    lists: dict[str, tuple[Callable[[], Any], list[str]]] = {
        "recommend": (lambda: through.recommend("s", "kim"), ["id", "score"]),
        "to each": (lambda: through.recommend_to_each("s", ["kim"]), ["list.id", "id", "score"]),
        "similar to each": (lambda: through.similar_to_each("s", ["a"]), ["list.id", "id", "score"]),
        "popular": (lambda: through.popular_content("s"), ["id", "score"]),
        "rank": (lambda: through.rank("s", "kim", ["b"]), ["id", "score"]),
        "again": (lambda: through.again_content("s", "kim"), ["id", "score", "began", "days", "timestamp"]),
        "audience": (lambda: through.content_audience("s", "a"), ["id", "score"]),
        "ids": (lambda: through.list_ids("s"), ["id"]),
        "hidden": (lambda: through.get_blacklist("s"), ["id"]),
        "interactions": (
            lambda: through.list_interactions("s", "kim"),
            ["key.source", "key.user_id", "type", "content_id", "timestamp"],
        ),
        "placement": (lambda: through.placement_list("s", "home"), ["id", "score"]),
        "page": (
            lambda: through.page_lists("s", [{"placement": "home"}]),
            ["list.placement", "list.content_id", "id", "score"],
        ),
    }
    through.submit_content("s", [piece("a", "x"), piece("b", "y")])
    through.put_placement("s", "home", {"kind": "recommendations"})
    through.put_blacklist("s", ["a", "b"])

    for name, (read, columns) in lists.items():
        frame = read().to_frame(library)
        assert columns == [each for each in names(frame) if each in columns], name
    empty = through.recommend("s", "kim").to_frame(library)
    assert (len(empty), kind_of(empty, "id"), kind_of(empty, "score")) == (0, *KINDS[library])


def test_a_placement_is_one_row_whatever_variants_it_has() -> None:
    frame = Placement(kind="new", variants=[PlacementVariant(name="v", share=0.5)]).to_frame("pyarrow")

    assert held(frame, "kind") == ["new"]


KINDS = {"pandas": ("str", "float64"), "polars": ("String", "Float64"), "pyarrow": ("string", "double")}


def names(frame: Any) -> list[str]:
    return list(getattr(frame, "column_names", frame.columns))


def held(frame: Any, column: str) -> list[Any]:
    values = frame[column]
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)


def kind_of(frame: Any, column: str) -> str:
    return str(frame[column].type if hasattr(frame[column], "type") else frame[column].dtype)


@pytest.mark.parametrize("library", ("pandas", "polars", "pyarrow"))
def test_lists_of_several_become_one_frame_that_says_whose_each_row_is(through: Client, library: Any) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x"), piece("c", "x")])

    near = through.similar_to_each("s", ["a", "gone", "b"]).to_frame(library)
    suited = through.recommend_to_each("s", ["kim", "lee"]).to_frame(library)

    assert list(zip(held(near, "list.id"), held(near, "id"), strict=True)) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "a"),
        ("b", "c"),
    ]
    assert held(suited, "list.id") == ["kim"] * 3 + ["lee"] * 3


@pytest.mark.parametrize("library", ("polars", "pyarrow"))
def test_columns_of_one_type_hold_what_is_of_several_as_text(library: Any) -> None:
    entries = [{"x": ["a", {"key": "b", "weight": 3}], "y": 1, "z": 1}, {"x": ["c"], "y": 1.5, "z": "1"}]

    frame = to_frame(entries, library)

    assert held(frame, "y") == [1.0, 1.5]
    assert held(frame, "z") == ["1", "1"]
    assert [list(each) for each in held(frame, "x")] == [["a", '{"key":"b","weight":3}'], ["c"]]


async def test_answers_of_the_async_client_become_frames_too(service: Service, through: Client) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x")])
    application: Any = vars(service.client)["app"]
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport) as http:
        client = AsyncClient(ADDRESS, service.key, retries=ONCE, http=http)

        await client.record_frame("s", pd.DataFrame({"user_id": ["kim"], "content_id": ["a"]}), type="Watch")

        assert held((await client.list_interactions("s", "kim")).to_frame("polars"), "content_id") == ["a"]
        with pytest.raises(InvalidArgument, match="use record_frame"):
            await client.record_interactions("s", pd.DataFrame({"user_id": ["kim"]}))


def test_answers_are_sequences_and_dictionaries(through: Client) -> None:
    through.submit_content("s", [piece("a", "x"), piece("b", "x")])

    similar = through.similar_content("s", "a", explain=True)
    empty = through.similar_content("s", "a", catalogs=["none"])

    assert (len(similar), similar[0].id, [entry.id for entry in similar]) == (1, "b", ["b"])
    assert json.loads(json.dumps(similar.to_dict()))["content"][0]["why"]["terms"][0]["keyword"] == "x"
    assert (len(empty), bool(empty)) == (0, True)


def test_notebooks_show_answers_as_tables_without_trusting_them(through: Client) -> None:
    through.submit_content("s", [piece("a", "x"), piece("<b>", "x")])

    shown = through.similar_content("s", "a")._repr_html_()
    many = through.submit_content("t", [piece(f"{number:03}", "x") for number in range(60)])

    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "… and 10 more" in through.list_ids("t")._repr_html_()
    assert "<td>created</td><td>60</td>" in many._repr_html_()


def test_times_are_times(through: Client) -> None:
    through.submit_content("s", [piece("a", "x")])
    through.record_interaction("s", "kim", "Watch", "a", timestamp=WATCHED)

    assert through.get_source("s").created_at.tzinfo is not None
    assert through.list_content("s").timestamp == through.get_source("s").updated_at
    assert through.export_user("s", "kim").interactions[0].timestamp == WATCHED


def test_the_client_tells_its_release() -> None:
    assert client.__version__ == __version__

"""Data frames go in and come out, and answers are at home in a notebook."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from client.through import ADDRESS, ONCE
from clocks import DAY_CLOCK
from factories import piece
from penchant import __version__, client
from penchant.client import Client, ClientError, InvalidArgument, Piece, to_frame
from serving import Service

pytestmark = pytest.mark.slow  # its libraries take a second to import

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


@pytest.mark.parametrize("make", (pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_dicts()))
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
    ),
)
def test_frames_that_do_not_fit_are_a_client_error(
    through: Client, frame: Any, chosen: dict[str, Any], said: str
) -> None:
    with pytest.raises(ClientError, match=said):
        through.submit_frame("s", frame, **chosen)


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


@pytest.mark.parametrize("library", ("pandas", "polars"))
def test_lists_become_frames_with_a_row_for_each_entry(through: Client, library: Any) -> None:
    through.submit_content("s", [piece("a", "x", "y"), piece("b", "x"), piece("c", "z")])
    through.record_interaction("s", "kim", "Watch", "a", timestamp=WATCHED)

    similar = through.similar_content("s", "a").to_frame(library)
    acts = to_frame(through.iterate_interactions("s", "kim"), library)
    pieces = through.list_content("s").to_frame(library)

    assert list(similar["id"]) == ["b"]
    assert list(similar.columns) == ["id", "score"]  # no reasons were asked for, none have a column
    assert list(acts.columns) == ["key.source", "key.user_id", "type", "content_id", "timestamp"]
    assert next(iter(acts["timestamp"])) == WATCHED
    assert list(pieces["id"]) == ["a", "b", "c"]
    assert any(name.startswith("categories.") for name in pieces.columns)
    assert list(to_frame(["a"], library)["id"]) == ["a"]


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

"""Tables of research sets: RecBole's atomic files, IMDb's and TMDB's titles, and Gorse's dump."""

import json
import struct
from collections.abc import Iterable

import pytest

from import_folders import Folder, drafted
from penchant.errors import Refused
from penchant_engine.model import InteractionType


def test_recbole_columns_are_what_their_heading_says(folder: Folder) -> None:
    folder.write(
        "ml.item",
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\tprice:float\tvector:float_seq",
        "1\tToy Story\t1995\tAnimation Comedy\t2.5\t0.1 0.2",
    )
    folder.write("ml.inter", "user_id:token\titem_id:token\trating:float\ttimestamp:float", "7\t1\t5\t881250949")
    folder.write("ml.user", "user_id:token\tage:token", "7\t30")

    film, like = folder.read("recbole")

    assert film == drafted(
        "1", "Toy Story", release_year=["1995"], **{"class": ["Animation", "Comedy"]}, extras={"price": 2.5}
    )
    assert like == {"userId": "7", "type": "RateLike", "contentId": "1", "timestamp": "1997-12-04T15:55:49.000Z"}
    assert {("ml.item", "vector:float_seq"), ("ml.user", "(the whole file)")} <= set(folder.left_out())


def test_recbole_interactions_without_ratings_are_what_the_option_says(folder: Folder) -> None:
    folder.write("a.inter", "user_id:token\titem_id:token\ttimestamp:float", "7\t1\t881250949")

    assert folder.read("recbole", types={"*": InteractionType.CLICK})[0]["type"] == "Click"
    with pytest.raises(Refused, match="no column of types or ratings"):
        folder.read("recbole")


def test_imdb_titles_have_genres_and_a_type(folder: Folder) -> None:
    folder.write(
        "title.basics.tsv.gz",
        "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres",
        'tt1\tmovie\tThe "Rope\tThe Rope\t0\t1948\t\\N\t80\tCrime,Thriller',
        "tt2\tshort\tNameless\tNameless\t0\t\\N\t\\N\t\\N\t\\N",
        "tt3\tshort",
    )
    folder.write("title.ratings.tsv", "tconst\taverageRating", "tt1\t7.9")

    rope, nameless, broken = folder.read("imdb")

    assert rope == drafted(
        "tt1",
        'The "Rope',
        type=["movie"],
        genre=["Crime", "Thriller"],
        extras={"originalTitle": "The Rope", "year": 1948, "runtimeMinutes": 80},
    )
    assert nameless["categories"] == {"type": ["short"]}
    assert broken.detail == "Found 2 columns; 9 are accepted."
    assert ("title.ratings.tsv", "(the whole file)") in folder.left_out()


def test_imdb_tables_that_are_missing_or_of_another_kind_are_refused(folder: Folder) -> None:
    with pytest.raises(Refused, match="There is no file"):
        folder.read("imdb")
    folder.write("title.basics.tsv", "a,b", "1,2")
    with pytest.raises(Refused, match=r"title.basics.tsv, line 1: the columns genres, primaryTitle, tconst"):
        folder.read("imdb")


def test_tmdb_films_have_the_names_in_their_cells_and_their_credits(folder: Folder) -> None:
    def cell(*names: str, **more: str) -> str:
        return '"' + json.dumps([{"id": 1, "name": name} | more for name in names]).replace('"', '""') + '"'

    folder.write(
        "tmdb_5000_movies.csv",
        "id,title,genres,keywords,original_language,release_date,overview",
        f"1,Rope,{cell('Crime', 'Thriller')},{cell('party')},en,1948-09-25,Two men.",
        "2,Plain,\"Drama, War\",\"[{'id': 1, 'name': 'sea'}]\",fr,,",
    )
    folder.write(
        "tmdb_5000_credits.csv",
        "movie_id,title,cast,crew",
        f"1,Rope,{cell('Ann Bee')},{cell('Cee Dee', job='Director')}",
    )

    folder.write("notes.csv", "a,b", "1,2")

    rope, plain = folder.read("tmdb")

    assert rope["categories"] == {
        "genre": ["Crime", "Thriller"],
        "keyword": ["party"],
        "language": ["en"],
        "actor": ["Ann Bee"],
        "director": ["Cee Dee"],
    }
    assert rope["extras"] == {"description": "Two men.", "releaseDate": "1948-09-25"}
    assert plain["categories"] == {"genre": ["Drama", "War"], "keyword": ["sea"], "language": ["fr"]}
    assert folder.left_out()["notes.csv", "(the whole file)"][0] == "neither a table of films nor one of credits"


def varint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """Return a message of Protocol Buffers, written by its document."""
    found = b""
    for number, value in fields:
        if isinstance(value, float):
            found += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            found += varint(number << 3) + varint(value)
        else:
            text = value.encode() if isinstance(value, str) else value
            found += varint(number << 3 | 2) + varint(len(text)) + text
    return found


def dump(*parts: int | bytes) -> bytes:
    def written() -> Iterable[bytes]:
        for part in parts:
            yield struct.pack("<q", part) if isinstance(part, int) else struct.pack("<q", len(part)) + part

    return b"".join(written())


TIME = message((1, 1_793_527_200), (2, 500_000_000))
ITEM = message((2, "rope"), (3, 1), (4, "deck"), (4, "sale"), (5, TIME), (6, '{"material":["hemp"]}'), (7, "Rope"))


def test_a_dump_of_gorse_gives_items_and_feedback(folder: Folder) -> None:
    old = message((2, "star"), (3, "kim"), (4, "rope"), (5, TIME), (6, "fine"))
    new = message((2, "star"), (3, "lee"), (4, "rope"), (5, 2.0), (6, TIME))
    half = message((2, "read"), (3, "lee"), (4, "rope"), (5, 0.5), (6, TIME))
    strange = message((2, "knot"), (3, "kim"), (4, "rope"), (5, TIME))
    content = dump(-1, message((1, "kim"), (2, "null")), -2, ITEM, -3, old, new, half, strange, 0)
    (folder.path / "gorse.bin").write_bytes(content)

    rope, first, second, third = folder.read("gorse")

    assert rope == drafted(
        "rope",
        "Rope",
        material=["hemp"],
        filters={
            "catalogs": ["deck", "sale"],
            "availableFrom": "2026-11-01T10:00:00.500Z",
            "availableUntil": "1970-01-01T00:00:00.000Z",
        },
    )
    assert first == {"userId": "kim", "type": "RateLike", "contentId": "rope", "timestamp": "2026-11-01T10:00:00.500Z"}
    assert second == first | {"userId": "lee"}
    assert third == second | {"type": "Click", "value": 0.5}
    assert "'knot' is not mapped" in folder.left_out()["gorse.bin", "FeedbackType"][0]


@pytest.mark.parametrize(
    ("content", "said"),
    (
        (dump(-2, ITEM), "byte 8[0-9]+: the dump ends in the middle|byte [0-9]+: the dump ends in the middle"),
        (dump(-2, ITEM)[:-5], "byte 16: the dump ends in the middle"),
        (dump(-2, 1 << 40), "byte 16: found no length of a message"),
        (dump(-2, b"\x12\xff"), "byte 16: the message cannot be read"),
        (dump(-2, b"\x12\x02\xff\xfe", 0), "byte 16: the message cannot be read"),
    ),
)
def test_dumps_that_are_damaged_say_where(folder: Folder, content: bytes, said: str) -> None:
    (folder.path / "gorse.bin").write_bytes(content)

    with pytest.raises(Refused, match=said):
        folder.read("gorse")

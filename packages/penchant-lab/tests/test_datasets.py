"""Tables of research sets: RecBole's atomic files, IMDb's and TMDB's titles, MovieLens and goodbooks."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dataset_folders import DatasetFolder as Folder
from import_folders import drafted
from penchant.cli import commands
from penchant.errors import Refused
from penchant_engine.model import InteractionType
from penchant_import.drafts import RowProblem
from test_cells import NOTATIONS, OBJECTS, PYTHON, in_csv


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

    rope, normalize_name = folder.read("tmdb")

    assert rope["categories"] == {
        "genre": ["Crime", "Thriller"],
        "keyword": ["party"],
        "language": ["en"],
        "actor": ["Ann Bee"],
        "director": ["Cee Dee"],
    }
    assert rope["extras"] == {"description": "Two men.", "releaseDate": "1948-09-25"}
    assert normalize_name["categories"] == {"genre": ["Drama", "War"], "keyword": ["sea"], "language": ["fr"]}
    assert folder.left_out()["notes.csv", "(the whole file)"][0] == "neither a table of films nor one of credits"


def test_movielens_films_have_genres_year_and_counted_tags(folder: Folder) -> None:
    folder.write(
        "movies.csv", "movieId,title,genres", '7,"Lamp, The (1991)",Drama|War', "8,Nameless,(no genres listed)"
    )
    folder.write("tags.csv", "userId,movieId,tag,timestamp", "1,7,slow,1", "1,7,slow,2", "2,7,slow,3", "2,7,blue,4")
    folder.write("links.csv", "movieId,imdbId,tmdbId", "7,1,2")

    lamp, nameless = folder.read("movielens")

    assert lamp == drafted(
        "7",
        "Lamp, The",
        genre=["Drama", "War"],
        tag=[{"key": "slow", "weight": 2}, {"key": "blue", "weight": 1}],
        extras={"year": 1991},
    )
    assert nameless == drafted("8", "Nameless")
    assert folder.left_out()["movies.csv", "genres"] == ("no genre", 1, 3)
    assert folder.left_out()["links.csv", "(the whole file)"][1] == 1
    assert folder.left_out()["tags.csv", "userId"][1:] == (4, 2)
    assert folder.mapped()["movies.csv", "movieId"] == ("id", 2)


def test_movielens_ratings_become_likes_dislikes_and_views(folder: Folder) -> None:
    folder.write(
        "ratings.csv.gz",
        "userId,movieId,rating,timestamp",
        "1,7,4.0,1000000000",
        "1,8,2.0,1000000001.5",
        "2,7,3.5,1000000002",
        "2,8,x,1",
        "2,9,5.5,1",
    )

    like, dislike, watch, letter, beyond = folder.read("movielens")

    assert like == {"userId": "1", "type": "RateLike", "contentId": "7", "timestamp": "2001-09-09T01:46:40.000Z"}
    assert dislike["type"] == "RateDislike"
    assert dislike["timestamp"] == "2001-09-09T01:46:41.500Z"
    assert watch["type"] == "Watch"
    assert letter == ("rating", "Found 'x', which is no number.")
    assert "a rating from 0 to 5 is accepted" in beyond.detail


def test_movielens_of_old_is_separated_by_colons_and_may_be_latin(folder: Folder) -> None:
    folder.write("movies.dat", "3::Café, Le (1995)::Comedy|Romance", encoding="latin-1")
    folder.write("ratings.dat", "6::3::5::978300760", "6::3::5")
    folder.write("users.dat", "6::F::1::10::48067")

    film, rating, short = folder.read("movielens")

    assert film["label"] == "Café, Le"
    assert film["categories"] == {"genre": ["Comedy", "Romance"]}
    assert rating["type"] == "RateLike"
    assert short.detail == "Found 3 columns; 4 are accepted."
    assert ("users.dat", "(the whole file)") in folder.left_out()


def test_goodbooks_have_authors_and_shelves_by_their_share(folder: Folder) -> None:
    columns = "book_id,goodreads_book_id,isbn,authors,original_publication_year,title,language_code,ratings_count"
    folder.write("books.csv", columns, '1,900,12X,"Ann Bee, Cee  Dee",1999.0,A Book,eng,55', "2,901,,Ann Bee,,Other,,1")
    folder.write("tags.csv", "tag_id,tag_name", "5,to-read", "6,sea", "7,storms")
    folder.write(
        "book_tags.csv", "goodreads_book_id,tag_id,count", "900,5,800", "900,6,200", "900,7,1", "900,9,1", "901,7,-1"
    )
    folder.write("ratings.csv", "user_id,book_id,rating", "1,2,5", "1,1,1")
    folder.write("to_read.csv", "user_id,book_id", "3,1")

    book, other, like, dislike, wish = folder.read("goodbooks")

    assert book == drafted(
        "1",
        "A Book",
        author=["Ann Bee", "Cee Dee"],
        shelf=[{"key": "sea", "weight": 100}, {"key": "storms", "weight": 1}],
        extras={"isbn": "12X", "year": 1999, "language": "eng"},
    )
    assert other["categories"] == {"author": ["Ann Bee"]}
    assert like == {"userId": "1", "type": "RateLike", "contentId": "2"}
    assert dislike["type"] == "RateDislike"
    assert wish == {"userId": "3", "type": "Bookmark", "contentId": "1"}
    reasons = {(each.reason, each.line) for each in folder.notes.all_left_out() if each.file == "book_tags.csv"}
    assert reasons == {
        ("a shelf that says nothing of the book", 2),
        ("no name in tags.csv", 5),
        ("no count above 0", 6),
    }
    assert folder.left_out()["books.csv", "ratings_count"][1] == 2


def test_titles_of_imdb_in_another_encoding_are_refused(folder: Folder) -> None:
    folder.write(
        "title.basics.tsv", "tconst\ttitleType\tprimaryTitle\tgenres", "tt1\tmovie\tCafé\tx", encoding="latin-1"
    )

    with pytest.raises(Refused, match=r"title.basics.tsv, line 2, column 14: not UTF-8. Write it in UTF-8"):
        folder.read("imdb")


def test_rows_of_other_lengths_than_their_heading_are_problems_wherever_they_are(folder: Folder) -> None:
    folder.write("movies.csv", "movieId,title,genres", "1,x")
    folder.write("tags.csv", "userId,movieId,tag,timestamp", "1")
    folder.write("books.csv", "book_id,title,authors", "1,x,y,z")
    folder.write(
        "ratings.csv", "user_id,book_id,rating,userId,movieId,timestamp", "1", "1,1,9,1,1,1", "1,1,1,1,1,never"
    )

    assert [each.detail[:17] for each in folder.read("movielens")] == [
        *("Found 2 columns; ", "Found 1 columns; ", "Found 9; a rating", "Found 'never', wh")
    ]
    assert {type(each) for each in folder.read("goodbooks")[:2]} == {RowProblem}


@pytest.mark.parametrize(
    ("name", "file", "lines"),
    (
        ("movielens", "x.csv", ("a", "1")),
        ("movielens", "movies.csv", ("movieId,title", "1,2")),
        ("goodbooks", "x.csv", ("a",)),
        ("tmdb", "a.csv", ("title,price", "1,2")),
    ),
)
def test_files_that_are_not_of_the_set_are_refused(
    folder: Folder, name: str, file: str, lines: tuple[str, ...]
) -> None:
    folder.write(file, *lines)

    with pytest.raises(Refused):
        folder.read(name)


@pytest.mark.parametrize("word", ("", "null", "undefined", "(not set)", "false", "0", "None", "NaN", "anonymous", "NA"))
@pytest.mark.parametrize(
    ("name", "file", "heading", "row"),
    (
        ("recbole", "a.inter", "user_id:token\titem_id:token\trating:float\ttimestamp:float", "{}\t1\t5\t1793527200"),
        ("movielens", "ratings.csv", "userId,movieId,rating,timestamp", "{},1,5,1793527200"),
        ("goodbooks", "ratings.csv", "user_id,book_id,rating", "{},1,5"),
    ),
)
def test_a_placeholder_is_no_person_in_any_set(
    folder: Folder, name: str, file: str, heading: str, row: str, word: str
) -> None:
    folder.write(file, heading, row.format(word), row.format("kim"))

    assert [each["userId"] for each in folder.read(name)] == ["kim"]
    assert sum(each.count for each in folder.notes.all_left_out()) == 1


@pytest.mark.parametrize(
    ("name", "file", "heading", "row", "category"),
    (
        ("movielens", "movies.csv", "movieId,title,genres", "1,Rope (1948),{}", "genre"),
        ("goodbooks", "books.csv", "book_id,title,authors", "1,Rope,{}", "author"),
        ("recbole", "a.item", "item_id:token\tgenres:token_seq", "1\t{}", "genres"),
        ("tmdb", "movies.csv", "id,title,genres", "1,Rope,{}", "genre"),
        ("imdb", "title.basics.tsv", "tconst\tprimaryTitle\tgenres", "1\tRope\t{}", "genre"),
    ),
)
def test_lists_in_cells_are_lists_in_every_set(
    folder: Folder, name: str, file: str, heading: str, row: str, category: str
) -> None:
    for notation in (PYTHON, OBJECTS, NOTATIONS[0], NOTATIONS[2]):
        folder.write(file, heading, row.format(notation if name == "imdb" else in_csv(notation)))

        (piece,) = folder.read(name)

        assert piece["categories"] == {category: ["Film noir", "Crime, true", "it's"]}


def test_the_command_writes_lines_that_an_import_takes(folder: Folder, tmp_path: Path) -> None:
    folder.write("movies.csv", "movieId,title,genres", "7,Lamp (1991),Drama|War", "8,Sea (1992),War")
    folder.write("ratings.csv", "userId,movieId,rating,timestamp", "1,7,4.0,1000000000")

    written = CliRunner().invoke(commands, ["dataset", "movielens", str(folder.path)])
    words = ["import", "--data", str(tmp_path / "data"), "--source", "s", "--json", "-"]
    report = json.loads(CliRunner().invoke(commands, words, input=written.stdout_bytes).stdout)

    assert (report["pieces"], report["interactions"]) == (2, 1)


def test_an_import_says_what_reads_a_data_set(folder: Folder) -> None:
    file = folder.write("movies.csv", "movieId,title,genres", "7,Lamp (1991),Drama|War")

    refused = CliRunner().invoke(commands, ["import", "--source", "s", "--from", "movielens", str(file)])

    assert refused.exit_code == 2
    assert "penchant dataset movielens FILES | penchant import --source SOURCE -" in refused.stderr

"""Books of one person: exports of Goodreads and libraries of Calibre, as their present versions write them."""

import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from import_folders import Folder, drafted, opinions_in
from penchant.errors import Refused
from penchant_engine.model import InteractionType

GOODREADS = (
    "Book Id,Title,Author,Author l-f,Additional Authors,ISBN,ISBN13,My Rating,Average Rating,Publisher,Binding,"
    "Number of Pages,Year Published,Original Publication Year,Date Read,Date Added,Bookshelves,"
    "Bookshelves with positions,Exclusive Shelf,My Review,Spoiler,Private Notes,Read Count,Owned Copies"
)
DUNE = (
    '11,"Dune (Dune, #1)",Frank  Herbert,"Herbert, Frank","Simon Vance, Scott Brick","=""0441013597""",'
    '"=""9780441013593""",5,4.27,Ace,Paperback,0,2005,1965,2026/10/03,2026/09/01,"desert, favorites",'
    '"desert (#1), favorites (#2)",read,Sand.<br/>So much &amp; more.,,lent to Bo,1,0'
)


def shelved(book_id: str, shelf: str, rating: str = "0") -> str:
    """Return a row of Goodreads that says little but on which shelf a book stands."""
    return f'{book_id},Emma,Jane Austen,,,"=""""","=""""",{rating},4.0,,,,,,,2026/09/02,{shelf},,{shelf},,,,0,0'


def test_books_of_goodreads_have_authors_series_shelves_and_numbers_without_formulas(folder: Folder) -> None:
    folder.write("goodreads_library_export.csv", GOODREADS, DUNE)

    (dune,) = folder.read("goodreads")

    assert dune == drafted(
        "11",
        "Dune (Dune, #1)",
        series=["Dune"],
        author=["Frank Herbert", "Simon Vance", "Scott Brick"],
        publisher=["Ace"],
        shelf=["desert"],
        extras={
            "isbn": "0441013597",
            "isbn13": "9780441013593",
            "averageRating": 4.27,
            "binding": "Paperback",
            "editionYear": 2005,
            "year": 1965,
            "review": "Sand. So much & more.",
        },
    )
    left = folder.left_out()
    name = "goodreads_library_export.csv"
    assert left[name, "Private Notes"] == ("private", 1, 2)
    assert left[name, "Bookshelves"] == ("a shelf that says nothing of the book", 1, 2)
    assert left[name, "My Rating"] == ("whose it is stands in no file; --user NAME says it", 1, 2)


def test_a_title_may_name_several_series(folder: Folder) -> None:
    folder.write("a.csv", GOODREADS, DUNE.replace("(Dune, #1)", "(Discworld, #8; City Watch #1)"))

    assert folder.read("goodreads")[0]["categories"]["series"] == ["Discworld", "City Watch"]


def test_ratings_and_shelves_of_goodreads_are_what_its_owner_thinks(folder: Folder) -> None:
    rows = (shelved("1", "to-read"), shelved("2", "currently-reading"), shelved("3", "read"), shelved("4", "read", "2"))
    folder.write("a.csv", GOODREADS, DUNE, *rows, shelved("5", "did-not-finish"), shelved("6", "skimmed"))

    drafts = folder.read("goodreads", user="ann", types={"did-not-finish": InteractionType.RATE_DISLIKE})

    opinions = [each for each in drafts if "userId" in each]
    assert [(each["contentId"], each["type"], each["timestamp"][:10]) for each in opinions] == [
        ("11", "RateLike", "2026-10-03"),
        ("1", "Bookmark", "2026-09-02"),
        ("2", "Play", "2026-09-02"),
        ("3", "Watch", "2026-09-02"),
        ("4", "RateDislike", "2026-09-02"),
        ("5", "RateDislike", "2026-09-02"),
    ]
    assert {each["userId"] for each in opinions} == {"ann"}
    reason = folder.left_out()["a.csv", "Exclusive Shelf"][0]
    assert reason == "the type 'skimmed' is not mapped; say --type skimmed=Click"


def test_a_rating_that_is_none_is_a_problem_of_its_row(folder: Folder) -> None:
    folder.write("a.csv", GOODREADS, shelved("1", "read", "six"), shelved("2", "read", "7"))

    drafts = folder.read("goodreads", user="ann")

    assert [each.detail for each in drafts[2:]] == [
        "Found 'six'; a rating from 0 to 5 is accepted.",
        "Found '7'; a rating from 0 to 5 is accepted.",
    ]


def test_numbers_that_are_none_are_left_out(folder: Folder) -> None:
    folder.write("a.csv", GOODREADS, DUNE.replace("4.27", "nan").replace(",2005,", ",1e300,").replace(",1965,", ",?,"))

    (dune,) = folder.read("goodreads")

    assert dune["extras"].keys().isdisjoint({"averageRating", "editionYear", "year"})
    names = "Average Rating", "Year Published", "Original Publication Year"
    assert {folder.left_out()["a.csv", name][0] for name in names} == {"no number"}


@pytest.mark.parametrize(
    ("name", "needed"),
    (("goodreads", "Book Id, Title, My Rating, Exclusive Shelf"), ("storygraph", "Title, Authors, ISBN/UID")),
)
def test_another_table_is_no_export(folder: Folder, name: str, needed: str) -> None:
    folder.write("a.csv", "Title,Author", "Emma,Jane Austen")

    with pytest.raises(Refused, match=f"no columns {needed}"):
        folder.read(name)


CALIBRE = """
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT, link TEXT, UNIQUE(name));
CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, sort TEXT, timestamp TIMESTAMP,
    pubdate TIMESTAMP, series_index REAL NOT NULL DEFAULT 1.0, author_sort TEXT, isbn TEXT, lccn TEXT,
    path TEXT NOT NULL DEFAULT "", flags INTEGER, uuid TEXT, has_cover BOOL DEFAULT 0, last_modified TIMESTAMP);
CREATE TABLE books_authors_link (id INTEGER PRIMARY KEY, book INTEGER, author INTEGER);
CREATE TABLE books_languages_link (id INTEGER PRIMARY KEY, book INTEGER, lang_code INTEGER, item_order INTEGER);
CREATE TABLE books_publishers_link (id INTEGER PRIMARY KEY, book INTEGER, publisher INTEGER);
CREATE TABLE books_ratings_link (id INTEGER PRIMARY KEY, book INTEGER, rating INTEGER);
CREATE TABLE books_series_link (id INTEGER PRIMARY KEY, book INTEGER, series INTEGER);
CREATE TABLE books_tags_link (id INTEGER PRIMARY KEY, book INTEGER, tag INTEGER);
CREATE TABLE comments (id INTEGER PRIMARY KEY, book INTEGER, text TEXT NOT NULL);
CREATE TABLE custom_columns (id INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT, name TEXT, datatype TEXT,
    mark_for_delete BOOL DEFAULT 0, editable BOOL, display TEXT, is_multiple BOOL, normalized BOOL);
CREATE TABLE data (id INTEGER PRIMARY KEY, book INTEGER, format TEXT, uncompressed_size INTEGER, name TEXT);
CREATE TABLE identifiers (id INTEGER PRIMARY KEY, book INTEGER, type TEXT, val TEXT);
CREATE TABLE languages (id INTEGER PRIMARY KEY, lang_code TEXT);
CREATE TABLE publishers (id INTEGER PRIMARY KEY, name TEXT, sort TEXT);
CREATE TABLE ratings (id INTEGER PRIMARY KEY, rating INTEGER CHECK(rating > -1 AND rating < 11), UNIQUE(rating));
CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT, sort TEXT);
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE custom_column_1 (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE books_custom_column_1_link (id INTEGER PRIMARY KEY, book INTEGER, value INTEGER);
CREATE TABLE custom_column_2 (id INTEGER PRIMARY KEY, book INTEGER, value BOOL);
INSERT INTO authors VALUES (1, 'Frank Herbert', '', ''), (2, 'Vance| Simon', '', '');
INSERT INTO tags VALUES (1, 'desert'), (2, 'science fiction');
INSERT INTO series VALUES (1, 'Dune', '');
INSERT INTO publishers VALUES (1, 'Ace', '');
INSERT INTO languages VALUES (1, 'eng');
INSERT INTO ratings VALUES (1, 0), (2, 9);
INSERT INTO custom_columns (label, name, datatype, is_multiple, normalized) VALUES
    ('mood', 'Mood', 'text', 1, 1), ('owned', 'Owned', 'bool', 0, 0), ('both', 'Both', 'composite', 0, 0);
INSERT INTO custom_column_1 VALUES (1, 'dry');
INSERT INTO books (title, timestamp, pubdate, series_index, path, uuid, has_cover) VALUES
    ('Dune', '2026-09-01 10:00:00+00:00', '1965-08-01 00:00:00+00:00', 1.0, 'Frank Herbert/Dune (1)', 'u-1', 1),
    ('Untold', '2026-09-02 10:00:00+00:00', '0101-01-01 00:00:00+00:00', 1.0, 'Unknown/Untold (2)', 'u-2', 0);
INSERT INTO books_authors_link (book, author) VALUES (1, 1), (1, 2);
INSERT INTO books_tags_link (book, tag) VALUES (1, 2), (1, 1);
INSERT INTO books_series_link (book, series) VALUES (1, 1);
INSERT INTO books_publishers_link (book, publisher) VALUES (1, 1);
INSERT INTO books_languages_link (book, lang_code) VALUES (1, 1);
INSERT INTO books_ratings_link (book, rating) VALUES (1, 2), (2, 1);
INSERT INTO comments (book, text) VALUES (1, '<p>Sand &amp; <b>spice</b>.</p>');
INSERT INTO identifiers (book, type, val) VALUES (1, 'isbn', '9780441013593');
INSERT INTO data (book, format, name) VALUES (1, 'EPUB', 'Dune'), (1, 'AZW3', 'Dune');
INSERT INTO books_custom_column_1_link (book, value) VALUES (1, 1);
INSERT INTO custom_column_2 (book, value) VALUES (1, 1);
"""
"""The tables of a library that hold anything (``user_version`` 23), with two books."""
DUNE_OF_CALIBRE = drafted(
    "1",
    "Dune",
    author=["Frank Herbert", "Vance, Simon"],
    series=["Dune"],
    tag=["science fiction", "desert"],
    publisher=["Ace"],
    language=["eng"],
    mood=["dry"],
    extras={
        "description": "Sand & spice.",
        "published": "1965-08-01",
        "seriesIndex": 1.0,
        "cover": "Frank Herbert/Dune (1)/cover.jpg",
        "uuid": "u-1",
        "identifiers": {"isbn": "9780441013593"},
        "formats": ["AZW3", "EPUB"],
        "owned": True,
        "rating": 4.5,
    },
)


def library(path: Path, script: str = CALIBRE) -> Path:
    """Make a library's database."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


def test_books_of_calibre_have_all_that_their_library_knows(folder: Folder) -> None:
    library(folder.path / "metadata.db")
    folder.write("metadata.opf", "<package/>")

    dune, untold = folder.read("calibre")

    assert dune == DUNE_OF_CALIBRE
    assert untold == drafted("2", "Untold", extras={"uuid": "u-2"})
    assert folder.left_out()["metadata.db", "ratings"][0].endswith("--user NAME says it")
    assert folder.left_out()["metadata.opf", "(the whole file)"][0] == "no file of calibre that is taken"


def test_stars_of_calibre_are_ratings_of_its_owner(folder: Folder) -> None:
    library(folder.path / "metadata.db")

    *_, rating = folder.read("calibre", user="ann")

    assert rating == {"userId": "ann", "type": "RateLike", "contentId": "1", "timestamp": "2026-09-01T10:00:00.000Z"}


def test_a_library_is_read_out_of_an_archive_too(folder: Folder, tmp_path: Path) -> None:
    with zipfile.ZipFile(folder.path / "library.zip", "w") as archive:
        archive.write(library(tmp_path / "metadata.db"), "Calibre/metadata.db")

    assert folder.read("calibre")[0] == DUNE_OF_CALIBRE


def test_a_book_with_bytes_that_are_no_text_is_a_problem_of_its_own(folder: Folder) -> None:
    with closing(sqlite3.connect(library(folder.path / "metadata.db"))) as database, database:
        database.execute("UPDATE books SET title = CAST(x'436166e9' AS TEXT) WHERE id = 2")

    dune, problem = folder.read("calibre")

    assert dune == DUNE_OF_CALIBRE
    assert problem.detail == r"Found no UTF-8 (b'Caf\xe9'); enter that text anew in Calibre (Edit metadata)."


def test_reading_a_library_changes_nothing_in_its_folder(folder: Folder) -> None:
    before = library(folder.path / "metadata.db").read_bytes()

    folder.read("calibre", id_column="uuid")

    assert [path.name for path in folder.path.iterdir()] == ["metadata.db"]
    assert (folder.path / "metadata.db").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    (
        ("CREATE TABLE films (id)", "no library of Calibre: the tables authors, .* are missing; found are films"),
        ("CREATE VIEW books AS SELECT 1", "the tables authors, .* are missing; found are none"),
        (b"PK\x03\x04 no database", "no SQLite database; metadata.db of a Calibre library is accepted"),
        (b"", "no SQLite database"),
        (b"SQLite format 3\0" + b"x" * 5_000, "metadata.db cannot be read: file is not a database"),
    ),
)
def test_what_is_no_library_is_refused_with_what_it_is(folder: Folder, content: Any, said: str) -> None:
    path = folder.path / "metadata.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        library(path, content)

    with pytest.raises(Refused, match=said):
        folder.read("calibre")


def test_a_library_that_is_cut_off_is_refused(folder: Folder) -> None:
    whole = library(folder.path / "whole")
    shutil.copy(whole, folder.path / "metadata.db")
    with (folder.path / "metadata.db").open("r+b") as file:
        file.truncate(whole.stat().st_size // 2)

    with pytest.raises(Refused, match=r"metadata.db cannot be read: database disk image is malformed"):
        folder.read("calibre")


def test_a_folder_without_a_library_and_other_ids_are_refused(folder: Folder) -> None:
    folder.write("notes.txt", "nothing")
    with pytest.raises(Refused, match=r"Found no metadata.db; name that file of the library"):
        folder.read("calibre")

    library(folder.path / "metadata.db")
    with pytest.raises(Refused, match="--id-column takes one of id, uuid"):
        folder.read("calibre", id_column="path")


STORYGRAPH = (
    "Title,Authors,Contributors,ISBN/UID,Format,Read Status,Date Added,Last Date Read,Dates Read,Read Count,Moods,Pace,"
    "Character- or Plot-Driven?,Strong Character Development?,Loveable Characters?,Star Rating,Review,Content Warnings,"
    "Tags,Owned?"
)


def test_books_of_storygraph_have_moods_and_opinions(folder: Folder) -> None:
    folder.write(
        "export.csv",
        STORYGRAPH,
        'Clock,"Ann Bee, Cee Dee","Ed Eff (Translator), Gee",9780000000101,paperback,read,2026/01/05,2026/10/12,,2,'
        '"dark, hopeful",fast,Plot,Yes,No,4.5,<div>Good &amp; salty</div>,,"sea, owned",Yes',
        "Lights,Gee Aitch,,,digital,to-read,2026/02/01,,,0,,,,,,,,,,No",
        "Sums,Eye Jay,,104,hardcover,read,2026/03/01,,,1,,,,,,,,,,No",
        "Engines,Gee Aitch,,,audio,did-not-finish,2026/02/03,,,1,,,,,,,,,,No",
    )

    drafts = folder.read("storygraph", user="kim", types={"did-not-finish": InteractionType.RATE_DISLIKE})

    assert drafts[0] == drafted(
        "9780000000101",
        "Clock",
        author=["Ann Bee", "Cee Dee"],
        translator=["Ed Eff"],
        mood=["dark", "hopeful"],
        pace=["fast"],
        **{"driven by": ["Plot"]},
        characters=["strong development"],
        tag=["sea"],
        extras={"binding": "paperback", "review": "Good & salty"},
    )
    assert opinions_in(drafts) == [
        ("9780000000101", "RateLike", "2026-10-12"),
        ("Lights (Gee Aitch)", "Bookmark", "2026-02-01"),
        ("104", "Watch", "2026-03-01"),
        ("Engines (Gee Aitch)", "RateDislike", "2026-02-03"),
    ]
    assert folder.left_out()["export.csv", "Contributors"][1] == 1

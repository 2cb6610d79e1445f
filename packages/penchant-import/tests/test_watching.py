"""Films and shows of one person: the export of Letterboxd, the backup and answers of Trakt, as they are written now."""

import json
import zipfile
from typing import Any

import pytest

from import_folders import Folder, drafted, opinions_in
from penchant.errors import Refused
from penchant_import.drafts import NO_TIME_REASON, UNTIMED_REASON

FILMS = "Date,Name,Year,Letterboxd URI"
ENTRIES = f"{FILMS},Rating,Rewatch,Tags,Watched Date"
REVIEWS = f"{FILMS},Rating,Rewatch,Review,Tags,Watched Date"
ROPE, BIRDS, JAWS = (f"https://boxd.it/{code}" for code in ("2aRo", "1xBi", "29Ja"))
LETTERBOXD = {
    "watched.csv": (FILMS, f"2026-09-01,Rope,1948,{ROPE}", f"2026-09-02,The Birds,1963,{BIRDS}"),
    "ratings.csv": (f"{FILMS},Rating", f"2026-09-03,Rope,1948,{ROPE},1.5"),
    "watchlist.csv": (FILMS, f"2026-09-04,Jaws,1975,{JAWS}"),
    "likes/films.csv": (FILMS, f"2026-09-05,The Birds,1963,{BIRDS}"),
    "likes/reviews.csv": ("Date,Letterboxd URI", "2026-09-05,https://boxd.it/9zzz"),
    # Addresses of the diary are those of its entries.
    "diary.csv": (ENTRIES, '2026-09-06,Rope,1948,https://boxd.it/8aaaa,2,Yes,"one room, party",2026-08-30'),
    "reviews.csv": (REVIEWS, '2026-09-06,Rope,1948,https://boxd.it/8aaaa,2,,"<b>Long</b> takes &amp; a trunk.",,'),
    "deleted/diary.csv": (ENTRIES, "2026-09-07,Psycho,1960,https://boxd.it/8bbbb,5,,,2026-08-31"),
    "lists/rooms.csv": ("Letterboxd list export v7", "Date,Name,Tags,URL,Description"),
    "profile.csv": ("Date Joined,Username", "2020-01-01,ann"),
}


def archive(folder: Folder, files: dict[str, tuple[str, ...]]) -> None:
    """Write the archive that a person is sent."""
    with zipfile.ZipFile(folder.path / "letterboxd-ann.zip", "w") as written:
        for name, lines in files.items():
            written.writestr(f"letterboxd-ann/{name}", "\n".join(lines))


def test_a_film_of_letterboxd_is_one_piece_of_all_tables(folder: Folder) -> None:
    archive(folder, LETTERBOXD)

    rope, birds, jaws = folder.read("letterboxd")

    extras = {"year": 1948, "link": ROPE, "review": "Long takes & a trunk."}
    assert rope == drafted(ROPE, "Rope", tag=["one room", "party"], extras=extras)
    assert (birds["id"], jaws["label"]) == (BIRDS, "Jaws")
    left = folder.left_out()
    assert left["ratings.csv", "Rating"] == ("whose it is stands in no file; --user NAME says it", 1, 2)
    assert left["diary.csv", "Rewatch"][0] == "what is watched several times counts once"
    assert {name for name, field in left if field == "(the whole file)"} == {
        "reviews.csv",
        "diary.csv",
        "rooms.csv",
        "profile.csv",
    }


def test_of_a_film_what_tells_most_counts_once(folder: Folder) -> None:
    archive(folder, LETTERBOXD)

    drafts = folder.read("letterboxd", user="ann")

    # The later rating over the earlier one and over watching, a heart over watching.
    assert opinions_in(drafts) == [
        (ROPE, "RateDislike", "2026-09-06"),
        (BIRDS, "RateLike", "2026-09-05"),
        (JAWS, "Bookmark", "2026-09-04"),
    ]


def test_a_folder_of_letterboxd_is_read_with_the_folders_in_it(folder: Folder) -> None:
    for name, lines in LETTERBOXD.items():
        (folder.path / name).parent.mkdir(exist_ok=True)
        folder.write(name, *lines)

    assert len(opinions_in(folder.read("letterboxd", user="ann"))) == 3


def test_a_film_that_only_the_diary_knows_goes_by_its_name_and_year(folder: Folder) -> None:
    folder.write("diary.csv", ENTRIES, "2026-09-06,Rope,1948,https://boxd.it/8aaaa,,,,2026-08-30")

    drafts = folder.read("letterboxd", user="ann")

    assert drafts[0] == drafted("Rope (1948)", "Rope", extras={"year": 1948})
    assert opinions_in(drafts) == [("Rope (1948)", "Watch", "2026-08-30")]


def test_films_of_the_same_name_and_year_stay_apart_and_entries_that_may_be_either_are_left_out(folder: Folder) -> None:
    both = (f"2026-09-01,Rope,1948,{ROPE}", "2026-09-01,Rope,1948,https://boxd.it/other")
    folder.write("watched.csv", FILMS, *both)
    folder.write("diary.csv", ENTRIES, "2026-09-06,Rope,1948,https://boxd.it/8aaaa,5,,,2026-08-30")

    drafts = folder.read("letterboxd", user="ann")

    assert [each["id"] for each in drafts[:2]] == [ROPE, "https://boxd.it/other"]
    assert [kind for _, kind, _ in opinions_in(drafts)] == ["Watch", "Watch"]
    assert folder.left_out()["diary.csv", "(row)"][0].startswith("several films have this name and year")


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    (
        ("films.csv", (FILMS,), "Found no table of an export of Letterboxd; its tables are watched.csv, ratings.csv"),
        ("watched.csv", ("Title,Year", "a,b"), "the column Date is missing; found are Title, Year"),
        ("export.zip", ("no archive",), "cannot be read: File is not a zip file"),
    ),
)
def test_other_tables_and_what_is_no_archive_are_refused(
    folder: Folder, name: str, lines: tuple[str, ...], said: str
) -> None:
    folder.write(name, *lines)

    with pytest.raises(Refused, match=said):
        folder.read("letterboxd")


def test_a_table_of_a_known_name_that_somebody_made_is_left_out_where_others_fit(folder: Folder) -> None:
    folder.write("watchlist.csv", "Title,Year,Letterboxd URI", "Casino,1995,https://boxd.it/bC8f")
    folder.write("watched.csv", "Date,Name,Year,Letterboxd URI", f"2026-01-01,Rope,1948,{ROPE}")

    (rope,) = folder.read("letterboxd")

    assert rope["id"] == ROPE
    reason = folder.left_out()["watchlist.csv", "(the whole file)"][0]
    assert reason == "no table of an export, which has Date, Name, Year, Letterboxd URI"


HEAT: dict[str, Any] = {"title": "Heat", "year": 1995, "ids": {"trakt": 1, "slug": "heat-1995", "imdb": "tt0113277"}}
LOST: dict[str, Any] = {"title": "Lost", "year": 2004, "ids": {"trakt": 1, "slug": "lost-2004", "tvdb": 73739}}
JAWS_MOVIE: dict[str, Any] = {"title": "Jaws", "year": 1975, "ids": {"trakt": 7, "slug": "jaws-1975", "tmdb": 578}}
PILOT = {"season": 1, "number": 1, "title": "Pilot", "ids": {"trakt": 11}}
TRAKT: dict[str, Any] = {
    "watched-history-1.json": [
        {"id": 9, "watched_at": "2026-08-02T06:41:00.000Z", "action": "watch", "type": "movie", "movie": HEAT},
        {"id": 8, "watched_at": "2026-08-01T19:00:00.000Z", "action": "scrobble", "type": "episode"}
        | {"episode": PILOT, "show": LOST},
        {"id": 7, "watched_at": "2026-08-03T19:00:00.000Z", "action": "scrobble", "type": "episode"}
        | {"episode": PILOT, "show": LOST},
    ],
    "ratings-movies.json": [{"rated_at": "2026-07-01T00:00:00.000Z", "rating": 4, "type": "movie", "movie": HEAT}],
    "ratings-episodes.json": [
        {"rated_at": "2026-07-01T00:00:00.000Z", "rating": 1, "type": "episode", "episode": PILOT, "show": LOST}
    ],
    "lists-watchlist.json": [
        {"rank": 1, "id": 1, "listed_at": "2026-01-04T14:02:03.000Z", "type": "movie", "movie": JAWS_MOVIE}
    ],
    "lists-list-5-sharks.json": [
        {"rank": 1, "id": 2, "listed_at": "2026-01-05T14:02:03.000Z", "type": "movie", "movie": JAWS_MOVIE}
    ],
    "collection-movies-1.json": [{"collected_at": "2026-01-01T00:00:00.000Z", "type": "movie", "movie": JAWS_MOVIE}],
    "hidden-calendar.json": [{"hidden_at": "2026-01-01T00:00:00.000Z", "type": "show", "show": LOST}],
    "user-profile.json": {"username": "ann", "vip": False},
}


def write_json(folder: Folder, files: dict[str, Any]) -> None:
    for name, value in files.items():
        folder.write(name, json.dumps(value, indent=1))


def test_films_and_shows_of_a_backup_of_trakt_are_pieces_once(folder: Folder) -> None:
    write_json(folder, TRAKT)

    pieces = folder.read("trakt")

    assert [(each["id"], each["label"]) for each in pieces] == [
        ("movie:7", "Jaws"),
        ("show:1", "Lost"),
        ("movie:1", "Heat"),
    ]
    extras = {"year": 2004, "tvdbId": 73739, "link": "https://trakt.tv/shows/lost-2004"}
    assert pieces[1] == drafted("show:1", "Lost", type=["show"], extras=extras)
    left = folder.left_out()
    assert left["collection-movies-1.json", "collected_at"][0] == "what somebody owns is no interaction"
    assert left["lists-list-5-sharks.json", "listed_at"][0].startswith("a list of their own")
    assert left["hidden-calendar.json", "(the whole file)"][0] == "no file of trakt that is taken"


def test_what_is_said_of_a_piece_of_trakt_counts_once(folder: Folder) -> None:
    write_json(folder, TRAKT)

    assert opinions_in(folder.read("trakt", user="ann")) == [
        ("movie:7", "Bookmark", "2026-01-04"),
        ("movie:1", "RateDislike", "2026-07-01"),
        ("show:1", "Watch", "2026-08-03"),
    ]
    assert folder.left_out()["ratings-episodes.json", "rating"][0] == "a rating of an episode or a season"


def test_how_far_a_paused_film_was_watched_is_its_value(folder: Folder) -> None:
    paused = {"progress": 28.6, "paused_at": "2026-01-25T22:01:32.000Z"}
    entries = [paused | {"movie": HEAT}, paused | {"episode": PILOT, "show": LOST}, paused | {"movie": JAWS_MOVIE}]
    write_json(folder, {"playback.json": entries, "watched-history-1.json": TRAKT["watched-history-1.json"][:1]})

    found = [each for each in folder.read("trakt", user="ann") if "userId" in each]

    # What was paused and then watched to its end was watched.
    assert [(each["contentId"], each["type"], each.get("value")) for each in found] == [
        ("movie:1", "Watch", None),
        ("show:1", "Play", None),
        ("movie:7", "Play", 0.29),
    ]


def test_answers_of_trakt_with_all_they_know_give_keywords_and_a_poster(folder: Folder) -> None:
    full: dict[str, Any] = HEAT | {
        "overview": "Cops &amp; robbers.",
        "genres": ["crime", "thriller"],
        "country": "us",
        "language": "en",
        "certification": "R",
        "released": "1995-12-15",
        "runtime": 170,
        "rating": 8.4,
        "votes": 12,
        "images": {"poster": ["media.trakt.example/heat.webp"], "fanart": []},
    }
    # One answer without more than the name, one with all, and the file that tools write: an object of lists.
    backup: dict[str, Any] = {"history": [{"watched_at": "2026-08-02T06:41:00Z", "type": "movie", "movie": HEAT}]}
    backup["watched"] = [{"plays": 2, "last_watched_at": "2026-08-09T06:41:00Z", "movie": full}]
    write_json(folder, {"trakt.json": backup})

    short, heat, opinion = folder.read("trakt", user="ann")

    assert (short["id"], short["categories"]) == ("movie:1", {"type": ["movie"]})
    assert heat == drafted(
        "movie:1",
        "Heat",
        type=["movie"],
        genre=["crime", "thriller"],
        country=["us"],
        language=["en"],
        certification=["R"],
        extras={
            "year": 1995,
            "imdbId": "tt0113277",
            "description": "Cops & robbers.",
            "releaseDate": "1995-12-15",
            "runtimeMinutes": 170,
            "averageRating": 8.4,
            "image": "https://media.trakt.example/heat.webp",
            "link": "https://trakt.tv/movies/heat-1995",
        },
    )
    assert opinions_in([opinion]) == [("movie:1", "Watch", "2026-08-09")]
    assert ("trakt.json", "votes") in folder.left_out()


def test_ids_of_others_can_be_those_of_pieces(folder: Folder) -> None:
    ratings = TRAKT["ratings-movies.json"]
    write_json(folder, {"ratings-movies.json": ratings, "collection.json": [{"movie": JAWS_MOVIE}]})

    missing, heat = folder.read("trakt", id_column="imdb")

    assert heat["id"] == "tt0113277"
    assert missing.detail == "Found a movie without imdb among its ids; --id-column takes another of them."


@pytest.mark.parametrize(
    ("text", "said"),
    (
        ('[{"movie": {"title": "Heat"', "watched.json: .* ends before its end at line 2, column 1"),
        ('{"history": [{"movie": }]}', "watched.json: .* line 1, column 24"),
        ('{"username": "ann"}', "Found no film and no show: a backup of Trakt"),
        ('"text"', "Found no film and no show"),
        ("[[1], 2]", "Found no film and no show"),
        ("", "watched.json: "),
    ),
)
def test_broken_and_other_json_is_refused_with_its_place(folder: Folder, text: str, said: str) -> None:
    folder.write("watched.json", text)

    with pytest.raises(Refused, match=said):
        folder.read("trakt")


def test_a_film_watched_in_1970_was_watched_at_no_known_time(folder: Folder) -> None:
    movie = {"title": "Heat", "ids": {"trakt": 481}}
    folder.write("watched-history-1.json", json.dumps([{"watched_at": "1970-01-01T00:00:00.000Z", "movie": movie}]))

    assert [each["id"] for each in folder.read("trakt", user="kim")] == ["movie:481"]
    assert folder.left_out()["watched-history-1.json", "Watch"][0] == NO_TIME_REASON
    _, watched = folder.read("trakt", user="kim", without_times=True)
    assert "timestamp" not in watched


def test_without_times_what_has_a_time_that_is_not_understood_happens_now(folder: Folder) -> None:
    movie = {"title": "Heat", "ids": {"trakt": 481}}
    folder.write("watched-history-1.json", json.dumps([{"watched_at": "soon", "movie": movie}]))

    assert len(folder.read("trakt", user="kim")) == 1
    assert "timestamp" not in folder.read("trakt", user="kim", without_times=True)[1]
    assert (UNTIMED_REASON, 1, 1) in folder.left_out().values()

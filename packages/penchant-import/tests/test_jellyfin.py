"""Jellyfin: answers of its API, and ``.nfo`` files of it and of Kodi, as their present versions write them."""

import json
import re
from typing import Any

import pytest

from import_folders import Folder, drafted, opinions_in
from penchant.errors import Refused
from penchant_import.drafts import RowProblem
from penchant_import.report import Notes

ITEMS: list[dict[str, Any]] = [
    {
        "Name": "Heat",
        "ServerId": "5ea5",
        "Id": "aa01",
        "PremiereDate": "1995-12-15T00:00:00.0000000Z",
        "OfficialRating": "R",
        "Overview": "Cops and robbers.",
        "Taglines": ["A Los Angeles crime saga"],
        "Genres": ["Crime", "Thriller"],
        "Tags": ["heist"],
        "CommunityRating": 8.3,
        "RunTimeTicks": 102_000_000_000,
        "ProductionYear": 1995,
        "ProviderIds": {"Tmdb": "949", "Imdb": "tt0113277"},
        "IsFolder": False,
        "Type": "Movie",
        "Studios": [{"Name": "Regency", "Id": "s1"}],
        "People": [
            *({"Name": f"Actor {number}", "Id": "p", "Role": "x", "Type": "Actor"} for number in range(1, 8)),
            {"Name": "Michael Mann", "Id": "p9", "Role": "", "Type": "Director"},
        ],
        "UserData": {"PlayCount": 2, "IsFavorite": True, "LastPlayedDate": "2026-08-02T06:41:00.1234567Z"}
        | {"Played": True, "PlaybackPositionTicks": 0, "Key": "949"},
        "ImageTags": {"Primary": "0123"},
        "MediaType": "Video",
    },
    {"Name": "Lost", "Id": "bb02", "Type": "Series", "UserData": {"IsFavorite": True, "Played": False}},
    {"Name": "Pilot", "Id": "cc03", "Type": "Episode", "SeriesId": "bb02", "SeriesName": "Lost"}
    | {"UserData": {"Played": True, "IsFavorite": False, "LastPlayedDate": "2026-08-03T20:00:00Z"}},
    {"Name": "Song", "Id": "dd04", "Type": "Audio", "UserData": {"Played": True}},
    {"Name": "Jaws", "Id": "ee05", "Type": "Movie", "UserData": {"PlaybackPositionTicks": 900, "Likes": False}},
    {"Name": "Movies", "Id": "ff06", "Type": "CollectionFolder"},
]
ANSWER = json.dumps({"Items": ITEMS, "TotalRecordCount": len(ITEMS), "StartIndex": 0})


def test_items_of_the_api_are_pieces_with_what_they_are_known_by(folder: Folder) -> None:
    folder.write("items.json", ANSWER)

    heat, lost, jaws = folder.read("jellyfin")

    assert heat == drafted(
        "aa01",
        "Heat",
        type=["Movie"],
        certification=["R"],
        genre=["Crime", "Thriller"],
        tag=["heist"],
        studio=["Regency"],
        actor=["Actor 1", "Actor 2", "Actor 3", "Actor 4", "Actor 5"],
        director=["Michael Mann"],
        extras={
            "releaseDate": "1995-12-15",
            "description": "Cops and robbers.",
            "tagline": "A Los Angeles crime saga",
            "averageRating": 8.3,
            "runtimeMinutes": 170,
            "year": 1995,
            "tmdbId": "949",
            "imdbId": "tt0113277",
        },
    )
    assert (lost["id"], jaws["id"]) == ("bb02", "ee05")
    left = folder.left_out()
    assert left["items.json", "ImageTags"][0] == "pictures without the address of their server"
    assert left["items.json", "Audio"][0] == "no AlbumId that says of what it is a part"
    assert left["items.json", "CollectionFolder"][0] == "neither a piece nor a part of one"
    assert left["items.json", "UserData/Played"] == ("whose it is stands in no file; --user NAME says it", 2, 1)


def test_what_a_person_played_and_liked_counts_once_and_episodes_count_for_their_show(folder: Folder) -> None:
    folder.write("items.json", ANSWER)

    # A show that is liked has no time of its own: it has that of the episode.
    assert opinions_in(folder.read("jellyfin", user="ann")) == [
        ("aa01", "RateLike", "2026-08-02"),
        ("bb02", "RateLike", "2026-08-03"),
    ]
    assert folder.left_out()["items.json", "RateDislike"][0] == (
        "no time tells when; --without-times has it happen now"
    )


def test_what_has_no_time_happens_now_where_that_is_asked_for(folder: Folder) -> None:
    folder.write("items.json", json.dumps(ITEMS[-2:]))

    assert opinions_in(folder.read("jellyfin", user="ann", without_times=True)) == [("ee05", "RateDislike", "")]


def test_how_far_a_film_was_played_is_its_value(folder: Folder) -> None:
    begun = {
        "UserData": {"PlaybackPositionTicks": 900, "LastPlayedDate": "2026-08-02T06:41:00Z"},
        "RunTimeTicks": 1_500,
    }
    film, part = {"Name": "Jaws", "Id": "a", "Type": "Movie"}, {"Id": "c", "Type": "Episode", "SeriesId": "b"}
    show = {"Name": "Lost", "Id": "b", "Type": "Series"}
    folder.write("items.json", json.dumps([film | begun, show, part | begun]))

    found = [each for each in folder.read("jellyfin", user="ann") if "userId" in each]

    assert [(each["contentId"], each["type"], each.get("value")) for each in found] == [
        ("a", "Play", 0.6),
        ("b", "Play", None),
    ]


MOVIE = """\ufeff<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<!-- written by Jellyfin -->
<movie>
  <plot>Cops and robbers.</plot><outline>Cops.</outline><lockdata>false</lockdata>
  <title>Heat</title><originaltitle>Heat</originaltitle>
  <director>Michael Mann</director><writer>Michael Mann</writer><credits>Michael Mann</credits>
  <rating>8.3</rating><year>1995</year><mpaa>R</mpaa><imdbid>tt0113277</imdbid><tmdbid>949</tmdbid>
  <premiered>1995-12-15</premiered><releasedate>1995-12-15</releasedate><runtime>170</runtime>
  <country>United States</country><genre>Crime</genre><genre>Thriller / Drama</genre><studio>Regency</studio>
  <set><name>Crime sagas</name></set>
  <uniqueid type="imdb">tt0113277</uniqueid><uniqueid type="tmdb" default="true">949</uniqueid>
  <art><poster>/media/heat/poster.jpg</poster></art>
  <isuserfavorite>false</isuserfavorite><playcount>2</playcount><watched>true</watched>
  <lastplayed>2026-08-02 06:41:00</lastplayed>
  <actor><name>Al Pacino</name><role>Hanna</role><type>Actor</type><thumb>/p.jpg</thumb></actor>
  <fileinfo><streamdetails><video><codec>h264</codec></video></streamdetails></fileinfo>
</movie>
https://www.themoviedb.org/movie/949
"""
SHOW = (
    "<tvshow><title>Lost</title><uniqueid type='tvdb'>73739</uniqueid><userrating>9</userrating>"
    "<ratings><rating name='imdb' max='10'><value>8.1</value></rating>"
    "<rating name='tmdb' max='10' default='true'><value>7.9</value></rating></ratings>"
    "<thumb aspect='banner'>https://art.example/b.jpg</thumb><thumb aspect='poster'>https://art.example/p.jpg</thumb>"
    "</tvshow>"
)
EPISODE = (
    "<episodedetails><title>Pilot</title><watched>true</watched><lastplayed>2026-08-03</lastplayed></episodedetails>"
    "<episodedetails><title>Second of the file</title></episodedetails>"
)


def write_in(folder: Folder, name: str, text: str) -> None:
    """Write a file of a library, with the folders that it lies in."""
    (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
    folder.write(name, text)


def test_files_beside_films_and_shows_are_read_in_all_folders(folder: Folder) -> None:
    write_in(folder, "Films/Heat (1995)/Heat (1995).nfo", MOVIE)
    write_in(folder, "Shows/Lost/A first season/S01E01.nfo", EPISODE)
    write_in(folder, "Shows/Lost/A first season/season.nfo", "<season><title>1</title></season>")
    write_in(folder, "Shows/Lost/tvshow.nfo", SHOW)
    write_in(folder, "Films/Heat (1995)/scene.nfo", "-= RELEASED BY NOBODY =-")

    drafts = folder.read("jellyfin", user="ann")

    lost, heat = drafts[:2]
    assert heat == drafted(
        "tt0113277",
        "Heat",
        type=["Movie"],
        director=["Michael Mann"],
        writer=["Michael Mann"],
        certification=["R"],
        country=["United States"],
        genre=["Crime", "Thriller", "Drama"],
        studio=["Regency"],
        collection=["Crime sagas"],
        actor=["Al Pacino"],
        extras={
            "description": "Cops and robbers.",
            "imdbId": "tt0113277",
            "tmdbId": "949",
            "originalTitle": "Heat",
            "averageRating": 8.3,
            "year": 1995,
            "releaseDate": "1995-12-15",
            "runtimeMinutes": 170,
        },
    )
    extras = {"tvdbId": "73739", "averageRating": 7.9, "image": "https://art.example/p.jpg"}
    assert lost == drafted("tvdb:series:73739", "Lost", type=["Series"], extras=extras)
    assert opinions_in(drafts) == [
        ("tvdb:series:73739", "RateLike", "2026-08-03"),
        ("tt0113277", "Watch", "2026-08-02"),
    ]
    reasons = {each.reason for each in folder.notes.all_left_out() if each.field == "(the whole file)"}
    assert reasons == {"neither a piece nor a part of one", "no XML as Kodi and Jellyfin write it"}


def test_what_is_no_number_is_left_out(folder: Folder) -> None:
    folder.write("a.nfo", f"<movie><title>T</title><year>{'9' * 5_000}</year><rating>inf</rating></movie>")

    assert folder.read("jellyfin") == [drafted("T", "T", type=["Movie"])]
    assert {folder.left_out()["*.nfo", name][0] for name in ("year", "rating")} == {"no number"}


def test_albums_have_artists_styles_and_what_is_written_of_them(folder: Folder) -> None:
    folder.write(
        "album.nfo",
        "<album><title>Songs</title><musicbrainzalbumid>7c3b</musicbrainzalbumid><year>2001</year><runtime>0</runtime>",
        "<albumArtistCredits><artist>Ann Bee</artist></albumArtistCredits><style>Folk</style><review>Quiet.</review>",
        "</album>",
    )

    extras = {"musicbrainzalbumId": "7c3b", "year": 2001, "review": "Quiet."}
    assert folder.read("jellyfin") == [
        drafted(
            "musicbrainzalbum:musicalbum:7c3b",
            "Songs",
            type=["MusicAlbum"],
            artist=["Ann Bee"],
            style=["Folk"],
            extras=extras,
        )
    ]


def test_a_piece_without_numbers_goes_by_its_title_and_one_without_both_is_a_problem(folder: Folder) -> None:
    folder.write("a.nfo", "<movie><title>Home video</title><year>2026</year></movie>")
    folder.write("b.nfo", "<movie><plot>x</plot></movie>")

    home, nameless = folder.read("jellyfin")

    assert home["id"] == "Home video (2026)"
    assert nameless == RowProblem("", "Found neither an id nor a title.")


def test_a_broken_file_of_a_film_is_told_by_its_path_and_one_of_an_episode_is_left_out(folder: Folder) -> None:
    write_in(folder, "Jaws/movie.nfo", "<movie>\n<title>Jaws & co</title></movie>")
    write_in(folder, "Lost/S01E01.nfo", "<episodedetails><title>A & B</title></episodedetails>")
    write_in(folder, "Lost/S01E02.nfo", "<episodedetails><watched>true</watched></episodedetails>")

    (broken,) = folder.read("jellyfin", user="ann")

    assert f"{folder.path}/Jaws/movie.nfo, line 2, column " in broken.detail
    reasons = {each.reason for each in folder.notes.all_left_out()}
    assert reasons == {"an episode whose XML is broken", "no tvshow.nfo in a folder around it"}


def test_entities_of_a_file_are_not_followed(folder: Folder) -> None:
    folder.write("a.nfo", '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "<movie><title>&x;</title></movie>")

    (problem,) = folder.read("jellyfin")

    assert "entities and external parts are not read" in problem.detail


@pytest.mark.parametrize(
    ("name", "text", "said"),
    (
        ("items.json", '{"Items": [{"Id": "a", "Type": "Movie"}', "ends before its end at line 2, column 1"),
        ("items.json", '{"Items": []}', "Found no film, show, album or book"),
        ("items.json", '[{"Type": "Person"}, 7]', "Found no film, show, album or book"),
        ("notes.txt", "x", "Found no file that ends in .json, .nfo"),
    ),
)
def test_answers_that_are_broken_or_hold_no_piece_are_refused(folder: Folder, name: str, text: str, said: str) -> None:
    folder.write(name, text)

    with pytest.raises(Refused, match=said):
        folder.read("jellyfin")


def test_many_files_that_are_not_taken_are_counted_by_their_ending(folder: Folder) -> None:
    folder.write("movie.nfo", MOVIE)
    for number in range(60):
        folder.write(f"{number}.srt", "")

    folder.read("jellyfin")

    assert folder.left_out()["*.srt", "(the whole file)"] == ("no file of jellyfin that is taken", 60, 1)


def test_two_films_of_one_title_and_year_are_named_by_their_files(folder: Folder) -> None:
    for name, genre in (("a", "Drama"), ("b", "TV")):
        (folder.path / name).mkdir()
        film = f"<movie><title>Emma</title><year>1996</year><genre>{genre}</genre></movie>"
        folder.write(f"{name}/Emma.nfo", film)

    folder.read("jellyfin")

    ((place, told),) = [each for each in folder.left_out().items() if each[0][1] == "'Emma (1996)'"]
    assert place[0].endswith("a/Emma.nfo")
    assert re.fullmatch(r"another piece of this id, replaced by .*b/Emma\.nfo, line 1", told[0])


@pytest.mark.parametrize(
    ("address", "piece_id"),
    (
        ("https://www.imdb.com/title/tt0040746/", "tt0040746"),
        ("https://www.themoviedb.org/movie/1580-rope", "tmdb:movie:1580"),
        ("https://films.example/1580", "Rope (1948)"),
    ),
)
def test_an_address_behind_the_xml_says_what_the_film_is(folder: Folder, address: str, piece_id: str) -> None:
    folder.write("rope.nfo", "<movie><title>Rope</title><year>1948</year></movie>", address)

    assert [each["id"] for each in folder.read("jellyfin")] == [piece_id]


def test_an_answer_of_some_items_is_one_page_of_several(folder: Folder) -> None:
    item = {"Id": "a", "Name": "A", "Type": "Movie"}
    folder.write("1.json", json.dumps({"Items": [item], "TotalRecordCount": 2}))
    folder.read("jellyfin")
    assert folder.notes.is_partial

    folder.notes = Notes()
    folder.write("2.json", json.dumps({"Items": [item | {"Id": "b"}], "TotalRecordCount": 2, "StartIndex": 1}))
    folder.read("jellyfin")

    assert not folder.notes.is_partial


def test_the_whole_library_of_kodi_is_read_from_one_file(folder: Folder) -> None:
    movie = MOVIE[MOVIE.index("<movie>") : MOVIE.index("</movie>") + len("</movie>")]
    never = "<premiered>1601-01-01</premiered><lastplayed>1601-01-01</lastplayed>"
    unseen = f"<movie><title>Jaws</title><year>1975</year>{never}</movie>"
    show = SHOW.replace("</tvshow>", EPISODE + "</tvshow>")
    write_in(
        folder, "kodi_videodb_2026-11-01/videodb.xml", f"<videodb><version>1</version>{movie}{unseen}{show}</videodb>"
    )
    write_in(folder, "kodi_videodb_2026-11-01/other.xml", "<movie><title>No</title></movie>")

    drafts = folder.read("jellyfin", user="ann")

    assert [each["id"] for each in drafts if "id" in each] == ["tt0113277", "Jaws (1975)", "tvdb:series:73739"]
    assert drafts[1]["extras"] == {"year": 1975}
    assert opinions_in(drafts) == [
        ("tt0113277", "Watch", "2026-08-02"),
        ("tvdb:series:73739", "RateLike", "2026-08-03"),
    ]
    assert ("other.xml", "(the whole file)") in folder.left_out()


def test_a_library_of_kodi_that_ends_early_is_refused(folder: Folder) -> None:
    write_in(folder, "videodb.xml", "<videodb><movie><title>Jaws</title></movie><movie>")

    with pytest.raises(Refused, match=r"videodb\.xml, line 2, column 1: not XML"):
        folder.read("jellyfin")

"""Television guides: what titles and episodes of XMLTV become; shapes are those of jellyfin/Jellyfin.XmlTv's tests."""

from typing import Any

import pytest

from import_folders import Folder, drafted
from penchant_import.files import UnreadableFile

CHANNELS = (
    '<channel id="1.example"><display-name lang="en">One</display-name><display-name>1</display-name></channel>'
    '<channel id="2.example"><display-name>Two</display-name></channel>'
)


def programme(start: str, *parts: str, channel: str = "1.example", stop: str = "") -> str:
    """Return a programme in one line."""
    until = f' stop="{stop}"' if stop else ""
    return f'<programme start="{start}"{until} channel="{channel}">{"".join(parts)}</programme>'


def read(folder: Folder, *programmes: str, **options: Any) -> list[Any]:
    """Return the pieces of a guide with these programmes, the first of which is in line 2."""
    folder.write("guide.xml", f"<tv>{CHANNELS}", *programmes, "</tv>")
    return folder.read("xmltv", **options)


def test_names_of_characters_of_html_are_read_where_a_guide_names_its_type(folder: Folder) -> None:
    folder.write(
        "guide.xml",
        '<!DOCTYPE tv SYSTEM "xmltv.dtd">',
        f"<tv>{CHANNELS}",
        programme("20261101201500 +0100", "<title>Caf&eacute;</title><desc>Ici&nbsp;: la mer.</desc>"),
        "</tv>",
    )

    (cafe,) = folder.read("xmltv")

    assert (cafe["label"], cafe["extras"]["description"]) == ("Café", "Ici : la mer.")


def test_a_title_is_a_piece_with_all_its_showings(folder: Folder) -> None:
    first = programme(
        "20261101201500 +0100",
        "<title>Harbour</title><sub-title>Ebb</sub-title><desc>A boat is missing.</desc><credits>",
        '<director>Cee Dee</director><actor role="Kim">Ann Bee<image>https://g.example/ann.jpg</image></actor>',
        "<guest>Eff Gee</guest></credits><date>20251122</date><category>Crime</category><category>Series</category>",
        '<keyword>sea</keyword><country>GB</country><icon src="https://g.example/icon.jpg"/>',
        '<image type="backdrop">https://g.example/b.jpg</image><image type="poster">https://g.example/p.jpg</image>',
        "<url>https://g.example/harbour</url><url>https://g.example/2</url><previously-shown/>",
        '<episode-num system="xmltv_ns">1.11.0/1</episode-num>',
        stop="20261101210000 +0100",
    )
    later = programme("20261108190000", "<title>Harbour</title>", stop="20261108200000", channel="2.example")

    (piece,) = read(folder, first, later)

    assert piece == drafted(
        "Harbour",
        "Harbour",
        channel=["One", "Two"],
        director=["Cee Dee"],
        actor=["Ann Bee"],
        category=["Crime", "Series"],
        keyword=["sea"],
        country=["GB"],
        filters={"availableUntil": "2026-11-08T20:00:00.000Z"},
        extras={
            "description": "A boat is missing.",
            "start": "2026-11-01T19:15:00.000Z",
            "image": "https://g.example/p.jpg",
            "link": "https://g.example/harbour",
            "year": 2025,
        },
    )
    fields = {field for _, field in folder.left_out()}
    assert fields == {"credits/guest", "previously-shown", "sub-title", "episode-num", "programme"}
    assert folder.left_out()["guide.xml", "programme"][1:] == (1, 3)


def test_showings_count_over_all_files(folder: Folder) -> None:
    for day in ("02", "01", "03"):
        shown = programme(f"202611{day}2000", "<title>News</title>", stop=f"202611{day}2030", channel="x")
        folder.write(f"{day}.xml", f"<tv>{shown}</tv>")

    (piece,) = folder.read("xmltv")

    assert piece["extras"] == {"start": "2026-11-01T20:00:00.000Z"}
    assert piece["filters"] == {"availableUntil": "2026-11-03T20:30:00.000Z"}
    assert piece["categories"] == {"channel": ["x"]}


def test_with_numbers_as_ids_each_episode_is_a_piece(folder: Folder) -> None:
    progid = '<episode-num system="dd_progid">EP1.2</episode-num>'
    onscreen = '<episode-num system="onscreen">S1E2</episode-num>'
    parts = (
        ("<title>A</title><sub-title>One</sub-title>", onscreen, progid),
        ("<title>A</title>", onscreen),
        ("<title>A</title><sub-title>One</sub-title>",),
        ("<title>A</title>", progid),
        ("<title>A</title>",),
    )

    pieces = read(folder, *(programme("20261101", *each) for each in parts), id_column="episode-num")

    assert [(piece["id"], piece["label"]) for piece in pieces] == [
        ("EP1.2", "A: One"),
        ("A: S1E2", "A"),
        ("A: One", "A: One"),
        ("A", "A"),
    ]


def test_of_actors_the_first_ones_are_taken(folder: Folder) -> None:
    actors = "".join(f"<actor>{letter}</actor>" for letter in "abcdefg")
    people = f'<category/><credits><actor> </actor><actor guest="yes">z</actor>{actors}</credits>'

    (piece,) = read(folder, programme("20261101", "<title>A</title>", people))

    assert piece["categories"]["actor"] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    (
        ("20261101", "2026-11-01T00:00:00.000Z", "2026-11-01T04:00:00.000Z"),
        ("202611", "2026-11-01T00:00:00.000Z", "2026-11-01T04:00:00.000Z"),
        ("202611012015", "2026-11-01T20:15:00.000Z", "2026-11-02T00:15:00.000Z"),
        ("20261101201530 UTC", "2026-11-01T20:15:30.000Z", "2026-11-02T00:15:30.000Z"),
        ("20261101201530 -0600", "2026-11-02T02:15:30.000Z", "2026-11-02T06:15:30.000Z"),
        ("20261101201530+0100", "2026-11-01T19:15:30.000Z", "2026-11-01T23:15:30.000Z"),
        ("20261101201530 +01:00", "2026-11-01T19:15:30.000Z", "2026-11-01T23:15:30.000Z"),
        ("200007281733 BST", "2000-07-28T16:33:00.000Z", "2000-07-28T20:33:00.000Z"),
        ("20261101201530 cet", "2026-11-01T19:15:30.000Z", "2026-11-01T23:15:30.000Z"),
    ),
)
def test_times_may_be_short_and_have_offsets(folder: Folder, text: str, start: str, end: str) -> None:
    (piece,) = read(folder, programme(text, "<title>A</title>"))

    assert (piece["extras"]["start"], piece["filters"]["availableUntil"]) == (start, end)


def test_a_programme_without_an_end_lasts_until_the_next_one_of_its_channel_within_a_day(folder: Folder) -> None:
    night, other, late, last = read(
        folder,
        programme("20261129003000", "<title>Night</title>"),
        programme("20261129010000", "<title>Other</title>", channel="2.example"),
        programme("20261129023000", "<title>Late</title>", stop="20261129023000"),
        programme("20261201003000", "<title>Last</title>", stop="20261130003000"),
    )

    assert night["filters"]["availableUntil"] == "2026-11-29T02:30:00.000Z"
    assert other["filters"]["availableUntil"] == "2026-11-29T05:00:00.000Z"
    assert late["filters"]["availableUntil"] == "2026-11-29T06:30:00.000Z"
    assert last["filters"]["availableUntil"] == "2026-12-01T04:30:00.000Z"


def test_a_zone_that_nobody_knows_is_a_problem_in_clear_words(folder: Folder) -> None:
    (problem,) = read(folder, programme("20261101201530 XYZ", "<title>A</title>"))

    assert problem.pointer == "start"
    assert "'20261101201530 XYZ', a zone without an offset" in problem.detail


def test_a_start_that_stands_for_no_time_is_a_problem(folder: Folder) -> None:
    (problem,) = read(folder, programme("19700101000000 +0000", "<title>A</title>"))

    assert (problem.pointer, problem.detail) == ("start", "Found '19700101000000 +0000', which stands for no time.")


def test_programmes_without_title_or_time_are_problems_with_their_lines(folder: Folder) -> None:
    folder.write("guide.xml", "<tv>", programme("20261101"), programme("soon", "<title>A</title>"), "</tv>")

    untitled, timeless = folder.read("xmltv")

    assert not folder.left_out()
    assert (untitled.pointer, untitled.detail) == ("title", "Found a programme without a title.")
    assert timeless.detail == "Found 'soon'; a time like '20261101201500 +0100' is accepted."


def test_a_title_too_long_for_an_id_is_a_problem(folder: Folder) -> None:
    (problem,) = read(folder, programme("20261101", f"<title>{'x' * 501}</title>"))

    assert (problem.pointer, problem.detail) == ("title", "Found 501 characters; 1 to 500 are accepted.")


def test_a_day_that_is_none_is_a_problem(folder: Folder) -> None:
    (problem,) = read(folder, programme("20261301", "<title>A</title>"))

    assert problem.pointer == "start"


def test_other_ids_are_refused(folder: Folder) -> None:
    with pytest.raises(UnreadableFile, match="title or episode-num is accepted"):
        read(folder, programme("20261101", "<title>A</title>"), id_column="channel")

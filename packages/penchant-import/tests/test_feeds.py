"""Feeds as they are written: corrections, podcasts, authors with addresses, odd times, pages, false declarations."""

import json
from typing import Any

import pytest

from import_folders import Folder, drafted, run
from penchant_import.formats.feeds import read_time
from penchant_import.texts import name_without_address


def read(folder: Folder, *entries: str, head: str = "<rss><channel>", tail: str = "</channel></rss>") -> list[Any]:
    """Return the pieces of a feed with these entries, the first of which is in line 2."""
    folder.write("feed.xml", head, *entries, tail)
    return folder.read("feed")


def item(guid: str, title: str, *parts: str) -> str:
    """Return an entry of RSS in one line."""
    return f"<item><guid>{guid}</guid><title>{title}</title>{''.join(parts)}</item>"


def dated(day: int) -> str:
    return f"<pubDate>{day:02} Nov 2026 06:00:00 GMT</pubDate>"


def test_of_entries_of_one_id_the_newest_counts_wherever_it_stands(folder: Folder) -> None:
    first = read(folder, item("a", "New", dated(4)), item("b", "Other", dated(3)), item("a", "Old", dated(3)))

    assert [each["label"] for each in first] == ["New", "Other"]
    assert folder.left_out()["feed.xml", "'a'"] == ("an older piece of the id of feed.xml, line 2", 1, 4)


def test_an_entry_that_was_updated_counts_by_that(folder: Folder) -> None:
    entry = "<entry><id>a</id><title>{}</title><published>2026-11-0{}T00:00:00Z</published>{}</entry>"
    updated = "<updated>2026-11-09T00:00:00Z</updated>"

    (piece,) = read(folder, entry.format("New", 1, updated), entry.format("Old", 2, ""), head="<feed>", tail="</feed>")

    assert piece["label"] == "New"


def test_of_entries_without_a_time_the_later_counts_and_both_places_are_named(folder: Folder) -> None:
    first, last = read(folder, item("a", "First"), item("a", "Last"))

    assert (first["label"], last["label"]) == ("First", "Last")
    assert folder.left_out()["feed.xml", "'a'"] == ("another piece of this id, replaced by feed.xml, line 3", 1, 2)


def test_the_same_entry_once_more_is_not_told_and_many_others_are_counted(folder: Folder) -> None:
    read(folder, item("a", "A"), item("a", "A"))
    assert folder.left_out() == {}

    read(folder, *(item(f"i{number}", text) for number in range(25) for text in ("A", "B")))

    assert folder.left_out()["feed.xml", "(further ids)"][1] == 5
    assert len(folder.left_out()) == 21


def test_episodes_have_the_categories_of_their_show(folder: Folder) -> None:
    show = (
        '<c:category text="Society &amp; Culture"><c:category text="Places"/></c:category><c:category text="Arts"/>'
        "<title>Show</title>"
    )
    head = '<rss xmlns:c="itunes"><channel>'

    (episode,) = read(folder, show, item("a", "A", "<category>knots</category>"), head=head)

    assert episode["categories"] == {"category": ["knots", "Society & Culture", "Places", "Arts"]}


def test_a_blocked_episode_is_hidden_and_one_without_an_id_is_its_sound(folder: Folder) -> None:
    sound = '<guid/><title>Sails</title><enclosure url="https://cdn.example/3.mp3" type="audio/mpeg"/>'

    blocked, sails = read(folder, item("a", "A", "<block>Yes</block>"), f"<item>{sound}</item>")

    assert blocked["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    assert (sails["id"], sails["extras"]) == ("https://cdn.example/3.mp3", {"enclosure": "https://cdn.example/3.mp3"})


@pytest.mark.parametrize(
    ("text", "name"),
    (
        ("ann@mail.example (Ann Bee)", "Ann Bee"),
        ("Ann Bee (ann@mail.example)", "Ann Bee"),
        ("Ann Bee <ann.b+x@mail.example>", "Ann Bee"),
        ('"Ann Bee" ann@mail.example', "Ann Bee"),
        ("ann@mail.example", ""),
        ("Ann Bee (Paper)", "Ann Bee (Paper)"),
        ("@ann", "@ann"),
        ("Songs @ Night", "Songs @ Night"),
        ("a@" * 20_000, "a@" * 20_000),
    ),
)
def test_a_name_leaves_no_address(text: str, name: str) -> None:
    assert name_without_address(text) == name


def test_an_author_who_is_an_address_alone_is_left_out(folder: Folder) -> None:
    (piece,) = read(folder, item("a", "A", "<author>ann@mail.example</author>"))

    assert piece["categories"] == {}
    assert folder.left_out()["feed.xml", "author"][0] == "an address without a name"


@pytest.mark.parametrize(
    ("text", "moment"),
    (
        ("Sun, 01 Nov 2026 10:00:00 BST", "2026-11-01T10:00:00+01:00"),
        ("Sun, 01 Nov 2026 10:00:00 EST", "2026-11-01T15:00:00.000Z"),
        ("Sun, 01 Nov 2026 10:00:00 Uhr", "2026-11-01T10:00:00Z"),
        ("Mon, 01 Jan 0001 00:00:00 +0000", ""),
        ("Mon, 01 Jan 01 00:00:00 +0000", "2001-01-01T00:00:00.000Z"),
        ("soon", "soon"),
    ),
)
def test_times_have_named_zones_and_the_year_one_is_none(text: str, moment: str) -> None:
    assert read_time(text) == moment


def test_labels_without_terms_are_categories_and_enclosures_go_by_their_type(folder: Folder) -> None:
    links = (
        '<link rel="enclosure" type="image/jpg" href="https://log.example/a.jpg"/>'
        '<link rel="enclosure" type="audio/mp3" href="https://log.example/a.mp3"/>'
    )
    entry = f'<entry><id>a</id><category label="Sea"/><category term="t" label="T"/>{links}</entry>'

    (piece,) = read(folder, entry, head="<feed>", tail="</feed>")

    assert piece["categories"] == {"category": ["Sea", "t"]}
    assert piece["extras"] == {"image": "https://log.example/a.jpg", "enclosure": "https://log.example/a.mp3"}


MEDIA = '<rss xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="m" xmlns:itunes="i"><channel>'


def test_captions_of_media_are_no_texts_and_an_entry_s_own_fields_go_first(folder: Folder) -> None:
    first, second, third = read(
        folder,
        '<item><media:content url="https://paper.example/s" medium="image"><media:title>Ann Bee</media:title>'
        "<media:credit>Photograph: A</media:credit></media:content><itunes:title>Short</itunes:title>"
        '<atom:link rel="self" href="https://paper.example/feed"/><media:description>Of a photo</media:description>'
        "<title>3: Storm</title><link>https://paper.example/storm</link><description>Wind.</description></item>",
        '<item><guid>b</guid><media:content url="https://paper.example/t" medium="image">'
        "<media:title>Cee</media:title></media:content></item>",
        "<item><guid>c</guid><atom:content>Rain.</atom:content></item>",
        head=MEDIA,
    )

    assert first == drafted(
        "https://paper.example/storm",
        "3: Storm",
        extras={
            "link": "https://paper.example/storm",
            "image": "https://paper.example/s",
            "description": "Wind.",
        },
    )
    assert second == drafted("b", extras={"image": "https://paper.example/t"})
    assert third == drafted("c", extras={"description": "Rain."})


def test_the_text_of_a_group_of_media_is_that_of_an_entry_that_has_none(folder: Folder) -> None:
    group = "<media:group><media:title>Other</media:title><media:description>Long.</media:description></media:group>"
    first, second = read(
        folder,
        f"<entry><id>a</id><title>Storm</title>{group}</entry>",
        f"<entry><id>b</id>{group}<title>Rain</title><content>Short.</content></entry>",
        head='<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">',
        tail="</feed>",
    )

    assert first == drafted("a", "Storm", extras={"description": "Long."})
    assert second == drafted("b", "Rain", extras={"description": "Short."})


def test_a_page_of_a_feed_says_that_there_are_further_ones(folder: Folder) -> None:
    read(folder, '<link rel="next" href="https://log.example/2"/>', item("a", "A"))

    assert folder.notes.is_partial
    assert folder.left_out()["feed.xml", "link (next)"][1:] == (1, 2)


def test_blanks_before_the_declaration_and_a_false_encoding_are_forgiven(folder: Folder) -> None:
    head = '\n <?xml version="1.0" encoding="UTF-16"?><rss><channel>'

    piece, problem = read(folder, item("a", "Café"), "<item><title>Nameless</title></item>", head=head)

    assert piece["label"] == "Café"
    assert problem.detail.startswith("Found an entry without an id")


def test_lines_are_counted_with_the_blank_ones_before_the_declaration(folder: Folder) -> None:
    read(folder, item("a", "A"), item("a", "B"), head='\n\n<?xml version="1.0"?>\n<rss><channel>')

    assert folder.left_out()["feed.xml", "'a'"] == ("another piece of this id, replaced by feed.xml, line 6", 1, 5)


@pytest.mark.parametrize(
    ("attributes", "extras"),
    (
        ('url="https://x.example/a.MP3?from=rss"', {"enclosure": "https://x.example/a.MP3?from=rss"}),
        ('url="https://x.example/a.jpg" type=""', {"image": "https://x.example/a.jpg"}),
        ('url="https://x.example/a.m4a" type="application/octet-stream"', {"enclosure": "https://x.example/a.m4a"}),
        ('url="https://x.example/a" type="audio/mpeg"', {"enclosure": "https://x.example/a"}),
        ('url="https://x.example/a.pdf" type="application/pdf"', {}),
        ('url="https://x.example/download"', {}),
        ('url="https://x.mov"', {}),
    ),
)
def test_an_enclosure_without_a_type_is_what_its_ending_says(
    folder: Folder, attributes: str, extras: dict[str, str]
) -> None:
    folder.write("a.rss", f"<rss><item><guid>1</guid><title>A</title><enclosure {attributes}/></item></rss>")

    assert folder.read("feed") == [drafted("1", "A", extras=extras)]
    assert bool(folder.left_out()) is not bool(extras)


@pytest.mark.parametrize("newest_first", (True, False))
def test_a_newest_entry_that_may_not_be_stored_leaves_the_older_one(folder: Folder, newest_first: Any) -> None:
    titles = {"New": ("x" * 2_000_000, "03"), "Old": ("o", "02")}
    entries = [
        f"<item><guid>1</guid><title>{title}</title><link>{link}</link><pubDate>2026-11-{day}</pubDate></item>"
        for title, (link, day) in titles.items()
    ]
    folder.write("a.rss", "<rss>", *(entries if newest_first else reversed(entries)), "</rss>")

    work = run("feed", folder, None)

    assert (work.tally.invalid_rows, work.tally.pieces) == (1, 1)
    assert [json.loads(each)["label"] for each in work.examples] == ["Old"]
    told = [each.reason for each in work.notes.all_left_out()]
    assert told == ["another piece of this id, which stays: that of a.rss, line 2 may not be stored"] * newest_first

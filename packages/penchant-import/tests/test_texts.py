"""Texts: what is left of HTML, and of sentences that stand in most of them."""

import pytest

from import_folders import Folder
from penchant_import.texts import common_sentences, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    (
        ("<p>A <b>bold</b>er<br/>claim</p><p>Next</p>", "A bolder claim Next"),
        ("Tom &amp; Jerry  said\n1 < 2", "Tom & Jerry said 1 < 2"),
        ("<style>p{}</style>Read<script>x('<p>')</script> this<!-- not this -->", "Read this"),
        ("", ""),
    ),
)
def test_html_leaves_what_people_read(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_twenty_thousand_open_tags_are_read_in_one_pass() -> None:
    assert len(plain_text("<b" * 20_000)) <= 40_000


def test_sentences_that_most_texts_have_go(folder: Folder) -> None:
    rows = [f"{name},Made of {name}. Free shipping! Washable." for name in ("oak", "elm", "ash", "fir", "yew")]
    folder.write("a.csv", "id,description", *rows)

    texts = [each["extras"]["description"] for each in folder.read("csv")]

    assert texts == [f"Made of {name}." for name in ("oak", "elm", "ash", "fir", "yew")]
    assert list(folder.notes.boilerplate.removed) == ["Free shipping!", "Washable."]


def test_of_few_texts_nothing_is_boilerplate() -> None:
    assert common_sentences(["Free shipping!"] * 4) == []
    assert common_sentences(["Free shipping!"] * 3 + ["Other."] * 2) == ["Free shipping!"]


FEED = "<rss><channel><item><guid>1</guid><title>Caf\xe9</title></item></channel></rss>"


@pytest.mark.parametrize(
    ("declared", "written", "said"),
    (
        ("UTF-16", "utf-8", None),
        ("utf-16", "utf-16", None),
        ("utf-8", "latin-1", "latin-1"),
        ("x-y", "cp1252", "cp1252"),
    ),
)
def test_xml_is_read_as_it_is_written_whatever_it_declares(
    folder: Folder, declared: str, written: str, said: str | None
) -> None:
    folder.write("a.xml", f'<?xml version="1.0" encoding="{declared}"?>{FEED}', encoding=written)

    assert folder.read("feed", encoding=said)[0]["label"] == "Café"

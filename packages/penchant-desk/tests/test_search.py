"""The dashboard's search: pieces by anything that is written in them, people by their ids, the best first."""

import re
from typing import Any
from urllib.parse import unquote

import pytest

from factories import piece
from penchant.service import search as searching
from serving import Service
from visitors import Visitor, text_of, words

BOOKS = (
    piece("dune", "sand", label="Dune"),
    piece("dune-2", "sand", label="The Messiah of Dune"),
    piece("sanddune", "x", label="Undunes"),
    piece("other", "Dunes", label="Other"),
    piece("told", "x", label="Told", extras={"note": [{"of": "the dunes of Arrakis"}], "year": 1965}),
)


def sections(answer: Any) -> dict[str, list[str]]:
    """Return the ids or keywords that a page lists, by section."""
    assert answer.status_code == 200, answer.text
    parts = re.split(r'<section aria-labelledby="(\w+)">', answer.text)
    keys = [re.findall(r"[?&](?:id|keyword)=([^&\"]+)", part.replace("&amp;", "&")) for part in parts[2::2]]
    return {name: [unquote(key) for key in listed] for name, listed in zip(parts[1::2], keys, strict=True)}


def pieces(visitor: Visitor, text: str, source: str = "s") -> list[str]:
    return sections(visitor.get("search", source=source, q=text))["found"]


@pytest.fixture
def books(filled: Service, visitor: Visitor) -> Visitor:
    filled.submit("b", *BOOKS)
    return visitor


def test_every_page_of_a_source_has_the_search(visitor: Visitor) -> None:
    for page in ("pieces", "user", "try", "lists", "settings", "health", "search"):
        assert 'action="/-/dashboard/search"' in visitor.get(page, source="s").text
    assert "dashboard/search" not in visitor.get("sources").text
    assert "Type an id" in visitor.get("search", source="s").text


def test_the_best_place_comes_first(books: Visitor) -> None:
    assert pieces(books, "dune", "b") == ["dune", "dune-2", "sanddune", "other", "told"]
    assert pieces(books, "DUNE", "b") == ["dune", "dune-2", "sanddune", "other", "told"]
    assert pieces(books, "messiah dune", "b") == ["dune-2"]
    assert pieces(books, "arrakis told", "b") == ["told"]
    assert pieces(books, "genre", "b") == ["dune", "dune-2", "other", "sanddune", "told"]
    assert pieces(books, "1965", "b") == []


def test_the_text_that_was_found_is_told(books: Visitor) -> None:
    told = words(books.get("search", source="b", q="arrakis"), "found")

    assert "Told told text: /note/0/of: the dunes of Arrakis" in told
    assert "The texts of 5 of 5 pieces were read" in told


@pytest.mark.parametrize("text", ("%", "_", "' OR 1=1 --", '"', "\\", "*", "<script>", "\u202e", "ﬁ", "categories"))
def test_nothing_in_a_text_is_a_wildcard(books: Visitor, filled: Service, text: str) -> None:
    assert pieces(books, text, "b") == []
    filled.submit("b", piece("has", "x", label=f"it has {text} in it"))
    assert pieces(books, text, "b") == ["has"]


@pytest.mark.parametrize(("text", "status"), (("x" * 501, 422), ("a\x00b", 400), ("a\nb", 400)))
def test_what_no_piece_can_have_is_refused(visitor: Visitor, text: str, status: int) -> None:
    assert visitor.get("search", source="s", q=text).status_code == status


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_keywords_and_attributes_are_found_behind_what_is_read(
    books: Visitor, filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_LOOKED_AT", 0)
    filled.submit("b", piece("z", "x", extras={"language": "Elvish", "tags": ["el1", "el2"]}))
    declared = {"l": {"pointer": "/language", "type": "keyword"}, "t": {"pointer": "/tags", "type": "keywords"}}
    filled.put("/b/settings", json={"attributes": declared})

    found = books.get("search", source="b", q="dunes")

    assert sections(found)["found"] == ["other"]
    assert sections(found)["terms"] == ["Dunes"]
    assert pieces(books, "elv", "b") == pieces(books, "EL2", "b") == ["z"]


@pytest.mark.usefixtures("alone")
def test_reading_goes_on_where_it_stopped(books: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "LOOK_ROWS", 2)
    monkeypatch.setattr(searching, "MAX_LOOKED_AT", 4)

    first = books.get("search", source="b", q="arrakis")
    further = re.findall(r'rel="next" href="([^"]+)"', first.text)
    second = books.ask("GET", further[0].replace("&amp;", "&"))

    assert "The texts of 4 of 5 pieces were read; ids, keywords and attributes were" in words(first, "found")
    assert (sections(first)["found"], sections(second)["found"]) == ([], ["told"])
    assert 'rel="next"' not in second.text


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_texts_are_read_once_at_least_however_long_the_rest_has_taken(
    books: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "LOOK_S", 0.0)

    assert sections(books.get("search", source="b", q="arrakis"))["found"] == ["told"]


def test_people_are_found_by_their_ids(visitor: Visitor, filled: Service) -> None:
    for user in ("kimberly", "ann"):
        filled.post(f"/s/users/{user}/interactions/Click/content/a")

    assert sections(visitor.get("search", source="s", q="kim"))["people"] == ["kim", "kimberly"]
    assert sections(visitor.get("search", source="s", q="kimb"))["people"] == ["kimberly"]
    assert sections(visitor.get("search", source="s", q="nobody"))["people"] == []
    filled.delete("/s/users/kim")
    assert sections(visitor.get("search", source="s", q="kim"))["people"] == ["kimberly"]


def test_rows_are_found_by_name_and_title(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "new", "title": "For your Evening"})
    filled.put("/s/placements/other", json={"kind": "new"})

    for text in ("evening", "HOM"):
        assert "For your Evening" in words(visitor.get("search", source="s", q=text), "rows")
    assert 'id="rows"' not in visitor.get("search", source="s", q="nothing of it").text


def test_nobody_finds_what_is_not_theirs(filled: Service) -> None:
    stranger = Visitor(filled, filled.new_key(account="stranger"))
    basic = Visitor(filled, filled.new_key(plan="basic"))

    assert stranger.get("search", source="s", q="kim").status_code == 404
    assert "does not include the feature 'interactionsListing'" in text_of(
        basic.get("search", source="s", q="kim").text
    )


def test_fields_are_completed_beyond_the_titles_that_a_page_offers(visitor: Visitor, service: Service) -> None:
    service.submit("s", *(piece(f"n{number:03}", "x", label=f"Number {number:03}") for number in range(400)))

    page = visitor.get("piece", source="s", id="n000").text
    offered = page.partition('<datalist id="titles"')[2].partition("</datalist>")[0]
    found = visitor.get("titles", source="s", q="number 39").text
    inside = visitor.get("titles", source="s", q="398").text
    near = visitor.get("piece", source="s", id="n000", other="Number 39")

    assert "Number 399" not in offered
    assert re.findall(r'value="([^"]+)"', found) == [f"Number 39{number}" for number in range(10)]
    assert re.findall(r'value="([^"]+)"', inside) == ["Number 398"]
    assert "Several are called alike: Number 390" in words(near, "why")

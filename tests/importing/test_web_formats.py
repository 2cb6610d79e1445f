"""Feeds and descriptions of things that web pages carry."""

import json

import pytest

from importing.conftest import Folder, drafted

RSS = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"><channel>',
    "<title>Paper</title>",
    "<item><title>Storm</title><link>https://paper.example/storm</link><guid>storm-1</guid>",
    "<category>Weather</category><category>Coast</category><dc:creator>Ann Bee</dc:creator>",
    "<pubDate>Sun, 01 Nov 2026 10:00:00 +0100</pubDate><description>Wind.</description>",
    '<media:thumbnail url="https://paper.example/s.jpg"/></item>',
    "<item><title>Nameless</title></item>",
    "</channel></rss>",
)
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title>',
    '<entry><id>tag:log.example,2026:1</id><title>Rope</title><link href="https://log.example/rope"/>',
    '<link rel="self" href="https://log.example/rope.xml"/>',
    '<category term="knots"/><author><name>Ann Bee</name></author><published>2026-11-01T10:00:00Z</published></entry>',
    "</feed>",
)


def test_the_entries_of_rss_have_categories_authors_and_their_time(folder: Folder) -> None:
    folder.write("feed.rss", *RSS)

    storm, nameless = folder.read("feed")

    assert storm == drafted(
        "storm-1",
        "Storm",
        category=["Weather", "Coast"],
        author=["Ann Bee"],
        filters={"availableFrom": "2026-11-01T09:00:00.000Z"},
        extras={"link": "https://paper.example/storm", "image": "https://paper.example/s.jpg"},
    )
    assert nameless.detail == "Found an entry without an id; one of guid, id and link is accepted."
    assert folder.left_out()["feed.rss", "description"][1:] == (1, 4)


def test_the_entries_of_atom_are_read_as_well(folder: Folder) -> None:
    folder.write("feed.atom", *ATOM)

    (rope,) = folder.read("feed")

    assert rope == drafted(
        "tag:log.example,2026:1",
        "Rope",
        category=["knots"],
        author=["Ann Bee"],
        filters={"availableFrom": "2026-11-01T10:00:00.000Z"},
        extras={"link": "https://log.example/rope"},
    )


MOVIE = {
    "@context": "https://schema.org",
    "@type": "Movie",
    "@id": "https://films.example/rope",
    "name": "Rope",
    "genre": ["Thriller", "Crime"],
    "director": {"@type": "Person", "name": "Ann Bee"},
    "actor": [{"@type": "Person", "name": "Cee Dee"}, {"@id": "#eff"}],
    "datePublished": "1948",
    "image": {"@type": "ImageObject", "url": "https://films.example/rope.jpg"},
    "description": "A party.",
}


def test_things_of_schema_org_have_what_describes_them_as_keywords(folder: Folder) -> None:
    graph = {"@graph": [MOVIE, {"@type": "Person", "@id": "#eff", "name": "Eff Gee"}]}
    folder.write("film.jsonld", json.dumps(graph, indent=1))

    (film,) = folder.read("schema.org")

    assert film == drafted(
        "https://films.example/rope",
        "Rope",
        type=["Movie"],
        genre=["Thriller", "Crime"],
        director=["Ann Bee"],
        actor=["Cee Dee", "Eff Gee"],
        extras={"datePublished": "1948", "image": "https://films.example/rope.jpg"},
    )
    assert ("film.jsonld", "description") in folder.left_out()


@pytest.mark.parametrize(
    ("thing", "categories"),
    (
        ({"@type": "Book", "isbn": "1", "author": "Ann Bee"}, {"type": ["Book"], "author": ["Ann Bee"]}),
        ({"@type": "Product", "sku": "1", "brand": {"name": "Acme"}}, {"type": ["Product"], "brand": ["Acme"]}),
        (
            {"@type": "Recipe", "url": "1", "recipeIngredient": ["2 eggs, raw"], "keywords": "fast, cheap"},
            {"type": ["Recipe"], "ingredient": ["2 eggs, raw"], "keyword": ["fast", "cheap"]},
        ),
        (
            {"@type": ["NewsArticle"], "identifier": {"value": 1}, "articleSection": "Coast"},
            {"type": ["NewsArticle"], "section": ["Coast"]},
        ),
    ),
)
def test_books_products_recipes_and_articles_are_known(
    folder: Folder, thing: dict[str, object], categories: dict[str, list[str]]
) -> None:
    folder.write("a.json", json.dumps([thing | {"name": "N"}]))

    (piece,) = folder.read("schema.org")

    assert (piece["id"], piece["label"], piece["categories"]) == ("1", "N", categories)


def test_an_article_is_available_from_when_it_was_published(folder: Folder) -> None:
    article = {"@type": "NewsArticle", "url": "u", "headline": "H", "datePublished": "2026-11-01T10:00:00+01:00"}
    folder.write(
        "a.json", json.dumps({"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": article}]})
    )

    (piece,) = folder.read("schema.org")

    assert piece["filters"] == {"availableFrom": "2026-11-01T09:00:00.000Z"}


def test_scripts_of_saved_pages_are_read(folder: Folder) -> None:
    script = f'<script type="application/ld+json">{json.dumps(MOVIE)}</script>'
    folder.write("rope.html", f"<html><script>var x = 1;</script>{script}<p>{{}}</p></html>")

    assert [piece["label"] for piece in folder.read("schema.org")] == ["Rope"]


def test_json_that_is_broken_and_things_without_an_id_are_problems(folder: Folder) -> None:
    folder.write("a.jsonld", '{"@type": "Book",', '"name": }')
    folder.write("b.jsonld", json.dumps({"@type": "Book", "name": "N"}))

    broken, nameless = folder.read("schema.org")

    assert "line 2, column 9" in broken.detail
    assert nameless.detail.startswith("Found 'N' without an id; one of @id, identifier")

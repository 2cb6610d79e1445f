"""Feeds and descriptions of things that web pages carry."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from import_folders import Folder, drafted, run
from penchant.errors import Refused
from penchant_import.formats.schema_org import ingredient_name

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
        extras={"link": "https://paper.example/storm", "image": "https://paper.example/s.jpg", "description": "Wind."},
    )
    assert nameless.detail == "Found an entry without an id; one of guid, id and link is accepted."


def test_an_entry_has_its_fullest_text_its_sound_and_the_picture_in_it(folder: Folder) -> None:
    folder.write(
        "feed.rss",
        '<rss xmlns:content="c" xmlns:media="m"><channel><item><guid>1</guid><title>Tide &amp;amp; time</title>',
        "<author>ann@paper.example (Ann Bee)</author><description>Short.</description>",
        '<content:encoded><![CDATA[<p>Long <img alt="" src="https://paper.example/t.jpg?a=1&amp;b=2"></p>]]>',
        '</content:encoded><enclosure url="https://paper.example/t.mp3" type="audio/mpeg"/></item>',
        '<item><guid>2</guid><media:group><media:thumbnail url="https://paper.example/g.jpg"/></media:group></item>',
        "</channel></rss>",
    )

    tide, grouped = folder.read("feed")

    assert (tide["label"], tide["categories"]) == ("Tide & time", {"author": ["Ann Bee"]})
    assert tide["extras"] == {
        "enclosure": "https://paper.example/t.mp3",
        "description": "Long",
        "image": "https://paper.example/t.jpg?a=1&b=2",
    }
    assert grouped["extras"] == {"image": "https://paper.example/g.jpg"}


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
        extras={"datePublished": "1948", "image": "https://films.example/rope.jpg", "description": "A party."},
    )


@pytest.mark.parametrize(
    ("thing", "categories"),
    (
        ({"@type": "Book", "isbn": "1", "author": "Ann Bee"}, {"type": ["Book"], "author": ["Ann Bee"]}),
        ({"@type": "Product", "sku": "1", "brand": {"name": "Acme"}}, {"type": ["Product"], "brand": ["Acme"]}),
        (
            {"@type": "Recipe", "url": "1", "recipeIngredient": ["2 eggs, raw"], "keywords": "fast, cheap"},
            {"type": ["Recipe"], "ingredient": ["eggs"], "keyword": ["fast", "cheap"]},
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
    folder.write("b.ndjson", json.dumps({"@type": "Book", "name": "N"}))

    broken, nameless = folder.read("schema.org")

    assert "line 2, column 9" in broken.detail
    assert nameless.detail.startswith("Found 'N' without an id; one of @id, identifier")


RECIPE = {"@type": "Recipe", "name": "Soup", "recipeIngredient": ["2.5 dl vatten", "1 1/2 cups (240 g) Flour, sifted"]}


def page(*things: object, head: str = "") -> str:
    """Return a saved page with things in scripts of their own."""
    scripts = "".join(f'<script type="application/ld+json">{json.dumps(thing)}</script>' for thing in things)
    return f"<html><head>{head}</head><body>{scripts}</body></html>"


@pytest.mark.parametrize(
    ("thing", "head", "piece_id"),
    (
        ({"@id": "https://food.example/soup#recipe"}, "", "https://food.example/soup#recipe"),
        (
            {"@id": "#recipe"},
            '<link rel="canonical" href="https://food.example/soup">',
            "https://food.example/soup#recipe",
        ),
        ({"@id": "_:b0", "url": "https://food.example/soup"}, "", "https://food.example/soup"),
        ({"mainEntityOfPage": {"@id": "https://food.example/soup"}}, "", "https://food.example/soup"),
        ({}, '<link href="https://food.example/soup" rel="canonical">', "https://food.example/soup"),
        ({}, '<meta property="og:url" content="https://food.example/soup">', "https://food.example/soup"),
        ({}, "", "soup"),
    ),
)
def test_a_thing_of_a_page_goes_by_its_own_name_or_the_page_s(
    folder: Folder, thing: dict[str, object], head: str, piece_id: str
) -> None:
    folder.write("soup.html", page(RECIPE | thing, head=head))

    assert [each["id"] for each in folder.read("schema.org")] == [piece_id]


@pytest.mark.parametrize(
    ("text", "name"),
    (
        ("2.5 dl vatten", "vatten"),
        ("1 1/2 cups (240 g) Flour, sifted", "flour"),
        ("¼ cup all-purpose flour ((60 g))", "all-purpose flour"),
        ("600ml/21fl oz double cream", "double cream"),
        ("1 (14 oz) can of condensed milk", "condensed milk"),
        ("ca. 3 EL Öl", "öl"),
        ("1 cup oat milk + 2 tbsp", "oat milk"),
        ("Salt", "salt"),
        ("2 garlic cloves (crushed", "garlic cloves"),
        ("For the sauce:", ""),
        ("1 " * 100, ""),
    ),
)
def test_ingredients_are_named_without_their_amounts(text: str, name: str) -> None:
    assert ingredient_name(text) == name


def test_of_a_page_only_what_it_is_about_is_taken(folder: Folder) -> None:
    web_page = {"@type": "WebPage", "@id": "w", "name": "Soup - food.example"}
    article = {"@type": "Article", "@id": "a", "headline": "Soup"}
    questions = {"@type": "FAQPage", "mainEntity": [{"@type": "Question", "@id": "q", "name": "How hot?"}]}
    contents = {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "name": "Top", "url": "#top"}]}
    video = {"@type": "VideoObject", "@id": "v", "name": "Soup, the film"}
    folder.write("soup.html", page({"@graph": [web_page, article, questions, contents, video]}, RECIPE))
    folder.write("tale.html", page({"@graph": [web_page, article, video]}))

    soup, tale = folder.read("schema.org")

    assert (soup["label"], soup["categories"]["ingredient"]) == ("Soup", ["vatten", "flour"])
    assert tale["id"] == "a"
    assert folder.left_out()["soup.html", "Article"] == ("belongs to what the page is about", 1, 1)


def test_pages_without_a_thing_say_what_they_have(folder: Folder) -> None:
    folder.write("soup.html", page({"@type": "WebPage", "name": "Soup"}, {"@type": "Question", "name": "How hot?"}))

    with pytest.raises(Refused, match=r"things of JSON-LD \(1 WebPage, 1 Question\), none of them to recommend"):
        run("schema.org", folder, None)


def test_broken_and_empty_scripts_beside_a_thing_are_left_out(folder: Folder) -> None:
    scripts = '<script type="application/ld+json"> </script><script type="application/ld+json">{"a" 1}</script>'
    folder.write("soup.html", page(RECIPE) + scripts)

    assert [each["label"] for each in folder.read("schema.org")] == ["Soup"]
    assert folder.left_out()["soup.html", "(script)"][1:] == (1, 1)


def test_raw_line_breaks_within_texts_of_pages_are_read(folder: Folder) -> None:
    folder.write("soup.html", page(RECIPE).replace("Soup", "So\nup"))

    assert folder.read("schema.org")[0]["label"] == "So\nup"


def test_a_file_without_entries_says_what_it_has(folder: Folder) -> None:
    folder.write("a.xml", "<books><book><name>A</name></book><book/></books>")

    with pytest.raises(Refused, match=r"Nothing of the format feed .*a <books> with 2 <book>; a feed has <item> or"):
        run("feed", folder, None)


_IRI = "http://schema.org/"
_ROPE = {"name": "Rope", "genre": "Crime", "url": "https://x.example/r", "author": {"@type": "Person", "name": "Ann"}}


def _values(value: str) -> list[dict[str, str]]:
    return [{"@value": value}]


@pytest.mark.parametrize(
    "thing",
    (
        {"@context": "https://schema.org", "@id": "rope", "@type": "Movie", **_ROPE},
        {"@id": "rope", "@type": "schema:Movie", **{f"schema:{name}": value for name, value in _ROPE.items()}},
        {
            "@context": {"s": _IRI, "id": "@id", "type": "@type", "label": {"@id": "s:name"}},
            "id": "rope",
            "type": "s:Movie",
            "label": {"@language": "en", "@value": "Rope"},
            "s:genre": {"@list": ["Crime"]},
            "s:url": {"id": "https://x.example/r"},
            "s:author": {"type": "s:Person", "label": "Ann"},
        },
        [
            {
                "@id": "rope",
                "@type": [f"{_IRI}Movie"],
                f"{_IRI}name": [{"@value": "Rope", "@language": "en"}, {"@value": "La soga"}],
                f"{_IRI}genre": _values("Crime"),
                f"{_IRI}url": [{"@id": "https://x.example/r"}],
                f"{_IRI}author": [{"@id": "_:b0"}],
            },
            {"@id": "_:b0", "@type": [f"{_IRI}Person"], f"{_IRI}name": _values("Ann")},
        ],
    ),
    ids=("plain", "prefixes", "context", "expanded"),
)
def test_a_thing_is_the_same_in_every_form_of_json_ld(folder: Folder, thing: Any) -> None:
    folder.write("rope.jsonld", json.dumps(thing))

    (piece,) = folder.read("schema.org")

    categories = {"type": ["Movie"], "genre": ["Crime"], "author": ["Ann"]}
    assert piece == drafted("rope", "Rope", extras={"url": "https://x.example/r"}, **categories)


def test_texts_may_be_value_objects_and_of_several_names_the_first_counts(folder: Folder) -> None:
    thing = {"@type": "Movie", "@id": "rope", "name": ["Rope", "La soga"], "description": _values("Two men.")}
    author = {"author": "Ann Bee (ann@mail.example)"}
    folder.write("rope.jsonld", json.dumps(thing | author))

    (piece,) = folder.read("schema.org")

    assert (piece["label"], piece["extras"]) == ("Rope", {"description": "Two men."})
    assert piece["categories"]["author"] == ["Ann Bee"]


def test_names_of_other_vocabularies_stay_as_they_are(folder: Folder) -> None:
    context = {"name": "http://xmlns.com/foaf/0.1/name", "@vocab": "https://schema.org/"}
    folder.write("rope.jsonld", json.dumps({"@context": context, "@type": "Movie", "@id": "rope", "name": "Rope"}))

    assert folder.read("schema.org")[0]["label"] == "Rope"


def test_what_only_describes_a_thing_is_no_piece(folder: Folder) -> None:
    graph = [
        {"@id": "urn:1", "@type": "Movie", "name": "Rope", "inLanguage": {"@id": "_:b0"}},
        {"@id": "_:b0", "@type": "Language", "name": "English"},
    ]
    folder.write("a.jsonld", json.dumps({"@context": "https://schema.org/", "@graph": graph}))

    assert [each["id"] for each in folder.read("schema.org")] == ["urn:1"]


def test_a_thing_without_a_name_is_told(folder: Folder) -> None:
    folder.write("a.jsonld", json.dumps([MOVIE, {"@type": "Book", "isbn": "1"}]))
    folder.read("schema.org")
    assert folder.left_out()["a.jsonld", "Book"] == ("without a name", 1, 1)

    folder.write("a.jsonld", json.dumps({"@type": "Book", "isbn": "1"}))
    with pytest.raises(Refused, match=r"1 Book.*none of them with a name and a type"):
        run("schema.org", folder, None)


def test_things_within_each_other_without_end_are_a_problem(folder: Folder) -> None:
    folder.write("a.jsonld", '{"schema:hasPart":' * 500 + "1" + "}" * 500)

    (problem,) = folder.read("schema.org")

    assert "JSON-LD is accepted" in problem.detail


def test_of_things_of_one_id_the_newest_counts_and_the_other_is_named(folder: Folder) -> None:
    thing = {"@type": "Article", "@id": "a", "headline": "New", "dateModified": "2026-11-03"}
    folder.write("a.jsonld", json.dumps([thing, thing | {"headline": "Old", "dateModified": "2026-11-02"}]))

    (piece,) = folder.read("schema.org")

    assert piece["label"] == "New"
    assert folder.left_out()["a.jsonld", "'a'"] == ("an older piece of the id of a.jsonld, line 1", 1, 2)


_WORDS = st.sampled_from(("Movie", f"{_IRI}Movie", "schema:Article", "a", "", "_:b", "#x", "2026-11-01"))
_KEYS = st.sampled_from((
    "@context", "@id", "@type", "@value", "@list", "@graph", "name", "schema:name", f"{_IRI}name", "author", "image",
    "url", "dateModified", "datePublished", "description", "keywords", "hasPart", "itemListElement", "expires",
))  # fmt: skip
_JSON_LD = st.recursive(
    st.one_of(_WORDS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=6)),
    max_leaves=20,
)


@given(thing=_JSON_LD, more=st.dictionaries(_KEYS, _JSON_LD, max_size=6))
def test_whatever_a_thing_holds_it_is_a_piece_a_problem_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, thing: Any, more: dict[str, Any]
) -> None:
    folder = Folder(tmp_path_factory.mktemp("files"))
    folder.write("a.jsonld", json.dumps([{"@type": "Movie", "name": "Rope", "@id": "rope"} | more, thing]))

    assert all("id" in each if isinstance(each, dict) else each.detail for each in folder.read("schema.org"))


@pytest.mark.parametrize(
    "thing",
    (
        {"@context": ["https://schema.org", {"titel": "name", "naam": "titel"}], "naam": "Rope"},
        {"@context": {"titel": {"@id": "name", "@container": "@language"}}, "titel": {"en": "Rope", "de": ["Seil"]}},
        {"@context": {"en": {"@id": "s:name"}, "de": "s:name", "s": "http://schema.org/"}, "en": "Rope", "de": "Seil"},
        {"@context": {"all": {"@id": "schema:name", "@container": ["@index"]}}, "all": {"main": "Rope"}},
        {"name": {"en": "Rope", "de-AT": "Seil", "id": "Tali"}},
        {"title": {"@none": "Rope"}},
        {"@context": {"v": "@value"}, "name": {"v": "Rope"}},
    ),
    ids=("names", "language", "two names", "index", "undeclared", "title", "alias"),
)
def test_names_of_a_context_within_are_applied_with_their_containers(folder: Folder, thing: dict[str, Any]) -> None:
    folder.write("rope.jsonld", json.dumps({"@id": "rope", "@type": "Movie"} | thing))

    assert folder.read("schema.org") == [drafted("rope", "Rope", type=["Movie"])]


def test_lists_and_things_by_id_of_a_context_are_values_and_things(folder: Folder) -> None:
    context = {
        "kinds": {"@id": "genre", "@container": "@list"},
        "films": {"@id": "hasPart", "@container": "@id", "@context": {"genre": "http://x.example/other"}},
        "author": {"@reverse": "http://x.example/wrote"},
    }
    film = {"@type": "Movie", "name": "Rope", "kinds": ["noir", "heist"], "genre": "other", "author": "Nobody"}
    folder.write("a.jsonld", json.dumps({"@context": context, "@type": "Collection", "films": {"rope": film}}))

    assert folder.read("schema.org") == [drafted("rope", "Rope", type=["Movie"], genre=["noir", "heist"])]


def test_objects_with_a_short_member_are_no_texts_by_language(folder: Folder) -> None:
    thing = {
        "@type": "Movie",
        "@id": "rope",
        "name": "Rope",
        "author": {"id": "5", "name": "Ann"},
        "genre": {"id": "7"},
    }
    folder.write("a.jsonld", json.dumps(thing | {"brand": {"it": {"name": "Acme"}}}))

    assert folder.read("schema.org") == [drafted("rope", "Rope", type=["Movie"], author=["Ann"])]


@pytest.mark.parametrize(
    ("offers", "in_stock"),
    (
        ({"@type": "Offer", "availability": "https://schema.org/SoldOut"}, False),
        ([{"availability": "http://schema.org/OutOfStock"}, {"availability": "Discontinued"}], False),
        ({"@type": "AggregateOffer", "offers": [{"availability": "SoldOut"}, {"availability": "InStock"}]}, True),
        ({"availability": {"@id": "schema:OutOfStock"}}, False),
        ({"availability": "https://schema.org/PreOrder"}, True),
    ),
)
def test_what_is_sold_out_by_all_its_offers_is_not_in_stock(folder: Folder, offers: Any, in_stock: Any) -> None:
    folder.write("a.jsonld", json.dumps({"@type": "Product", "@id": "mug", "name": "Mug", "offers": offers}))

    assert folder.read("schema.org") == [drafted("mug", "Mug", type=["Product"], extras={"inStock": in_stock})]


SCRIPT = '<script type="application/ld+json">{"@type":"Book","@id":"1","name":"Café"}</script>'


def test_a_page_is_read_as_it_says_that_it_is_written_and_other_bytes_are_refused(folder: Folder) -> None:
    page = folder.path / "a.html"
    for content in (SCRIPT.encode(), f'<meta charset="windows-1252">{SCRIPT}'.encode("cp1252")):
        page.write_bytes(content)
        assert folder.read("schema.org")[0]["label"] == "Café"

    page.write_bytes(SCRIPT.encode("latin-1"))
    assert re.search(r"not UTF-8: .* Write it in UTF-8, .* iconv", folder.read("schema.org")[0].detail)


@pytest.mark.parametrize("encoding", ("utf8", "shift_jis", "euc_jp", "gb18030", "utf-16"))
def test_xml_is_read_in_every_encoding_that_it_declares(folder: Folder, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><rss><item><guid>1</guid><title>日本</title></item></rss>'
    folder.write("a.xml", text, encoding=encoding)

    assert folder.read("feed") == [drafted("1", "日本")]


@pytest.mark.parametrize(
    ("declaration", "said"),
    (
        ("", r"a.xml, line 2, column 36: not UTF-8. Say how it is written with --encoding"),
        ('<?xml version="1.0" encoding="UTF-8"?>', r"not UTF-8. Say how it is written with --encoding"),
        ('<?xml version="1.0" encoding="klingon"?>', r"line 1: unknown encoding: klingon. Say .* --encoding"),
        ('<?xml version="1.0" encoding="zlib"?>', r"line 1: .zlib. is not a text encoding.* --encoding"),
        ('<?xml version="1.0" encoding="idna"?>', r"line 1: unknown encoding: idna. Say .* --encoding"),
        ('<?xml version="1.0" encoding="euc_jp"?>', r"line 1 or after: not EUC_JP .* --encoding"),
    ),
)
def test_xml_in_another_encoding_than_it_says_is_refused_with_the_option_that_helps(
    folder: Folder, declaration: str, said: str
) -> None:
    folder.write("a.xml", declaration, "<rss><item><guid>1</guid><title>Café</title></item></rss>", encoding="latin-1")

    with pytest.raises(Refused, match=said):
        folder.read("feed")
    assert folder.read("feed", encoding="latin-1") == [drafted("1", "Café")]


def test_a_fault_of_xml_before_bytes_in_another_encoding_is_told_as_such(folder: Folder) -> None:
    folder.write("a.xml", "<rss><item></title></item>", "Café</rss>", encoding="latin-1")

    with pytest.raises(Refused, match="line 1, column 14: not XML: mismatched tag"):
        folder.read("feed")

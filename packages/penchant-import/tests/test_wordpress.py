"""WordPress: what items of its export become; the shape is that of the one in WPTT/theme-unit-test."""

from typing import Any

import pytest

from import_folders import Folder, drafted
from penchant_import.files import UnreadableFile
from penchant_import.options import KeywordColumn
from penchant_import.pieces import HIDDEN_SINCE

HEAD = (
    '<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:wp="http://wordpress.org/export/1.2/"><channel><wp:wxr_version>1.2</wp:wxr_version>'
)
AUTHOR = (
    "<wp:author><wp:author_login>ann</wp:author_login>"
    "<wp:author_display_name><![CDATA[Ann Bee]]></wp:author_display_name></wp:author>"
)


def item(piece_id: str, *parts: str, kind: str = "post", status: str = "publish") -> str:
    """Return an item of an export in one line."""
    inner = "".join(parts)
    state = f"<wp:post_type>{kind}</wp:post_type><wp:status>{status}</wp:status>"
    return f'<item><guid isPermaLink="false">{piece_id}</guid>{inner}{state}</item>'


def term(domain: str, name: str, nicename: str = "n") -> str:
    """Return a term of a taxonomy."""
    return f'<category domain="{domain}" nicename="{nicename}"><![CDATA[{name}]]></category>'


def meta(key: str, value: str) -> str:
    """Return a custom field."""
    return (
        f"<wp:postmeta><wp:meta_key>{key}</wp:meta_key><wp:meta_value><![CDATA[{value}]]></wp:meta_value></wp:postmeta>"
    )


def attachment(number: int, address: str, parent: int) -> str:
    """Return the item of an uploaded file."""
    return item(
        address,
        f"<wp:post_id>{number}</wp:post_id><wp:post_parent>{parent}</wp:post_parent>",
        f"<wp:attachment_url>{address}</wp:attachment_url>",
        kind="attachment",
        status="inherit",
    )


def read(folder: Folder, *items: str, **options: Any) -> list[Any]:
    """Return the pieces of an export with these items, the first of which is in line 2."""
    folder.write("site.xml", HEAD + AUTHOR, *items, "</channel></rss>")
    return folder.read("wxr", **options)


def test_a_post_has_its_terms_author_time_and_texts(folder: Folder) -> None:
    post = item(
        "https://blog.example/?p=1",
        "<title>Storm &amp;amp; Surge</title><link>https://blog.example/storm/</link><dc:creator>ann</dc:creator>",
        "<content:encoded><![CDATA[<!-- wp:p --><p>Wind &amp; <b>ra</b>in.</p>[caption id=1]Sea[/caption] [sic]]]>",
        "</content:encoded><excerpt:encoded><![CDATA[<i>Windy</i>]]></excerpt:encoded>",
        "<wp:post_date_gmt>2026-11-01 09:00:00</wp:post_date_gmt>",
        term("category", "Q&amp;A"),
        term("post_tag", "coast"),
        term("series_name", "Winter"),
        term("post_format", "Aside"),
        term("category", "Uncategorized", "uncategorized"),
    )

    (piece,) = read(folder, post)

    assert piece == drafted(
        "https://blog.example/?p=1",
        "Storm & Surge",
        author=["Ann Bee"],
        category=["Q&A"],
        tag=["coast"],
        **{"series name": ["Winter"]},
        filters={"catalogs": ["post"], "availableFrom": "2026-11-01T09:00:00.000Z"},
        extras={"description": "Wind & rain. Sea [sic]", "excerpt": "Windy", "link": "https://blog.example/storm/"},
    )
    assert folder.left_out()["site.xml", "category (category)"] == ("means that there is none", 1, 2)
    assert ("site.xml", "category (post_format)") in folder.left_out()


@pytest.mark.parametrize("status", ("draft", "private", "pending", "trash"))
def test_what_is_not_public_is_hidden_and_its_texts_stay_out(folder: Folder, status: str) -> None:
    secret = "<![CDATA[<p>secret<img src='https://b.example/s.jpg'></p>]]>"
    secret = f"<title>T</title><content:encoded>{secret}</content:encoded><excerpt:encoded>{secret}</excerpt:encoded>"

    (piece,) = read(folder, item("a", secret, status=status))

    assert piece == drafted("a", "T", filters={"catalogs": ["post"], "availableUntil": HIDDEN_SINCE})


def test_a_post_with_a_password_is_hidden_and_a_scheduled_one_is_not(folder: Folder) -> None:
    scheduled = item("b", "<wp:post_date_gmt>2126-01-01 00:00:00</wp:post_date_gmt>", status="future")

    locked, planned = read(folder, item("a", "<wp:post_password>x</wp:post_password>"), scheduled)

    assert locked["filters"]["availableUntil"] == HIDDEN_SINCE
    assert planned["filters"] == {"catalogs": ["post"], "availableFrom": "2126-01-01T00:00:00.000Z"}


def test_the_time_of_a_post_without_one_in_utc_is_when_it_was_published(folder: Folder) -> None:
    no_time = "<wp:post_date_gmt>0000-00-00 00:00:00</wp:post_date_gmt>"
    published = "<pubDate>Sun, 01 Nov 2026 10:00:00 +0100</pubDate>"
    never = "<pubDate>Mon, 30 Nov -0001 00:00:00 +0000</pubDate>"

    dated, undated = read(folder, item("a", no_time, published), item("b", no_time, never))

    assert dated["filters"] == {"catalogs": ["post"], "availableFrom": "2026-11-01T09:00:00.000Z"}
    assert undated["filters"] == {"catalogs": ["post"]}


def test_the_picture_is_the_featured_one_then_one_uploaded_to_it_then_one_in_its_text(folder: Folder) -> None:
    shown = '<content:encoded><![CDATA[<p><img class="a" src="https://b.example/in.jpg?a=1&amp;b=2"></p>]]></content:encoded>'
    featured = item("a", "<wp:post_id>1</wp:post_id>", shown, meta("_thumbnail_id", "9"))
    uploaded = item("b", "<wp:post_id>2</wp:post_id>", shown)
    inside = item("c", "<wp:post_id>3</wp:post_id>", shown)
    files = (
        attachment(7, "https://b.example/talk.mp3", 2),
        attachment(6, f"https://b.example/{'x' * 2_000}.png", 2),
        attachment(8, "https://b.example/up.png", 2),
        attachment(9, "https://b.example/top.webp", 0),
    )

    pieces = read(folder, featured, uploaded, inside, *files)

    assert [piece["extras"]["image"] for piece in pieces] == [
        "https://b.example/top.webp",
        "https://b.example/up.png",
        "https://b.example/in.jpg?a=1&b=2",
    ]


def test_pictures_and_authors_may_stand_in_another_file_of_the_site(folder: Folder) -> None:
    post = item("a", "<dc:creator>ann</dc:creator>", meta("_thumbnail_id", "9"))
    folder.write("site.001.xml", HEAD, post, "</channel></rss>")
    folder.write("site.002.xml", HEAD, AUTHOR, attachment(9, "https://b.example/a.jpg", 1), "</channel></rss>")

    (piece,) = folder.read("wxr")

    assert (piece["categories"], piece["extras"]) == ({"author": ["Ann Bee"]}, {"image": "https://b.example/a.jpg"})


def test_a_product_has_its_attributes_and_price(folder: Folder) -> None:
    terms = (term("product_cat", "Rope"), term("product_tag", "deck"), term("pa_main-colour", "Red"))
    fields = (meta("_price", "34.90"), meta("_sku", "R-1"), meta("_edit_lock", "1:1"), meta("_wp_page_template", "x"))
    extra = (term("product_type", "simple"), meta("rating", "4"))

    (piece,) = read(folder, item("a", *terms, *fields, *extra, kind="product"))

    assert piece == drafted(
        "a",
        category=["Rope"],
        tag=["deck"],
        **{"main colour": ["Red"]},
        filters={"catalogs": ["product"]},
        extras={"price": "34.90", "sku": "R-1"},
    )
    assert folder.left_out()["site.xml", "postmeta _…"][1] == 2
    assert ("site.xml", "postmeta rating") in folder.left_out()


def test_custom_fields_are_keywords_and_catalogs_where_that_is_said(folder: Folder) -> None:
    (piece,) = read(
        folder,
        item("a", meta("cuisine", "thai|vegan"), meta("shop", "north")),
        keywords=(KeywordColumn(column="cuisine", category="cuisine"),),
        catalogs=KeywordColumn(column="shop", category="-"),
    )

    assert piece["categories"] == {"cuisine": ["thai", "vegan"]}
    assert piece["filters"]["catalogs"] == ["post", "north"]


def test_the_id_is_what_was_chosen_or_the_first_there_is(folder: Folder) -> None:
    both = "<item><link>https://b.example/a/</link><wp:post_id>4</wp:post_id><wp:post_type>page</wp:post_type></item>"

    assert [piece["id"] for piece in read(folder, both)] == ["https://b.example/a/"]
    assert [piece["id"] for piece in read(folder, both, id_column="post_id")] == ["4"]
    (problem,) = read(folder, both, id_column="guid")
    assert problem.detail == "Found an item without guid."
    with pytest.raises(UnreadableFile, match="guid, link, post_id is accepted"):
        read(folder, both, id_column="slug")


def test_items_of_other_types_are_left_out_and_those_of_other_rss_refused(folder: Folder) -> None:
    other = "<item><title>News</title><guid>n</guid></item>"

    page, problem = read(folder, item("m", kind="nav_menu_item"), item("p", kind="page"), other)

    assert page["filters"]["catalogs"] == ["page"]
    assert folder.left_out()["site.xml", "item (nav_menu_item)"] == ("no post, page or product", 1, 2)
    assert "without wp:post_type" in problem.detail


@pytest.mark.parametrize("part", ("<img src src=", "[a b=", "[a ====", "<img " + "src " * 100))
def test_markup_that_never_ends_is_searched_once(folder: Folder, part: str) -> None:
    (piece,) = read(
        folder, item("a", f"<content:encoded><![CDATA[{part}{part[-1] * 200_000}{part}]]></content:encoded>")
    )

    assert "image" not in piece["extras"]


def test_an_author_without_a_name_is_called_by_login(folder: Folder) -> None:
    nameless = "<wp:author><wp:author_login>cee</wp:author_login></wp:author>"

    (piece,) = read(folder, nameless, item("a", "<dc:creator>cee</dc:creator><wp:menu_order>1</wp:menu_order>"))

    assert piece["categories"] == {"author": ["cee"]}
    assert ("site.xml", "menu_order") in folder.left_out()


def test_a_scheduled_post_without_a_time_in_utc_is_hidden_without_its_text(folder: Folder) -> None:
    times = "<wp:post_date>2126-12-24 09:00:00</wp:post_date><wp:post_date_gmt>0000-00-00 00:00:00</wp:post_date_gmt>"

    (piece,) = read(folder, item("a", times, "<content:encoded>secret</content:encoded>", status="future"))

    assert piece == drafted("a", filters={"catalogs": ["post"], "availableUntil": HIDDEN_SINCE})


def test_taxonomies_of_plugins_are_no_keywords_and_the_language_can_be_filtered(folder: Folder) -> None:
    terms = (
        term("language", "English", "en"),
        term("post_translations", "pll_64a0f1"),
        term("post_format", "Gallery"),
        term("wp_theme", "twentyfive"),
        term("genre", "Noir"),
    )

    (piece,) = read(folder, item("a", *terms))

    assert (piece["categories"], piece["extras"]) == ({"genre": ["Noir"]}, {"language": "en"})


def test_a_post_in_a_category_is_in_those_above_it_too(folder: Folder) -> None:
    ebbe = (
        "<wp:category><wp:category_nicename>ebbe</wp:category_nicename><wp:category_parent>kueste</wp:category_parent>"
        "<wp:cat_name>Ebbe</wp:cat_name></wp:category>"
    )
    coast = (
        "<wp:category><wp:category_nicename>kueste</wp:category_nicename><wp:category_parent></wp:category_parent>"
        "<wp:cat_name><![CDATA[Küste &amp; Meer]]></wp:cat_name></wp:category>"
    )
    table = (
        "<wp:term><wp:term_taxonomy>product_cat</wp:term_taxonomy><wp:term_slug>tables</wp:term_slug>"
        "<wp:term_parent>tables</wp:term_parent><wp:term_name>Tables</wp:term_name></wp:term>"
    )

    post, goods = read(
        folder, ebbe, coast, table, item("a", term("category", "Ebbe", "ebbe")),
        item("b", term("product_cat", "Tables", "tables"), kind="product"),
    )  # fmt: skip

    assert post["categories"] == {"category": ["Küste & Meer", "Ebbe"]}
    assert goods["categories"] == {"category": ["Tables"]}


def test_of_posts_of_one_id_the_one_that_was_modified_last_counts(folder: Folder) -> None:
    changed = "<wp:post_modified_gmt>2026-11-0{} 10:00:00</wp:post_modified_gmt><title>{}</title>"

    (piece,) = read(folder, item("a", changed.format(3, "New")), item("a", changed.format(2, "Old")))

    assert piece["label"] == "New"
    assert folder.left_out()["site.xml", "'a'"] == ("an older piece of the id of site.xml, line 2", 1, 3)


def test_an_author_whose_name_is_an_address_is_no_keyword(folder: Folder) -> None:
    (piece,) = read(folder, item("a", "<dc:creator>ann@mail.example</dc:creator>"))

    assert piece["categories"] == {}


def test_a_product_that_only_searching_finds_is_in_no_list_and_a_sold_out_one_says_so(folder: Folder) -> None:
    hidden = item("a", term("product_visibility", "exclude-from-catalog", "exclude-from-catalog"), kind="product")
    sold_out = item(
        "b", term("product_visibility", "outofstock", "outofstock"), meta("_stock_status", "outofstock"), kind="product"
    )

    first, second = read(folder, hidden, sold_out)

    assert first["filters"]["availableUntil"] == HIDDEN_SINCE
    assert second["extras"] == {"availability": "outofstock", "inStock": False}

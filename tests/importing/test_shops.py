"""Exports of shops and product feeds, in the form that the shops' documents describe."""

import pytest

from importing.conftest import Folder, drafted, run
from penchant.errors import Refused
from penchant.importing import KeywordColumn

SHOPIFY = (
    (
        "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,"
        "Option2 Value,Variant SKU,Variant Price,Image Src,Status"
    ),
    (
        'oak-table,Oak table,<p>Solid.</p>,Acme,Furniture > Tables,Table,"oak, solid",true,Size,S,Color,'
        "Natural,T-S,250.00,https://shop.example/1.jpg,active"
    ),
    "oak-table,,,,,,,,,L,,Black,T-L,310.00,https://shop.example/2.jpg,",
    "mug,Mug,,Acme,,Mug,,true,Title,Default Title,,,M-1,9.00,,draft",
)


def test_a_shopify_product_is_one_piece_of_all_its_variants(folder: Folder) -> None:
    folder.write("products_export.csv", *SHOPIFY)

    table, mug = folder.read("shopify")

    assert table == drafted(
        "oak-table",
        "Oak table",
        brand=["Acme"],
        category=["Furniture", "Tables"],
        type=["Table"],
        tag=["oak", "solid"],
        color=["Natural", "Black"],
        extras={"description": "Solid.", "sku": "T-S", "price": "250.00", "image": "https://shop.example/1.jpg"},
    )
    assert mug["categories"] == {"brand": ["Acme"], "type": ["Mug"]}
    assert mug["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    left = folder.left_out()
    assert left["products_export.csv", "Variant Price"][0].startswith("another value in a further row")
    assert left["products_export.csv", "Option1 Value"][0].startswith("numbers and sizes; --keywords 'size=Option1 Va")


def test_sizes_of_a_shop_are_keywords_where_that_is_asked_for(folder: Folder) -> None:
    folder.write("products_export.csv", *SHOPIFY)
    sizes = KeywordColumn(column="Option1 Value", category="size")

    table, _ = folder.read("shopify", keywords=(sizes,))

    assert table["categories"]["size"] == ["S", "L"]


def test_padded_and_short_rows_of_a_shop_and_entities_are_read(folder: Folder) -> None:
    folder.write(
        "a.csv",
        "Handle ,Title,Vendor,Tags,Option1 Name,Option1 Value,,",
        'cake   ,Cake &amp; cream, Acme ,"sweet , party",Sizes ,5&quot; x 7.2&quot;,,',
        ",,,,,,,",
        "pie,Pie,Acme,,Colors,Red",
        "tart,Tart,Acme,,color,Blue",
    )

    cake, pie, tart = folder.read("shopify")

    assert cake == drafted("cake", "Cake & cream", brand=["Acme"], tag=["sweet", "party"])
    assert (pie["categories"]["colors"], tart["categories"]["colors"]) == (["Red"], ["Blue"])
    assert [(each.category, each.into, each.count) for each in folder.notes.all_joined()] == [("color", "colors", 1)]
    assert folder.left_out()["a.csv", "(row)"] == (
        "ends early; the cells that are missing at its end count as empty",
        2,
        4,
    )


def test_the_newer_headings_of_shopify_are_known(folder: Folder) -> None:
    folder.write(
        "a.csv",
        "Title,URL handle,Vendor,Tags,Published on online store,Status,Option1 name,Option1 value,Price",
        "Mug,mug,Acme,tea,TRUE,Active,Color,Red,9",
    )

    (mug,) = folder.read("shopify")

    assert (mug["id"], mug["label"], mug["extras"]) == ("mug", "Mug", {"price": "9"})
    assert mug["categories"] == {"brand": ["Acme"], "tag": ["tea"], "color": ["Red"]}


WOO = (
    (
        "ID,Type,SKU,Name,Published,Is featured?,Visibility in catalog,Description,Regular price,Categories,Tags,"
        "Images,Parent,Attribute 1 name,Attribute 1 value(s),Attribute 1 visible,Attribute 1 global"
    ),
    (
        '44,variable,HOOD,Hoodie,1,0,visible,Warm.,45,"Clothing > Hoodies, Sale","warm, red\\, white",'
        '"https://shop.example/a.jpg, https://shop.example/b.jpg",,Color,"Blue, Green",1,1'
    ),
    "45,variation,HOOD-B,Hoodie - Blue,1,0,visible,,45,,,,HOOD,Color,Blue,,1",
    "46,simple,CAP,Cap,-1,0,visible,,12,Clothing,,,,,,,",
)


def test_a_woocommerce_product_has_its_attributes_and_variations_are_left_out(folder: Folder) -> None:
    folder.write("wc-product-export.csv", *WOO)

    hoodie, cap = folder.read("woocommerce")

    assert hoodie == drafted(
        "44",
        "Hoodie",
        category=["Clothing", "Hoodies", "Sale"],
        tag=["warm", "red, white"],
        color=["Blue", "Green"],
        extras={"sku": "HOOD", "description": "Warm.", "price": "45", "image": "https://shop.example/a.jpg"},
    )
    assert cap["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    assert folder.left_out()["wc-product-export.csv", "(row)"][1:] == (1, 3)


MERCHANT = (
    '<?xml version="1.0"?>',
    '<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel><title>Shop</title>',
    "<item>",
    "  <g:id>shirt-1</g:id><g:title>Shirt</g:title><g:description>Soft.</g:description>",
    "  <g:link>https://shop.example/shirt</g:link><g:image_link>https://shop.example/s.jpg</g:image_link>",
    "  <g:brand>Acme</g:brand><g:price>15.00 EUR</g:price><g:color>Red/White</g:color>",
    "  <g:product_type>Home &gt; Shirts</g:product_type><g:product_type>Sale</g:product_type>",
    "  <g:item_group_id>shirt</g:item_group_id><g:expiration_date>2026-12-31T12:00+0100</g:expiration_date>",
    "  <g:shipping><g:price>5 EUR</g:price></g:shipping>",
    "</item>",
    (
        "<item><g:id>shirt-2</g:id><g:title>Shirt</g:title><g:color>Blue</g:color>"
        "<g:item_group_id>shirt</g:item_group_id></item>"
    ),
    "<item><g:id>mug</g:id><g:title>Mug</g:title></item>",
    "</channel></rss>",
)


def test_a_merchant_feed_gives_its_products(folder: Folder) -> None:
    folder.write("feed.xml", *MERCHANT)

    shirt, other, mug = folder.read("merchant")

    assert shirt["categories"] == {"brand": ["Acme"], "color": ["Red", "White"], "type": ["Home", "Shirts", "Sale"]}
    assert shirt["filters"] == {"availableUntil": "2026-12-31T11:00:00.000Z"}
    assert shirt["extras"]["price"] == "15.00 EUR"
    assert (other["id"], mug["id"]) == ("shirt-2", "mug")
    assert shirt["extras"]["description"] == "Soft."
    assert "shipping" not in shirt["extras"]


def test_a_woocommerce_product_without_id_goes_by_its_sku(folder: Folder) -> None:
    folder.write("a.csv", "ID,Type,SKU,Name,Short description", ",simple,CAP,Cap,<p>Blue.</p>", ",simple,,Hat,")

    cap, problem = folder.read("woocommerce")

    assert (cap["id"], cap["extras"]["description"]) == ("CAP", "Blue.")
    assert folder.left_out()["a.csv", "ID"] == ("empty; SKU names the product instead", 1, 2)
    assert problem == ("ID", "Found no id; --id-column names another column of ids.")


def test_an_export_of_woocommerce_without_ids_goes_by_sku(folder: Folder) -> None:
    folder.write("a.csv", "Type,SKU,Name,Visibility in catalogue", "simple,CAP,Cap,hidden")

    (cap,) = folder.read("woocommerce")

    assert (cap["id"], cap["filters"]) == ("CAP", {"availableUntil": "1970-01-01T00:00:00.000Z"})
    folder.write("a.csv", "Type,Name", "simple,Cap")
    with pytest.raises(Refused, match="no column ID or SKU; name the column of ids with --id-column"):
        folder.read("woocommerce")


def test_items_of_any_root_are_products_if_they_have_the_fields_of_a_feed(folder: Folder) -> None:
    fields = "<id>1</id><title>Mug</title><variant><id>2</id><price>3</price></variant>"
    folder.write("feed.xml", f"<products><product>{fields}</product></products>")

    (mug,) = folder.read("merchant")

    assert (mug["id"], mug["label"]) == ("1", "Mug")


@pytest.mark.parametrize("root", ("products", "rss"))
def test_a_foreign_feed_is_refused_with_what_was_found(folder: Folder, root: str) -> None:
    items = "<item><Artikelnummer>1</Artikelnummer><Namn>Mugg</Namn></item>" * 12
    folder.write("feed.xml", f"<{root}>{items}</{root}>")

    with pytest.raises(Refused, match=rf"Found .*feed.xml: a <{root}> with 12 <item>; Google's feed has <item> or"):
        run("merchant", folder, None)


def test_products_of_a_group_are_one_piece_where_that_is_asked_for(folder: Folder) -> None:
    folder.write("feed.xml", *MERCHANT)

    shirt, mug = folder.read("merchant", id_column="item_group_id")

    assert (shirt["id"], shirt["categories"]["color"], mug["id"]) == ("shirt", ["Red", "White", "Blue"], "mug")


def test_a_merchant_feed_may_be_a_table(folder: Folder) -> None:
    folder.write("feed.tsv", "id\ttitle\tproduct type\timage link", "1\tMug\tHome > Mugs\thttps://shop.example/m.jpg")

    (mug,) = folder.read("merchant")

    assert mug["categories"] == {"type": ["Home", "Mugs"]}
    assert mug["extras"] == {"image": "https://shop.example/m.jpg"}


@pytest.mark.parametrize(
    ("lines", "said"),
    (
        (("<rss><item>", "<id>1</id></rss>"), r"feed.xml, line 2, column \d+: not XML: mismatched tag"),
        (("<rss>",), r"feed.xml, line \d, column \d+: not XML: no element found"),
        (
            ('<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>', "<rss><item><id>&b;</id></item></rss>"),
            "line 1: entities and external parts are not read",
        ),
        (
            ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "<rss><item><id>&x;</id></item></rss>"),
            "line 1: entities and external parts are not read",
        ),
    ),
)
def test_markup_that_is_broken_or_holds_entities_says_where(folder: Folder, lines: tuple[str, ...], said: str) -> None:
    folder.write("feed.xml", *lines)

    for name in ("merchant", "feed"):
        with pytest.raises(Refused, match=said):
            folder.read(name)


@pytest.mark.parametrize(
    ("name", "heading", "id_column", "said"),
    (
        ("shopify", "Title,Vendor", None, "no column Handle"),
        ("woocommerce", "Nom,Type", None, "no columns Type and Name"),
        ("merchant", "title,price", None, "no column id in line 1"),
        ("tmdb", "title,price", None, "no table with the columns id, title and genres"),
        ("shopify", "Handle,Type", "Code", "the column Code is missing; found are Handle, Type"),
        ("woocommerce", "ID,Type,Name", "Code", "the column Code is missing; found are ID, Type, Name"),
    ),
)
def test_tables_without_the_columns_of_their_kind_or_choice_are_refused(
    folder: Folder, name: str, heading: str, id_column: str | None, said: str
) -> None:
    folder.write("a.csv", heading, "a,b,c")

    with pytest.raises(Refused, match=said):
        folder.read(name, id_column=id_column)


def test_rows_with_too_few_columns_are_problems_with_their_line(folder: Folder) -> None:
    folder.write("a.csv", "Handle,ID,Type,Name", "a,1,simple,A", "b,2", "c,3,simple,C")

    first, broken, last = folder.read("woocommerce")

    assert broken.detail == "Found 2 columns; 4 are accepted."
    assert {first["id"], last["id"]} in ({"a", "c"}, {"1", "3"})

"""Exports of shops and product feeds, in the form that the shops' documents describe."""

from importlib import resources

import pytest

from import_folders import Folder, drafted, run
from penchant.errors import Refused
from penchant_import import formats
from penchant_import.formats import woocommerce
from penchant_import.options import KeywordColumn

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
        '44,variable,HOOD,Hoodie,1,0,visible,Warm.,45,"Clothing > Hoodies, Sale",'
        '"warm, red\\, white, ""soft, light"", 12"" hem",'
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
        tag=["warm", "red, white", "soft, light", '12" hem'],
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
        ("woocommerce", "Titel,Kind", None, "no columns Type and Name"),
        ("merchant", "title,price", None, "no column id in line 1"),
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


def test_sold_out_products_say_so_in_every_shop_format(folder: Folder) -> None:
    folder.write("shopify.csv", "Handle,Title,Inventory quantity,Continue selling", "a,A,0,", "b,B,0,", "b,,2,")
    shopify = folder.read("shopify")
    (folder.path / "shopify.csv").unlink()
    folder.write("old.csv", "Handle,Variant Inventory Qty,Variant Inventory Policy", "a,-2,deny", "b,0,continue")
    old = folder.read("shopify")
    (folder.path / "old.csv").unlink()
    folder.write("woo.csv", "ID,Type,Name,In stock?,Stock", "1,simple,A,0,0", "2,simple,B,backorder,")
    woo = folder.read("woocommerce")
    (folder.path / "woo.csv").unlink()
    folder.write("m.csv", "id,title,availability", "1,A,out of stock", "2,B,in_stock")
    merchant = folder.read("merchant")

    for sold_out, there in (shopify, old, woo, merchant):
        assert (sold_out["extras"]["inStock"], there["extras"]["inStock"]) == (False, True)
    assert [each["extras"]["stock"] for each in shopify + old] == [0, 2, 0, 0]


def test_products_that_are_found_by_searching_alone_are_in_no_list(folder: Folder) -> None:
    folder.write("woo.csv", "ID,Type,Name,Visibility in catalog", "1,simple,A,search", "2,simple,B,catalog")

    found, shown = folder.read("woocommerce")

    assert found["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    assert shown["filters"] == {}


WOO_LANGUAGES = [
    line.split("\t") for line in resources.files(formats).joinpath("woocommerce.tsv").read_text().splitlines()
]


@pytest.mark.parametrize("headings", WOO_LANGUAGES[1:], ids=[line[0] for line in WOO_LANGUAGES[1:]])
def test_exports_of_woocommerce_are_read_in_each_language(folder: Folder, headings: list[str]) -> None:
    english = [cell.partition("|")[0] for cell in WOO_LANGUAGES[0]]
    cells = {
        "ID": "44",
        "Type": "simple",
        "Name": "Hood",
        "Published": "1",
        "Visibility in catalog": "visible",
        "Categories": "Clothing > Hoods",
        "In stock?": "0",
        "Attribute %d name": "Colour",
        "Attribute %d value(s)": "Blue",
    }
    names = {name: headings[english.index(name)].partition("|")[0].replace("%d", "1") for name in cells}
    folder.write("a.csv", ",".join(names.values()), ",".join(cells.values()))

    assert folder.read("woocommerce") == [
        drafted("44", "Hood", category=["Clothing", "Hoods"], colour=["Blue"], extras={"inStock": False})
    ]


@pytest.mark.parametrize("stock", ("nan", "inf", "1e400", "many"))
def test_a_stock_that_is_no_number_sells_nothing_out(folder: Folder, stock: str) -> None:
    folder.write("woo.csv", "ID,Type,Name,Stock", f"1,simple,A,{stock}")

    (piece,) = folder.read("woocommerce")

    assert piece["extras"] == {}
    assert folder.left_out()["woo.csv", "Stock"] == ("no number", 1, 2)


@pytest.mark.parametrize("missing", ((), ("gtin",), ("lowstock",), ("gtin", "lowstock")))
def test_an_export_of_all_columns_is_read_in_a_language_that_is_not_known(
    folder: Folder, missing: tuple[str, ...]
) -> None:
    cells = dict.fromkeys((name for name in woocommerce._LAYOUT if name not in missing), "") | {
        "id": "44", "type": "simple, virtual", "name": "Hood", "published": "1", "featured": "0",
        "visibilityincatalog": "visible", "description": "Warm.", "taxstatus": "taxable", "instock": "1", "stock": "3",
        "backorders": "0", "soldindividually": "0", "reviews": "1", "regularprice": "45", "categories": "Clothing",
        "tags": "warm",
    }  # fmt: skip
    attribute = ["t 1", "u 1", "v 1", "w 1"]
    headings = [f"word {chr(ord('a') + place // 26)}{chr(ord('a') + place % 26)}" for place in range(len(cells))]
    folder.write(
        "a.csv",
        ",".join([*headings, *attribute]),
        ",".join([*map('"{}"'.format, cells.values()), "Colour", "Blue", "1", "1"]),
    )

    assert folder.read("woocommerce") == [
        drafted(
            "44",
            "Hood",
            category=["Clothing"],
            tag=["warm"],
            colour=["Blue"],
            extras={"description": "Warm.", "inStock": True, "stock": 3, "price": "45"},
        )
    ]


MAGENTO = (
    "sku,store_view_code,attribute_set_code,product_type,categories,name,description,short_description,product_online,"
    "visibility,price,base_image,additional_attributes,qty,is_in_stock"
)


def test_products_of_magento_have_categories_below_the_root_and_attributes(folder: Folder) -> None:
    folder.write(
        "catalog_product.csv",
        MAGENTO,
        'bag,,Bag,simple,"Default Category/Gear,Default Category/Gear/Bags",Duffle,<p>Big.</p>,Small,1,'
        '"Catalog, Search",34.0,/m/b/bag.jpg,'
        '"color=Black|Blue,has_options=No,manufacturer=Acme,strap=Long, wide,size=XL",100.0000,1',
        "bag,de,Bag,simple,,Tasche,,,,,,,,,",
        "tee,,Default,simple,Default Category,Tee,,Soft.,2,Not Visible Individually,9.0,,,0.0000,0",
    )

    bag, tee = folder.read("magento")

    assert bag == drafted(
        "bag",
        "Duffle",
        **{"attribute set": ["Bag"]},
        category=["Gear", "Bags"],
        color=["Black", "Blue"],
        brand=["Acme"],
        strap=["Long, wide"],
        extras={
            "description": "Big.", "shortDescription": "Small", "price": "34.0", "image": "/m/b/bag.jpg", "stock": 100,
            "inStock": True,
        },
    )  # fmt: skip
    assert tee["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    assert tee["extras"] == {"description": "Soft.", "price": "9.0", "stock": 0, "inStock": False}
    left = folder.left_out()["catalog_product.csv", "store_view_code"]
    assert left == ("what one view of the store says otherwise, such as a translation", 1, 3)


PRESTASHOP_ROWS = (
    "1;1;Nano;Home, Music/Players;100;Acme;;0;16;;New.;Newer.;apple, nano;Colour:Blue:1, Size:5 g;new;1.jpg,2.jpg",
    "2;1;Shuffle;Players;60;Acme;;0124;0;search;;;;;used;",
)


@pytest.mark.parametrize(
    "heading",
    (
        (
            "Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax excluded;Manufacturer;Supplier;EAN13;"
            "Quantity;Visibility;Summary;Description;Tags (x,y,z...);Feature(Name:Value:Position);Condition;"
            "Image URLs (x,y,z...)"
        ),
        (
            "ID;Actif (0/1);Nom *;Catégories (x,y,z...);Prix HT;Marque;Fournisseur;EAN-13;Quantité;Visibilité;Résumé;"
            "Description;Mots-clés (x,y,z...);Caractéristique (Nom:Valeur:Position);Condition;URL des images (x,y,z...)"
        ),
        (
            "ID;Aktiv (0/1);Name *;Kategorien (x,y,z...);Preis;Marke;Lieferant;EAN13;Menge;Sichtbarkeit;"
            "Zusammenfassung;Beschreibung;Ord (x,y,z...);Eigenschaft (Name:Wert:Position);Zustand;Adressen (x,y,z...)"
        ),
    ),
)
def test_products_of_prestashop_are_read_by_headings_of_several_languages(folder: Folder, heading: str) -> None:
    folder.write("products.csv", heading, *PRESTASHOP_ROWS)

    nano, shuffle = folder.read("prestashop")

    assert nano == drafted(
        "1",
        "Nano",
        category=["Home", "Music", "Players"],
        brand=["Acme"],
        tag=["apple", "nano"],
        colour=["Blue"],
        condition=["new"],
        extras={
            "price": "100", "stock": 16, "inStock": True, "description": "Newer.", "shortDescription": "New.",
            "image": "1.jpg",
        },
    )  # fmt: skip
    assert shuffle["filters"] == {"availableUntil": "1970-01-01T00:00:00.000Z"}
    assert shuffle["extras"] == {"price": "60", "stock": 0, "inStock": False}


def test_the_list_of_products_of_prestashop_is_read(folder: Folder) -> None:
    folder.write(
        "a.csv",
        "Product ID;Image;Name;Reference;Category;Price (tax excl.);Price (tax incl.);Quantity;Status;Position",
        "7;https://s.example/7.jpg;Mug;M-7;Cups;9;10;5;1;1",
    )

    (mug,) = folder.read("prestashop")

    assert mug == drafted(
        "7",
        "Mug",
        category=["Cups"],
        extras={"image": "https://s.example/7.jpg", "sku": "M-7", "price": "9", "stock": 5, "inStock": True},
    )


def test_rows_without_an_sku_go_on_with_a_product_of_magento_which_may_go_by_its_address(folder: Folder) -> None:
    folder.write(
        "a.csv",
        "sku,product_type,name,url_key,additional_attributes,qty",
        "bag,simple,Bag,a-bag,color=Red,many",
        ",,,,color=Blue,",
    )

    (bag,) = folder.read("magento")
    (named,) = folder.read("magento", id_column="url_key")

    assert bag == drafted("bag", "Bag", color=["Red", "Blue"], extras={"urlKey": "a-bag"})
    assert (named["id"], named["categories"]) == ("a-bag", bag["categories"])
    assert folder.left_out()["a.csv", "qty"][0] == "no number"


def test_a_product_of_prestashop_that_is_not_for_order_says_so(folder: Folder) -> None:
    heading = "ID;Name;Categories (x,y,z...);Quantity;Available for order (0 = No, 1 = Yes);Summary"
    folder.write("a.csv", heading, "1;Mug;Cups;5;0;For tea.", "2;Cup;Cups;5;1;")

    mug, cup = folder.read("prestashop")

    assert mug["extras"] == {"stock": 5, "inStock": False, "description": "For tea."}
    assert cup["extras"]["inStock"] is True


@pytest.mark.parametrize(
    ("name", "heading", "row"),
    (
        ("woocommerce", "ID,Type,Name,Images", '1,simple,Rope,"""  """'),
        ("prestashop", "ID,Name,Categories,Image URLs", '1,Rope,Deck,","'),
    ),
)
def test_a_cell_of_pictures_that_names_none_is_no_picture(folder: Folder, name: str, heading: str, row: str) -> None:
    folder.write("a.csv", heading, row)

    assert [piece["extras"] for piece in folder.read(name)] == [{}]

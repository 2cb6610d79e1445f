"""Shops: products of Shopify, Magento and PrestaShop (CSV), and feeds of Google Merchant (XML or a table)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from penchant_import.drafts import Draft
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile, printable, require_columns
from penchant_import.markup import local_name, outline, read_items, text_of
from penchant_import.measures import normalize_name
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    LABEL,
    SOLD_OUT,
    FieldTaker,
    PieceBuilder,
    RowTaker,
    extra,
    hide_if,
    keywords,
    merge_rows,
    omit_field,
    parts,
    skip_field,
    take_fields,
    window,
)
from penchant_import.report import Notes
from penchant_import.texts import plain_text

_SUMMARIES = frozenset({"short_description", "shortdescription"})


def take_product(
    takers: Mapping[str, FieldTaker], fields: Mapping[str, str], builder: PieceBuilder, values: Mapping[str, Any]
) -> None:
    """Take the values of a product by what its columns are; a summary describes it where nothing longer does."""
    is_described = any(value and fields.get(column) == "description" for column, value in values.items())
    for column, value in values.items():
        field = fields.get(column, "")
        if value and field in _SUMMARIES and not is_described:
            builder.description(column, value)
        elif value:
            takers.get(field, omit_field)(builder, column, value)


SUMMARY = extra("shortDescription", read=plain_text)
_SHOPIFY_IDS = ("handle", "urlhandle")
_SHOPIFY_STATE = hide_if(lambda value: value.lower() in {"false", "draft", "archived", "unlisted"})


def _sold_on(builder: PieceBuilder, field: str, value: str) -> None:
    if value.lower() in {"continue", "true", "yes"}:
        builder.orderable(field, is_orderable=True)


_SHOPIFY: Mapping[str, FieldTaker] = {
    "title": LABEL,
    "bodyhtml": DESCRIPTION,
    "description": DESCRIPTION,
    "vendor": keywords("brand"),
    "type": keywords("type"),
    "tags": keywords("tag", ","),
    "productcategory": keywords("category", ">"),
    "variantprice": extra("price"),
    "price": extra("price"),
    "imagesrc": extra("image"),
    "productimageurl": extra("image"),
    "variantsku": extra("sku"),
    "sku": extra("sku"),
    "inventoryquantity": PieceBuilder.stock,
    "variantinventoryqty": PieceBuilder.stock,
    "continuesellingwhenoutofstock": _sold_on,
    "variantinventorypolicy": _sold_on,
    "published": _SHOPIFY_STATE,
    "publishedononlinestore": _SHOPIFY_STATE,
    "status": _SHOPIFY_STATE,
}
_OPTION = re.compile(r"option(\d)(name|value)")
_NO_OPTION = "Default Title"
"""The one value of a product without variants."""


def read_shopify(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of Shopify, which have a row for each variant and each picture; rows may end early."""
    for file in files.select("csv"):
        columns = files.columns(file, options.form)
        if options.id_column is not None:
            require_columns(file, [options.id_column], columns)
        id_column = options.id_column or next(
            (entry for entry in columns if normalize_name(entry) in _SHOPIFY_IDS), None
        )
        if id_column is None:
            raise UnreadableFile(f"{file}: no column Handle; an export of products is accepted (Products, Export).")
        rows = _noting_filled(files.rows(file, options.form, fill=True), file.name, notes)
        yield from merge_rows(rows, file.name, id_column, options, notes, _shopify_taker(id_column))


def _noting_filled(rows: Iterable[TableRow], file: str, notes: Notes) -> Iterator[TableRow]:
    for row in rows:
        if row.filled:
            notes.left_out(file, "(row)", "ends early; the cells that are missing at its end count as empty", row.line)
        yield row


def _shopify_taker(id_column: str) -> RowTaker:
    """Return what takes the rows of products; names of options stand in the first row of a product alone."""
    product, names = "", dict[str, str]()

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        nonlocal product
        # The names of another product's options do not count for this one.
        if values[id_column] != product:
            product = values[id_column]
            names.clear()
        for column, value in values.items():
            option = _OPTION.fullmatch(normalize_name(column))
            if not value or column == id_column:
                continue
            if option is None:
                _SHOPIFY.get(normalize_name(column), omit_field)(builder, column, value)
            elif option[2] == "name":
                names[option[1]] = value.lower()
            elif value != _NO_OPTION:
                builder.attributes(column, names.get(option[1], "option"), [value])

    return take


_ID = "id"
_NAMING = frozenset({"title", "link", "image_link", "price", "description", "item_group_id"})
"""Fields one of which an item of a feed has beside its id."""
_ACCEPTED = "Google's feed has <item> or <entry> with g:id and g:title"
_LEVELS = {"product_type": keywords("type", ">"), "google_product_category": keywords("category", ">")}
"""Fields whose texts are paths of categories; they may be repeated."""


def _availability(builder: PieceBuilder, field: str, value: str) -> None:
    builder.keep(field, "availability", value)
    builder.orderable(field, is_orderable=normalize_name(value) not in SOLD_OUT)


_MERCHANT: Mapping[str, FieldTaker] = {
    **_LEVELS,
    **{name: keywords(name.replace("_", " ")) for name in ("brand", "gender", "age_group", "pattern", "author")},
    **{f"custom_label_{number}": keywords(f"custom label {number}") for number in range(5)},
    **{name: extra(name) for name in ("link", "price", "size")},
    "availability": _availability,
    "title": LABEL,
    "description": DESCRIPTION,
    "color": keywords("color", "/"),
    "material": keywords("material", "/"),
    "expiration_date": window("availableUntil"),
    "image_link": extra("image"),
    "sale_price": extra("salePrice"),
    "item_group_id": extra("itemGroupId"),
}


def read_merchant(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of a feed; those of a group that stand together are one with ``--id-column item_group_id``."""
    id_field = options.id_column or _ID

    take = partial(take_fields, {**_MERCHANT, id_field: skip_field})
    for file in files.select("xml", "tsv", "txt", "csv"):
        is_xml = next(iter(files.lines(file)), (0, b""))[1].lstrip().startswith(b"<")
        rows = _feed_items(files, file, id_field) if is_xml else _feed_rows(files, file, options, id_field)
        identified = (_with_id(row, id_field) for row in rows)
        yield from merge_rows(identified, file.name, id_field, options, notes, take)


def _with_id(row: TableRow, id_field: str) -> TableRow:
    """Return a row that has an id, of a product without a group its own one."""
    if row.problem or row.values.get(id_field):
        return row
    return row._replace(values=row.values | {id_field: row.values.get(_ID, "")})


def _feed_rows(files: Files, file: InputFile, options: ImportOptions, id_field: str) -> Iterator[TableRow]:
    columns = [_field(column) for column in files.columns(file, options.form)]
    if id_field not in columns:
        raise UnreadableFile(f"{file}: no column {id_field} in line 1; a product feed is accepted.")
    for row in files.rows(file, options.form):
        yield row._replace(values={_field(column): value for column, value in row.values.items()})


def _field(column: str) -> str:
    return column.strip().lower().replace(" ", "_")


def _feed_items(files: Files, file: InputFile, id_field: str) -> Iterator[TableRow]:
    """Yield the items of a feed as rows; of a field that is repeated the values stand behind each other.

    Items are called by any name, within any root, if they have the names of Google's fields.
    """
    outlined = outline(files, file)
    tags = [
        name
        for name, fields in outlined.children.items()
        if name != outlined.root and not fields.isdisjoint({_ID, id_field}) and not _NAMING.isdisjoint(fields)
    ]
    files.findings[file] = lambda: f"{outlined}; {_ACCEPTED}"
    for line, item in read_items(files, file, tags or ("item", "entry")):
        values: dict[str, Any] = {}
        for element in item:
            if not len(element):
                values.setdefault(local_name(element.tag), []).append(text_of(element) or element.get("href", ""))
        # All fields of a feed are texts; only those of categories are repeated.
        row = {name: texts if name in _LEVELS else texts[0] for name, texts in values.items()}
        # Of another vocabulary nothing is taken, rather than faults told of each item.
        if tags or not _MERCHANT.keys().isdisjoint(row):
            yield TableRow(line, row)


# Magento 2 and Adobe Commerce: https://docs.magento.com has the columns of its export of products.

_SKU, _VIEW = "sku", "store_view_code"
_MAGENTO_NEEDED = (_SKU, "product_type", "name")
_PAIR = re.compile(r",(?=[A-Za-z][A-Za-z0-9_]*=)")
"""What parts attributes: a comma before the next name; values have commas, too."""
_MAGENTO_NAMES = {"manufacturer": "brand"}
_NO = ("", "no", "default")
"""Values that say nothing: an attribute that a product does not have, the set of those that belong to none."""


def _levels_below_root(value: str) -> list[str]:
    """Return the levels of paths but for the root, which is the same for all products of a shop."""
    return [level for path in value.split(",") for level in parts(path, "/")[1:]]


def _magento_attributes(builder: PieceBuilder, field: str, value: str) -> None:
    """Take attributes as keywords of categories of their names: ``color=Blue,material=Cotton|Wool``."""
    for pair in _PAIR.split(value):
        name, _, text = pair.partition("=")
        values = [entry.strip(' "') for entry in text.split("|")]
        telling = [entry for entry in values if entry.lower() not in _NO]
        builder.attributes(f"{field}/{name}", _MAGENTO_NAMES.get(name, name.replace("_", " ")), telling)


_MAGENTO: Mapping[str, FieldTaker] = {
    **dict.fromkeys((_SKU, _VIEW, "product_type"), skip_field),
    "name": LABEL,
    "description": DESCRIPTION,
    "short_description": SUMMARY,
    "categories": keywords("category", read=_levels_below_root),
    "additional_attributes": _magento_attributes,
    "attribute_set_code": keywords("attribute set", read=lambda value: [] if value.lower() in _NO else [value]),
    "country_of_manufacture": keywords("country"),
    "product_online": hide_if(lambda value: value != "1"),
    "visibility": hide_if(lambda value: "catalog" not in value.lower()),
    "price": extra("price"),
    "special_price": extra("salePrice"),
    "base_image": extra("image"),
    "url_key": extra("urlKey"),
    "qty": PieceBuilder.stock,
    "is_in_stock": lambda builder, field, value: builder.orderable(field, is_orderable=value == "1"),
}


def read_magento(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of Magento; rows without an SKU go on with the product above."""
    for file in files.select("csv"):
        columns = files.columns(file, options.form)
        if not set(columns) >= set(_MAGENTO_NEEDED):
            raise UnreadableFile(
                f"{file}: no columns {', '.join(_MAGENTO_NEEDED)}; an export of products is accepted (System, Export)."
            )
        id_column = options.id_column or _SKU
        require_columns(file, [id_column], columns)
        rows = _of_all_views(files.rows(file, options.form), id_column, file.name, notes)
        take = partial(take_product, _MAGENTO, dict(zip(columns, columns, strict=True)))
        yield from merge_rows(rows, file.name, id_column, options, notes, take)


def _of_all_views(rows: Iterable[TableRow], id_column: str, file: str, notes: Notes) -> Iterator[TableRow]:
    """Yield rows with their product's id, but for those that translate it for one view of the store."""
    product = ""
    for row in rows:
        if row.problem:
            yield row
        elif row.values.get(_VIEW):
            notes.left_out(file, _VIEW, "what one view of the store says otherwise, such as a translation", row.line)
        else:
            product = row.values[id_column] or ("" if row.values[_SKU] else product)
            yield row._replace(values=row.values | {id_column: product})


# PrestaShop: docs/csv_import of its source has an example, whose columns its importer takes by their order.

_LIST, _FLAG, _FEATURE = "(x,y,z", "(0/1)", re.compile(r"\([^():]+:[^():]+:[^():]+\)")
"""What headings of lists, of switches and of features hold in every language."""
_PRESTASHOP_WORDS: Mapping[str, str] = {
    "id": "id productid idproduct idproduit iddelproducto produktid idprodotto idproduktu",
    "name": "name nom nombre nome bezeichnung nazwa naam",
    "category": "category categories categorie catégorie catégories categoría categorías categoria categorias "
    "kategorie kategorien kategoria kategorieën",
    "active": "active actif activé activo aktiv aktiviert attivo ativo aktywny actief status état estado stato stan",
    "price": "pricetaxexcluded pricetaxexcl prixhorstaxe prixht preciosinimpuestos nettopreis preisohnesteuern "
    "prezzotasseescluse preçosemimposto cenanetto pricetaxincluded prixttc price prix precio preis prezzo preço cena",
    "brand": "manufacturer brand fabricant marque fabricante marca hersteller marke produttore producent marka merk",
    "stock": "quantity quantité cantidad menge anzahl quantità quantidade ilość hoeveelheid aantal",
    "shortdescription": "summary shortdescription résumé récapitulatif resumen kurzbeschreibung zusammenfassung "
    "riepilogo resumo podsumowanie samenvatting",
    "description": "description descripción beschreibung descrizione descrição opis beschrijving omschrijving",
    "tags": "tags balises etiquetas étiquettes motsclés schlagwörter stichwörter tag etichette tagi",
    "visibility": "visibility visibilité visibilidad sichtbarkeit visibilità visibilidade widoczność zichtbaarheid",
    "condition": "condition condición zustand condizione condição conditie",
    "image": "imageurls image urldesimages imagen imágenes bild immagine imagem zdjęcie afbeelding",
    "sku": "reference référence referencia referenz riferimento referência artikelnummer indeks referentie",
    "orderable": "availablefororder disponiblealacommande disponibleàlacommande disponibleparapedidos bestellbar",
}
_PRESTASHOP_NAMES = {name: field for field, names in _PRESTASHOP_WORDS.items() for name in names.split()}
"""Headings as they are compared, without what stands in parentheses, in the languages of most shops."""


def _take_orderable(builder: PieceBuilder, field: str, value: str) -> None:
    """Take that a product cannot be ordered; one that can goes by its stock."""
    if value == "0":
        builder.orderable(field, is_orderable=False)


def _feature_pairs(builder: PieceBuilder, field: str, value: str) -> None:
    """Take features as keywords of categories of their names: ``Fabric:Cotton:1, Style:Casual:2``."""
    for feature in parts(value, ","):
        name, _, text = feature.partition(":")
        builder.attributes(f"{field}/{name}", name.strip().lower(), parts(text.partition(":")[0], ";"))


_CHOSEN_ID = "(id)"
_PRESTASHOP: Mapping[str, FieldTaker] = {
    "name": LABEL,
    "category": lambda builder, field, value: builder.attributes(
        field, "category", [level for path in parts(value, ",") for level in parts(path, "/")]
    ),
    "active": hide_if(lambda value: value == "0"),
    "visibility": hide_if(lambda value: value.lower() in {"search", "none"}),
    "price": extra("price"),
    "brand": keywords("brand"),
    "tags": keywords("tag", ","),
    "condition": keywords("condition"),
    "stock": PieceBuilder.stock,
    "description": DESCRIPTION,
    "shortdescription": SUMMARY,
    "image": extra("image", read=lambda value: next(iter(parts(value, ",")), None)),
    "sku": extra("sku"),
    "orderable": _take_orderable,
    "feature": _feature_pairs,
    _CHOSEN_ID: skip_field,
}


def read_prestashop(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of PrestaShop, in the form that its importer takes, or as its list of products is exported."""
    for file in files.select("csv"):
        columns = files.columns(file, options.form)
        fields = _prestashop_fields(columns)
        by_field = {field: column for column, field in reversed(list(fields.items()))}
        if not by_field.keys() >= {"name", "category"}:
            excerpt = printable(", ".join(columns)) or "none"
            raise UnreadableFile(
                f"{file}: no columns Name and Categories; products as PrestaShop imports or exports them are accepted. "
                f"Found are {excerpt}."
            )
        if options.id_column is not None:
            require_columns(file, [options.id_column], columns)
        id_column = options.id_column or by_field.get("id") or by_field.get("sku")
        if id_column is None:
            raise UnreadableFile(f"{file}: no column of ids or references; name one with --id-column.")
        take = partial(take_product, _PRESTASHOP, {**fields, id_column: _CHOSEN_ID})
        yield from merge_rows(files.rows(file, options.form), file.name, id_column, options, notes, take)


def _prestashop_fields(columns: Sequence[str]) -> Mapping[str, str]:
    """Return which field each column is that has a place: by its name, or by what it holds beside its name.

    Lists are the categories, the tags and the addresses of pictures, in this order; the name stands before the
    first of them, the switch before that, and the brand before the number that is called EAN everywhere.
    """
    fields: dict[str, str] = {}
    lists = [place for place, column in enumerate(columns) if _LIST in column]
    for place, column in enumerate(columns):
        named = _PRESTASHOP_NAMES.get(normalize_name(column.partition("(")[0]))
        if named is not None and named not in fields.values():
            fields[column] = named
        elif _FEATURE.search(column):
            fields[column] = "feature"
        elif place + 1 < len(columns) and normalize_name(columns[place + 1]).startswith("ean13"):
            fields[column] = "brand"
    unnamed = [columns[place] for place in lists if columns[place] not in fields]
    others = [entry for entry in ("category", "tags", "image") if entry not in fields.values()]
    fields |= dict(zip(unnamed, others, strict=False))
    if lists and "name" not in fields.values():
        fields[columns[lists[0] - 1]] = "name"
    if lists and "active" not in fields.values():
        fields |= {column: "active" for column in columns[: lists[0]] if _FLAG in column}
    return fields

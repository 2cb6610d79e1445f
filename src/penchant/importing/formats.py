"""Formats that can be imported, by name."""

from collections.abc import Callable, Iterator, Mapping

from penchant.importing import (
    columns,
    feeds,
    goodbooks,
    gorse,
    imdb,
    jsonld,
    merchant,
    metarank,
    movielens,
    ndjson,
    parquet,
    recbole,
    recombee,
    shopify,
    specification,
    tmdb,
    woocommerce,
)
from penchant.importing.drafts import Draft
from penchant.importing.files import Files
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions

Reader = Callable[[Files, ImportOptions, Notes], Iterator[Draft]]
"""Yields what the files hold, pieces first, always in the same order; so that an import can go on where it was."""

FORMATS: Mapping[str, Reader] = {
    "ndjson": ndjson.read,
    "specification": specification.read,
    "csv": columns.read,
    "parquet": parquet.read,
    "shopify": shopify.read,
    "woocommerce": woocommerce.read,
    "merchant": merchant.read,
    "schema.org": jsonld.read,
    "feed": feeds.read,
    "movielens": movielens.read,
    "goodbooks": goodbooks.read,
    "gorse": gorse.read,
    "recombee": recombee.read,
    "metarank": metarank.read,
    "recbole": recbole.read,
    "imdb": imdb.read,
    "tmdb": tmdb.read,
}


def read_drafts(name: str, files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield what the files of a format hold; note the files that it does not know."""
    yield from FORMATS[name](files, options, notes)
    for file in files.all:
        if file not in files.opened:
            notes.left_out(file.name, "(the whole file)", f"no file of {name} that is taken", 1)

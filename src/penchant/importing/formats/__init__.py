"""Formats that can be imported, by name; a format is a function, or a table that one reads by, and its line here."""

from collections.abc import Callable, Iterator, MutableMapping

from penchant.importing.drafts import Draft
from penchant.importing.files import Files
from penchant.importing.formats import (
    books,
    feeds,
    films,
    gorse,
    interface,
    jellyfin,
    metarank,
    recombee,
    research,
    schema_org,
    shops,
    tables,
    watching,
)
from penchant.importing.options import ImportOptions
from penchant.importing.report import Notes

Reader = Callable[[Files, ImportOptions, Notes], Iterator[Draft]]
"""Yields what the files hold, pieces first, always in the same order; so that an import can go on where it was."""

FORMATS: MutableMapping[str, Reader] = {
    "ndjson": interface.read_ndjson,
    "specification": interface.read_specification,
    "csv": tables.read_csv,
    "parquet": tables.read_parquet,
    "shopify": shops.read_shopify,
    "woocommerce": shops.read_woocommerce,
    "merchant": shops.read_merchant,
    "schema.org": schema_org.read,
    "feed": feeds.read,
    "movielens": research.read_movielens,
    "goodbooks": research.read_goodbooks,
    "gorse": gorse.read,
    "recombee": recombee.read,
    "metarank": metarank.read,
    "recbole": research.read_recbole,
    "imdb": films.read_imdb,
    "tmdb": films.read_tmdb,
    "goodreads": books.read_goodreads,
    "calibre": books.read_calibre,
    "letterboxd": watching.read_letterboxd,
    "trakt": watching.read_trakt,
    "jellyfin": jellyfin.read,
}

MAX_NAMED = 50
"""Files that a format does not take and that are named one by one; more are counted by the ending of their names."""


def read_drafts(name: str, files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield what the files of a format hold; note the files that it does not know."""
    yield from FORMATS[name](files, options, notes)
    others = [file for file in files.all if file not in files.opened]
    for file in others:
        # A folder of films has thousands beside what describes them.
        shown = file.name if len(others) <= MAX_NAMED else f"*.{file.ending}"
        notes.left_out(shown, "(the whole file)", f"no file of {name} that is taken", 1)

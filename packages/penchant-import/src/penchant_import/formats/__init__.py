"""Formats that can be imported, by name; a format is a function, or a table that one reads by, and its line here."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import fields
from functools import partial
from itertools import islice

from penchant_engine.errors import PenchantError
from penchant_import.drafts import NOW, Draft, DraftKind, extras_of
from penchant_import.files import Files
from penchant_import.formats import (
    analytics,
    books,
    broadcasts,
    feeds,
    gorse,
    harvests,
    interface,
    jellyfin,
    libraries,
    metarank,
    recombee,
    schema_org,
    shops,
    tables,
    watching,
    woocommerce,
    wordpress,
)
from penchant_import.options import ImportOptions
from penchant_import.report import Notes
from penchant_import.texts import MAX_TEXTS, Boilerplate

Reader = Callable[[Files, ImportOptions, Notes], Iterator[Draft]]
"""Yields what the files hold, pieces first, always in the same order; so that an import can go on where it was."""

FORMATS: MutableMapping[str, Reader] = {
    "ndjson": interface.read_ndjson,
    "specification": interface.read_specification,
    "csv": tables.read_csv,
    "parquet": tables.read_parquet,
    "shopify": shops.read_shopify,
    "woocommerce": woocommerce.read_woocommerce,
    "magento": shops.read_magento,
    "prestashop": shops.read_prestashop,
    "merchant": shops.read_merchant,
    "schema.org": schema_org.read,
    "feed": feeds.read,
    "wxr": wordpress.read_wxr,
    "onix": libraries.read_onix,
    "marcxml": libraries.read_marcxml,
    "oai_dc": harvests.read,
    "xmltv": broadcasts.read_xmltv,
    "gorse": gorse.read,
    "recombee": recombee.read,
    "metarank": metarank.read,
    "ga4": analytics.read_ga4,
    "matomo": analytics.read_matomo,
    "goodreads": books.read_goodreads,
    "storygraph": books.read_storygraph,
    "calibre": books.read_calibre,
    "letterboxd": watching.read_letterboxd,
    "trakt": watching.read_trakt,
    "jellyfin": jellyfin.read,
}

DATASETS = ("movielens", "goodbooks", "recbole", "imdb", "tmdb")
"""Formats of before that are data sets of the package penchant-lab."""
_PERSONAL = "user time_format without_times"
TABLE = "delimiter encoding"
ANY_TABLE = (
    f"{_PERSONAL} id_column label_column keywords catalogs user_column type_column rating_column time_column types"
    " rating_scale decimal"
)
_OPTIONS: MutableMapping[str, str] = {
    "ndjson": "",
    "specification": "",
    "csv": f"{ANY_TABLE} {TABLE} columns",
    "parquet": ANY_TABLE,
    "shopify": f"{TABLE} id_column keywords",
    "woocommerce": f"{TABLE} id_column keywords",
    "magento": f"{TABLE} id_column keywords",
    "prestashop": f"{TABLE} id_column keywords",
    "merchant": f"{TABLE} id_column time_format",
    "schema.org": "id_column time_format",
    "feed": "encoding",
    "wxr": "encoding id_column label_column keywords catalogs",
    "onix": "encoding id_column time_format",
    "marcxml": "encoding id_column",
    "oai_dc": "encoding id_column",
    "xmltv": "encoding id_column",
    "gorse": "keywords catalogs label_column types time_format without_times",
    "recombee": "id_column label_column keywords catalogs time_format without_times",
    "metarank": "label_column keywords catalogs types time_format without_times",
    "ga4": "id_column user_column types without_times",
    "matomo": "id_column user_column types time_format without_times",
    "goodreads": f"{_PERSONAL} {TABLE} types",
    "storygraph": f"{_PERSONAL} {TABLE} types",
    "calibre": f"{_PERSONAL} id_column",
    "letterboxd": f"{_PERSONAL} {TABLE}",
    "trakt": f"{_PERSONAL} id_column",
    "jellyfin": f"{_PERSONAL} encoding",
}
"""What of `ImportOptions` each format uses, beside words and their language, which are for all."""


def unused_options(name: str, options: ImportOptions, uses: str | None = None) -> list[str]:
    """Return the options that were given and that a format, or what ``uses`` others, has no use for, as written."""
    used = {*(_OPTIONS.get(name, ANY_TABLE + TABLE) if uses is None else uses).split(), "words", "language"}
    default = ImportOptions()
    given = (each.name for each in fields(ImportOptions) if getattr(options, each.name) != getattr(default, each.name))
    return [f"--{'type' if each == 'types' else each.replace('_', '-')}" for each in given if each not in used]


MAX_NAMED = 50
"""Files that a format does not take and that are named one by one; more are counted by the ending of their names."""


MAX_LOOKED_AT = 10 * MAX_TEXTS
"""Pieces that are read for the first texts."""


def read_drafts(
    name: str, files: Files, options: ImportOptions, notes: Notes, reader: Reader | None = None
) -> Iterator[Draft]:
    """Yield what the files of a format, or what a reader of its own takes, hold; note the files that it does not know.

    Where descriptions are met the files are begun once more, to find out what stands in most of these.
    """
    reader = FORMATS[name] if reader is None else reader
    files.encoding = options.encoding
    notes.boilerplate = Boilerplate(lambda: _descriptions(reader, files, options))
    omitted: Counter[tuple[str, str]] = Counter()
    for draft in reader(files, options, notes):
        untimed_by = draft.untimed_by if options.without_times else None
        if untimed_by is not None:
            notes.left_out(draft.file, untimed_by, NOW, draft.line)
            yield draft._replace(problem=None, omission=None)
        elif draft.omission is None:
            yield draft
        else:
            notes.left_out(draft.file, *draft.omission, draft.line)
            omitted[draft.file, draft.omission.reason] += 1
    for file in files.all:
        told = ", ".join(f"{reason} ({count})" for (where, reason), count in omitted.items() if where == file.name)
        if told:
            files.findings.setdefault(file, partial(str, f"interactions alone that are left out: {told}"))
    for each in (*options.keywords, *filter(None, (options.catalogs,))):
        if each.written not in notes.chosen:
            notes.left_out("(options)", each.written, "names no column or field of these files", 1)
    others = [file for file in files.all if file not in files.opened]
    for file in others:
        # A folder of films has thousands beside what describes them.
        shown = file.name if len(others) <= MAX_NAMED else f"*.{file.ending}"
        notes.left_out(shown, "(the whole file)", f"no file of {name} that is taken", 1)


def _descriptions(reader: Reader, files: Files, options: ImportOptions) -> Iterator[str]:
    """Yield the descriptions of the first pieces, as many as boilerplate is found by."""
    count = 0
    # A file that cannot be read to its end says so where its pieces are read.
    with contextlib.suppress(PenchantError):
        others = Files(files.all)
        others.encoding = options.encoding
        for draft in islice(reader(others, options, Notes()), MAX_LOOKED_AT):
            if draft.kind is not DraftKind.PIECE or count >= MAX_TEXTS:
                return
            if draft.problem is None and isinstance(text := extras_of(draft.body).get("description"), str):
                count += 1
                yield text

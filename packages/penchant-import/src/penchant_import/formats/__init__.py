"""Formats that can be imported, by name; a format is a function, or a table that one reads by, and its line here."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import NamedTuple

from penchant_engine.errors import PenchantError
from penchant_import.drafts import UNTIMED_REASON, Draft, DraftKind, read_extras
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
    objects,
    recombee,
    schema_org,
    shops,
    spreadsheets,
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


class Format(NamedTuple):
    """A format: what reads it, and which of `ImportOptions` it uses beside words and their language."""

    read: Reader
    options: str


_PERSONAL = "user time_format without_times"
TABLE = "delimiter encoding"
ANY_TABLE = (
    f"{_PERSONAL} id_column label_column keywords catalogs user_column type_column rating_column time_column types"
    " rating_scale decimal"
)
FORMATS: MutableMapping[str, Format] = {
    "ndjson": Format(interface.read_ndjson, ""),
    "specification": Format(interface.read_specification, ""),
    "csv": Format(tables.read_csv, f"{ANY_TABLE} {TABLE} columns"),
    "parquet": Format(tables.read_parquet, ANY_TABLE),
    "json": Format(objects.read, ANY_TABLE),
    "spreadsheet": Format(spreadsheets.read, ANY_TABLE),
    "shopify": Format(shops.read_shopify, f"{TABLE} id_column keywords"),
    "woocommerce": Format(woocommerce.read_woocommerce, f"{TABLE} id_column keywords"),
    "magento": Format(shops.read_magento, f"{TABLE} id_column keywords"),
    "prestashop": Format(shops.read_prestashop, f"{TABLE} id_column keywords"),
    "merchant": Format(shops.read_merchant, f"{TABLE} id_column time_format"),
    "schema.org": Format(schema_org.read, "id_column time_format"),
    "feed": Format(feeds.read, "encoding"),
    "wxr": Format(wordpress.read_wxr, "encoding id_column label_column keywords catalogs"),
    "onix": Format(libraries.read_onix, "encoding id_column time_format"),
    "marcxml": Format(libraries.read_marcxml, "encoding id_column"),
    "oai_dc": Format(harvests.read, "encoding id_column"),
    "xmltv": Format(broadcasts.read_xmltv, "encoding id_column"),
    "gorse": Format(gorse.read, "keywords catalogs label_column types time_format without_times"),
    "recombee": Format(recombee.read, "id_column label_column keywords catalogs time_format without_times"),
    "metarank": Format(metarank.read, "label_column keywords catalogs types time_format without_times"),
    "ga4": Format(analytics.read_ga4, "id_column user_column types without_times"),
    "matomo": Format(analytics.read_matomo, "id_column user_column types time_format without_times"),
    "goodreads": Format(books.read_goodreads, f"{_PERSONAL} {TABLE} types"),
    "storygraph": Format(books.read_storygraph, f"{_PERSONAL} {TABLE} types"),
    "calibre": Format(books.read_calibre, f"{_PERSONAL} id_column"),
    "letterboxd": Format(watching.read_letterboxd, f"{_PERSONAL} {TABLE}"),
    "trakt": Format(watching.read_trakt, f"{_PERSONAL} id_column"),
    "jellyfin": Format(jellyfin.read, f"{_PERSONAL} encoding"),
}
DATASETS = ("movielens", "goodbooks", "recbole", "imdb", "tmdb")
"""Formats of before that are data sets of the package penchant-lab."""
MAX_LISTED = 50
"""Files that a format does not take and that are named one by one; more are counted by the ending of their names."""
MAX_SAMPLED = 10 * MAX_TEXTS
"""Pieces that are read for the first texts."""


def unused_options(name: str, options: ImportOptions, uses: str | None = None) -> list[str]:
    """Return the options that were given and that a format, or what ``uses`` others, has no use for, as written."""
    used = {*(FORMATS[name].options if uses is None else uses).split(), "words", "language"}
    default = ImportOptions()
    changed = [
        option.name
        for option in fields(ImportOptions)
        if getattr(options, option.name) != getattr(default, option.name)
    ]
    return [f"--{'type' if name == 'types' else name.replace('_', '-')}" for name in changed if name not in used]


def read_drafts(
    name: str, files: Files, options: ImportOptions, notes: Notes, reader: Reader | None = None
) -> Iterator[Draft]:
    """Yield what the files of a format, or what a reader of its own takes, hold; note the files that it does not know.

    Where descriptions are met the files are begun once more, to find out what stands in most of these.
    """
    reader = FORMATS[name].read if reader is None else reader
    files.encoding = options.encoding
    notes.boilerplate = Boilerplate(lambda: _descriptions(reader, files, options))
    omitted: Counter[tuple[str, str]] = Counter()
    for draft in reader(files, options, notes):
        missing_time = draft.missing_time if options.without_times else None
        if missing_time is not None:
            notes.left_out(draft.file, missing_time, UNTIMED_REASON, draft.line)
            yield draft._replace(problem=None, omission=None)
        elif draft.omission is None:
            yield draft
        else:
            notes.left_out(draft.file, *draft.omission, draft.line)
            omitted[draft.file, draft.omission.reason] += 1
    for file in files.all:
        reasons = ", ".join(f"{reason} ({count})" for (where, reason), count in omitted.items() if where == file.name)
        if reasons:
            files.findings.setdefault(file, partial(str, f"interactions alone that are left out: {reasons}"))
    for column in (*options.keywords, *filter(None, (options.catalogs,))):
        if column.option_text not in notes.chosen:
            notes.left_out("(options)", column.option_text, "names no column or field of these files", 1)
    unread = [file for file in files.all if file not in files.opened]
    for file in unread:
        # A folder of films has thousands beside what describes them.
        label = file.name if len(unread) <= MAX_LISTED else f"*.{file.ending}"
        notes.left_out(label, "(the whole file)", f"no file of {name} that is taken", 1)


def _descriptions(reader: Reader, files: Files, options: ImportOptions) -> Iterator[str]:
    """Yield the descriptions of the first pieces, as many as boilerplate is found by."""
    count = 0
    # A file that cannot be read to its end says so where its pieces are read.
    with contextlib.suppress(PenchantError):
        others = Files(files.all)
        others.encoding = options.encoding
        for draft in islice(reader(others, options, Notes()), MAX_SAMPLED):
            if draft.kind is not DraftKind.PIECE or count >= MAX_TEXTS:
                return
            if draft.problem is None and isinstance(text := read_extras(draft.body).get("description"), str):
                count += 1
                yield text

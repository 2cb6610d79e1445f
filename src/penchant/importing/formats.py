"""Which formats can be imported?"""

from collections.abc import Callable, Iterator, Mapping

from penchant.importing import columns, goodbooks, gorse, metarank, movielens, ndjson, recombee
from penchant.importing.choices import Choices
from penchant.importing.drafts import Draft
from penchant.importing.files import Files
from penchant.importing.notes import Notes

Reader = Callable[[Files, Choices, Notes], Iterator[Draft]]
"""Yields what the files hold, pieces first, always in the same order; so that an import can go on where it was."""

FORMATS: Mapping[str, Reader] = {
    "ndjson": ndjson.read,
    "csv": columns.read,
    "movielens": movielens.read,
    "goodbooks": goodbooks.read,
    "gorse": gorse.read,
    "recombee": recombee.read,
    "metarank": metarank.read,
}


def read_drafts(name: str, files: Files, choices: Choices, notes: Notes) -> Iterator[Draft]:
    """Yield what the files of a format hold; note the files that it does not know."""
    yield from FORMATS[name](files, choices, notes)
    for file in files.all:
        if file not in files.opened:
            notes.left_out(file.name, "(the whole file)", f"no file of {name} that is taken", 1)

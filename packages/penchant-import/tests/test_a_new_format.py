"""The recipe for a format that CONTRIBUTING gives: a function that yields drafts, and its line in the table."""

from collections.abc import Iterator, Mapping

import pytest

from import_folders import Folder, run
from penchant.importing import StoredTarget
from penchant.storage import Storage
from penchant_import.drafts import Draft
from penchant_import.files import Files
from penchant_import.formats import FORMATS, Format
from penchant_import.options import ImportOptions
from penchant_import.pieces import LABEL, FieldTaker, PieceBuilder, extra, keywords, take_fields
from penchant_import.report import Notes

CARD: Mapping[str, FieldTaker] = {"title": LABEL, "by": keywords("author", "/"), "shelf": extra("shelf")}
"""What becomes of the fields of a library's cards."""


def read_cards(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of card files: a card a line, fields with colons and bars between them."""
    for file in files.select("cards"):
        for number, line in files.lines(file):
            fields = dict(field.split(": ", 1) for field in line.decode().split(" | "))
            builder = PieceBuilder(notes, file.name, number, fields.pop("no"), options=options)
            take_fields(CARD, builder, fields)
            yield builder.draft()


def test_a_format_is_a_function_and_its_line_in_the_table(
    folder: Folder, storage: Storage, target: StoredTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, "cards", Format(read_cards, ""))
    folder.write("a.cards", "no: 7 | title: Rope | by: Ann Bee/Cee Dee | shelf: B4 | lent: yes")
    folder.write("notes.txt", "nothing of it")

    work = run("cards", folder, target)

    [account] = storage.accounts.list_usage("2026-01")
    assert (work.tally.pieces, work.tally.created, account.pieces) == (1, 1, 1)
    assert folder.read("cards") == [
        {"id": "7", "label": "Rope", "categories": {"author": ["Ann Bee", "Cee Dee"]}, "filters": {}}
        | {"extras": {"shelf": "B4"}}
    ]
    assert folder.left_out() == {
        ("a.cards", "lent"): ("has no place in a piece or an interaction", 1, 1),
        ("notes.txt", "(the whole file)"): ("no file of cards that is taken", 1, 1),
    }

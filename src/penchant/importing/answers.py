"""Answers of other services, saved as JSON: their entries one by one, whatever member of the answer holds them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from penchant.importing.files import Files, InputFile, UnreadableFile, json_problem
from penchant.importing.pieces import PieceBuilder
from penchant.wire.syntax import UNREADABLE


class AnswerEntry(NamedTuple):
    """An entry of a list in an answer.

    ``section`` is the member that holds the list, empty where the file is one; ``number`` counts from 1 in the file.
    """

    section: str
    number: int
    value: Any


def take_label(builder: PieceBuilder, field: str, value: Any) -> None:
    """Take a member as the label, which in JSON may be anything."""
    if isinstance(value, str):
        builder.label(field, value)
    else:
        builder.leave(field, "no label: not a text.")


def read_answer(files: Files, file: InputFile) -> Iterator[AnswerEntry]:
    """Yield the entries of a file that is a list, or of all lists in the object that it is; one in memory decoded.

    Raises:
        UnreadableFile: it is no JSON, or too large.
    """
    text = files.document(file)
    try:
        number = 0
        for section, entries in _lists(text).items():
            for raw in msgspec.json.decode(entries, type=list[msgspec.Raw]):
                number += 1
                yield AnswerEntry(section, number, msgspec.json.decode(raw))
    except UNREADABLE:
        raise UnreadableFile(f"{file}: {json_problem(text, 'file')}") from None


def _lists(text: bytes) -> dict[str, bytes | memoryview]:
    start = text.lstrip()[:1]
    if start == b"[":
        return {"": text}
    if start != b"{":
        msgspec.json.decode(text)
        return {}
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    # Looked at where they lie: a member may be nearly all of a large file.
    views = {name: memoryview(raw) for name, raw in members.items()}
    return {name: view for name, view in views.items() if bytes(view[:1]) == b"["}

"""List files: lists that were made elsewhere, read to be judged, and files to make such lists from.

FOLDER/known.csv, held-out.csv   userId, contentId, type, timestamp, value: interactions
FOLDER/relevant.csv              userId, contentId: who is asked for, and what lists are judged by
FOLDER/METHOD.csv                userId, contentId, rank: lists of a method of ours
"""

import contextlib
import csv
import io
import itertools
import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from penchant.cli.output import OutputFailed, output_file
from penchant.wire import format_timestamp
from penchant_engine.index import IntArray
from penchant_engine.model import WHOLE
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile, printable
from penchant_import.formats.tables import find_column
from penchant_import.frames import open_frame
from penchant_lab.foreign_lists import ForeignEntry, ForeignLists
from penchant_lab.histories import TYPES, Events, SourceHistory
from penchant_lab.metrics import NOTHING
from penchant_lab.trials import Trial

PARQUET = ("parquet", "pq", "arrow", "feather")


class ListFile(NamedTuple):
    """A file with the lists of a method of this name."""

    name: str
    path: Path


class ListColumns(NamedTuple):
    """The columns of lists, where they are told; ``None`` for those that are found by their names."""

    person: str | None = None
    piece: str | None = None
    rank: str | None = None
    score: str | None = None


class NamedFile(click.ParamType[ListFile]):
    """``NAME=FILE``, or a file, whose name without its ending is that of the method."""

    name = "[name=]file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ListFile:
        """Return the name and the path of a file that is there."""
        if isinstance(value, ListFile):
            return value
        name, is_named, path = str(value).rpartition("=")
        if not is_named or Path(value).is_file():
            name, path = Path(value).name.removesuffix(".gz").partition(".")[0], str(value)
        if not name or not Path(path).is_file():
            self.fail(f"{value!r} names no file; write NAME=FILE, such as mine=lists.csv.", param, ctx)
        return ListFile(name, Path(path))


def read_lists(file: ListFile, columns: ListColumns, history: SourceHistory) -> ForeignLists:
    """Return the lists of a file of CSV, NDJSON (both also gzip), Parquet or Arrow.

    Raises:
        UnreadableFile: it is no such table, or one without people, pieces or rows, or a row lacks one.
        Refused: pyarrow, which reads Parquet and Arrow, is not installed.
    """
    source = InputFile(file.path)
    # Closed where a row is refused: the file would stay open until somebody looks for garbage.
    with contextlib.closing(_rows(source)) as rows:
        return ForeignLists.of(file.name, _entries(source, rows, columns), history)


def _rows(file: InputFile) -> Generator[TableRow, None, None]:
    files = Files([file])
    if file.ending in PARQUET:
        yield from open_frame(files, file).rows(bool, bool, lambda _: None)
    elif file.ending in ("ndjson", "jsonl", "json"):
        yield from _objects(files, file)
    else:
        yield from files.rows(file)


def _objects(files: Files, file: InputFile) -> Iterator[TableRow]:
    for entry in files.entries(file):
        is_row = isinstance(entry.value, dict)
        yield TableRow(
            entry.line, entry.value if is_row else {}, None if is_row else entry.problem or "Found no object."
        )


def _entries(file: InputFile, rows: Iterator[TableRow], columns: ListColumns) -> Iterator[ForeignEntry]:
    """Yield the entries of a table; without ranks and scores the order of the rows counts."""
    first = next(rows, None)
    if first is None:
        raise UnreadableFile(f"{file}: there is no list in it.")
    found: ListColumns | None = None
    for number, row in enumerate(itertools.chain([first], rows)):
        if row.problem:
            raise UnreadableFile(f"{file}, line {row.line}: {row.problem}")
        found = found or _find_columns(file, list(row.values), columns)
        person, piece = (row.values.get(name or "") for name in (found.person, found.piece))
        if person in ("", None) or piece in ("", None):
            raise UnreadableFile(f"{file}, line {row.line}: no person or no piece in {printable(str(row.values))}.")
        place = float(number)
        if found.rank is not None:
            place = _number(file, row, found.rank)
        elif found.score is not None:
            place = -_number(file, row, found.score)
        yield ForeignEntry(str(person), str(piece), place)


def _find_columns(file: InputFile, names: Sequence[str], told: ListColumns) -> ListColumns:
    """Return which column is what; a rank goes before a score.

    Raises:
        UnreadableFile: one was told that is not there, or there is none of people or of pieces.
    """
    shown = printable(", ".join(names)) or "none"
    for name in filter(None, told):
        if name not in names:
            raise UnreadableFile(f"{file}: no column {name!r}. Found are {shown}.")
    piece = find_column(names, told.piece, "id", first=1) or find_column(names, told.piece, "id")
    found = ListColumns(
        person=find_column(names, told.person, "user"),
        piece=piece,
        rank=None if told.score and not told.rank else find_column(names, told.rank, "rank"),
        score=find_column(names, told.score, "score"),
    )
    for column, what in ((found.person, "person"), (found.piece, "piece")):
        if column is None:
            raise UnreadableFile(f"{file}: no column of {what}s; name it with --{what}-column. Found are {shown}.")
    return found


def _number(file: InputFile, row: TableRow, column: str) -> float:
    value: Any = row.values.get(column)
    with contextlib.suppress(TypeError, ValueError):
        number = float(value)
        if math.isfinite(number):
            return number
    raise UnreadableFile(f"{file}, line {row.line}: {value!r} in the column {column} is no number.")


def write_split(folder: Path, trial: Trial, held_out: Events, names: Sequence[str]) -> None:
    """Write what is known, what is held out, and what lists are judged by; ``names`` are of people by their numbers.

    Raises:
        OutputFailed: a file cannot be written.
    """
    history = trial.knowledge.history
    for name, events in (("known", trial.knowledge.events), ("held-out", held_out)):
        columns = ("userId", "contentId", "type", "timestamp", "value")
        _write(folder / f"{name}.csv", columns, _interactions(events, history, names))
    judged = [
        (names[person], history.ids[piece])
        for group in (trial.warm, trial.cold)
        for person, pieces in zip(group.people.tolist(), group.relevant, strict=True)
        for piece in pieces.tolist()
    ]
    _write(folder / "relevant.csv", ("userId", "contentId"), judged)


def _interactions(events: Events, history: SourceHistory, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    columns = (each.tolist() for each in (events.people, events.pieces, events.types, events.times, events.portions))
    for person, piece, kind, time, portion in zip(*columns, strict=True):
        yield names[person], history.ids[piece], TYPES[kind].value, format_timestamp(time), portion / WHOLE


def write_lists(folder: Path, lists: Mapping[str, IntArray], trial: Trial, names: Sequence[str]) -> None:
    """Write the lists of methods, (n_people, length) in the order of a trial's people, a file for each.

    Raises:
        OutputFailed: a file cannot be written.
    """
    people, ids = trial.people.tolist(), trial.knowledge.history.ids
    for method, own in lists.items():
        rows, ranks = np.nonzero(own != NOTHING)
        entries = zip(rows.tolist(), ranks.tolist(), own[rows, ranks].tolist(), strict=True)
        lines = ((names[people[row]], ids[piece], rank + 1) for row, rank, piece in entries)
        _write(folder / f"{method}.csv", ("userId", "contentId", "rank"), lines)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputFailed(str(path.parent), error) from error
    with output_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        text.flush()
        text.detach()

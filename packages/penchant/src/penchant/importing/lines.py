"""Lines of JSON, one object each, as ``penchant export`` writes them, brought into a source.

A line is a piece, an interaction, or alone in it a list, the settings, a person's preferences, or what a package keeps.
Lines of one kind that follow each other are checked as one request would be, and stored all or nothing.
"""

import gzip
import io
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from penchant.errors import InvalidInput, PenchantError
from penchant.importing.checks import BodyChecks, ReadBody, single_kinds
from penchant.importing.exporting import stable_event_id
from penchant.importing.targets import StoredTarget
from penchant.model import MAX_INTERACTIONS_PER_REQUEST, MAX_PIECES_PER_SUBMISSION, NewInteraction
from penchant.wire.syntax import UNREADABLE, pointer

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line that is read: what a request may hold by default."""
BATCH_BYTES = 8 * 1024 * 1024
"""Where a batch ends that has fewer lines: half of what a request with interactions may hold by default."""
_MOST = {"piece": MAX_PIECES_PER_SUBMISSION, "interaction": MAX_INTERACTIONS_PER_REQUEST, "preferences": 2_000}
_GZIP = b"\x1f\x8b"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
Line = tuple[int, str, bytes]
"""The number of a line, the kind of what is in it, and that as JSON."""


def numbered_lines(file: Path | BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, packed by gzip or not, without their ends, numbered from 1.

    Raises:
        InvalidInput: one is too long, or the file is not whole.
    """
    with file.open("rb") if isinstance(file, Path) else file as stream:
        buffered = stream if hasattr(stream, "peek") else io.BufferedReader(cast(io.RawIOBase, stream))
        is_packed = buffered.peek(2)[:2] == _GZIP
        text = cast(BinaryIO, gzip.GzipFile(fileobj=buffered) if is_packed else buffered)
        number = 0
        try:
            while line := text.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidInput(f"line {number}: longer than {MAX_LINE_BYTES} bytes.")
                line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if not line.isspace():
                    yield number, line.rstrip(b"\r\n")
        except (EOFError, gzip.BadGzipFile) as error:
            raise InvalidInput(f"line {number + 1}: {error}.") from None


class LineImport:
    """An import of lines; ``shift_ms`` is added to times of interactions.

    ``unknown_settings`` are pointers of settings of packages that are not installed: they are stored as they are.
    """

    def __init__(self, target: StoredTarget, checks: BodyChecks, shift_ms: int = 0) -> None:
        self.counts = Counter[str]()
        self.unknown_settings = set[str]()
        self._target = target
        self._checks = checks
        self._shift_ms = shift_ms

    def run(self, name: str, lines: Iterable[tuple[int, bytes]]) -> None:
        """Store what is in the lines of a file of this name, or of standard input.

        Raises:
            InvalidInput: a line may not be stored; batches before its own are stored.
        """
        for batch in _batches(_read(name, each) for each in lines):
            kind = batch[0][1]
            read = _checked(name, batch, self._checks)
            items = [item for body in read for item in body.items]
            if kind == "piece":
                self._target.submit(list({each.id: each for each in items}.values()))
            elif kind == "interaction":
                self._target.record([_finish(each, self._shift_ms) for each in items])
            else:
                self._target.put(kind, items)
                self.unknown_settings.update(*(body.ignored for body in read if kind == "settings"))
            self.counts[kind] += len(batch)


def newest_moment(lines: Iterable[tuple[int, bytes]]) -> int | None:
    """Return the time of the newest interaction in lines of nothing else, in ms since 1970 UTC."""
    checks, newest = BodyChecks(), None
    for batch in _batches(_read("", each) for each in lines):
        items = [item for body in _checked("", batch, checks) for item in body.items]
        times = [each.occurred_at for each in items if each.occurred_at is not None]
        newest = max([*times, *([] if newest is None else [newest])], default=None)
    return newest


def _read(name: str, numbered: tuple[int, bytes]) -> Line:
    number, text = numbered
    try:
        members = _members.decode(text)
    except UNREADABLE:
        raise InvalidInput(f"{name}, line {number}: no JSON object; one object a line is accepted.") from None
    if "settings" in members:
        # Beside them stands by which rules packages made keywords.
        members = {key: value for key, value in members.items() if not key.endswith("Rule")}
    if len(members) == 1 and (kind := next(iter(members))) in single_kinds():
        return number, kind, bytes(members[kind])
    is_interaction = "categories" not in members and ("userId" in members or "contentId" in members)
    return number, "interaction" if is_interaction else "piece", text


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield lines in batches of one kind."""
    for kind, same in groupby(lines, lambda line: line[1]):
        batch: list[Line] = []
        size = 0
        for line in same:
            if batch and (len(batch) >= _MOST.get(kind, 1) or size + len(line[2]) > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(line)
            size += len(line[2])
        yield batch


def _checked(name: str, batch: list[Line], checks: BodyChecks) -> list[ReadBody]:
    """Return what lines of one kind are; the error of one that may not be stored names it."""
    kind, now = batch[0][1], time.time_ns() // 1_000_000
    is_array = kind in {"piece", "interaction"}
    bodies = [b"[" + b",".join(line[2] for line in batch) + b"]"] if is_array else [line[2] for line in batch]
    try:
        return [checks.read(kind, body, now) for body in bodies]
    except PenchantError:
        for number, _, body in batch:
            try:
                checks.read(kind, b"[" + body + b"]" if is_array else body, now)
            except PenchantError as error:
                where = error.faults[0].pointer if error.faults else ""
                detail = error.faults[0].detail if error.faults else error.detail
                first = (where or "").removeprefix(pointer(0)) if is_array else where
                raise InvalidInput(f"{name}, line {number}: {first or '(line)'}: {detail}") from None
        raise


def _finish(interaction: NewInteraction, shift_ms: int) -> NewInteraction:
    """Return an interaction with an event id, which goes by the time as it was read, and its time moved."""
    moment = interaction.occurred_at
    return interaction._replace(
        occurred_at=None if moment is None else moment + shift_ms,
        event_id=interaction.event_id or stable_event_id(interaction),
    )

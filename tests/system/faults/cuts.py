"""The disk as it may be after a cut of power: what was synced is there; of the rest any part, torn and in any order.

Of a file that was written since its last sync each sector of 512 bytes is old or new, now and then new up to some byte;
its size is one that it had since; what it has grown by without being written is zeros, or what lay there before. Of the
names that were made, changed and removed since their folder was synced any are so already: to sync a file says
nothing of its name, as in POSIX, although most file systems do more. A rename happens as a whole. Of a mapped file
each sector is one that it held.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from faults.recording import Record

SECTOR = 512
TORN = 0.05
"""How often a sector is new only up to some byte."""
STYLES = ("nothing", "everything", "first", "any", "few", "most")
SHARES = {"nothing": 0.0, "everything": 1.0, "any": 0.5, "few": 0.1, "most": 0.9}


@dataclass(slots=True)
class _File:
    """What a file surely holds, and by number what was done to it since; ``kept`` are contents of a mapped one."""

    content: bytearray = field(default_factory=bytearray)
    pending: dict[int, Record] = field(default_factory=dict)
    kept: list[bytes] = field(default_factory=list)
    is_mapped: bool = False

    def whole(self) -> bytes:
        """Return what it holds where nothing is lost."""
        content = bytearray(self.content)
        for record in self.pending.values():
            _apply(content, record)
        return bytes(content)

    def torn(self, chance: Random) -> bytes:
        """Return what it may hold after a cut."""
        style = chance.choice(STYLES)
        pending = list(self.pending.values())
        if style == "first":
            pending, style = pending[: chance.randint(0, len(pending))], "everything"
        content = bytearray(self.content)
        sizes = [len(content)]
        for record in pending:
            sizes.append(record.offset if record.kind == "T" else max(sizes[-1], record.offset + len(record.data)))
        # Longer than is known to be written, first: what no sector is written to stays as it lay there.
        size = sizes[-1] if style == "everything" else chance.choice(sizes)
        grown = max(0, max(sizes) - len(content))
        content += chance.randbytes(grown) if chance.random() < 0.2 else bytes(grown)
        for record in pending:
            if record.kind == "T":
                if chance.random() < SHARES[style]:
                    content[record.offset :] = bytes(len(content) - record.offset)
                continue
            for begin, end in _sectors(record):
                if chance.random() < SHARES[style]:
                    if style != "everything" and chance.random() < TORN:
                        end = chance.randint(begin, end)  # noqa: PLW2901  # a torn sector ends sooner
                    content[begin:end] = record.data[begin - record.offset : end - record.offset]
        return self._remapped(bytes(content[:size]), chance)

    def _remapped(self, content: bytes, chance: Random) -> bytes:
        held = [content, *(each for each in self.kept[-2:] if len(each) == len(content))]
        if len(held) == 1:
            return content
        # Most of such a file is alike in all: a dozen borders mix it as well as a choice for each sector.
        borders = sorted({0, len(content), *(chance.randrange(0, len(content), SECTOR) for _ in range(12))})
        return b"".join(chance.choice(held)[begin:end] for begin, end in itertools.pairwise(borders))


def _sectors(record: Record) -> Iterator[tuple[int, int]]:
    begin, last = record.offset, record.offset + len(record.data)
    while begin < last:
        end = min(last, begin // SECTOR * SECTOR + SECTOR)
        yield begin, end
        begin = end


def _apply(content: bytearray, record: Record) -> None:
    if record.kind == "T":
        del content[record.offset :]
        content += bytes(record.offset - len(content))
        return
    content += bytes(max(0, record.offset - len(content)))
    content[record.offset : record.offset + len(record.data)] = record.data


class Disk:
    """A folder on a disk, as it becomes record by record."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}
        self._now: dict[str, int] = {}
        """By path the number of a file; 0: a folder."""
        self._names: dict[str, int] = {}
        self._changes: dict[int, tuple[Record, int]] = {}
        """Changes of names that may be lost, each with the file that it is about."""
        self._syncing: dict[int, list[int]] = defaultdict(list)
        self._count = 0

    def take(self, record: Record) -> None:
        """Let a record happen."""
        self._count += 1
        match record.kind:
            case "W" | "T":
                self._files[record.file].pending[self._count] = record
            case "B" | "D":
                self._syncing[record.thread] = self._unsynced(record)
            case "E" | "F":
                self._sync(record)
            case "M":
                self._files[record.file].is_mapped = True
            case "S":
                self._files[self._now[record.path]].kept.append(record.data)
            case _:
                self._change(record)

    def _unsynced(self, record: Record) -> list[int]:
        """Return the numbers of what a sync that begins now is to bring to the disk."""
        if record.kind == "B":
            return list(self._files[record.file].pending)
        return [number for number, (each, _) in self._changes.items() if record.path in _folders(each)]

    def _sync(self, record: Record) -> None:
        """Bring to the disk what was there when a sync began that has ended."""
        for number in self._syncing.pop(record.thread):
            if record.kind == "F" and number in self._changes:
                _rename(self._names, *self._changes.pop(number))
            elif record.kind == "E" and number in self._files[record.file].pending:
                file = self._files[record.file]
                _apply(file.content, file.pending.pop(number))

    def _change(self, record: Record) -> None:
        if record.kind == "C":
            self._files[record.file] = _File()
        change = record, record.file or self._now.get(record.path, 0)
        self._changes[self._count] = change
        _rename(self._now, *change)

    def whole(self) -> dict[str, bytes | None]:
        """Return the folder where nothing is lost: by path what files hold, ``None`` for folders."""
        return {path: self._files[number].whole() if number else None for path, number in self._now.items()}

    def is_mapped(self, path: str) -> bool:
        """Return whether a file was written by way of memory, so that no record tells what it holds."""
        return self._files[self._now[path]].is_mapped

    def after_cut(self, chance: Random) -> dict[str, bytes | None]:
        """Return the folder as it may be if power is cut now, as `whole`."""
        names, changes = dict(self._names), list(self._changes.values())
        style = chance.choice(STYLES)
        if style == "first":
            changes, style = changes[: chance.randint(0, len(changes))], "everything"
        for change in changes:
            if chance.random() < SHARES[style]:
                _rename(names, *change)
        found: dict[str, bytes | None] = {}
        torn: dict[int, bytes] = {}
        for path, number in sorted(names.items()):
            # What lies in a folder that is not there can't be found.
            if any(str(parent) not in names for parent in Path(path).parents[:-1]):
                continue
            if number and number not in torn:
                torn[number] = self._files[number].torn(chance)
            found[path] = torn[number] if number else None
        return found


def _folders(record: Record) -> set[str]:
    paths = [record.path, record.other] if record.kind == "R" else [record.path]
    return {str(Path(path).parent).removeprefix(".") for path in paths}


def _rename(names: dict[str, int], record: Record, file: int) -> None:
    """Carry out a change of names."""
    match record.kind:
        case "C" | "K":
            names[record.path] = file
        case "R":
            names.pop(record.path, None)
            names[record.other] = file
        case "U":
            names.pop(record.path, None)


def put_down(disk: dict[str, bytes | None], folder: Path) -> None:
    """Make a folder with what a disk holds."""
    folder.mkdir(parents=True)
    for path, content in sorted(disk.items()):
        if content is None:
            (folder / path).mkdir(mode=0o700)
        else:
            (folder / path).write_bytes(content)
            (folder / path).chmod(0o600)

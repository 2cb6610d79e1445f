"""Plan: work over many items as ranges of them, each done by a pure function of a few files."""

import mmap
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

Files = Mapping[str, Any]
"""The files of a plan by name, as buffers; they may be read alone."""
WORKS = frozenset(
    {
        "penchant.evaluation.list_work:prepare",
        "penchant.service.bulk.lists:prepare",
        "penchant.service.bulk.stand_ins:prepare",
    }
)
"""What a plan that is read from a file may name: whatever else stands there, nothing else is run."""
Work = Callable[[int, int], bytes]
"""Does the items from one number on, up to another: the same bytes wherever and however often it is called."""


class WorkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Work: ``count`` items, in ranges of ``size``.

    ``work`` names a function (``module:name``) that takes the files of these names and returns the `Work`.
    """

    work: str
    files: tuple[str, ...]
    count: int
    size: int

    @property
    def range_count(self) -> int:
        """How many ranges there are."""
        return (self.count + self.size - 1) // self.size

    @property
    def is_sound(self) -> bool:
        """Whether it names work of ours, and files that lie in its own folder."""
        return self.work in WORKS and all(Path(name).name == name != ".." for name in self.files)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return where a range begins and ends."""
        return number * self.size, min(self.count, (number + 1) * self.size)

    def prepare(self, files: Files) -> Work:
        """Return what does a range; takes as long as opening the files does."""
        module, _, name = self.work.partition(":")
        work: Work = getattr(import_module(module), name)(files)
        return work


def mapped_files(plan: WorkPlan, folder: Path) -> Files:
    """Return the files of a plan out of a folder, mapped."""
    files = {}
    for name in plan.files:
        with (folder / name).open("rb") as file:
            files[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return files

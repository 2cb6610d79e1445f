"""Notes: what became of each field of each file, counted while files are read, for the report."""

from dataclasses import dataclass

MAX_ENTRIES = 1_000
"""Fields that are counted one by one: a file may call its fields by any number of names."""
_OTHERS = "(other fields)"


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field that was taken over, and into what."""

    file: str
    field: str
    to: str
    count: int


@dataclass(frozen=True, slots=True)
class OmittedField:
    """A field or value that was not taken over, why, and a line where it is."""

    file: str
    field: str
    reason: str
    count: int
    line: int


class Notes:
    """Counts what was mapped and what was left out."""

    def __init__(self) -> None:
        self._mapped: dict[tuple[str, str, str], int] = {}
        self._left_out: dict[tuple[str, str, str], list[int]] = {}

    def mapped(self, file: str, field: str, to: str, count: int = 1) -> None:
        """Note that a field was taken over in a row."""
        key = file, field, to
        if key not in self._mapped and len(self._mapped) >= MAX_ENTRIES:
            key = file, _OTHERS, ""
        self._mapped[key] = self._mapped.get(key, 0) + count

    def left_out(self, file: str, field: str, reason: str, line: int) -> None:
        """Note that a field or value was not taken over in a row."""
        key = file, field, reason
        found = self._left_out.get(key)
        if found is None and len(self._left_out) >= MAX_ENTRIES:
            key = file, _OTHERS, "further fields were left out"
            found = self._left_out.get(key)
        if found is None:
            self._left_out[key] = [1, line]
        else:
            found[0] += 1

    def all_mapped(self) -> list[MappedField]:
        """Return the mapped fields, by file, in the order of first sight."""
        return [MappedField(*key, count) for key, count in self._mapped.items()]

    def all_left_out(self) -> list[OmittedField]:
        """Return the fields left out, by file, in the order of first sight."""
        return [OmittedField(*key, count, line) for key, (count, line) in self._left_out.items()]

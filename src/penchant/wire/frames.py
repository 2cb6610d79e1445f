"""Answers as people who work with data want them: as dictionaries, as tables in a notebook, as data frames."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any, Generic, Literal, TypeVar

import msgspec

Entry = TypeVar("Entry")
Library = Literal["pandas", "polars"]

MAX_SHOWN = 50
"""Rows of a list that a notebook shows."""
_MAX_CELL_LETTERS = 200


class Record(msgspec.Struct, frozen=True):
    """An answer, or a part of one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the members by the names of the interface, as JSON would hold them."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return members

    def _repr_html_(self) -> str:
        return _table(["", ""], [[name, value] for name, value in row_of(self).items()])


class NotedRecord(Record, frozen=True, dict=True):
    """An answer, and what its headers say of it, once a client has read them."""

    def note(self, headers: Mapping[str, str]) -> None:
        """Take note of what the headers of the answer say."""
        self.__dict__.update({name: value for name, value in headers.items() if name.startswith("x-penchant-")})


class PagedRecord(NotedRecord, frozen=True):
    """An answer with a list that may go on."""

    @property
    def next(self) -> str | None:
        """Where the list goes on, for the option ``after`` (of the audit log ``before``); ``None`` at its end."""
        return self.__dict__.get("x-penchant-next")

    @property
    def list_id(self) -> str | None:
        """The id of a placement's list, for reports of what was seen of it."""
        return self.__dict__.get("x-penchant-list")


class RecordList(PagedRecord, Generic[Entry], frozen=True):
    """An answer whose member ``content`` is a list; it can be iterated over, and has a length."""

    content: list[Entry]

    def __len__(self) -> int:
        return len(self.content)

    def __bool__(self) -> bool:
        # With a length alone Python would call an answer without entries false, as if there were none.
        return True

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.content)

    def __getitem__(self, index: int) -> Entry:
        return self.content[index]

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the list as a data frame, a row for each entry; see `to_frame`."""
        return to_frame(self.content, library)

    def _repr_html_(self) -> str:
        rows = [row_of(entry) for entry in self.content[:MAX_SHOWN]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        more = len(self.content) - MAX_SHOWN
        rest = f"<p>… and {more} more</p>" if more > 0 else ""
        return _table(names, [[row.get(name, "") for name in names] for row in rows]) + rest


def to_frame(entries: Iterable[Any], library: Library | None = None) -> Any:
    """Return records, a listing that is iterated over among them, as a data frame with a row for each.

    Columns are called as members in Python; those of members are behind a dot (``categories.genre``), lists stay lists
    and times times. ``library`` says whose frame it is: without it that of pandas, or of polars where only that is
    installed.

    Raises:
        ModuleNotFoundError: neither is installed.
    """
    # Entries may have different members: a column for each, in the order of first sight.
    rows = [row_of(entry) for entry in entries]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    if library != "polars":
        try:
            import pandas as pd  # noqa: PLC0415  # no dependency: whoever wants a frame has it

            return pd.DataFrame(columns)
        except ModuleNotFoundError:
            if library == "pandas":
                raise
    import polars as pl  # noqa: PLC0415  # as above

    return pl.DataFrame(columns, strict=False)


def row_of(entry: Any) -> dict[str, Any]:
    """Return a record as one level of names and values."""
    return dict(_members(entry, "")) if isinstance(entry, msgspec.Struct | Mapping) else {"id": entry}


def _members(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    is_record = isinstance(value, msgspec.Struct)
    pairs = msgspec.structs.asdict(value).items() if is_record else value.items()
    leaves_out_none = is_record and value.__struct_config__.omit_defaults
    for name, inner in pairs:
        # What JSON leaves out has no column either, unless another entry has it.
        if inner is msgspec.UNSET or (inner is None and leaves_out_none):
            continue
        if isinstance(inner, msgspec.Struct | Mapping):
            yield from _members(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, _plain(inner)


def _plain(value: Any) -> Any:
    """Return a value without records in it, times as they are."""
    return msgspec.to_builtins(value, builtin_types=(datetime,))


def _table(names: list[str], rows: list[list[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _MAX_CELL_LETTERS else text[:_MAX_CELL_LETTERS] + "…")

"""Answers as people who work with data want them: as dictionaries, as tables in a notebook, as data frames."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

import msgspec

Entry = TypeVar("Entry")
Library = Literal["pandas", "polars", "pyarrow"]

MAX_SHOWN = 50
"""Rows of a list that a notebook shows."""
_MAX_CELL_LETTERS = 200


class Record(msgspec.Struct, frozen=True):
    """An answer, or a part of one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the members by the names of the interface, as JSON would hold them."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return members

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the list in the answer as a data frame, or the answer as a row of one; see `to_frame`."""
        listing = _listing(type(self))
        if listing is None:
            return to_frame([self], library)
        name, kind = listing
        return to_frame(Entries(getattr(self, name) or (), kind), library)

    def _repr_html_(self) -> str:
        return _table(["", ""], [[name, value] for name, value in row_of(self).items()])


class RowRecord(Record, frozen=True):
    """A record that is one row of a data frame, whatever lists it has."""


class NotedRecord(Record, frozen=True, dict=True):
    """An answer, and what its headers say of it, once a client has read them."""

    def note(self, headers: Mapping[str, str]) -> None:
        """Take note of what the headers of the answer say."""
        self.__dict__.update({name: value for name, value in headers.items() if name.startswith("x-penchant-")})


class NotedInteraction(NotedRecord, frozen=True):
    """An interaction as it was recorded, and what the headers say of it."""

    @property
    def has_unknown_content(self) -> bool:
        """Whether the source does not have the piece, so that this counts once it has."""
        return "x-penchant-unknown-content" in self.__dict__

    @property
    def is_expired(self) -> bool:
        """Whether it is older than the source keeps interactions, so that it counts for nothing."""
        return "x-penchant-expired" in self.__dict__


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

    def _repr_html_(self) -> str:
        return _listed(self.content)


class Entries(list[Entry]):
    """An answer that is a list, of entries of a ``kind``."""

    def __init__(self, entries: Iterable[Entry] = (), kind: Any = None) -> None:
        super().__init__(entries)
        self.kind = kind

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the list as a data frame, a row for each entry; see `to_frame`."""
        return to_frame(self, library)

    def _repr_html_(self) -> str:
        return _listed(self)


def to_frame(entries: Iterable[Any], library: Library | None = None) -> Any:
    """Return records, a listing that is iterated over among them, as a data frame with a row for each.

    Columns are called as members in Python; those of members are behind a dot (``categories.genre``), lists stay lists
    and times times. Of a list of lists each entry has a row, with what is of its list behind ``list.``. An answer
    without entries has the columns that every entry would have. polars and pyarrow, whose columns are of one type,
    have as text (JSON where it is none) what is of several. ``library`` says whose frame it is: without it that of the
    first of pandas, polars and pyarrow that is installed.

    Raises:
        ModuleNotFoundError: it is not installed, or none is.
    """
    if isinstance(entries, Record):
        return entries.to_frame(library)
    # Entries may have different members: a column for each, in the order of first sight.
    types = _columns_of(getattr(entries, "kind", None))
    rows = [row for entry in entries for row in _rows(entry)]
    names = list(dict.fromkeys(name for row in rows for name in row)) if rows else list(types)
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name in (library,) if library else _MAKERS:
        try:
            return _MAKERS[name](columns, {each: types.get(each) for each in names})
        except ModuleNotFoundError:
            if library or name == "pyarrow":
                raise
    raise AssertionError


def _pandas(columns: dict[str, list[Any]], types: Mapping[str, Any]) -> Any:
    import pandas as pd  # noqa: PLC0415  # no dependency: whoever wants a frame has it

    dtypes = {str: "str", float: "float64", int: "int64", bool: "bool", datetime: "datetime64[us, UTC]"}
    return pd.DataFrame(
        {name: values or pd.Series([], dtype=dtypes.get(types[name], "object")) for name, values in columns.items()}
    )


def _polars(columns: dict[str, list[Any]], types: Mapping[str, Any]) -> Any:
    import polars as pl  # noqa: PLC0415  # as above

    moment = pl.Datetime("us", "UTC")
    dtypes: Mapping[Any, Any] = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean, datetime: moment}

    def series(name: str, values: list[Any]) -> Any:
        try:
            return pl.Series(name, _same_numbers(values), None if values else dtypes.get(types[name]))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            return pl.Series(name, list(map(_as_text, values)))

    return pl.DataFrame([series(name, values) for name, values in columns.items()])


def _pyarrow(columns: dict[str, list[Any]], types: Mapping[str, Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # as above

    dtypes = {
        str: pa.string(),
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", "UTC"),
    }

    def array(name: str, values: list[Any]) -> Any:
        try:
            return pa.array(_same_numbers(values), None if values else dtypes.get(types[name]))
        except (TypeError, ValueError, OverflowError):
            return pa.array(list(map(_as_text, values)))

    return pa.table({name: array(name, values) for name, values in columns.items()})


_MAKERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}


def _same_numbers(values: list[Any]) -> list[Any]:
    """Return values with whole numbers as fractions where there are any of these, as pandas does by itself."""
    if {type(each) for each in values} <= {int, float, type(None)} and any(isinstance(each, float) for each in values):
        return [None if each is None else float(each) for each in values]
    return values


def _as_text(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return [_as_text(each) for each in value] if isinstance(value, list) else msgspec.json.encode(value).decode()


def _is_record(kind: Any) -> bool:
    kind = get_origin(kind) or kind
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@functools.cache
def _listing(kind: Any) -> tuple[str, Any] | None:
    """Return the member that is the list of a record, the first one of records, with the kind of its entries."""
    for field in () if issubclass(kind, RowRecord) else msgspec.structs.fields(kind):
        for each in (field.type, *get_args(field.type)):
            if get_origin(each) in {list, Sequence, tuple} and (
                _is_record(entry := get_args(each)[0]) or (field.name == "content" and issubclass(kind, RecordList))
            ):
                return field.name, entry
    return None


@functools.cache
def _columns_of(kind: Any, prefix: str = "") -> dict[str, Any]:
    """Return the columns that every entry of a kind has, with their types."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if kind is None or not _is_record(kind):
        return {} if kind is None else {"id": kind}
    nested = None if prefix else _inner(get_origin(kind) or kind)
    if nested is not None:
        return _columns_of(kind, "list.") | _columns_of(nested, "")
    found: dict[str, Any] = {}
    leaves_out = (get_origin(kind) or kind).__struct_config__.omit_defaults
    for field in msgspec.structs.fields(kind):
        inner = get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        is_sure = field.required or not (leaves_out or field.default is msgspec.UNSET)
        if not is_sure or (prefix == "list." and field.name == "content") or get_origin(inner) in {dict, Mapping}:
            continue
        found |= _columns_of(inner, f"{prefix}{field.name}.") if _is_record(inner) else {prefix + field.name: inner}
    return found


def _inner(kind: Any) -> Any:
    """Return the kind of entries of a record that is itself a list, as one of several; ``None`` of any other."""
    listing = _listing(kind)
    return listing[1] if listing is not None and listing[0] == "content" and _is_record(listing[1]) else None


def _rows(entry: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an entry: one, or one for each of its own where it is a list."""
    if not isinstance(entry, msgspec.Struct) or _inner(type(entry)) is None:
        yield row_of(entry)
        return
    empty = msgspec.structs.replace(entry, content=[])
    of_list = {f"list.{name}": value for name, value in row_of(empty).items() if name != "content"}
    for each in getattr(entry, "content", None) or ():
        yield of_list | row_of(each)


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


def _listed(entries: Sequence[Any]) -> str:
    """Return the first entries of a list as a table for a notebook."""
    rows = [row_of(entry) for entry in entries[:MAX_SHOWN]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    more = len(entries) - MAX_SHOWN
    rest = f"<p>… and {more} more</p>" if more > 0 else ""
    return _table(names, [[row.get(name, "") for name in names] for row in rows]) + rest


def _table(names: list[str], rows: list[list[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _MAX_CELL_LETTERS else text[:_MAX_CELL_LETTERS] + "…")

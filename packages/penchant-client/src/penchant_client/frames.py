"""Data frames as pieces and as interactions: rows of pandas, polars or pyarrow, or any mappings, by their columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from penchant_client.errors import InvalidArgument, ServiceError
from penchant_client.flows import record_interactions, submit_content
from penchant_client.records import BulkReceipt, InteractionType, Receipt
from penchant_client.requests import Flow


class FrameOptions(TypedDict, total=False):
    """Which columns are what.

    ``categories`` says from which column the keywords of each category come; a list of columns stands for categories
    of their names. A cell holds one keyword or a list of them. ``weights`` says in which column the weights of a
    category stand, a number for each keyword. ``extras`` are columns that are kept beside.
    """

    id: str
    label: str | None
    categories: Mapping[str, str] | Sequence[str]
    weights: Mapping[str, str] | None
    catalogs: str | None
    extras: Sequence[str] | None
    wait: bool


def submit_frame(source: str, frame: Any, **columns: Unpack[FrameOptions]) -> Flow[Receipt]:
    """Submit the rows of a data frame of pandas, polars or pyarrow as pieces, 2,000 at a time.

    Ids are written as texts, so that numbers are taken; empty cells (``None``, NaN) are left out.
    """
    pieces = _made(frame, lambda row: _piece(row, columns))
    return (yield from submit_content(source, pieces, wait=columns.get("wait", False)))


class InteractionFrameOptions(TypedDict, total=False):
    """Which column is what: those of these names, or of the interface's, where nothing else is said.

    ``type`` is a column, or the one type of all rows. The last four are of columns that may be missing.
    """

    user_id: str
    type: InteractionType | str
    content_id: str
    timestamp: str
    event_id: str
    list_id: str
    value: str


_COLUMNS: Mapping[str, Sequence[str]] = {
    "userId": ("user_id", "userId", "key.user_id"),
    "type": ("type",),
    "contentId": ("content_id", "contentId"),
    "timestamp": ("timestamp",),
    "eventId": ("event_id", "eventId"),
    "listId": ("list_id", "listId"),
    "value": ("value",),
}
"""The columns that are looked for, by the member that they are; of these the first is the option's name, too."""
_NEEDED = {"userId", "type", "contentId"}
_MAX_WHOLE = 2**53
"""From here on not every whole number is a float."""


def record_frame(source: str, frame: Any, **columns: Unpack[InteractionFrameOptions]) -> Flow[BulkReceipt]:
    """Store the rows of a data frame of pandas, polars or pyarrow as interactions, 10,000 at a time.

    Ids are written as texts, times cut to milliseconds, empty cells (``None``, NaN, NaT) left out. All else is as of
    `record_interactions`; an error names the row, from 0, and the column.
    """
    found: dict[str, str] = {}
    try:
        return (yield from record_interactions(source, _made(frame, lambda row: _act(row, columns, found))))
    except ServiceError as error:
        fault = next(iter(error.errors), None)
        _, _, where = (fault.pointer or "" if fault else "").partition("/")
        row, _, member = where.partition("/")
        if fault and member in found:
            error.detail = f"Row {row}: column {found[member]!r}: {fault.detail}"
        raise


def _act(row: Mapping[str, Any], options: Mapping[str, Any], found: dict[str, str]) -> dict[str, Any]:
    """Return a row of a frame as an interaction, and note in ``found`` which column each member comes from."""
    act: dict[str, Any] = {}
    for member, names in _COLUMNS.items():
        chosen = options.get(names[0])
        column = chosen or next((each for each in names if each in row), names[0])
        if member == "type" and column not in row and column in set(InteractionType):
            act["type"] = str(column)
        elif member in _NEEDED:
            act[member] = _needed(row, column)
        elif chosen is not None or column in row:
            value = _written(column, _WRITTEN.get(member, _text), _cell(row, column))
            act |= {} if value is None else {member: value}
        found[member] = column
    return act


def _made(frame: Any, make: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is made of each row; an error says of which, from 0."""
    for number, row in enumerate(_rows(frame)):
        try:
            made = make(row)
        except InvalidArgument as error:
            raise InvalidArgument(f"Row {number}: {error}") from None
        yield made


def _needed(row: Mapping[str, Any], column: str) -> Any:
    """Return the text of a cell that must not be empty."""
    text = _written(column, _text, _cell(row, column))
    if text is None:
        raise InvalidArgument(f"column {column!r}: the cell is empty.")
    return text


def _written(column: str, write: Callable[[Any], Any], value: Any) -> Any:
    """Return a value of a column as it is sent; an error names the column."""
    try:
        return write(value)
    except InvalidArgument as error:
        raise InvalidArgument(f"column {column!r}: {error}") from None


def _moment(value: Any) -> Any:
    """Return a time in UTC with milliseconds; a text as it is.

    Raises:
        InvalidArgument: a time without a zone, or no time.
    """
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, datetime):
        raise InvalidArgument(f"found {value!r}, no time; pandas.to_datetime(…, unit='s', utc=True) makes one.")
    if value.tzinfo is None:
        raise InvalidArgument("the time has no zone; give it one: dt.tz_localize('UTC'), in polars replace_time_zone.")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


_WRITTEN = {"timestamp": _moment, "value": _number}


def _piece(row: Mapping[str, Any], columns: FrameOptions) -> dict[str, Any]:
    """Return a row of a frame as a piece; empty cells are left out, and so are categories without keywords."""
    chosen = columns.get("categories", ())
    categories = chosen if isinstance(chosen, Mapping) else {name: name for name in chosen}
    weights = columns.get("weights") or {}
    piece: dict[str, Any] = {"id": _needed(row, columns.get("id", "id"))}
    label = columns.get("label")
    if label is not None and (value := _cell(row, label)) is not None:
        piece["label"] = str(value)
    piece["categories"] = {
        category: keywords
        for category, column in categories.items()
        if (keywords := _keywords(row, column, weights.get(category)))
    }
    catalogs = columns.get("catalogs")
    if catalogs is not None:
        piece["filters"] = {"catalogs": _texts(row, catalogs)}
    extras = {name: value for name in columns.get("extras") or () if (value := _cell(row, name)) is not None}
    return piece | ({"extras": extras} if extras else {})


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    # By what it can do, not by its type: neither polars (first) nor pandas nor pyarrow has to be installed.
    if hasattr(type(frame), "to_batches") or hasattr(type(frame), "to_pylist"):
        return _arrow_rows(frame)
    if hasattr(frame, "iter_rows"):
        rows: Iterable[Mapping[str, Any]] = frame.iter_rows(named=True)
        return rows
    if hasattr(frame, "itertuples"):
        names = [str(name) for name in frame.columns]
        return (dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None))
    if isinstance(frame, Iterable) and not isinstance(frame, str | bytes | Mapping):
        return frame
    raise InvalidArgument(
        f"Found {type(frame).__name__}; a data frame of pandas, polars or pyarrow, or mappings, are accepted."
    )


def _arrow_rows(table: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table or batch of pyarrow; nanoseconds, which Python's times do not have, are cut off."""
    import pyarrow as pa  # noqa: PLC0415  # whose table it is

    shorter: Mapping[str, Any] = {
        "timestamp[ns": lambda kind: pa.timestamp("us", kind.tz),
        "duration[ns": lambda _: pa.duration("us"),
        "time64[ns": lambda _: pa.time64("us"),
    }
    fields = [
        next(
            (each.with_type(make(each.type)) for start, make in shorter.items() if str(each.type).startswith(start)),
            each,
        )
        for each in table.schema
    ]
    for batch in table.to_batches() if hasattr(table, "to_batches") else [table]:
        yield from batch.cast(pa.schema(fields), safe=False).to_pylist()


def _cell(row: Mapping[str, Any], column: str) -> Any:
    """Return a value, ``None`` where the cell is empty.

    Raises:
        InvalidArgument: there is no such column.
    """
    try:
        value = row[column]
    except KeyError:
        raise InvalidArgument(f"There is no column {column!r}; found are {', '.join(map(str, row))}.") from None
    # By name, since pandas, whose marks of nothing these are, may not be installed.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if getattr(value, "shape", None) == ():
        # A single value of numpy, of whose times Python's have the microseconds.
        value = (value.astype("datetime64[us]") if value.dtype.kind == "M" else value).item()
    # Only NaN differs from itself; arrays compare entry by entry, and are no cell that is empty.
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _keywords(row: Mapping[str, Any], column: str, weight_column: str | None) -> list[Any]:
    """Return the keywords of a cell, with the weights of another cell where a column of weights is named.

    Raises:
        InvalidArgument: there are not as many weights as keywords.
    """
    keywords = _texts(row, column)
    if weight_column is None:
        return keywords
    weights = _listed(_cell(row, weight_column))
    if len(weights) != len(keywords):
        raise InvalidArgument(
            f"The column {weight_column!r} has {len(weights)} weights for {len(keywords)} keywords; write as many."
        )
    return [
        keyword if weight is None else {"key": keyword, "weight": weight}
        for keyword, weight in zip(keywords, weights, strict=True)
    ]


def _texts(row: Mapping[str, Any], column: str) -> list[Any]:
    return [_written(column, _text, each) for each in _listed(_cell(row, column))]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _text(value: Any) -> Any:
    """Return an id or keyword as a text; whole numbers without the fraction that a frame with holes gives them.

    Raises:
        InvalidArgument: bytes, or a float so large that it has lost digits.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        raise InvalidArgument("found bytes, which are no text; decode them.")
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= _MAX_WHOLE:
            raise InvalidArgument(f"found {value}, a float that has lost digits; read the column as text or Int64.")
        return str(int(value))
    # What is neither a text nor a number is not made to seem so: the service says what it found.
    return value if value is None or isinstance(value, bool | list | dict) else str(value)

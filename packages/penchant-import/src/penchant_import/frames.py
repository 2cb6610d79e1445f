"""Frames: tables of Parquet and Arrow, files or streams, whose columns become values as JSON and readers have them.

Only columns that are asked for are converted; of the others it is counted how often they hold something. Numbers keep
their digits, times are cut to milliseconds, and what no JSON has (intervals, unions, geometry) is not read.
"""

import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from penchant_engine.errors import Refused
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile, number_duplicates, printable

_PARQUET, _ARROW_FILE, _GZIP = b"PAR1", b"ARROW1", b"\x1f\x8b"
_FOOTER_BYTES = 8
_BATCH_ROWS = 1_000
_ARROW_SCHEMA = b"ARROW:schema"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = 86_400_000
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last moment that there is in years of four digits."""
_ENDLESS, _ENDLESS_DAYS = (1 << 63) - 2, (1 << 31) - 2
"""From here on a time in the smallest unit, or a day, is infinity, as databases write it."""
_CYCLE_MS = 146_097 * _DAY_MS
_PER_MS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}
"""By what a time is multiplied and divided to have milliseconds, by its unit."""
_CAST = "Write it as Parquet, or that column as texts, in polars by df.with_columns(pl.col(pl.Int128).cast(pl.String))."
_LARGE_BYTES = 16
_EXACT_BITS = {16: 11, 32: 24, 64: 53}
"""Digits in base 2 that a float has, by its bits."""
Convert = Callable[[Any], list[Any]]
"""Returns the values of an array of Arrow, ``None`` where there is none."""


class OmittedValues(NamedTuple):
    """A column of which a batch has values that are not read: how many, in which row first, and what it holds."""

    column: str
    filled: int
    row: int
    what: str


class Frame:
    """A table of Parquet or Arrow: the names of its columns, and its rows in batches."""

    def __init__(self, file: InputFile, schema: Any, batches: Iterator[Any], *, has_large: bool = False) -> None:
        self.file = file
        self.columns = number_duplicates(schema.names)
        self._types = list(schema.types)
        self._periods = [_period_unit(field) for field in schema]
        self._batches = batches
        self._has_large = has_large

    def rows(
        self, read: Callable[[str], bool], needed: Callable[[str], bool], omit: Callable[[OmittedValues], None]
    ) -> Iterator[TableRow]:
        """Yield the rows of the columns that are read; what others hold, and those that cannot be, goes to ``omit``.

        A row has a problem where a column that is ``needed`` holds bytes which are no text, but for data within lists.

        Raises:
            UnreadableFile: the file is damaged.
        """
        converters = {
            place: convert
            for place, name in enumerate(self.columns)
            if read(name) and (convert := self._converter(place)) is not None
        }
        names = [self.columns[place] for place in converters]
        done = 0
        with _readable(self.file):
            for batch in self._batches:
                omissions = self._omissions(batch, converters, read, done)
                columns = [_column(convert, batch.column(place)) for place, convert in converters.items()]
                odd = [place for place, column in enumerate(columns) if _may_have_bytes(column)]
                problems = _problems(names, columns, needed, odd)
                for omission in [*omissions, *_without_bytes(names, columns, odd, done)]:
                    omit(omission)
                for number, values in enumerate(zip(*columns, strict=True), start=done + 1):
                    yield TableRow(number, dict(zip(names, values, strict=True)), problems.get(number - done - 1))
                done += batch.num_rows

    def _converter(self, place: int) -> Convert | None:
        if (unit := self._periods[place]) is not None:
            return _PERIODS.get(unit)
        return _converter(self._types[place], has_large=self._has_large)

    def _omissions(
        self, batch: Any, converters: Collection[int], read: Callable[[str], bool], done: int
    ) -> list[OmittedValues]:
        """Return what of a batch is not read, in the order of first rows."""
        match = []
        for place, name in enumerate(self.columns):
            if place in converters:
                continue
            count, first = _count_filled(batch.column(place))
            if count:
                kind = self._types[place] if self._periods[place] is None else f"period[{self._periods[place]}]"
                match.append(OmittedValues(name, count, done + first + 1, str(kind) if read(name) else ""))
        return sorted(match, key=lambda item: item.row)

    def has_lists(self, column: str) -> bool:
        """Return whether the values of a column are lists."""
        kind = self._types[self.columns.index(column)]
        return _is_any(getattr(kind, "value_type", kind), _LISTS) or _is_any(kind, _LISTS)

    def exact_limit(self, column: str) -> int | None:
        """Return below which number the whole numbers of a column of floats are exact; ``None`` of other columns."""
        types, kind = _pyarrow().types, self._types[self.columns.index(column)]
        kind = getattr(kind, "value_type", kind)
        return 1 << _EXACT_BITS[kind.bit_width] if types.is_floating(kind) else None

    def can_read(self, column: str) -> bool:
        """Return whether the values of a column are texts, numbers or times, neither lists nor objects."""
        types = _pyarrow().types
        place = self.columns.index(column)
        kind, convert = self._types[place], self._converter(place)
        is_nested = types.is_nested(kind) or types.is_nested(getattr(kind, "value_type", kind))
        return convert not in (None, _json_values) and not is_nested


class BinaryValue(NamedTuple):
    """Bytes that are no text in UTF-8."""

    content: bytes

    def __str__(self) -> str:
        """Return the bytes as messages show them: the first few."""
        return repr(self.content[:_LARGE_BYTES])[1:]


@cache
def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415  # the extra "parquet": it weighs more than all else together
        import pyarrow.compute  # noqa: PLC0415  # as above
        import pyarrow.ipc  # noqa: PLC0415  # as above
        import pyarrow.parquet  # noqa: PLC0415  # as above
    except ImportError as error:
        raise Refused("Tables of Parquet and Arrow need pyarrow: install penchant-import[parquet].") from error
    return pa


def open_frame(files: Files, file: InputFile) -> Frame:
    """Return a table.

    Raises:
        Refused: pyarrow is not installed.
        UnreadableFile: it is no such table, or one whose log alone tells which rows there still are.
    """
    pa, ipc = _pyarrow(), _pyarrow().ipc
    _require_no_log(file)
    with _readable(file):
        with files.open(file) as stream:
            start = stream.read(len(_ARROW_FILE))
        is_packed = file.member is not None
        if not is_packed:
            with file.path.open("rb") as raw:
                is_packed = raw.read(len(_GZIP)) == _GZIP
        # Mapped, so that a table may be larger than the memory; what is packed has to be unpacked into it.
        source = pa.py_buffer(files.document(file)) if is_packed else pa.memory_map(str(file.path))
        if start.startswith(_PARQUET):
            table, has_large = _open_parquet(source)
            return Frame(file, table.schema_arrow, table.iter_batches(batch_size=_BATCH_ROWS), has_large=has_large)
        # The first bytes tell, not the name: some call both alike.
        if start == _ARROW_FILE:
            reader = ipc.open_file(source)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            reader = batches = ipc.open_stream(source)
        return Frame(file, reader.schema, (part for batch in batches for part in _parts(batch)))


def _require_no_log(file: InputFile) -> None:
    for folder in file.path.absolute().parents:
        if any(folder.glob("_delta_log/*.json")):
            table, scan = folder, "scan_delta"
        elif folder.name == "data" and any(folder.parent.glob("metadata/*.metadata.json")):
            table, scan = folder.parent, "scan_iceberg"
        else:
            continue
        raise UnreadableFile(
            f"{table}: a table with a log, whose files also hold rows that were changed or deleted. Write those that "
            f"there are into a file elsewhere, for instance in polars by pl.{scan}(…).sink_parquet(…)."
        )


@contextmanager
def _readable(file: InputFile) -> Iterator[None]:
    pa = _pyarrow()
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(printable(str(error)).split())
        if isinstance(error, pa.ArrowNotImplementedError):
            raise UnreadableFile(
                f"{file}: has a column of a type that pyarrow cannot read ({detail}). {_CAST}"
            ) from error
        raise UnreadableFile(f"{file}: no table of Parquet or Arrow ({detail}).") from error


def _parts(batch: Any) -> Iterator[Any]:
    batch.validate()
    for begin in range(0, batch.num_rows, _BATCH_ROWS):
        yield batch.slice(begin, _BATCH_ROWS)


def _open_parquet(source: Any) -> tuple[Any, bool]:
    """Return a file of Parquet, and whether its columns of 16 bytes without a type of their own are numbers.

    The schema of Arrow that polars adds has integers of 128 bits, which Arrow does not know: without it all is read.
    """
    pa = _pyarrow()
    # Spark writes times of 96 bits; as nanoseconds, which is the default, those after 2262 would be others.
    open_parquet = partial(pa.parquet.ParquetFile, source, coerce_int96_timestamp_unit="ms")
    try:
        return open_parquet(), False
    except pa.ArrowNotImplementedError:
        content = memoryview(source if isinstance(source, pa.Buffer) else source.read_buffer())
        size = int.from_bytes(content[-_FOOTER_BYTES : -len(_PARQUET)], "little")
        footer = bytes(content[-_FOOTER_BYTES - size : -_FOOTER_BYTES])
        if _ARROW_SCHEMA not in footer:
            raise
        footer = footer.replace(_ARROW_SCHEMA, _ARROW_SCHEMA.lower())
        alone = io.BytesIO(_PARQUET + footer + size.to_bytes(4, "little") + _PARQUET)
        return open_parquet(metadata=pa.parquet.read_metadata(alone)), True


def _column(convert: Convert, array: Any) -> list[Any]:
    return ["" if value is None else value for value in convert(array)]


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _may_have_bytes(column: Sequence[Any]) -> bool:
    """Return whether a column may have bytes that are no text, also within lists; costs little where it has none."""
    kinds = set(map(type, column))
    if list in kinds:
        cells = (cell for cell in column if type(cell) is list)
        kinds = kinds - {list} | set(map(type, chain.from_iterable(cells)))
    return not kinds <= _PLAIN


def _problems(
    names: Sequence[str], columns: Sequence[list[Any]], needed: Callable[[str], bool], odd: Iterable[int]
) -> dict[int, str]:
    """Return the rows of a batch, from 0, with bytes that are no text where one is needed, and what is wrong."""
    return {
        number: f"The column {printable(name)} holds bytes that are no UTF-8 ({value}); write it as texts in UTF-8."
        for name, column in ((names[place], columns[place]) for place in odd)
        if needed(name)
        for number, cell in enumerate(column)
        for value in (_bytes_within(cell) if isinstance(cell, list | dict) else (cell,))
        if isinstance(value, BinaryValue) and (value is cell or not _CONTROL.search(value.content))
    }


_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""What data has, and no text, however it is written."""


def _bytes_within(value: Any) -> Iterator[BinaryValue]:
    """Yield what of a list or an object, at any depth, are bytes that are no text."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, BinaryValue):
            yield item
        elif isinstance(item, list | dict):
            yield from _bytes_within(item)


def _without_bytes(
    names: Sequence[str], columns: list[list[Any]], odd: Iterable[int], done: int
) -> Iterator[OmittedValues]:
    """Take bytes that are no text out of lists and objects; yield of which columns, how many, and the first row."""
    for place in odd:
        column = columns[place]
        rows = [
            number
            for number, cell in enumerate(column)
            if isinstance(cell, list | dict) and any(True for _ in _bytes_within(cell))
        ]
        if rows:
            columns[place] = [_readable_part(cell) for cell in column]
            yield OmittedValues(names[place], len(rows), done + rows[0] + 1, "binary")


def _readable_part(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: None if isinstance(item, BinaryValue) else _readable_part(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_readable_part(item) for item in value if not isinstance(item, BinaryValue)]
    return value


def _count_filled(array: Any) -> tuple[int, int]:
    """Return how many values of an array hold something, neither nothing nor zero, and the place of the first."""
    pa, compute, types = _pyarrow(), _pyarrow().compute, _pyarrow().types
    kind = array.type
    try:
        if types.is_boolean(kind):
            filled = array.fill_null(False)
        elif types.is_integer(kind) or types.is_floating(kind):
            filled = compute.not_equal(array, pa.scalar(0, kind)).fill_null(False)
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
            filled = compute.greater(compute.binary_length(array), 0).fill_null(False)
        elif types.is_list(kind) or types.is_large_list(kind):
            filled = compute.greater(compute.list_value_length(array), 0).fill_null(False)
        else:
            filled = array.is_valid()
        return filled.true_count, compute.index(filled, True).as_py()
    except pa.ArrowException:
        # Of a type for which there is no such kernel it is only told that there are values.
        count = len(array) - array.null_count
        return count, 0


def _converter(kind: Any, *, has_large: bool = False) -> Convert | None:
    """Return what converts arrays of a type; ``None`` of types that are not read."""
    pa, types = _pyarrow(), _pyarrow().types
    if isinstance(kind, pa.BaseExtensionType):
        return _EXTENSIONS.get(kind.extension_name)
    take_inner = next((take for kinds, take in _NESTED.items() if _is_any(kind, kinds)), None)
    if take_inner is not None:
        convert = _converter(kind.value_type)
        return None if convert is None else partial(take_inner, convert)
    if types.is_struct(kind):
        members = {field.name: convert for field in kind if (convert := _converter(field.type)) is not None}
        return partial(_structs, members) if members else None
    if types.is_map(kind):
        keys, items = _converter(kind.key_type), _converter(kind.item_type)
        return None if keys is None or items is None else partial(_maps, keys, items)
    if types.is_fixed_size_binary(kind) and has_large and kind.byte_width == _LARGE_BYTES:
        return _large_integers
    unit = getattr(kind, "unit", None)
    return next((take(unit) for kinds, take in _SIMPLE.items() if _is_any(kind, kinds)), None)


def _is_any(kind: Any, kinds: str) -> bool:
    """Return whether a type is one of several, by the names of what tells them in pyarrow."""
    types = _pyarrow().types
    return any(getattr(types, name)(kind) for name in kinds.split())


def _values(array: Any) -> list[Any]:
    return array.to_pylist()  # type: ignore[no-any-return]


def _convert(convert: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """Return values converted, and nothing where there is none."""
    return [None if value is None else convert(value) for value in values]


def _floats(array: Any) -> list[Any]:
    return _convert(_number, array.cast(_pyarrow().float64()).to_pylist())


def _number(value: float) -> float | int | None:
    # A column with a hole is one of floats in a data frame, ids and years included.
    if value.is_integer():
        return int(value) if abs(value) < 1 << 63 else value
    return value if math.isfinite(value) else None


def _decimals(array: Any) -> list[Any]:
    return _convert(_decimal, array.to_pylist())


def _decimal(value: Decimal) -> float | int | str | None:
    """Return a decimal as a number, or as a text where no number has all of its digits."""
    if not value.is_finite():
        return None
    if value == value.to_integral_value():
        return _integer(int(value))
    number = float(value)
    # Not normalised: that would round to the 28 digits of a context.
    return number if Decimal(repr(number)) == value else format(value, "f").rstrip("0").rstrip(".")


def _integer(value: int) -> int | str:
    return value if -(1 << 63) <= value < 1 << 64 else str(value)


def _large_integers(array: Any) -> list[Any]:
    return _convert(lambda value: _integer(int.from_bytes(value, "little", signed=True)), array.to_pylist())


def _texts(array: Any) -> list[Any]:
    pa = _pyarrow()
    try:
        return array.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return _bytes(array.cast(pa.large_string()).view(pa.large_binary()))


def _bytes(array: Any) -> list[Any]:
    return _convert(_text, array.to_pylist())


def _text(value: bytes) -> str | BinaryValue:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return BinaryValue(value)
    # Intervals, shapes and vectors may be UTF-8 by chance; no text has this character.
    return BinaryValue(value) if "\0" in text else text


def _milliseconds(times: int, parts: int, array: Any) -> list[int | None]:
    pa = _pyarrow()
    kind = pa.int32() if array.type.bit_width < 64 else pa.int64()
    return _convert(lambda value: value * times // parts, array.view(kind).to_pylist())


def _moments(times: int, parts: int, array: Any) -> list[Any]:
    """Return times as ISO 8601 in UTC, years past 9999 with a sign and all their digits; ``infinity`` is none."""
    endless = _ENDLESS * times // parts
    return _convert(lambda value: None if abs(value) >= endless else _iso(value), _milliseconds(times, parts, array))


def _iso(milliseconds: int) -> str:
    is_far = not _FIRST_MS <= milliseconds <= _LAST_MS
    # The calendar is the same every 400 years.
    cycles, within = divmod(milliseconds, _CYCLE_MS) if is_far else (0, milliseconds)
    moment = _EPOCH + timedelta(milliseconds=within)
    text = moment.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds")
    return f"{moment.year + 400 * cycles:+06}{text[4:]}" if is_far else text


def _day(days: int) -> str:
    return _iso(days * _DAY_MS).partition("T")[0]


def _days(parts: int, array: Any) -> list[Any]:
    endless = _ENDLESS_DAYS if array.type.bit_width < 64 else _ENDLESS // parts
    return _convert(lambda value: None if abs(value) >= endless else _day(value), _milliseconds(1, parts, array))


def _time_of_day(milliseconds: int) -> str | None:
    if not 0 <= milliseconds < _DAY_MS:
        return None
    time = (_EPOCH + timedelta(milliseconds=milliseconds)).time()
    return time.isoformat("milliseconds" if milliseconds % 1000 else "seconds")


def _duration(milliseconds: int) -> Any:
    """Return a length of time as ISO 8601 writes it."""
    most = timedelta.max // timedelta(milliseconds=1)
    return msgspec.to_builtins(timedelta(milliseconds=milliseconds)) if abs(milliseconds) < most else None


def _dictionary(convert: Convert, array: Any) -> list[Any]:
    values = convert(array.dictionary)
    return [None if index is None else values[index] for index in array.indices.to_pylist()]


def _run_ends(convert: Convert, array: Any) -> list[Any]:
    compute = _pyarrow().compute
    return convert(compute.run_end_decode(array))


def _lists(convert: Convert, array: Any) -> list[Any]:
    compute = _pyarrow().compute
    values, lists, at = convert(array.flatten()), [], 0
    for length in compute.list_value_length(array).to_pylist():
        lists.append(None if length is None else values[at : at + length])
        at += length or 0
    return lists


def _structs(members: dict[str, Convert], array: Any) -> list[Any]:
    inner = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    columns = [convert(inner[name]) for name, convert in members.items()]
    return [
        dict(zip(members, values, strict=True)) if is_there else None
        for is_there, *values in zip(array.is_valid().to_pylist(), *columns, strict=True)
    ]


def _maps(convert_key: Convert, convert_item: Convert, array: Any) -> list[Any]:
    """Return maps as objects; a key that stands twice has its last value."""
    offsets = array.offsets.to_pylist()
    begin, length = offsets[0], offsets[-1] - offsets[0]
    keys = [str(key) for key in convert_key(array.keys.slice(begin, length))]
    items = convert_item(array.items.slice(begin, length))
    return [
        dict(zip(keys[at - begin : end - begin], items[at - begin : end - begin], strict=True)) if is_there else None
        for is_there, at, end in zip(array.is_valid().to_pylist(), offsets, offsets[1:], strict=False)
    ]


_LISTS = "is_list is_large_list is_fixed_size_list is_list_view is_large_list_view"
_NESTED: dict[str, Callable[[Convert, Any], list[Any]]] = {
    "is_dictionary": _dictionary,
    "is_run_end_encoded": _run_ends,
    _LISTS: _lists,
}
"""What converts types that have values of another one, by what tells them."""
_SIMPLE: dict[str, Callable[[Any], Convert]] = {
    "is_boolean is_null is_integer": lambda _: _values,
    "is_floating": lambda _: _floats,
    "is_decimal": lambda _: _decimals,
    "is_string is_large_string is_string_view": lambda _: _texts,
    "is_binary is_large_binary is_binary_view is_fixed_size_binary": lambda _: _bytes,
    "is_timestamp": lambda unit: partial(_moments, *_PER_MS[unit]),
    "is_date32": lambda _: partial(_days, 1),
    "is_date64": lambda _: partial(_days, _DAY_MS),
    "is_time": lambda unit: lambda array: _convert(_time_of_day, _milliseconds(*_PER_MS[unit], array)),
    "is_duration": lambda unit: lambda array: _convert(_duration, _milliseconds(*_PER_MS[unit], array)),
}
"""What converts types without others in them, by their unit, by what tells them."""
_PERIOD = "pandas.period"


def _period_unit(field: Any) -> str | None:
    """Return of which length the periods of a column of pandas are, such as ``M``; ``None`` of other columns."""
    kind, stated = field.type, field.metadata or {}
    if stated.get(b"ARROW:extension:name") == _PERIOD.encode():
        content = stated.get(b"ARROW:extension:metadata", b"")
    elif getattr(kind, "extension_name", "") == _PERIOD:
        content = kind.__arrow_ext_serialize__()
    else:
        return None
    match = _FREQUENCY.search(content)
    return match[1].decode() if match else ""


_FREQUENCY = re.compile(rb'"freq"\s*:\s*"([\w-]+)"')


def _periods(text_of: Callable[[int], str | None], array: Any) -> list[Any]:
    return _convert(text_of, getattr(array, "storage", array).to_pylist())


def _months(months: int) -> str:
    year, month = divmod(months, 12)
    return f"{1970 + year:04}-{month + 1:02}"


_PERIODS: dict[str, Convert] = {
    unit: partial(_periods, text_of)
    for unit, text_of in {
        "Y-DEC": lambda years: f"{1970 + years:04}",
        "Q-DEC": lambda quarters: f"{1970 + quarters // 4:04}Q{quarters % 4 + 1}",
        "M": _months,
        "D": _day,
        "h": lambda hours: _iso(hours * 3_600_000),
        "min": lambda minutes: _iso(minutes * 60_000),
        "s": lambda seconds: _iso(seconds * 1_000),
        "ms": _iso,
    }.items()
}
"""What converts periods, by their length, into the text that pandas shows, or the time when they begin."""


def _json_values(array: Any) -> list[Any]:
    return [_json(text) if isinstance(text, str) else text for text in _texts(array.storage)]


def _json(text: str) -> Any:
    """Return what a text of JSON is; a number stays a text, with all its digits."""
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return text


_EXTENSIONS: dict[str, Convert] = {
    "arrow.uuid": lambda array: _convert(lambda value: str(UUID(bytes=value)), array.storage.to_pylist()),
    "arrow.json": _json_values,
    "arrow.bool8": lambda array: _convert(lambda value: value != 0, array.storage.to_pylist()),
}
"""What converts arrays of the types that extend others, by name; those of others are not read."""

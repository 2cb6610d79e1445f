"""Frames: columns of pandas, polars, pyarrow, or dictionaries of columns, in and out; the engine needs none of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penchant_engine.errors import InvalidInput
from penchant_engine.index.layout import IntArray

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
MILLISECONDS_FROM = 10**11
"""Numbers from here on are milliseconds since 1970, smaller ones seconds: in seconds it is the year 5138."""
_TOO_LARGE = 10**19
_UNITS = ((10**17, 10**6), (10**14, 10**3), (MILLISECONDS_FROM, 1))
"""From which number on they are nanoseconds, microseconds and milliseconds, and how many of these a millisecond has."""
_PLAIN = ("int", "uint", "float", "double", "timestamp")
"""How types of Arrow begin of which numpy has the same."""


def library_of(frame: Any) -> Library | None:
    """Return whose frame this is, ``None`` for what is none of theirs."""
    root = type(frame).__module__.partition(".")[0]
    return next((name for name in LIBRARIES if name == root), None)


def column_of(frame: Any, name: str) -> NDArray[Any]:
    """Return a column as an array, of objects where it holds no numbers or times; ``None`` or NaN is what is missing.

    Raises:
        InvalidInput: the frame has no such column, or is no frame.
    """
    library = library_of(frame)
    names = names_of(frame)
    if name not in names:
        raise InvalidInput(f"The frame has no column {name!r}; it has {', '.join(map(repr, names)) or 'none'}.")
    if library == "pandas":
        column = frame[name]
        return np.asarray(column.to_numpy() if column.dtype.kind in "iufMb" else column.astype(object).to_numpy())
    if library == "polars":
        column = frame.get_column(name)
        return _array_of(column.to_list() if column.dtype.is_nested() else column.to_numpy())
    if library == "pyarrow":
        # Of a type of its own, such as a dictionary of values or a list, only Python's objects say the same everywhere.
        column = frame.column(name)
        is_plain = column.null_count == 0 and str(column.type).startswith(_PLAIN)
        return _array_of(column.to_numpy() if is_plain else column.to_pylist())
    return _array_of(frame[name])


def names_of(frame: Any) -> list[str]:
    """Return the names of the columns of a frame; raises as `column_of`."""
    library = library_of(frame)
    if library == "pyarrow":
        return [*frame.column_names]
    if type(frame).__name__ == "LazyFrame":
        raise InvalidInput("The frame is lazy: collect() it.")
    if library is not None or isinstance(frame, Mapping):
        return [*(frame.columns if library is not None else frame)]
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    raise InvalidInput(f"A frame of pandas, polars or pyarrow is accepted, or a dictionary of columns; found {kind}.")


def _array_of(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    values = [*values]
    array = np.empty(len(values), dtype=object)
    # One by one: numpy would make a table of lists of one length.
    for place, value in enumerate(values):
        array[place] = value
    return array


def ids_of(column: NDArray[Any], name: str) -> list[str]:
    """Return ids as text: whole numbers as they are written, also where a column with holes has made floats of them.

    Raises:
        InvalidInput: one is missing, blank, a fraction, or a float so large that it has lost digits.
    """
    if column.dtype.kind in "iu":
        return [*map(str, column.tolist())]
    bound = 2 << np.finfo(column.dtype if column.dtype.kind == "f" else np.float64).nmant
    ids: list[Any] = column.tolist()
    for row, value in enumerate(ids):
        if isinstance(value, str) and value:
            continue
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, float) and number.is_integer():
            if abs(number) >= bound:
                raise InvalidInput(f"Row {row} has no id in {name!r}: floats lose digits from {bound} on; write texts.")
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool):
            raise InvalidInput(f"Row {row} has no id in {name!r}: {value!r} is neither a text nor a whole number.")
        ids[row] = str(number)
    return ids


def numbered(ids: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return distinct ids, ascending, and for each of ``n`` ids its place there; shape (n,)."""
    distinct = sorted(set(ids))
    places = {each: place for place, each in enumerate(distinct)}
    return distinct, np.fromiter(map(places.__getitem__, ids), np.int64, len(ids))


def moment_of(value: Any) -> int | None:
    """Return a moment in milliseconds since 1970 UTC; ``None`` for what is missing. A time without a zone is of UTC.

    Raises:
        InvalidInput: it is no moment.
    """
    if is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[ms]").astype(np.int64))
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{value!r} is no moment; one such as 2026-01-02T03:04:05Z is accepted.") from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return math.floor(aware.timestamp() * 1000)
    if isinstance(value, date):
        return math.floor(datetime.combine(value, time(), UTC).timestamp() * 1000)
    return _moment_of_number(value)


def _moment_of_number(value: Any) -> int:
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not abs(number) < _TOO_LARGE:
        raise InvalidInput(
            f"{value!r} is no moment; a datetime, a text such as 2026-01-02, or seconds since 1970 are accepted."
        )
    for least, factor in _UNITS:
        if abs(number) >= least:
            return math.floor(number / factor)
    return math.floor(number * 1000)


def _is_no_time(value: Any) -> bool:
    """Return whether a value is the missing time or value of numpy or pandas, which equals nothing, itself included."""
    kind = type(value).__name__
    return kind in {"NaTType", "NAType"} or (isinstance(value, np.datetime64) and bool(np.isnat(value)))


def moments_of(column: NDArray[Any]) -> IntArray:
    """Return a column of moments, -1 for what is missing; raises as `moment_of`."""
    if column.dtype.kind == "M":
        moments = column.astype("datetime64[ms]").astype(np.int64)
        moments[np.isnat(column)] = -1
        return moments
    if column.dtype.kind in "iu":
        wide = column.astype(np.int64)
        factors = [wide // factor for _, factor in _UNITS]
        return np.select([np.abs(wide) >= least for least, _ in _UNITS], factors, wide * 1000)
    found = [moment_of(value) for value in column.tolist()]
    return np.asarray([-1 if each is None else each for each in found], dtype=np.int64)


def keywords_of(cell: Any, separator: str | None = None) -> dict[str, int | None]:
    """Return the keywords of a cell with their weights, ``None`` for those that have none.

    A text is one keyword, or several between separators; a list holds keywords, pairs of a keyword and its weight, or
    dictionaries of ``key`` and ``weight``; a dictionary has weights by keyword, of which one that is missing is no
    keyword. Nothing, blanks and NaN are no keywords, numbers are written as they are.

    Raises:
        InvalidInput: something else is in it, or a weight is no whole number.
    """
    if isinstance(cell, Mapping):
        return {_keyword_of(each): _weight_of(weight) for each, weight in cell.items() if not is_missing(weight)}
    if isinstance(cell, str):
        parts = cell.split(separator) if separator else [cell]
        return dict.fromkeys(part.strip() for part in parts if part.strip())
    if isinstance(cell, Iterable):
        pairs = (_pair_of(each) for each in cell if not is_missing(each))
        return {_keyword_of(keyword): None if is_missing(weight) else _weight_of(weight) for keyword, weight in pairs}
    return {} if is_missing(cell) else {_keyword_of(cell): None}


def _pair_of(entry: Any) -> tuple[Any, Any]:
    if isinstance(entry, Mapping) and "key" in entry:
        return entry["key"], entry.get("weight")
    return entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)


def _keyword_of(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if isinstance(plain, str | int | float | date):
        return str(plain)
    raise InvalidInput(f"{value!r} is no keyword: a text or a number is accepted, or a list of these.")


def _weight_of(value: Any) -> int:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or number % 1:
        raise InvalidInput(f"The weight {value!r} is no whole number: scale and round weights, from 1 to 10,000.")
    return int(number)


def is_missing(value: Any) -> bool:
    """Return whether a value is none: ``None``, NaN, or the missing time or value of numpy or pandas."""
    return value is None or _is_no_time(value) or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def frame_of(columns: Mapping[str, Sequence[Any] | NDArray[Any]], library: Library | None = None) -> Any:
    """Return columns as a frame of a library; without one as that of the first that is installed.

    Raises:
        ModuleNotFoundError: it is not installed, or none is.
    """
    if library is not None and library not in LIBRARIES:
        raise InvalidInput(f"There are no frames of {library!r}: {', '.join(LIBRARIES)} are accepted.")
    for name in LIBRARIES if library is None else (library,):
        try:
            return _MAKERS[name](columns)
        except ModuleNotFoundError:
            if library is not None:
                raise
    raise ModuleNotFoundError("Frames need pandas, polars or pyarrow, of which none is installed.")


def _of_pandas(columns: Mapping[str, Any]) -> Any:
    import pandas as pd  # noqa: PLC0415  # only whoever has it wants its frames

    return pd.DataFrame(dict(columns))


def _of_polars(columns: Mapping[str, Any]) -> Any:
    import polars as pl  # noqa: PLC0415  # as above

    return pl.DataFrame(dict(columns))


def _of_pyarrow(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # as above

    return pa.table(dict(columns))


_MAKERS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}

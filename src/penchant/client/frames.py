"""Data frames as pieces: rows of pandas or polars, or any mappings, that are submitted column by column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from penchant.client.errors import InvalidArgument
from penchant.client.flows import submit_content
from penchant.client.requests import Flow
from penchant.wire import Receipt


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
    """Submit the rows of a data frame of pandas or polars as pieces, 2,000 at a time.

    Ids are written as texts, so that numbers are taken; empty cells (``None``, NaN) are left out.
    """
    total = yield from submit_content(source, _pieces(frame, columns), wait=columns.get("wait", False))
    return total


def _pieces(frame: Any, columns: FrameOptions) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame as pieces; empty cells are left out, and so are categories without keywords."""
    chosen = columns.get("categories", ())
    categories = chosen if isinstance(chosen, Mapping) else {name: name for name in chosen}
    weights = columns.get("weights") or {}
    for row in _rows(frame):
        piece: dict[str, Any] = {"id": _text(_cell(row, columns.get("id", "id")))}
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
            piece["filters"] = {"catalogs": [_text(each) for each in _listed(_cell(row, catalogs))]}
        extras = {name: value for name in columns.get("extras") or () if (value := _cell(row, name)) is not None}
        yield piece | ({"extras": extras} if extras else {})


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    # By what it can do, not by its type: neither polars (first) nor pandas has to be installed.
    if hasattr(frame, "iter_rows"):
        rows: Iterable[Mapping[str, Any]] = frame.iter_rows(named=True)
        return rows
    if hasattr(frame, "itertuples"):
        names = [str(name) for name in frame.columns]
        return (dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None))
    if isinstance(frame, Iterable) and not isinstance(frame, str | bytes | Mapping):
        return frame
    raise InvalidArgument(f"Found {type(frame).__name__}; a data frame of pandas or polars, or mappings, are accepted.")


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
    # Only NaN differs from itself; arrays compare entry by entry, and are no cell that is empty.
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _keywords(row: Mapping[str, Any], column: str, weight_column: str | None) -> list[Any]:
    """Return the keywords of a cell, with the weights of another cell where a column of weights is named.

    Raises:
        InvalidArgument: there are not as many weights as keywords.
    """
    keywords = [_text(each) for each in _listed(_cell(row, column))]
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


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _text(value: Any) -> Any:
    """Return an id or keyword as a text; whole numbers without the fraction that a frame with holes gives them."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if value is not None and not isinstance(value, bool) else value

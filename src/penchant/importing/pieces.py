"""How is a piece put together from fields of another system, and what of them does not fit into one?"""

from collections.abc import Iterable, Mapping
from typing import Any

from penchant.importing.choices import Choices, Column
from penchant.importing.drafts import Draft, Kind
from penchant.importing.moments import read_moment
from penchant.importing.notes import Notes
from penchant.model import MAX_WEIGHT
from penchant.wire import encode, id_problem, name_problem
from penchant.wire.text import label_problem

LABELS = ("label", "title", "name")
"""What a field is called that names a piece, where nothing else is chosen."""


class PieceBuilder:
    """A piece that grows field by field; what cannot be part of one is noted as left out."""

    def __init__(self, notes: Notes, file: str, line: int, piece_id: Any) -> None:
        self._notes = notes
        self._file = file
        self._line = line
        self._categories: dict[str, list[Any]] = {}
        self._filters: dict[str, Any] = {}
        self._extras: dict[str, Any] = {}
        self._piece: dict[str, Any] = {"id": str(piece_id) if isinstance(piece_id, int) else piece_id}

    def label(self, field: str, text: str) -> None:
        """Take a text as the label."""
        problem = label_problem(text)
        if problem:
            self._leave(field, f"no label: {problem}")
        elif text:
            self._piece["label"] = text
            self._take(field, "label")

    def keywords(self, field: str, category: str, values: Iterable[Any]) -> None:
        """Take texts as keywords of a category, each once."""
        self.weights(field, category, dict.fromkeys(value for value in values if self._is_keyword(field, value)))

    def weights(self, field: str, category: str, weights: Mapping[str, int | None]) -> None:
        """Take keywords with their weights, cut at the greatest one; ``None`` is no weight."""
        if name_problem(category):
            self._leave(field, "no name of a category")
            return
        found: list[Any] = [
            keyword if weight is None else {"key": keyword, "weight": min(weight, MAX_WEIGHT)}
            for keyword, weight in weights.items()
            if weight is None or self._is_keyword(field, keyword)
        ]
        if found:
            self._categories.setdefault(category, []).extend(found)
            self._take(field, f"categories/{category}")

    def catalogs(self, field: str, values: Iterable[Any]) -> None:
        """Take texts as catalogs."""
        found = []
        for value in values:
            if not isinstance(value, str) or name_problem(value):
                self._leave(field, "no name of a catalog")
            elif value not in found:
                found.append(value)
        if found:
            self._filters["catalogs"] = found
            self._take(field, "filters/catalogs")

    def moment(self, field: str, member: str, value: Any) -> None:
        """Take a time as a member of the filters."""
        try:
            moment = read_moment(value)
        except ValueError as error:
            self._leave(field, str(error))
            return
        if moment is not None:
            self._filters[member] = moment
            self._take(field, f"filters/{member}")

    def keep(self, field: str, member: str, value: Any) -> None:
        """Take a value as it is into the extras, where it plays no part in lists."""
        if value is not None and value != "":
            self._extras[member] = value
            self._take(field, f"extras/{member}")

    def value(self, field: str, name: str, value: Any, choices: Choices, *, text_is_keyword: bool = False) -> None:
        """Take any value: lists of texts as keywords of a category of that name, single values as extras.

        With ``text_is_keyword`` a single text is a keyword as well, and objects are nested categories.
        """
        chosen = next((column for column in choices.keywords if column.column in {name, field}), None)
        if value is None or value in ("", []):
            return
        if chosen is not None:
            self.keywords(field, chosen.category, split(value, chosen))
        elif choices.catalogs is not None and choices.catalogs.column in {name, field}:
            self.catalogs(field, split(value, choices.catalogs))
        elif isinstance(value, str) and name in ((choices.label_column,) if choices.label_column else LABELS):
            self.label(field, value)
        elif isinstance(value, list):
            self._list(field, name, value)
        elif isinstance(value, dict) and text_is_keyword:
            for member, inner in value.items():
                self.value(f"{field}/{member}", f"{name}/{member}", inner, choices, text_is_keyword=True)
        elif isinstance(value, str) and text_is_keyword:
            self.keywords(field, name, [value])
        else:
            self.keep(field, name, value)

    def draft(self) -> Draft:
        """Return the piece."""
        members = {"categories": self._categories, "filters": self._filters, "extras": self._extras}
        return Draft(Kind.PIECE, self._file, self._line, encode(self._piece | members))

    def _list(self, field: str, name: str, values: list[Any]) -> None:
        if any(isinstance(value, str) for value in values):
            self.keywords(field, name, values)
        else:
            self._leave(field, "a list without texts holds no keywords")

    def _is_keyword(self, field: str, value: Any) -> bool:
        problem = id_problem(value) if isinstance(value, str) else "not a text."
        if problem:
            self._leave(field, f"no keyword: {problem}")
        return not problem

    def _take(self, field: str, to: str) -> None:
        self._notes.mapped(self._file, field, to)

    def _leave(self, field: str, reason: str) -> None:
        self._notes.left_out(self._file, field, reason, self._line)


def split(value: Any, column: Column) -> list[Any]:
    """Return the values of a column: those of a list, or of a text by the column's separator, ``|`` or ``;``."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return [str(value)] if isinstance(value, int) else [value]
    separators = [column.separator] if column.separator else ["|", ";"]
    separator = next((each for each in separators if each in value), None)
    parts = value.split(separator) if separator else [value]
    return [part.strip() for part in parts if part.strip()]

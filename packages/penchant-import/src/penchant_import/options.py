"""Options of an import: what a person can say where a format leaves it open."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from penchant_engine.model import InteractionType
from penchant_import.files import TableForm
from penchant_import.rules import AUTO

DEFAULT_SCALE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordColumn:
    """A column or field that becomes the keywords of a category, and what separates them in a text.

    ``text`` is how it was written where that can be read in several ways: columns may have colons in their names.
    """

    column: str
    category: str
    separator: str | None = None
    text: str = field(default="", compare=False)

    @property
    def option_text(self) -> str:
        """How the option was written."""
        return self.text or f"{self.category}={self.column}"

    def resolve(self, columns: Collection[str]) -> "KeywordColumn":
        """Return this as it is meant of a table with these columns: by the longest one that there is."""
        best = self
        places = [place for place, letter in enumerate(self.text) if letter == "="] if self.category else [-1]
        for place in places if self.text else []:
            rest = self.text[place + 1 :]
            for column in columns:
                is_longer = best is self or len(column) > len(best.column)
                if is_longer and (rest == column or rest.startswith(f"{column}:")):
                    separator = rest[len(column) + 1 :] or None
                    category = self.text[: max(0, place)]
                    best = replace(self, column=column, category=category, separator=separator)
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import; what is ``None`` or empty is found by the format itself.

    ``types`` maps names of actions, in small letters, to interactions; ``*`` stands for those without a name.
    ``columns`` are those of a table without a heading. ``time_format`` is how times are written, in the words of
    `datetime.strptime`. ``without_times`` says that interactions without a time that is understood happen when they are
    imported. ``user`` is the person whose interactions files hold that name nobody: what a single person can export of
    an account. ``words`` are the members of pieces whose words become keywords in a source that the import makes: no
    words where it is empty; ``language`` is that of these texts, whose stop words are left out.
    """

    id_column: str | None = None
    label_column: str | None = None
    user_column: str | None = None
    type_column: str | None = None
    rating_column: str | None = None
    time_column: str | None = None
    keywords: tuple[KeywordColumn, ...] = ()
    catalogs: KeywordColumn | None = None
    types: Mapping[str, InteractionType] = field(default_factory=dict)
    rating_scale: float = DEFAULT_SCALE
    delimiter: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] = ()
    decimal: str = "."
    time_format: str | None = None
    without_times: bool = False
    user: str | None = None
    words: tuple[str, ...] | None = None
    language: str = AUTO

    @property
    def form(self) -> TableForm:
        """How tables are written."""
        return TableForm(self.delimiter, self.encoding, self.columns)

    def resolve(self, columns: Collection[str]) -> "ImportOptions":
        """Return these options with the columns of keywords and catalogs that are meant of a table with these."""
        if not self.keywords and self.catalogs is None:
            return self
        catalogs = None if self.catalogs is None else self.catalogs.resolve(columns)
        return replace(self, keywords=tuple(item.resolve(columns) for item in self.keywords), catalogs=catalogs)


def parse_column(text: str, *, category: bool = True) -> KeywordColumn:
    """Return the column in ``CATEGORY=COLUMN:SEPARATOR``, or ``COLUMN:SEPARATOR``; the separator may be missing.

    `KeywordColumn.among` finds columns that have ``=`` or ``:`` in their names.

    Raises:
        ValueError: there is no category or no column.
    """
    name, equals, rest = text.partition("=") if category else ("-", "=", text)
    column, _, separator = rest.partition(":")
    if not equals or not name or not column:
        raise ValueError("write CATEGORY=COLUMN:SEPARATOR" if category else "write COLUMN:SEPARATOR")
    return KeywordColumn(column=column, category=name if category else "", separator=separator or None, text=text)


def parse_type(text: str) -> tuple[str, InteractionType]:
    """Return the name of an action, in small letters, and the interaction in ``NAME=TYPE``.

    Raises:
        ValueError: it is not of that form, or there is no such type.
    """
    name, equals, kind = text.rpartition("=")
    types = {item.value.lower(): item for item in InteractionType}
    if not equals or not name or kind.lower() not in types:
        raise ValueError("write NAME=TYPE with one of " + ", ".join(item.value for item in InteractionType))
    return name.lower(), types[kind.lower()]

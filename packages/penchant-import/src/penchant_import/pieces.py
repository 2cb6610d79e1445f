"""Pieces of other systems: how one is put together from fields, or from rows, and which fields do not fit into one.

A format whose fields have names of their own says what becomes of each in a table of `FieldTaker`.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from math import inf
from typing import Any
from zlib import crc32

from penchant_engine.model import MAX_WEIGHT
from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import TableRow, quoted
from penchant_import.measures import is_measure, normalize_name
from penchant_import.moments import excerpt, read_moment
from penchant_import.options import ImportOptions, KeywordColumn
from penchant_import.placeholders import is_never, is_nothing
from penchant_import.report import NO_PLACE, Notes
from penchant_import.rules import MAX_ID_LENGTH, encode, id_problem, label_problem, name_problem
from penchant_import.texts import LISTED, name_of, plain_name, plain_text, read_list

HIDDEN_SINCE = "1970-01-01T00:00:00.000Z"
"""Until when a hidden piece is available."""
LABELS = ("label", "title", "name")
"""What a field is called that names a piece, where nothing else is chosen."""
_DESCRIPTIONS = (
    "description descriptions desc summary overview synopsis plot body bodyhtml text content abstract blurb "
    "longdescription shortdescription productdescription articletext storyline lead teaser"
)
DESCRIPTION_NAMES = frozenset(_DESCRIPTIONS.split())
"""Names of fields, as they are compared, of texts that describe a piece."""
_AMOUNTS_END = 1e12
"""No shop has as many of anything."""
SOLD_OUT = frozenset({"outofstock", "soldout", "discontinued"})
"""What says, as it is compared, that a product cannot be ordered."""
REPEATED_ID_REASON = (
    "an earlier row of this id stands apart, and is replaced by this one; sort the file by id to have such rows merged"
)


EMPTY: Sequence[Any] = (None, "", [])
"""Values that a field has which says nothing."""
PLACEHOLDER_REASON = "a placeholder, which stands for nothing."
"""Why a word of the table of placeholders is no keyword."""


class PieceBuilder:
    """A piece that grows field by field, out of one row or several; what cannot be part of one is noted as left out.

    Of a label, a time and each extra the first value counts, of keywords and catalogs all do.
    """

    def __init__(
        self,
        notes: Notes,
        file: str,
        line: int,
        piece_id: Any,
        *,
        id_field: str = "",
        options: ImportOptions | None = None,
    ) -> None:
        """Begin a piece; ``id_field`` is noted as the field that its id is in."""
        self._notes = notes
        self._file = file
        self._first_line = self._line = line
        self._options = options or ImportOptions()
        self._categories: dict[str, dict[str, int | None]] = {}
        self._catalogs: dict[str, None] = {}
        self._filters: dict[str, Any] = {}
        self._extras: dict[str, Any] = {}
        self._piece: dict[str, Any] = {"id": str(piece_id) if isinstance(piece_id, int) else piece_id}
        if id_field:
            notes.mapped(file, id_field, "id")

    def continue_at(self, line: int) -> None:
        """Take what follows from a further row."""
        self._line = line

    @property
    def where(self) -> tuple[str, int]:
        """The file, and the line of the row that is being taken."""
        return self._file, self._line

    def label(self, field: str, text: str) -> None:
        """Take a text as the label."""
        text = plain_name(text)
        problem = label_problem(text)
        if problem:
            self.omit(field, f"no label: {problem}")
        elif text:
            self._set(self._piece, field, "label", text)

    def keywords(self, field: str, category: str, values: Iterable[Any]) -> None:
        """Take texts as keywords of a category, each once; objects of numbers are weights by keyword."""
        taken: dict[str, int | None] = {}
        for value in values:
            for text, weight in _weighted(value) if isinstance(value, dict) else ((value, None),):
                if weight is not None and not is_weight(weight):
                    self.omit(field, f"no weight, a whole number from 1 to {MAX_WEIGHT}: scale and round yours")
                elif (keyword := self._keyword(field, text)) is not None:
                    taken[keyword] = None if weight is None else int(weight)
        self._add(field, category, taken)

    def attributes(
        self, field: str, category: str, values: Iterable[Any], is_left: Callable[[str], bool] = is_measure
    ) -> None:
        """Take texts as keywords of a category, but for those that join nothing that is alike: numbers, prices, sizes.

        What ``is_left`` finds is taken only where ``--keywords`` names its category or field.
        """
        for item in self._options.keywords:
            if normalize_name(field) == normalize_name(item.column) or category == item.category:
                self._notes.chosen.add(item.option_text)
                self.keywords(field, category, values)
                return
        taken = []
        for value in values:
            if isinstance(value, str) and is_left(plain_name(value)):
                self.omit(field, f"numbers and sizes; --keywords '{category}={field}' makes keywords of them")
            else:
                taken.append(value)
        self.keywords(field, category, taken)

    def weights(self, field: str, category: str, weights: Mapping[str, int | None]) -> None:
        """Take keywords with their weights, cut at the greatest one; ``None`` is no weight."""
        taken = {
            keyword: weight if weight is None else min(weight, MAX_WEIGHT)
            for text, weight in weights.items()
            if (keyword := self._keyword(field, text)) is not None
        }
        self._add(field, category, taken)

    def _add(self, field: str, category: str, taken: Mapping[str, int | None]) -> None:
        """Add keywords to a category, if it may be one."""
        category = category.strip()
        if name_problem(category):
            self.omit(field, "no name of a category")
            return
        category = self._notes.canonical_category(category)
        if taken:
            self._categories.setdefault(category, {}).update(taken)
            self._take(field, f"categories/{category}")

    def split(self, field: str, value: Any, column: KeywordColumn) -> list[Any]:
        """Return the values of a column: those of a list, also of one in brackets, or of a text by its separator."""
        listed = self.listed(field, value) if isinstance(value, str) else None
        return split(value, column) if listed is None else listed

    def listed(self, field: str, text: str) -> list[Any] | None:
        """Return the list that a text holds in brackets, which is noted; ``None`` where it holds none."""
        listed = read_list(text)
        if listed is not None:
            self._take(field, LISTED)
        return listed

    def note_named(self, field: str, category: str, separator: str) -> None:
        """Note that a column became keywords by its name alone, and what parted them."""
        self._notes.named.add((category, field, separator))

    def catalogs(self, field: str, values: Iterable[Any]) -> None:
        """Take texts as catalogs."""
        names = []
        for value in values:
            if not isinstance(value, str) or name_problem(value) or is_nothing(value):
                self.omit(field, "no name of a catalog")
            else:
                names.append(value)
        if names:
            self._catalogs |= dict.fromkeys(names)
            self._take(field, "filters/catalogs")

    def moment(self, field: str, member: str, value: Any) -> None:
        """Take a time as a member of the filters."""
        try:
            moment = read_moment(value, self._options.time_format, is_end=member == "availableUntil")
        except ValueError as error:
            self.omit(field, str(error))
            return
        if moment is not None:
            self._set(self._filters, field, member, moment, "filters/")

    def hide(self, field: str) -> None:
        """Hide the piece from all lists; it can still be read, and counts in people's taste."""
        self._filters["availableUntil"] = HIDDEN_SINCE
        self._take(field, "filters/availableUntil")

    def keep(self, field: str, member: str, value: Any) -> None:
        """Take a value as it is into the extras, where it plays no part in lists."""
        if value is not None and value != "":
            self._set(self._extras, field, member, value, "extras/")

    def stock(self, field: str, amount: str) -> None:
        """Take how many of a product there are as the extra `stock`, of its rows together; no more than none is sold.

        Unless `orderable` tells it, it can be ordered (`inStock`) where there are any.
        """
        try:
            number = float(amount)
        except ValueError:
            number = inf
        # NaN, as data frames write that nothing is known, is not below anything either.
        if not number < _AMOUNTS_END:
            self.omit(field, "no number")
            return
        total = self._extras.get("stock", 0) + max(0.0, number)
        self._extras["stock"] = int(total) if total == int(total) else total
        self._take(field, "extras/stock")

    def orderable(self, field: str, *, is_orderable: bool) -> None:
        """Take whether a product can be ordered as the extra `inStock`; of several rows one is enough."""
        self._extras["inStock"] = is_orderable or self._extras.get("inStock", False)
        self._take(field, "extras/inStock")

    def has_extra(self, member: str) -> bool:
        """Return whether a value of the extras is there already."""
        return member in self._extras

    def description(self, field: str, text: Any) -> None:
        """Take what describes a piece, for people to read: without HTML, as the extra `description`.

        Sentences that most descriptions of the files have are left out, so that no words are made of them.
        """
        if isinstance(text, str) and (read := plain_text(text)):
            self.keep(field, "description", self._notes.boilerplate.without(read))

    def omit(self, field: str, reason: str = NO_PLACE) -> None:
        """Note that a field is left out."""
        self._notes.left_out(self._file, field, reason, self._line)

    def value(
        self, field: str, name: str, value: Any, options: ImportOptions, *, text_is_keyword: bool = False
    ) -> None:
        """Take any value: lists of texts as keywords of a category of that name, single values as extras.

        With ``text_is_keyword`` a single text is a keyword as well, and objects are nested categories.
        """
        chosen = next((column for column in options.keywords if column.column in {name, field}), None)
        if value is None or value in ("", []):
            return
        # The first that fits: what the person chose, then the name, then the kind of the value.
        if chosen is not None:
            self._notes.chosen.add(chosen.option_text)
            self.keywords(field, chosen.category, self.split(field, value, chosen))
        elif options.catalogs is not None and options.catalogs.column in {name, field}:
            self._notes.chosen.add(options.catalogs.option_text)
            self.catalogs(field, self.split(field, value, options.catalogs))
        elif isinstance(value, str) and name in ((options.label_column,) if options.label_column else LABELS):
            self.label(field, value)
        elif isinstance(value, str) and normalize_name(name) in DESCRIPTION_NAMES:
            self.description(field, value)
        elif isinstance(value, list):
            self._list(field, name, value)
        elif isinstance(value, dict) and text_is_keyword:
            for member, inner in value.items():
                self.value(f"{field}/{member}", f"{name}/{member}", inner, options, text_is_keyword=True)
        elif isinstance(value, str) and text_is_keyword:
            self.keywords(field, name, [value])
        else:
            self.keep(field, name, value)

    def draft(self) -> Draft:
        """Return the piece."""
        if "stock" in self._extras:
            self._extras.setdefault("inStock", self._extras["stock"] > 0)
        categories = {
            category: [
                keyword if weight is None else {"key": keyword, "weight": weight} for keyword, weight in weights.items()
            ]
            for category, weights in self._categories.items()
        }
        filters = ({"catalogs": list(self._catalogs)} if self._catalogs else {}) | self._filters
        members = {"categories": categories, "filters": filters, "extras": self._extras}
        return Draft(DraftKind.PIECE, self._file, self._first_line, encode(self._piece | members))

    def _set(self, members: dict[str, Any], field: str, member: str, value: Any, where: str = "") -> None:
        if members.setdefault(member, value) == value:
            self._take(field, where + member)
        else:
            self.omit(field, "another value in a further row of the same id; the first one is kept")

    def _list(self, field: str, name: str, values: list[Any]) -> None:
        if any(isinstance(name_of(value), str) for value in values):
            self.keywords(field, name, values)
        else:
            self.omit(field, "a list without texts holds no keywords")

    def _keyword(self, field: str, value: Any) -> str | None:
        """Return the keyword that a value is; of what is none it is noted."""
        if not isinstance(value, str):
            self.omit(field, "no keyword: not a text.")
            return None
        keyword, problem = (_remembered if len(value) <= MAX_ID_LENGTH else _read_keyword)(value)
        if problem:
            self.omit(field, f"no keyword: {problem}")
            return None
        return keyword

    def _take(self, field: str, to: str) -> None:
        self._notes.mapped(self._file, field, to)


def _weighted(value: dict[str, Any]) -> Iterable[tuple[Any, Any]]:
    """Return the keywords that an object is, with their weights, ``None`` where it says none.

    Of weights by keyword those without a value are no keywords: frames give each row the members of all.
    """
    if value and all(weight is None or isinstance(weight, int | float) for weight in value.values()):
        return ((text, weight) for text, weight in value.items() if weight is not None)
    if value.keys() <= {"key", "weight"}:
        return ((value.get("key"), value.get("weight") or None),)
    return ((name_of(value), None),)


def is_weight(value: Any) -> bool:
    """Return whether a value is a weight of a keyword."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value == value // 1 and 1 <= value <= MAX_WEIGHT


def _read_keyword(text: str) -> tuple[str, str | None]:
    """Return a keyword without entities, and what is wrong with it."""
    keyword = plain_name(text)
    problem = id_problem(keyword)
    if problem and len(keyword) > MAX_ID_LENGTH:
        # One line of a report for all of them, however long each is.
        problem = f"over {MAX_ID_LENGTH} characters."
    return keyword, PLACEHOLDER_REASON if problem is None and is_nothing(keyword) else problem


_remembered = functools.lru_cache(maxsize=1 << 13)(_read_keyword)  # most stand in many rows


_ID_NAMES = (
    "id itemid item contentid content pieceid piece productid product articleid article newsid movieid movie "
    "filmid bookid book songid song trackid track videoid video showid recipeid docid documentid postid gameid "
    "courseid handle slug sku asin isbn isbn13 ean gtin tconst guid uuid objectid"
)
ID_NAMES = _ID_NAMES.split()
"""Names of columns of ids, as they are compared, the likeliest first."""


_AUTHORITY = re.compile(r"::[^:|;]*::(?:-1|[0-6]00)\s*\Z")
"""What DSpace adds to a value: the key of who is meant, and how certain that is."""


def split(value: Any, column: KeywordColumn) -> list[Any]:
    """Return the values of a column: those of a list, or of a text by the column's separator, ``|`` or ``;``."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return [str(value)] if isinstance(value, int) else [value]
    separators = [column.separator] if column.separator else ["|", ";"]
    separator = next((item for item in separators if item in value), None)
    # One separator for the whole text, the first that occurs: a keyword may hold the other.
    parts = value.split(separator) if separator else [value]
    if "::" in value:
        parts = [_AUTHORITY.sub("", part) for part in parts]
    return [part.strip() for part in parts if part.strip()]


def parts(text: str, separator: str) -> list[str]:
    """Return the parts of a text that are not blank, trimmed; of a list in brackets its texts."""
    listed = read_list(text)
    if listed is not None:
        return [item for item in listed if isinstance(item, str) and item.strip()]
    return [part.strip() for part in text.split(separator) if part.strip()]


FieldTaker = Callable[[PieceBuilder, str, Any], None]
"""Takes the value of a field, which it is given with the field's name, into a piece."""
RowTaker = Callable[[PieceBuilder, Mapping[str, Any]], None]
"""Takes the values of a row, by their columns, into a piece."""
LABEL: FieldTaker = PieceBuilder.label
DESCRIPTION: FieldTaker = PieceBuilder.description


def take_fields(
    takers: Mapping[str, FieldTaker], builder: PieceBuilder, values: Mapping[str, Any], *, empty: Sequence[Any] = EMPTY
) -> None:
    """Take the values that are not empty, each by the taker of its field; what has none is left out."""
    for field, value in values.items():
        if value not in empty:
            takers.get(field, omit_field)(builder, field, value)


def take_label(builder: PieceBuilder, field: str, value: Any) -> None:
    """Take a member as the label, which in JSON may be anything."""
    if isinstance(value, str):
        builder.label(field, value)
    else:
        builder.omit(field, "no label: not a text.")


def skip_field(_builder: PieceBuilder, _field: str, _value: Any) -> None:
    """Take nothing of a field that is read elsewhere, or says what others do."""


def omit_field(builder: PieceBuilder, field: str, _value: Any) -> None:
    """Note that a field, of which a table says nothing, has no place in a piece."""
    builder.omit(field)


def keywords(category: str, separator: str | None = None, *, read: Callable[[Any], Any] | None = None) -> FieldTaker:
    """Return what takes a text as a keyword of a category; with a separator each of its parts, or those of a list.

    ``read`` returns the keywords of a value that has another form.
    """

    def take(builder: PieceBuilder, field: str, value: Any) -> None:
        value = value if read is None else read(value)
        texts = value if isinstance(value, list) else [value]
        keys = [part for text in texts for part in parts(text, separator)] if separator else texts
        builder.keywords(field, category, keys)

    return take


def extra(member: str, *, read: Callable[[Any], Any] | None = None) -> FieldTaker:
    """Return what keeps a value, or what ``read`` makes of it, among the extras, unless that is nothing."""
    return lambda builder, field, value: builder.keep(field, member, value if read is None else read(value))


def omit_because(reason: str) -> FieldTaker:
    """Return what notes why a field is left out."""
    return lambda builder, field, _value: builder.omit(field, reason)


def hide_if(is_hidden: Callable[[Any], bool]) -> FieldTaker:
    """Return what hides a piece of which a field says something."""
    return lambda builder, field, value: builder.hide(field) if is_hidden(value) else None


def window(member: str) -> FieldTaker:
    """Return what takes a time as the begin or the end of when a piece is available."""
    return lambda builder, field, value: builder.moment(field, member, value)


def take_day(builder: PieceBuilder, field: str, value: Any) -> None:
    """Keep the day of a time as that on which a work came out."""
    if not is_never(str(value), of_work=True):
        builder.keep(field, "releaseDate", str(value)[:10])


def merge_rows(
    rows: Iterable[TableRow],
    file: str,
    id_column: str,
    options: ImportOptions,
    notes: Notes,
    take: RowTaker,
) -> Iterator[Draft]:
    """Yield the pieces of a table: consecutive rows of one id, such as variants of a product, become one piece.

    ``take`` takes the values of a row. A row without an id, or one that cannot be read, is a problem. Of rows of one id
    that stand apart the last ones count, which is noted. Costs some 100 bytes of memory an id.
    """
    seen = set[int]()
    # A row without an id is by itself: its line is no id.
    for key, group in groupby(
        rows, lambda row: (row.line,) if row.problem or row.values[id_column] in ("", None) else row.values[id_column]
    ):
        first, others = next(group), group  # noqa: B031  # each row is read once
        if first.problem:
            yield problem_draft(DraftKind.PIECE, (file, first.line), "", first.problem)
            continue
        if first.values[id_column] in ("", None):
            yield problem_draft(DraftKind.PIECE, (file, first.line), id_column, _without_id(first.values))
            continue
        if (problem := cut_problem(first.values[id_column])) is not None:
            yield problem_draft(DraftKind.PIECE, (file, first.line), id_column, problem)
            continue
        # Hashes, not ids, to save memory: two ids with the same one would cost a note that is wrong, no piece.
        if hash(key) in seen:
            notes.left_out(file, id_column, REPEATED_ID_REASON, first.line)
        seen.add(hash(key))
        builder = PieceBuilder(notes, file, first.line, first.values[id_column], options=options)
        for row in chain((first,), others):
            builder.continue_at(row.line)
            notes.mapped(file, id_column, "id")
            take(builder, row.values)
        yield builder.draft()


_CUT = re.compile(r"\d(?:[.,]\d+)?[Ee]\+\d+\Z", re.ASCII)


def cut_problem(piece_id: Any) -> str | None:
    """Return what is wrong with an id that is a long number of which a spreadsheet or a data frame kept few digits."""
    if not isinstance(piece_id, str) or "+" not in piece_id or not _CUT.match(piece_id):
        return None
    return f"Found {excerpt(piece_id)}, a number that has lost its digits; write that column as texts."


MAX_NAMED_REPEATS = 20
"""Pieces of an id met before that a report names; more are counted together."""


_LAST_BYTES = 16 * 1024 * 1024


class IdRegister:
    """Tells which of several pieces of one id counts: the newest by its own date, without two dates the later one.

    One that may not be stored keeps no other from counting, unless over 16 MB of dated pieces lie between them. What
    differs from the one before is named in the notes, with both places. Costs some 150 bytes of memory an id, with a
    date 100 more.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        # Hashes of ids, as in `merge_rows`; a place is a file's number, a line and a checksum in one number.
        self._places: dict[int, int] = {}
        self._revisions: dict[int, str] = {}
        self._files: dict[str, int] = {}
        self._last: dict[int, Draft] = {}
        self._last_bytes = 0
        self._named = 0

    def accept(self, draft: Draft, piece_id: str, revised: str | None = None) -> bool:
        """Return whether a piece counts, by what was met of its id; ``revised`` is its date, as RFC 3339 in UTC."""
        key, checksum = hash(piece_id), crc32(draft.body)
        before = self._places.get(key)
        known = self._revisions.get(key)
        is_newer = before is None or not (revised and known) or revised >= known
        # Of most ids there is one, whose checks come later.
        if before is not None and not self._notes.is_storable(draft.body):
            return True
        if not is_newer and (last := self._last.get(key)) is not None and not self._notes.is_storable(last.body):
            why = f"another piece of this id, which stays: that of {last.file}, line {last.line} may not be stored"
            self._notes.left_out(draft.file, excerpt(piece_id), why, draft.line)
            is_newer = True
        elif before is not None and before & 0xFFFFFFFF != checksum:
            self._name(draft, piece_id, before, is_newer=is_newer)
        if is_newer:
            number = self._files.setdefault(draft.file, len(self._files))
            self._places[key] = number << 64 | draft.line << 32 | checksum
            if revised:
                self._revisions[key] = revised
                self._keep(key, draft)
        return is_newer

    def _keep(self, key: int, draft: Draft) -> None:
        before = self._last.pop(key, None)
        self._last[key] = draft
        self._last_bytes += len(draft.body) - (0 if before is None else len(before.body))
        while self._last_bytes > _LAST_BYTES and len(self._last) > 1:
            self._last_bytes -= len(self._last.pop(next(iter(self._last))).body)

    def _name(self, draft: Draft, piece_id: str, before: int, *, is_newer: bool) -> None:
        file, line = list(self._files)[before >> 64], before >> 32 & 0xFFFFFFFF
        why = "another piece of this id, replaced by" if is_newer else "an older piece of the id of"
        if self._named == MAX_NAMED_REPEATS:
            self._notes.left_out(file, "(further ids)", f"{why} one elsewhere", line)
            return
        self._named += 1
        kept = (draft.file, draft.line) if is_newer else (file, line)
        gone = (file, line) if is_newer else (draft.file, draft.line)
        self._notes.left_out(gone[0], excerpt(piece_id), f"{why} {kept[0]}, line {kept[1]}", gone[1])


def _without_id(values: Mapping[str, Any]) -> str:
    """Return what a row without an id is told: which column may have one instead."""
    others = {
        normalize_name(column): column for column, value in reversed(list(values.items())) if value not in ("", None)
    }
    column = next((others[name] for name in ID_NAMES if name in others), None)
    if column is None:
        return "Found no id; --id-column names another column of ids."
    return f"Found no id; --id-column {quoted(column)} takes that column, which has one."

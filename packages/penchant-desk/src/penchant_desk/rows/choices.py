"""What conditions of rows may be about, and which values fields have: chosen before anybody types."""

import asyncio
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penchant_client import operations
from penchant_client.records import Settings
from penchant_desk.rows.clauses import FieldKind, field_name, split_field
from penchant_desk.rows.fields import CONDITIONS_IN, Texts
from penchant_desk.site import DeskPage, PageVisit

MAX_CATEGORIES = 50
"""Categories that a field offers, those of the most pieces."""
FIELDS_CHARACTERS = 3_000
"""How long the categories may be that all rows in which a field is chosen offer together: 10 KB of a page."""
MAX_ORDERED = 20
"""Numbers or moments of an attribute that are offered: where there are more, one is typed."""
MAX_VALUES = 100
"""Values that a field offers, those of the most pieces."""
MAX_OFFERED, OFFERED_CHARACTERS = 200, 4_000
"""Values that all rows of a page offer together, and how long these may be: 20 KB of it."""
MAX_FIELDS = 12
"""Fields of one page whose values are looked up."""
_NAMES_OF_BOOLEANS = {True: "yes", False: "no"}


class FieldValue(NamedTuple):
    """A value of a field, and how many pieces have it."""

    value: str
    pieces: int


FieldGroups = Sequence[tuple[str, Sequence[tuple[str, str]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChoices:
    """What may be chosen in conditions: fields in groups, each with its text and label, and values by field.

    ``few`` are those of a row in which a field is chosen, beside that one: many rows offer fewer each.
    """

    fields: FieldGroups
    few: FieldGroups
    values: Mapping[str, Sequence[FieldValue]]

    @property
    def known(self) -> Collection[str]:
        """The fields that ``few`` has."""
        return {field for _, group in self.few for field, _ in group}


async def condition_choices(visit: PageVisit, settings: Settings, texts: Texts) -> ConditionChoices:
    """Return what the conditions of a form may be about, and the values of the fields that are chosen in it."""
    rows = [each for key in CONDITIONS_IN for each in texts.get(f"{key}.field", ()) if each]
    chosen = dict.fromkeys(rows)
    some = [*chosen][:MAX_FIELDS]
    listing, found = await asyncio.gather(
        visit.client.send(operations.list_categories(visit.source)),
        asyncio.gather(*(_values_of(visit, settings, each) for each in some)),
    )
    frequent = sorted(listing.categories, key=lambda each: (-each.pieces, each.category))[:MAX_CATEGORIES]
    names = [each.category for each in frequent]
    fitting = sum(end <= FIELDS_CHARACTERS // max(1, len(rows)) for end in itertools.accumulate(map(len, names)))
    offered = [_shortened(each, len(rows)) for each in found]
    return ConditionChoices(
        fields=_groups(names, settings),
        few=_groups(names[:fitting], settings),
        values=dict(zip(some, offered, strict=True)),
    )


def _groups(categories: Sequence[str], settings: Settings) -> FieldGroups:
    groups = (
        ("Keywords", [(field_name(FieldKind.CATEGORY, each), each) for each in sorted(categories)]),
        ("Catalogs", [(field_name(FieldKind.CATALOGS), "catalog")]),
        ("Attributes", [(field_name(FieldKind.ATTRIBUTE, each), each) for each in settings.attributes or ()]),
    )
    return [each for each in groups if each[1]]


def _shortened(found: Sequence[FieldValue], rows: int) -> Sequence[FieldValue]:
    """Return as many of the first values as one of so many rows may offer."""
    lengths = itertools.accumulate(len(each.value) for each in found)
    fitting = sum(end <= OFFERED_CHARACTERS // rows for end in lengths)
    return found[: min(fitting, MAX_OFFERED // rows)]


async def _values_of(visit: PageVisit, settings: Settings, field: str) -> Sequence[FieldValue]:
    """Return values of a field, those of the most pieces first; of an attribute by the newest pieces."""
    kind, name = split_field(field)
    if kind == FieldKind.CATEGORY and name:
        request = operations.list_keywords(visit.source, category=name, limit=MAX_VALUES)
        return [FieldValue(each.keyword, each.pieces) for each in (await visit.client.send(request)).keywords]
    if kind == FieldKind.CATALOGS:
        catalogs = (await visit.client.send(operations.list_catalogs(visit.source, limit=MAX_VALUES))).catalogs
        return [FieldValue(each.catalog, each.pieces) for each in catalogs]
    attribute = (settings.attributes or {}).get(name)
    if attribute is None:
        return ()
    extras = (await visit.client.send(operations.list_extras(visit.source, examples=MAX_VALUES))).extras
    found = next((each.examples for each in extras if each.pointer == attribute.pointer), ())
    if attribute.type in {"integer", "number", "time"} and len(found) > MAX_ORDERED:
        return ()
    return [FieldValue(_text(each.value), each.pieces) for each in found]


def _text(value: Any) -> str:
    return _NAMES_OF_BOOLEANS[value] if isinstance(value, bool) else str(value)


async def values(visit: PageVisit) -> DeskPage:
    """Show the values of a field: a list to choose from, which scripts ask for once a field is chosen."""
    field = visit.text("field")
    settings = await visit.client.send(operations.get_settings(visit.source))
    found = _shortened(await _values_of(visit, settings, field), 1) if field else ()
    row = {"key": visit.text("of"), "number": visit.text("row")}
    return DeskPage(template="values.html", values={"found": found, **row})

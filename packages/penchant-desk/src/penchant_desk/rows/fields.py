"""A placement as the fields of a form, and back: by the one description of its members, and with nothing lost.

*Texts* are what a form holds, for each field the values of its rows, under names such as ``pins.position``. They are
written from a placement and read into one; a page shows texts, whoever they come from. Which field a member has says
`MEMBERS`.

What the texts of a member say of no change is taken over as it was given, byte by byte, and so is each entry of a list
whose row is as it was written: what a form cannot express stays as it is (``kept`` names it).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from penchant_client.requests import encode
from penchant_desk.moments import field_text, interface_moment
from penchant_desk.requests import FormFault, number_in
from penchant_desk.rows.clauses import (
    Attributes,
    ConditionLine,
    clause_of,
    clause_row,
    filter_of,
    filter_rows,
    join_values,
    split_values,
)
from penchant_desk.rows.members import BLEND, MEMBERS, Widget

Texts = Mapping[str, Sequence[str]]


BLEND_COLUMNS: Mapping[str, str] = {f"blend-{part}": part for part in BLEND}
"""The parts of a variant's blend, by the fields that hold them; blank ones are as usual, all blank as its row."""
COLUMNS: Mapping[Widget, tuple[str, ...]] = {
    Widget.AMOUNTS: ("name", "amount"),
    Widget.FILTER: ConditionLine._fields,
    Widget.BOOSTS: (*ConditionLine._fields, "factor"),
    Widget.PINS: ("piece", "position", "from", "until"),
    Widget.QUOTAS: ("least", "of", *ConditionLine._fields),
    Widget.VARIANTS: ("name", "share", "kind", "diversity", *BLEND_COLUMNS, "rotation", "others"),
}
"""The fields of each row where a member has several rows."""
CONDITIONS_IN = ("filter", "boosts", "quotas")
"""The members whose rows have conditions."""
_SOURCE = "null"
"""What a field of a variant holds where the variant is as the source has it, and not as its row."""


@dataclass(frozen=True, slots=True)
class FormContext:
    """What texts are written and read by: the attributes of a source, and what its pieces are called."""

    attributes: Attributes = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """What a piece is called in a form, by its id; itself where it is not named."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Which piece a text means."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with a text that means no piece."""
    zone: tzinfo = UTC
    """In which zone the moments of fields are."""

    def name(self, piece_id: Any) -> str:
        """Return what a piece is called."""
        return self.names.get(piece_id, piece_id) if isinstance(piece_id, str) else encode(piece_id).decode()

    def id(self, text: str, where: str, faults: list[FormFault]) -> str:
        """Return the piece that a text means; the text itself, with a fault, where there is none."""
        if text in self.unknown and text not in self.ids:
            faults.append(FormFault(pointer=where, detail=self.unknown[text]))
        return self.ids.get(text, text)


def write_fields(members: Mapping[str, Any], context: FormContext) -> dict[str, list[str]]:
    """Return the texts of a placement: a field that says nothing is blank."""
    texts: dict[str, list[str]] = {}
    for key, member in MEMBERS.items():
        widget = member.widget
        if widget not in COLUMNS:
            texts[key] = [_scalar_text(widget, members.get(key), context)]
            continue
        rows = [row for row, _ in _written_rows(widget, members.get(key), context)]
        for place, column in enumerate(COLUMNS[widget]):
            texts[f"{key}.{column}"] = [row[place] for row in rows]
    return texts


def kept(members: Mapping[str, Any], context: FormContext) -> dict[str, str]:
    """Return the members of which a form can show no part that says something, as JSON: they stay until changed."""
    texts = write_fields(members, context)
    told = read_fields(texts, {}, context).members
    return {key: encode(value).decode() for key, value in members.items() if key not in told and key in MEMBERS}


@dataclass(frozen=True, slots=True)
class FormMembers:
    """What a form says: the members of a placement, with the faults that only a form can have.

    ``places`` has the pointers of rows within their members where these are no numbers.
    """

    members: dict[str, Any]
    faults: Sequence[FormFault]
    places: Mapping[str, Sequence[str]]


def read_fields(texts: Texts, base: Mapping[str, Any], context: FormContext) -> FormMembers:
    """Return what texts say, over the placement that they were written from; what has no field there stays."""
    written = write_fields(base, context)
    members: dict[str, Any] = {}
    faults: list[FormFault] = []
    places: dict[str, Sequence[str]] = {}
    for key, member in MEMBERS.items():
        widget = member.widget
        names = [f"{key}.{column}" for column in COLUMNS[widget]] if widget in COLUMNS else [key]
        given = _rows(texts, names)
        is_shown = all(name in texts for name in names) or given
        if not is_shown or _said(widget, given) == _said(widget, _rows(written, names)):
            value: Any = base.get(key)
            if widget is Widget.FILTER and given:
                places[key] = filter_of([ConditionLine(*row) for row in given], context.attributes)[1]
        elif widget in COLUMNS:
            value = _read_rows(widget, key, given, base.get(key), context, faults, places)
        else:
            value = _scalar(widget, key, given[0][0] if given else "", context, faults)
        if value is not None:
            members[key] = value
    return FormMembers(members, faults, places)


def with_choices(texts: Texts) -> Texts:
    """Return texts with what was chosen beside a value, named ``filter.choice``, as a part of it."""
    read = {**texts}
    for key in CONDITIONS_IN:
        values = [*texts.get(f"{key}.value", ())]
        for number, choice in enumerate(texts.get(f"{key}.choice", ())):
            if choice and number < len(values) and choice not in (own := split_values(values[number])):
                values[number] = join_values([*own, choice])
        read[f"{key}.value"] = values
    return read


def begun_last(texts: Texts) -> tuple[Texts, Texts]:
    """Return texts with conditions behind the others of which nothing but the field is chosen, and without these."""
    ordered, read = {**texts}, {**texts}
    for key in CONDITIONS_IN:
        names = [f"{key}.{column}" for column in COLUMNS[MEMBERS[key].widget]]
        at = names.index(f"{key}.field")
        rows = _rows(texts, names)
        begun = [row for row in rows if ConditionLine(*row[at : at + len(ConditionLine._fields)]).is_begun]
        rest = [row for row in rows if row not in begun]
        for place, name in enumerate(names):
            read[name] = [row[place] for row in rest]
            ordered[name] = [*read[name], *(row[place] for row in begun)]
    return ordered, read


def rows_in(texts: Texts, key: str) -> list[dict[str, str]]:
    """Return the rows of a member that are not blank, each as its fields."""
    columns = COLUMNS[MEMBERS[key].widget]
    return [dict(zip(columns, row, strict=True)) for row in _rows(texts, [f"{key}.{column}" for column in columns])]


def _rows(texts: Texts, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of fields row by row, but for rows that are blank."""
    columns = [texts.get(name, ()) for name in names]
    most = max(map(len, columns))
    rows = [tuple(column[row] if row < len(column) else "" for column in columns) for row in range(most)]
    # A choice that is always made says nothing by itself.
    return [row for row in rows if any(text.strip() for name, text in zip(names, row, strict=True) if _tells(name))]


def _said(widget: Widget, rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """Return what rows say: of amounts their order says nothing, nor does a name without one."""
    return sorted(row for row in rows if row[1].strip()) if widget is Widget.AMOUNTS else rows


def _tells(name: str) -> bool:
    return not name.endswith((".condition", ".kind"))


def _scalar_text(widget: Widget, value: Any, context: FormContext) -> str:
    if value is None:
        return ""
    match widget:
        case Widget.SWITCH:
            return "yes" if value else "no"
        case Widget.NUMBER | Widget.STEPS:
            return encode(value).decode()
        case Widget.VALUES:
            return join_values(value)
        case Widget.PIECES:
            return "\n".join(map(context.name, value))
    # Line ends as forms are read (`requests.read_form`): what differs in nothing else was not changed.
    return str(value).replace("\r\n", "\n").replace("\r", "\n")


def _scalar(widget: Widget, key: str, text: str, context: FormContext, faults: list[FormFault]) -> Any:
    """Return what the text of a plain field says; ``None`` where it is blank."""
    if not text.strip():
        return None
    match widget:
        case Widget.SWITCH:
            return {"yes": True, "no": False}.get(text, text)
        case Widget.NUMBER | Widget.STEPS:
            return number_in(text)
        case Widget.VALUES:
            return split_values(text)
        case Widget.PIECES:
            lines = [line.strip() for line in text.split("\n") if line.strip()]
            return [context.id(line, f"/{key}/{place}", faults) for place, line in enumerate(lines)]
    return text.strip()


def _written_rows(widget: Widget, value: Any, context: FormContext) -> list[tuple[tuple[str, ...], Any]]:
    """Return the rows of a member, each with the entry that it says; those of a filter have none of their own."""
    if not value:
        return []
    if widget is Widget.FILTER:
        return [(row, None) for row in filter_rows(value, context.attributes)]
    if widget is Widget.AMOUNTS:
        return [((name, encode(amount).decode()), amount) for name, amount in value.items()]
    write: Callable[[Mapping[str, Any], FormContext], tuple[str, ...]] = _WRITERS[widget]
    return [(write(entry, context), entry) for entry in value]


def _read_rows(  # noqa: PLR0913, PLR0917  # the whole of what one member is read by
    widget: Widget,
    key: str,
    rows: Sequence[tuple[str, ...]],
    base: Any,
    context: FormContext,
    faults: list[FormFault],
    places: dict[str, Sequence[str]],
) -> Any:
    """Return what the rows of a member say; ``None`` where there are none. An entry whose row is as it was stays."""
    if not rows:
        return None
    if widget is Widget.FILTER:
        return _read_filter(key, [ConditionLine(*row) for row in rows], context, faults, places)
    if widget is Widget.AMOUNTS:
        return {name.strip(): number_in(amount) for name, amount in rows if amount.strip()} or None
    unchanged = dict(_written_rows(widget, base, context))
    read: Callable[[tuple[str, ...], str, FormContext, list[FormFault]], Any] = _READERS[widget]
    return [
        unchanged[row] if row in unchanged else read(row, f"/{key}/{place}", context, faults)
        for place, row in enumerate(rows)
    ]


def _read_filter(
    key: str,
    rows: Sequence[ConditionLine],
    context: FormContext,
    faults: list[FormFault],
    places: dict[str, Sequence[str]],
) -> Any:
    for place, row in enumerate(rows):
        _clause(row, f"/{key}/#{place}", context, faults)
    if any(each.pointer is not None and each.pointer.startswith(f"/{key}/#") for each in faults):
        places[key] = [f"/#{place}" for place in range(len(rows))]
        return {}
    found, places[key] = filter_of(rows, context.attributes)
    return found


def _clause(row: ConditionLine, where: str, context: FormContext, faults: list[FormFault]) -> dict[str, Any]:
    """Return the clause of a row; ``{}`` with its fault noted where it is none."""
    if row.condition != "json" and not row.field:
        faults.append(FormFault(pointer=where, detail="Choose a field: there is a value, and nothing that it is of."))
        return {}
    if row.is_begun:
        faults.append(
            FormFault(pointer=where, detail="Choose a value: there is a field, and nothing that it should have.")
        )
        return {}
    try:
        return clause_of(row, context.attributes)
    except ValueError as error:
        faults.append(FormFault(pointer=where, detail=str(error)))
        return {}


def _boost_row(entry: Mapping[str, Any], context: FormContext) -> tuple[str, ...]:
    rest = {name: member for name, member in entry.items() if name != "factor"}
    return (*clause_row(rest, context.attributes), encode(entry.get("factor")).decode())


def _boost(row: tuple[str, ...], where: str, context: FormContext, faults: list[FormFault]) -> dict[str, Any]:
    *clause, factor = row
    return _clause(ConditionLine(*clause), where, context, faults) | {"factor": number_in(factor)}


def _quota_row(entry: Mapping[str, Any], context: FormContext) -> tuple[str, ...]:
    counts = [encode(entry.get(name)).decode() for name in ("atLeast", "of")]
    return (*counts, *clause_row(entry.get("filter"), context.attributes))


def _quota(row: tuple[str, ...], where: str, context: FormContext, faults: list[FormFault]) -> dict[str, Any]:
    least, of, *clause = row
    found = _clause(ConditionLine(*clause), where, context, faults)
    return {"filter": found, "atLeast": number_in(least), "of": number_in(of)}


def _pin_row(entry: Mapping[str, Any], context: FormContext) -> tuple[str, ...]:
    times = (_moment_text(entry.get(name), context.zone) for name in ("from", "until"))
    return (context.name(entry.get("id")), encode(entry.get("position")).decode(), *times)


def _pin(row: tuple[str, ...], where: str, context: FormContext, faults: list[FormFault]) -> dict[str, Any]:
    piece, position, begins, ends = row
    found: dict[str, Any] = {"id": context.id(piece.strip(), f"{where}/id", faults), "position": number_in(position)}
    times = {"from": begins.strip(), "until": ends.strip()}
    return found | {name: interface_moment(text, context.zone) for name, text in times.items() if text}


def _moment_text(value: Any, zone: tzinfo) -> str:
    """Return a moment as browsers write it, as short as it can be."""
    try:
        return field_text(datetime.fromisoformat(value), zone)
    except (TypeError, ValueError, OverflowError):
        return "" if value is None else str(value)


_VARIED = ("kind", "diversity", "rotation")


def _variant_row(entry: Mapping[str, Any], context: FormContext) -> tuple[str, ...]:
    del context
    kind, diversity, rotation = (_given(entry, name) for name in _VARIED)
    blend = _blend_texts(entry.get("blend"))
    shown = {"name", "share", *_VARIED, *(["blend"] if any(blend) else [])}
    others = {name: member for name, member in entry.items() if name not in shown}
    share = entry.get("share")
    percent = f"{round(share * 100, 4):g}" if isinstance(share, int | float) else encode(share).decode()
    own = (kind, diversity, *blend, rotation)
    return (str(entry.get("name")), percent, *own, encode(others).decode() if others else "")


def _blend_texts(blend: Any) -> list[str]:
    """Return what each part of a blend counts; blank texts where it is none that has numbers for parts alone."""
    numbers = blend if isinstance(blend, dict) and set(blend) <= set(BLEND) else {}
    is_plain = all(isinstance(each, int | float) for each in numbers.values())
    return [encode(numbers[part]).decode() if is_plain and part in numbers else "" for part in BLEND]


def _given(entry: Mapping[str, Any], name: str) -> str:
    if name not in entry:
        return ""
    value = entry[name]
    return value if isinstance(value, str) else encode(value).decode()


def _variant(row: tuple[str, ...], where: str, context: FormContext, faults: list[FormFault]) -> dict[str, Any]:
    del context
    name, share, kind, diversity, *blend, rotation, others = row
    percent = number_in(share)
    # Of what is no number the reader says so.
    found: dict[str, Any] = {
        "name": name.strip(),
        "share": percent if isinstance(percent, str) else round(percent / 100, 6),
    }
    for key, text in (("kind", kind), ("diversity", diversity), ("rotation", rotation)):
        if text.strip():
            found[key] = None if text == _SOURCE else text if key == "kind" else number_in(text)
    parts = {part: number_in(text) for part, text in zip(BLEND, blend, strict=True) if text.strip()}
    if parts:
        found["blend"] = parts
    if not others.strip():
        return found
    try:
        return found | msgspec.json.decode(others, type=dict[str, Any])
    except msgspec.DecodeError:
        detail = "Found no JSON of an object; the other members of the variant are accepted, or nothing."
        faults.append(FormFault(pointer=f"{where}/others", detail=detail))
        return found


_WRITERS = {
    Widget.BOOSTS: _boost_row,
    Widget.PINS: _pin_row,
    Widget.QUOTAS: _quota_row,
    Widget.VARIANTS: _variant_row,
}
_READERS = {Widget.BOOSTS: _boost, Widget.PINS: _pin, Widget.QUOTAS: _quota, Widget.VARIANTS: _variant}

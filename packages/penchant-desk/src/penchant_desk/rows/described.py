"""Fields of a placement's form as a page shows them: in sections, each with its label, texts, choices and faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penchant_client.requests import encode
from penchant_desk.filters import path_words
from penchant_desk.requests import FormFault
from penchant_desk.rows.fields import COLUMNS, Texts, rows_in
from penchant_desk.rows.members import BLEND, KINDS, MEMBERS, RowMember, Widget
from penchant_desk.rows.words import KIND_WORDS, STEPS, step_word

SECTIONS: Sequence[tuple[str, Sequence[str]]] = (
    ("What is it?", ("title", "purpose", "kind")),
    ("Which pieces may stand in it?", ("content", "order", "catalogs", "filter", "excludeSeen", "blacklist")),
    ("What comes first?", ("blend", "algorithm", "categoryWeights", "halfLifeDays", "boosts", "whitelist", "rows")),
    ("Pinned", ("pins",)),
    ("Always some of", ("quotas", "maxPerValue", "seriesCategory")),
    ("How mixed?", ("diversity", "calibration", "calibrationCategory", "rotation")),
    ("If it would be empty", ("fallback",)),
    ("Tried on some people", ("variants", "autoStop", "experiment")),
)
"""Where members stand; those that are named nowhere come last."""
ALWAYS_OPEN = frozenset(
    {"title", "purpose", "kind", "catalogs", "filter", "pins", "quotas", "diversity", "fallback", "content"}
)
"""Members that are not folded away while they say nothing."""
HINTS: Mapping[str, str] = {
    "catalogs": "Several with commas; none: any.",
    "filter": "All together have to hold. Several values with commas.",
    "pins": "Shown at their place, while it is their time, to everybody who may see them and has not yet.",
    "quotas": "What comes late otherwise is put among the first, as late as it can.",
    "boosts": "Above 1 sooner, below 1 later.",
    "variants": "Shown to a part of all people, chosen by chance; all others see the row as it is. Nothing is tried "
    "unless you add it. What counts is as in the row where all three are blank; otherwise a blank one is as usual.",
    "categoryWeights": "1 is as usual, 0 not at all.",
    "maxPerValue": "Of pieces that have the same in a category, such as a series or a maker.",
    "content": "One a line, by title.",
    "whitelist": "One a line, by title; these are raised where they fit at all.",
    "blacklist": "One a line, by title.",
    "diversity": "Up to the middle lists lose hardly anything, beyond it a little.",
    "calibration": "A list has as much of each keyword of the category as what the person likes.",
    "rotation": "What a person was shown and passed over steps back. A little of it, with which new rows begin, showed "
    "people what suits them 13 to 24 % better in a simulation with films.",
    "experiment": "Rows that share it show a person the same variant.",
    "halfLifeDays": "After so many days something counts half.",
}
AS_SOURCE = "As the source has it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowField:
    """A member as a field: what it holds, what may be chosen, and what is wrong with it, by row where it has rows."""

    key: str
    label: str
    hint: str
    widget: Widget
    text: str = ""
    rows: Sequence[Mapping[str, str]] = ()
    columns: Sequence[str] = ()
    options: Sequence[tuple[str, str]] = ()
    faults: Sequence[str] = ()
    row_faults: Mapping[int, Sequence[str]] = field(default_factory=dict)
    kept: str = ""
    is_folded: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether anything is wrong with it."""
        return bool(self.faults or self.row_faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSection:
    """A part of the form: fields that are seen at once, and those that are folded away while they say nothing."""

    title: str
    fields: Sequence[RowField]
    folded: Sequence[RowField]


def described(
    texts: Texts, faults: Sequence[FormFault], places: Mapping[str, Sequence[str]], kept: Mapping[str, str]
) -> list[RowSection]:
    """Return the sections of a form that holds these texts; fields of which its lists take no account are left out."""
    kinds = kinds_in(texts)
    named = {key for _, keys in SECTIONS for key in keys}
    others = tuple(key for key in MEMBERS if key not in named)
    sections = []
    for title, keys in (*SECTIONS, ("Further", others)):
        fields = [_field(key, texts, faults, places.get(key, ()), kept) for key in keys]
        shown = [
            each
            for each in fields
            if MEMBERS[each.key].takes_part(kinds) or each.text or each.rows or each.is_wrong or each.kept
        ]
        if shown:
            sections.append(
                RowSection(
                    title=title,
                    fields=[each for each in shown if not each.is_folded],
                    folded=[each for each in shown if each.is_folded],
                )
            )
    return sections


def unplaced(faults: Sequence[FormFault]) -> list[str]:
    """Return what is wrong with no field."""
    return [each.detail for each in faults if _key_of(each) not in MEMBERS]


def kinds_in(texts: Texts) -> set[str]:
    """Return the kinds of lists that a form names; that of a new row where it names none."""
    named = [*texts.get("kind", ()), *texts.get("fallback", ()), *texts.get("variants.kind", ())]
    return {each for each in named if each in KINDS} or {"recommendations"}


def _key_of(fault: FormFault) -> str:
    return (fault.pointer or "").removeprefix("/").partition("/")[0]


def _field(
    key: str, texts: Texts, faults: Sequence[FormFault], places: Sequence[str], kept: Mapping[str, str]
) -> RowField:
    member = MEMBERS[key]
    widget, own = member.widget, [each for each in faults if _key_of(each) == key]
    rows: Sequence[Mapping[str, str]] = ()
    text = ""
    if widget in COLUMNS:
        rows = _rows(member, texts)
    else:
        text = next(iter(texts.get(member.key, ())), "")
    by_row: dict[int, list[str]] = {}
    whole: list[str] = []
    for each in own:
        row = _row_of(each, member, rows, places)
        (whole if row is None else by_row.setdefault(row, [])).append(each.detail)
    says_something = bool(text or rows_in_use(rows) or own or member.key in kept)
    return RowField(
        key=member.key,
        label=member.label or member.key,
        hint=_hint(member),
        widget=widget,
        text=text,
        rows=rows,
        columns=COLUMNS.get(widget, ()),
        options=_options(member, widget, text),
        faults=whole,
        row_faults=by_row,
        kept=kept.get(member.key, ""),
        is_folded=member.key not in ALWAYS_OPEN and not says_something,
    )


def rows_in_use(rows: Sequence[Mapping[str, str]]) -> bool:
    """Return whether any row says something: a part of a blend that has no number does not."""
    return any(row.get("amount", "said") for row in rows)


def _rows(member: RowMember, texts: Texts) -> list[dict[str, str]]:
    rows = rows_in(texts, member.key)
    if member.key != "blend":
        return rows
    # All parts that there are, in their order: what is left blank is as the source has it.
    given = {row["name"]: row["amount"] for row in rows}
    return [{"name": name, "amount": given.get(name, "")} for name in {**dict.fromkeys(BLEND), **given}]


def _row_of(
    fault: FormFault, member: RowMember, rows: Sequence[Mapping[str, str]], places: Sequence[str]
) -> int | None:
    """Return the row that a fault is about, by its pointer; ``None`` for the field as a whole."""
    rest = (fault.pointer or "").removeprefix(f"/{member.key}")
    fitting = [row for row, place in enumerate(places) if rest == place or rest.startswith(f"{place}/")]
    if fitting:
        return max(fitting, key=lambda row: len(places[row]))
    first = next(iter(path_words(rest)), "")
    if first.isdecimal() and int(first) < len(rows):
        return int(first)
    return next((place for place, row in enumerate(rows) if row.get("name") == first), None)


def _hint(member: RowMember) -> str:
    hint = HINTS.get(member.key, "")
    if member.kinds is None or len(member.kinds) > 2:  # more are no help
        return hint
    names = " and ".join(KIND_WORDS[kind].name for kind in KINDS if kind in member.kinds)
    return f"{hint} For the rows {names}.".strip()


def _options(member: RowMember, widget: Widget, text: str) -> Sequence[tuple[str, str]]:
    make = _OPTIONS.get(widget)
    return () if make is None else make(member, text)


def _choices(member: RowMember, text: str) -> list[tuple[str, str]]:
    names = member.choices
    words = {kind: KIND_WORDS[kind].name for kind in KINDS}
    words |= {"audience": "people with a like taste", "content": "keywords", "both": "both", "given": "as given here"}
    words |= {"personal": "as suits each person"}
    blank = [] if member.key == "kind" else [("", "Leave the row out" if member.key == "fallback" else AS_SOURCE)]
    return [*blank, *((name, words.get(name, name)) for name in names), *_other(text, names)]


def _switch(member: RowMember, text: str) -> list[tuple[str, str]]:
    del member
    return [("", AS_SOURCE), ("yes", "Yes"), ("no", "No"), *_other(text, ("yes", "no"))]


def _steps(member: RowMember, text: str) -> list[tuple[str, str]]:
    steps = step_options(member.key)
    return [("", AS_SOURCE), *steps, *_other_step(member.key, text, [each for each, _ in steps])]


def step_options(key: str) -> list[tuple[str, str]]:
    """Return the words for the numbers of a member, each with its number as a text."""
    return [(encode(value).decode(), word) for value, word in STEPS[key].items()]


def _other_step(key: str, text: str, known: Sequence[str]) -> list[tuple[str, str]]:
    if not text or text in known:
        return []
    try:
        return [(text, f"{step_word(key, float(text))} ({text})")]
    except ValueError:
        return [(text, text)]


def _other(text: str, known: Sequence[Any]) -> list[tuple[str, str]]:
    """Return what a field holds and no choice names: it stays what it is, and is refused by the interface."""
    return [(text, text)] if text and text not in known else []


_OPTIONS: Mapping[Widget, Callable[[RowMember, str], list[tuple[str, str]]]] = {
    Widget.CHOICE: _choices,
    Widget.SWITCH: _switch,
    Widget.STEPS: _steps,
}

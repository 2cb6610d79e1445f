"""Titles in, titles out: what pieces are called in a form, and which piece a title means."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penchant_client import operations
from penchant_client.records import Settings
from penchant_desk.rows.fields import FormContext, Texts
from penchant_desk.rows.members import MEMBERS, Widget
from penchant_desk.site import PageVisit

MAX_LOOKED_UP = 20
"""Titles that one form has looked up: each may read all labels."""
MAX_NAMED = 300
"""Pieces of one form that are called by their labels; the further ones by their ids."""
NAME_LENGTH = 40
"""Bytes of a name that is made of a title: a number may follow."""
_PIECES = [key for key, member in MEMBERS.items() if member.widget is Widget.PIECES]


def name_of_row(title: str, taken: Collection[str]) -> str:
    """Return a name at the desk for a row of a title, which no row has yet; "" of a title without a letter or digit."""
    plain = "".join(each if each.isalnum() else " " for each in title.lower())
    begun = " ".join(plain.split()).encode()[:NAME_LENGTH].decode(errors="ignore").strip()
    numbered = (begun if number == 1 else f"{begun} {number}" for number in range(1, len(taken) + 2))
    return next((each for each in numbered if each not in taken), "") if begun else ""


async def context_of(visit: PageVisit, settings: Settings, members: Mapping[str, Any], texts: Texts) -> FormContext:
    """Return what the form of a row is written and read by, with all titles of its texts looked up."""
    ids = list(dict.fromkeys(_ids(members)))
    asked = list(dict.fromkeys(_titles(texts)))
    labels = await _labels(visit, [*ids[:MAX_NAMED], *asked])
    names = shown_names(ids, {each: label for each, label in labels.items() if label is not None})
    context = FormContext(
        attributes=settings.attributes or {},
        names=names,
        ids={name: piece_id for piece_id, name in names.items()},
        zone=visit.zone(settings.time_zone),
    )
    found: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for number, text in enumerate(each for each in asked if each not in context.ids):
        if text in labels:
            found[text] = text
        elif number >= MAX_LOOKED_UP:
            unknown[text] = f"Looked up are {MAX_LOOKED_UP} titles at a time; give the further ones next."
        else:
            await _look_up(visit, text, found, unknown)
    return replace(context, ids={**context.ids, **found}, unknown=unknown)


async def _labels(visit: PageVisit, ids: Sequence[str]) -> dict[str, str | None]:
    """Return the labels of those of some ids that are pieces."""
    wanted = [each for each in dict.fromkeys(ids) if 0 < len(each) <= 500 and each.isprintable()]
    if not wanted:
        return {}
    found = await visit.client.send(operations.read_content(visit.source, wanted))
    return {each.id: each.label for each in found.content}


def shown_names(ids: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return what pieces are called: by their label where it is one line and no other one's name, else by their id."""
    ids = list(ids)
    counts: dict[str, int] = {}
    for piece_id in ids:
        label = labels.get(piece_id, piece_id)
        counts[label] = counts.get(label, 0) + 1
    own = set(ids)
    names = {}
    for piece_id in ids:
        label = labels.get(piece_id, piece_id)
        is_clear = counts[label] == 1 and (label == piece_id or label not in own)
        names[piece_id] = label if is_clear and label == label.strip() and label.isprintable() and label else piece_id
    return names


async def _look_up(visit: PageVisit, text: str, found: dict[str, str], unknown: dict[str, str]) -> None:
    titles = (await visit.client.send(operations.list_titles(visit.source, q=text.strip()))).titles
    called = [each for each in titles if each.label.casefold() == text.casefold()]
    if called:
        alike = await visit.client.send(operations.search(visit.source, q=text, kind="piece", limit=20))
        exact = [each.id for each in alike.content if each.label == text and each.place == "label"]
        if len(exact) > 1:
            unknown[text] = f"Several pieces are called so; give the id of one: {', '.join(exact)}."
        else:
            found[text] = (exact or [called[0].id])[0]
    else:
        near = ", ".join(f"“{each.label}”" for each in titles[:5])
        unknown[text] = f"No piece is called so.{f' There are {near}.' if near else ''}"


def _ids(members: Mapping[str, Any]) -> list[str]:
    pins = [pin["id"] for pin in members.get("pins") or () if isinstance(pin.get("id"), str)]
    return [*pins, *(each for key in _PIECES for each in members.get(key) or ())]


def _titles(texts: Texts) -> Sequence[str]:
    pins = [text.strip() for text in texts.get("pins.piece", ()) if text.strip()]
    lines = [
        line.strip() for key in _PIECES for text in texts.get(key, ()) for line in text.split("\n") if line.strip()
    ]
    return [*pins, *lines]

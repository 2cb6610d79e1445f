"""Titles in, titles out: what pieces are called in a form, and which piece a title means."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penchant.live.views import View
from penchant.service.browsing import SourceBrowser
from penchant.web.dashboard.rows.fields import FieldContext, Texts, Widget, widget_of
from penchant.wire.placements import PLACEMENT

MAX_LOOKED_UP = 20
"""Titles that one form has looked up: each may read all labels."""
MAX_NAMED = 300
"""Pieces of one form that are called by their labels; the further ones by their ids."""
_PIECES = [key for key, member in PLACEMENT.members.items() if widget_of(member) is Widget.PIECES]


async def context_of(browsing: SourceBrowser, view: View, members: Mapping[str, Any], texts: Texts) -> FieldContext:
    """Return what the form of a placement is written and read by, with all titles of its texts looked up."""
    ids = list(dict.fromkeys(_ids(members)))
    names = shown_names(ids, await browsing.labels(view, ids[:MAX_NAMED]))
    context = FieldContext(
        attributes=view.settings.attributes, names=names, ids={name: piece_id for piece_id, name in names.items()}
    )
    asked = [text for text in dict.fromkeys(_titles(texts)) if text not in context.ids]
    found: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for number, text in enumerate(asked):
        if text in view.snapshot:
            found[text] = text
        elif number >= MAX_LOOKED_UP:
            unknown[text] = f"Looked up are {MAX_LOOKED_UP} titles at a time; give the further ones next."
        else:
            await _look_up(browsing, view, text, found, unknown)
    return replace(context, ids={**context.ids, **found}, unknown=unknown)


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


async def _look_up(
    browsing: SourceBrowser, view: View, text: str, found: dict[str, str], unknown: dict[str, str]
) -> None:
    page = await browsing.by_label(view, text)
    called = [each for each in page.pieces if (each.label or "").casefold() == text.casefold()]
    exact = [each for each in called if each.label == text] or called
    if len(exact) == 1:
        found[text] = exact[0].id
    elif not exact and (further := await browsing.piece_called(view, text)):
        # Behind the pieces whose labels are read for one look.
        found[text] = further
    elif exact:
        ids = ", ".join(each.id for each in exact)
        unknown[text] = f"Several pieces are called so; give the id of one: {ids}."
    else:
        like = page.pieces or await browsing.called_like(view, text)
        near = ", ".join(f"“{each.label}”" for each in like[:5])
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

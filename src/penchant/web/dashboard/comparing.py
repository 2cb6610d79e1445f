"""What would lists be like under settings that are not stored? Before and after, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant.live.views import View
from penchant.model import Feature, SourceSettings
from penchant.web.dashboard.sections import Section, section
from penchant.web.dashboard.site import Visit
from penchant.wire import PreviewedList, decode_preview, encode, encode_settings

MAX_COMPARED = 10
"""Lists on a page; the interface compares 20 at once."""
SHOWN = 10
"""Pieces of each list, before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A piece with its rank before and after, ``None`` where it is not in the list."""

    id: str
    label: str | None
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A list of a piece or person: its rows by the rank after, then those that are gone."""

    id: str
    label: str | None
    rows: Sequence[Row]
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All lists that were asked for."""

    pieces: Sequence[Compared]
    users: Sequence[Compared]
    shown: int = SHOWN


async def compared(visit: Visit, view: View, wanted: SourceSettings) -> Section[Comparison]:
    """Return the lists that a form names, as they are and as they would be."""
    pieces, users = _lines(visit.form.text("pieces")), _lines(visit.form.text("users"))
    needed = [Feature.PERSONALIZED] if users else []
    total = len(pieces) + len(users)
    if not 0 < total <= MAX_COMPARED:
        return Section(faults=[f"Found {total} ids; 1 to {MAX_COMPARED} pieces and people together are compared."])
    wish: dict[str, Any] = {
        "settings": msgspec.json.decode(encode_settings(wanted)),
        "pieces": pieces,
        "users": users,
        "take": SHOWN,
    }
    return await section(visit, lambda: _comparison(visit, view, wish), *needed, counted=total)


async def _comparison(visit: Visit, view: View, wish: Mapping[str, Any]) -> Comparison:
    preview = await visit.services.previews.settings(view, decode_preview(encode(wish)))
    lists = [*preview.pieces, *preview.users]
    ids = {each.id for found in lists for each in (*found.before, *found.after)}
    labels = await visit.services.browsing.labels(view, [*ids, *wish["pieces"]])
    return Comparison(
        pieces=[_rows(each, labels, labels.get(each.id)) for each in preview.pieces],
        users=[_rows(each, labels, None) for each in preview.users],
    )


def _rows(found: PreviewedList, labels: Mapping[str, str], label: str | None) -> Compared:
    before = {each.id: rank for rank, each in enumerate(found.before, start=1)}
    after = {each.id: rank for rank, each in enumerate(found.after, start=1)}
    ids = [*after, *(each for each in before if each not in after)]
    rows = [Row(id=each, label=labels.get(each), before=before.get(each), after=after.get(each)) for each in ids]
    return Compared(id=found.id, label=label, rows=rows, moved=len(found.moves))


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))

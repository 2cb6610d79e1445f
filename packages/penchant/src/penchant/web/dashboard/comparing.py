"""Comparison of lists under the stored settings and under others, side by side; nothing is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from penchant.live.views import View
from penchant.model import Feature, SourceSettings
from penchant.service.rows import row_services
from penchant.web.dashboard.site import PageSection, Visit, section
from penchant.wire import encode, encode_settings
from penchant.wire.drafts.edits import EffectWish
from penchant.wire.explanations import PreviewedList
from penchant.wire.settings import decode_preview

MAX_COMPARED = 10
"""Lists on a page; the interface compares 20 at once."""
SHOWN = 10
"""Pieces of each list, before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A piece with its rank before and after, ``None`` where it is not in the list."""

    id: str
    label: str | None
    before: int | None
    after: int | None
    picture: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListComparison:
    """A list of a piece or person: its rows by the rank after, then those that are gone."""

    id: str
    label: str | None
    rows: Sequence[ComparisonRow]
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListComparisons:
    """All lists that were asked for."""

    pieces: Sequence[ListComparison]
    users: Sequence[ListComparison]
    shown: int = SHOWN


async def compared(visit: Visit, view: View, draft: SourceSettings) -> PageSection[ListComparisons]:
    """Return the lists that a form names, or of ten people who did most lately, as they are and as they would be."""
    pieces, users = lines_of(visit.form.text("pieces")), lines_of(visit.form.text("users"))
    if not pieces and not users and visit.may(Feature.PERSONALIZED):
        wished = EffectWish(pieces=(), take=SHOWN)
        users = [*(await row_services(visit).effects.subject(view, wished, with_people=True)).users[:MAX_COMPARED]]
    needed = [Feature.PERSONALIZED] if users else []
    total = len(pieces) + len(users)
    if not 0 < total <= MAX_COMPARED:
        return PageSection(faults=[f"Found {total} ids; 1 to {MAX_COMPARED} pieces and people together are compared."])
    wish: dict[str, Any] = {
        "settings": msgspec.json.decode(encode_settings(replace(draft, unread={}))),
        "pieces": pieces,
        "users": users,
        "take": SHOWN,
    }
    return await section(visit, lambda: _comparison(visit, view, wish), *needed, counted=total)


async def _comparison(visit: Visit, view: View, wish: Mapping[str, Any]) -> ListComparisons:
    # Through the interface's own reader, so that a page accepts no more than it does.
    preview = await visit.services.previews.settings(view, decode_preview(encode(wish)))
    lists = [*preview.pieces, *preview.users]
    ids = {each.id for previewed in lists for each in (*previewed.before, *previewed.after)}
    labels = await visit.services.browsing.labels(view, [*ids, *wish["pieces"]])
    return ListComparisons(
        pieces=[rows_of(each, labels, labels.get(each.id)) for each in preview.pieces],
        users=[rows_of(each, labels, None) for each in preview.users],
    )


def rows_of(
    preview: PreviewedList, labels: Mapping[str, str], label: str | None, pictures: Mapping[str, str] | None = None
) -> ListComparison:
    """Return a list before and after as rows, with the pictures that may be shown."""
    pictures = pictures or {}
    before = {each.id: rank for rank, each in enumerate(preview.before, start=1)}
    after = {each.id: rank for rank, each in enumerate(preview.after, start=1)}
    ids = [*after, *(each for each in before if each not in after)]
    rows = [
        ComparisonRow(
            id=each,
            label=labels.get(each),
            before=before.get(each),
            after=after.get(each),
            picture=pictures.get(each),
        )
        for each in ids
    ]
    return ListComparison(id=preview.id, label=label, rows=rows, moved=len(preview.moves))


def lines_of(text: str) -> list[str]:
    """Return the lines of a field that are not blank, each once."""
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))

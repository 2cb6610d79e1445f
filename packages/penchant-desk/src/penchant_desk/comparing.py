"""Comparison of lists under the stored settings and under others, side by side; nothing is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penchant_client import operations
from penchant_client.records import PreviewedList, PreviewedPlacement, SettingsPreview
from penchant_client.requests import encode, request_of
from penchant_desk.site import PageVisit, Section, section

MAX_COMPARED = 10
"""Lists on a page; the interface compares 20 at once."""
SHOWN = 10
"""Pieces of each list, before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A piece with its rank before and after, ``None`` where it is not in the list."""

    id: str
    label: str | None
    before: int | None
    after: int | None
    picture: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedList:
    """A list of a piece or person: its rows by the rank after, then those that are gone."""

    id: str
    label: str | None
    rows: Sequence[ComparedRow]
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLists:
    """All lists that were asked for."""

    pieces: Sequence[ComparedList]
    users: Sequence[ComparedList]
    shown: int = SHOWN


async def compared(visit: PageVisit, settings: Mapping[str, object]) -> Section:
    """Return the lists that a form names, or of ten people who did most lately, as they are and as they would be."""
    pieces, users = lines_of(visit.form.text("pieces")), lines_of(visit.form.text("users"))
    if not pieces and not users and visit.may("personalized"):
        found = await visit.client.send(operations.search(visit.source, kind="person", limit=MAX_COMPARED))
        users = [*found.users]
    total = len(pieces) + len(users)
    if not 0 < total <= MAX_COMPARED:
        detail = f"Found {total} ids; 1 to {MAX_COMPARED} pieces and people together are compared."
        return Section(faults=(detail,))
    return await section(_comparison(visit, settings, pieces, users))


async def _comparison(
    visit: PageVisit, settings: Mapping[str, object], pieces: Sequence[str], users: Sequence[str]
) -> ComparedLists:
    body = encode({"settings": settings, "pieces": pieces, "users": users, "take": SHOWN})
    template = "/{source}/preview/settings"
    preview = await visit.client.send(request_of("POST", template, SettingsPreview, visit.source, body=body))
    lists = [*preview.pieces, *preview.users]
    ids = dict.fromkeys([*pieces, *(each.id for listed in lists for each in (*listed.before, *listed.after))])
    found = (await visit.client.send(operations.read_content(visit.source, [*ids]))).content if ids else ()
    labels = {each.id: each.label for each in found if each.label is not None}
    return ComparedLists(
        pieces=[rows_of(each.id, each, labels, labels.get(each.id)) for each in preview.pieces],
        users=[rows_of(each.id, each, labels, None) for each in preview.users],
    )


def rows_of(
    name: str, preview: PreviewedList | PreviewedPlacement, labels: Mapping[str, str], label: str | None
) -> ComparedList:
    """Return a list before and after as rows, by the name of what it is of."""
    before = {each.id: rank for rank, each in enumerate(preview.before, start=1)}
    after = {each.id: rank for rank, each in enumerate(preview.after, start=1)}
    ids = [*after, *(each for each in before if each not in after)]
    rows = [
        ComparedRow(
            id=each,
            label=labels.get(each),
            before=before.get(each),
            after=after.get(each),
        )
        for each in ids
    ]
    return ComparedList(id=name, label=label, rows=rows, moved=len(preview.moves))


def lines_of(text: str) -> list[str]:
    """Return the lines of a field that are not blank, each once."""
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))

"""The versions of a row: what each changed, in words, by whom; and which one is put in force again."""

from collections.abc import Mapping, Sequence
from typing import Any

from penchant_desk.changes import names_of_people
from penchant_desk.rows.members import LABELS
from penchant_desk.rows.results import unknown_row
from penchant_desk.rows.stored import list_versions, or_none
from penchant_desk.rows.words import difference_in_words
from penchant_desk.site import DeskPage, PageVisit

MAX_VERSIONS = 50
"""Versions that the page shows."""
MAX_KEPT_VERSIONS = 100
"""Versions of a row that the service keeps."""


async def row_versions(visit: PageVisit) -> DeskPage:
    """Show the versions of a row, the one in force first."""
    name = visit.id("name")
    history = await or_none(visit, list_versions(visit.source, name), "unknown-placement")
    if history is None or not history["versions"]:
        raise unknown_row(name)
    found = history["versions"]
    values = {
        "source": visit.source,
        "name": name,
        "title": found[0]["placement"].get("title") or name,
        # That the row is another one meanwhile is noticed by the form's page.
        "seen": found[0]["version"],
        "versions": found[:MAX_VERSIONS],
        "most_versions": MAX_KEPT_VERSIONS,
        "changed_by": changes_by_version(found[: MAX_VERSIONS + 1]),
        "who": await names_of_people(visit),
    }
    return DeskPage(template="row_versions.html", values=values)


def changes_by_version(versions: Sequence[Mapping[str, Any]]) -> dict[int, list[str]]:
    """Return what each version changed of the one before it, in words."""
    older: list[Any] = [*(each["placement"] for each in versions[1:]), None][: len(versions)]
    return {
        each["version"]: ["made"] if before is None else difference_in_words(before, each["placement"], LABELS)
        for each, before in zip(versions, older, strict=True)
    }

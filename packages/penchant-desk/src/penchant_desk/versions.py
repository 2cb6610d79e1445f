"""Versions of settings, whitelist and blacklist as pages ask for them, and the form that undoes the newest change."""

from collections.abc import Mapping, Sequence

from penchant_client import operations
from penchant_client.records import SteeringVersionAnswer
from penchant_desk.drafts import SETTINGS
from penchant_desk.site import PageVisit

SUBJECTS: Mapping[str, str] = {SETTINGS: "Settings", "blacklist": "Hidden", "whitelist": "Boosted"}
"""What has versions, by its name in the interface, and what pages call it."""
BEGINNING = 0
"""Stands for what was before the first version: the defaults, or an empty list."""
_LISTINGS = {
    SETTINGS: operations.settings_versions,
    "blacklist": operations.blacklist_versions,
    "whitelist": operations.whitelist_versions,
}


async def versions_of(visit: PageVisit, subject: str, version: int | None = None) -> Sequence[SteeringVersionAnswer]:
    """Return the versions of settings or a list, newest first, or one alone with what it was.

    Raises:
        ServiceError: that one is not kept.
    """
    return (await visit.client.send(_LISTINGS[subject](visit.source, version=version))).versions


async def undo_fields(visit: PageVisit, subject: str) -> dict[str, str]:
    """Return the hidden fields of a form that takes the newest change of settings or a list back."""
    found = await versions_of(visit, subject)
    if not found:
        return {}
    return {"version": str(found[1].version if len(found) > 1 else BEGINNING), "seen": str(found[0].version)}

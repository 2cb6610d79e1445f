"""People whose lists are worth a look: who did most lately, and who did little yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant_client import operations
from penchant_desk.site import PageVisit, Section, missing_feature, section

MAX_SUGGESTED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedPeople:
    """People of whom lists show something, of those who did something lately."""

    active: Sequence[str]
    few: Sequence[str]


async def suggested_people(visit: PageVisit) -> Section:
    """Return some people whose lists to try, where the plan says who did something; its value is `SuggestedPeople`."""
    return missing_feature(visit, "interactionsListing") or await section(_suggested(visit))


async def _suggested(visit: PageVisit) -> SuggestedPeople:
    active, few = await visit.ask(
        *(
            operations.search(visit.source, kind="person", known=known, limit=MAX_SUGGESTED)
            for known in ("well", "little")
        )
    )
    return SuggestedPeople(active=active.users, few=few.users)

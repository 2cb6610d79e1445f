"""Which part of a page cannot be shown, and why? What a plan lacks or a month has used up is told in its place."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from penchant.errors import FeatureNotInPlan, InvalidInput, QuotaExceeded, TooFewPieces
from penchant.model import Feature
from penchant.web.dashboard.site import Visit

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Section(Generic[Result]):
    """What a section of a page shows: a result, or why there is none."""

    value: Result | None = None
    fault: str = ""


async def section(
    visit: Visit, make: Callable[[], Awaitable[Result]], *needed: Feature, counted: bool = False
) -> Section[Result]:
    """Return a section; ``counted`` ones count against the month as the same answer of the interface does."""
    uncount = None
    try:
        for feature in needed:
            visit.services.access.require(visit.access, feature)
        if counted:
            uncount = await visit.services.usage.reserve(visit.access)
        made = await make()
    except BaseException as error:
        if uncount is not None:
            uncount()
        if isinstance(error, FeatureNotInPlan | QuotaExceeded | TooFewPieces | InvalidInput):
            return Section(fault=error.detail)
        raise
    return Section(made)

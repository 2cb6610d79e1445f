"""Sections of a page that may be missing: where a plan lacks them or a month has used them up, the page says so."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penchant.errors import (
    FeatureNotInPlan,
    InvalidInput,
    InvalidSyntax,
    PenchantError,
    PreviewTooLarge,
    QuotaExceeded,
    TooFewPieces,
    TooManyEntries,
    UnknownPiece,
)
from penchant.model import Feature
from penchant.web.dashboard.site import Visit

Result = TypeVar("Result")
_TOLD = (
    FeatureNotInPlan,
    InvalidInput,
    InvalidSyntax,
    PreviewTooLarge,
    QuotaExceeded,
    TooFewPieces,
    TooManyEntries,
    UnknownPiece,
)
"""What is wrong with a part of a page only."""


@dataclass(frozen=True, slots=True)
class PageSection(Generic[Result]):
    """A section of a page: a result, or why there is none."""

    value: Result | None = None
    faults: Sequence[str] = ()


async def section(
    visit: Visit, make: Callable[[], Awaitable[Result]], *needed: Feature, counted: int = 0
) -> PageSection[Result]:
    """Return a section; ``counted`` tells how many answers of the interface it is, which count against the month."""
    uncount = None
    try:
        for feature in needed:
            visit.services.access.require(visit.access, feature)
        if counted:
            uncount = await visit.services.usage.reserve(visit.access, counted)
        value = await make()
    except BaseException as error:
        if uncount is not None:
            uncount()
        # Anything else, such as a database that is away, is the whole page's error.
        if isinstance(error, _TOLD):
            return PageSection(faults=faults_of(error))
        raise
    return PageSection(value)


def faults_of(error: PenchantError) -> list[str]:
    """Return what is wrong, each fault with its place where it has one."""
    placed = [f"{fault.pointer or fault.parameter}: {fault.detail}" for fault in error.faults]
    return placed or [error.detail]

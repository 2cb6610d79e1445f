"""The sources of an account; the desk opens on its only one."""

import asyncio
import re
from collections import Counter

from penchant_client import ServiceError, operations
from penchant_client.records import ActivityListing, OwnSource
from penchant_desk.charts import DayColumns, day_chart
from penchant_desk.site import DeskPage, PageVisit, Redirect

SOURCES = 20
"""Sources on a page."""
DAYS = 30
"""Days of interactions that are counted."""
_ANSWERED = re.compile(r'^penchant_requests_total\{.*\bstatus="(\d+)".*\} (\S+)$', re.MULTILINE)


async def first(visit: PageVisit) -> DeskPage | Redirect:
    """Lead to the only source of the account; show its sources where there are several, or none yet."""
    if not visit.session.admin:
        own = await visit.client.send(operations.get_account(limit=1))
        if own.count == 1:
            return Redirect(path=visit.link("desk", source=own.sources[0].source))
    return await overview(visit)


async def overview(visit: PageVisit) -> DeskPage | Redirect:
    """Show the account's sources; keys with the admin role have none and are led to theirs."""
    if visit.session.admin:
        return Redirect(path=visit.link("keys"))
    skip = _skip(visit.text("skip"))
    own = await visit.client.send(operations.get_account(skip=skip, limit=SOURCES))
    activities = await asyncio.gather(*(_activity(visit, each) for each in own.sources))
    values = {
        "sources": [
            (each, activity, None if activity is None else _chart(activity))
            for each, activity in zip(own.sources, activities, strict=True)
        ],
        "total": own.count,
        "skip": skip,
        "per_page": SOURCES,
        # Of all accounts together, as the metrics are: shown to tenants only where those are public.
        "answered": await _answered(visit) if visit.entrance.shows_metrics else None,
    }
    return DeskPage(template="overview.html", values=values)


async def _activity(visit: PageVisit, source: OwnSource) -> ActivityListing | None:
    """Return what happened in a source lately; ``None`` where there is no turn to count it just now."""
    try:
        return await visit.client.send(operations.source_activity(source.source, days=DAYS))
    except ServiceError as error:
        if error.code != "overloaded":
            raise
        return None


def _chart(activity: ActivityListing) -> DayColumns:
    return day_chart({each.day: sum(each.interactions.values()) for each in activity.days})


async def _answered(visit: PageVisit) -> dict[str, int]:
    """Return how many requests were answered, how many of them with the callers' faults, and with ours."""
    counts = Counter[str]()
    for status, count in _ANSWERED.findall(await visit.client.send(operations.metrics())):
        counts[status[0]] += round(float(count))
    return {"all": counts.total(), "refused": counts["4"], "failed": counts["5"]}


def _skip(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 0

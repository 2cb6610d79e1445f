"""Handler of the page about a source's health: the findings about pieces, keywords and likes, so far as made."""

import asyncio

from penchant.web.dashboard.site import PageAnswer, Visit

WAIT_S = 0.5
"""How long a page waits for findings that are just being made: a small catalogue's are there by then."""
STEP_S = 0.02
MUCH, LITTLE = 1.6, 1.3
"""How many times as alike pieces that one person likes have to be for keywords to tell much, and not to tell little.

Where keywords are a few genres it is 1.1 to 1.3, with many subjects or weighted shelves about 2."""
FEW_LIKES = 200
"""Likes from which on figures can be relied on."""


async def health(visit: Visit) -> PageAnswer:
    """Show what was found out by now about the source as it stands."""
    view = await visit.view()
    standing, likes = await visit.services.audience_health.standing(view)
    findings = visit.services.health.findings(view, likes)
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while not findings.done and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(STEP_S)
        # The same view each time: findings are of one version.
        findings = visit.services.health.findings(view, likes)
    values = {
        "source": view.head.name,
        "pieces": view.head.piece_count,
        "findings": findings,
        "standing": standing,
        "grade": telling_grade,
        "few": FEW_LIKES,
    }
    return PageAnswer(template="health.html", values=values)


def telling_grade(telling: float) -> str:
    """Return in a word how much keywords tell of what people like."""
    if telling >= MUCH:
        return "much"
    return "something" if telling >= LITTLE else "little"

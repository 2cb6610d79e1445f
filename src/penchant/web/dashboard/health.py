"""Handler of the page about a catalogue's health: the findings about its pieces and keywords, so far as made."""

import asyncio

from penchant.web.dashboard.site import PageAnswer, Visit

WAIT_S = 0.5
"""How long a page waits for findings that are just being made: a small catalogue's are there by then."""
STEP_S = 0.02


async def health(visit: Visit) -> PageAnswer:
    """Show what was found out by now about the source as it stands."""
    view = await visit.view()
    findings = visit.services.health.findings(view)
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while not findings.done and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(STEP_S)
        # The same view each time: findings are of one version.
        findings = visit.services.health.findings(view)
    values = {"source": view.head.name, "pieces": view.head.piece_count, "findings": findings}
    return PageAnswer(template="health.html", values=values)

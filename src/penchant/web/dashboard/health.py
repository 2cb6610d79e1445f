"""Handler of how a catalogue is: what keeps its pieces apart."""

import asyncio

from penchant.web.dashboard.site import Page, Visit

WAIT_S = 0.5
"""How long a page waits for findings that are just being made: a small catalogue's are there by then."""
STEP_S = 0.02


async def health(visit: Visit) -> Page:
    """Show what was found out by now about the source as it stands."""
    view = await visit.view()
    findings = visit.services.health.findings(view)
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while not findings.done and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(STEP_S)
        findings = visit.services.health.findings(view)
    values = {"source": view.head.name, "pieces": view.head.piece_count, "findings": findings}
    return Page(template="health.html", values=values)

"""The card of a row: what it is and does, for everybody."""

from dataclasses import replace
from urllib.parse import quote

from penchant_client import operations
from penchant_client.records import PlacementCard
from penchant_desk.problems import unknown_page
from penchant_desk.rows.words import kind_words
from penchant_desk.site import DeskPage, PageVisit

_PUBLIC = {"vary": "accept", "cache-control": "no-cache"}
"""Asked for each time: the source's setting may be turned off."""


async def card(visit: PageVisit) -> DeskPage:
    """Show the card of a row."""
    name = visit.text("name")
    found, settings, account = await visit.ask(
        operations.placement_card(visit.source, name),
        operations.get_settings(visit.source),
        operations.get_account(limit=1),
    )
    open_at = ""
    if settings.public_cards is True:
        places = "/".join(quote(each, safe="") for each in (account.account, visit.source, name))
        open_at = f"{visit.entrance.base_path}/-/cards/{places}"
    page = _page(found, is_public=False, source=visit.source, open_at=open_at)
    return replace(page, values={**page.values, "zone": visit.zone(settings.time_zone)})


async def public_card(visit: PageVisit) -> DeskPage:
    """Show the card of a row to anybody, where the source's setting allows it."""
    named = (visit.text("account"), visit.text("source"), visit.text("name"))
    if not all(named):
        raise unknown_page("There is no public card at this address.")
    page = _page(await visit.client.send(operations.public_card(*named)), is_public=True, source=None)
    return DeskPage(template=page.template, values=page.values, headers=_PUBLIC)


def _page(found: PlacementCard, *, is_public: bool, source: str | None, open_at: str = "") -> DeskPage:
    values = {
        "source": source,
        "name": found.placement,
        "card": found,
        "kind": kind_words(found.kind),
        "is_public": is_public,
        "open_at": open_at,
    }
    return DeskPage(template="card.html", values=values)

"""The card of a row: what it is and does, for everybody, as the interface answers it and as a page.

Where the source's setting ``publicCards`` allows it anybody may read it, without a key: by an address that names the
account, since another account may have a source of the same name. Nothing else of a source is to be had so, and whether
there is an account, source or row that is not public is not told.
"""

from msgspec.structs import replace

from penchant.live.views import View
from penchant.model import Feature
from penchant.rows.errors import UnknownPlacement
from penchant.service.placements.cards import LEAST_PEOPLE, Cards, WeekFigures
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.web.dashboard.rows.words import KIND_WORDS, control_in_words, data_in_words, parts_of, rules_in_words
from penchant.web.dashboard.shown import day
from penchant.web.dashboard.site import DashboardSite, PageAnswer, Visit
from penchant.web.operations import Answer, Call
from penchant.web.system import asks_for_page
from penchant.wire import encode, format_timestamp
from penchant.wire.placement_answers import CardPart, CardWeek, PlacementCard
from penchant.wire.placements import placement_problem
from penchant.wire.rows.settings import RowSettings
from penchant.wire.text import source_problem

PUBLIC_PATH = "/-/cards/{account}/{source}/{name}"
_PUBLIC = {"vary": "accept", "cache-control": "no-cache"}
"""Asked for each time: the setting may be turned off."""


async def read_card(cards: Cards, view: View, name: str) -> PlacementCard[str]:
    """Return the card of a row.

    Raises:
        UnknownPlacement: there is none of this name.
        Overloaded: too many cards are being made.
    """
    figures = await cards.figures(view, name)
    if figures is None:
        raise UnknownPlacement(f"The source has no placement {name!r}.")
    spec, settings = figures.placement.spec, view.settings
    told = {key: spec.members[key] for key in ("title", "purpose") if key in spec.members}
    return PlacementCard(
        placement=name,
        kind=spec.rules.kind,
        since=format_timestamp(figures.since),
        changed_at=format_timestamp(figures.changed_at),
        counts=[CardPart(part=part, share=share) for part, share in parts_of(spec.rules, settings)],
        rules=rules_in_words(spec, settings.attributes),
        uses=data_in_words(spec.rules, settings),
        retention_days=settings.retention_days,
        control=control_in_words(spec.rules),
        least_people=LEAST_PEOPLE,
        weeks=[_week(each) for each in figures.weeks],
        **told,
    )


def _week(figures: WeekFigures) -> CardWeek:
    return CardWeek(
        first=day(figures.first_day),
        last=day(figures.last_day),
        shown=figures.shown,
        pinned=figures.pinned,
        complete=figures.is_whole,
        coverage=figures.coverage,
        popularity=figures.popularity,
        newness=figures.newness,
        diversity=figures.diversity,
        shares={key: dict(values) for key, values in figures.shares.items()},
    )


async def card(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show the card of a row."""
    view, name = await visit.view(), visit.text("name")
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    found = await read_card(row_services(visit).cards, view, name)
    values = {"source": view.head.name, "name": name, "card": found, "kind": KIND_WORDS[found.kind]}
    account = await row_services(visit).cards.account_name(view) if view.settings.of(RowSettings).public_cards else None
    open_at = "" if account is None else site.address(PUBLIC_PATH, account=account, source=view.head.name, name=name)
    return PageAnswer(template="card.html", values=values | {"is_public": False, "open_at": open_at})


async def public_card(call: Call, site: DashboardSite) -> Answer:
    """Answer the card of a row to anybody: browsers get a page, others JSON."""
    try:
        await call.services.admission.enter()
        found = await _read_public(call)
    except UnknownPlacement as error:
        # Only a refusal waits: addresses of cards are not to be guessed in bulk.
        await call.services.access.failed_keys.slow_down(call.exchange.client_address())
        if asks_for_page(call):
            return site.problem(call, error, None)
        raise
    if not asks_for_page(call):
        return Answer(body=encode(found), headers=_PUBLIC)
    values = {"source": None, "name": found.placement, "card": found, "kind": KIND_WORDS[found.kind]}
    page = PageAnswer(template="card.html", values=values | {"is_public": True, "open_at": ""})
    shown = await site.shown_apart(call, page, None)
    return replace(shown, headers={**shown.headers, **_PUBLIC})


async def _read_public(call: Call) -> PlacementCard[str]:
    """Return a card that anybody may read; raises `UnknownPlacement` where there is none, or it is not public."""
    cards, path = row_services(call).cards, call.path
    view = None
    if source_problem(path["source"]) is None and placement_problem(path["name"]) is None:
        view = await cards.public_view(path["account"], path["source"])
    if view is None or path["name"] not in placements_of(view):
        raise UnknownPlacement("There is no public card at this address.")
    return await read_card(cards, view, path["name"])

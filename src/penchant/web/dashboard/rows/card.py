"""The card of a row: what it is and does, for everybody, as the interface answers it and as a page."""

from penchant.errors import UnknownPlacement
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.placements.cards import LEAST_PEOPLE, Cards, WeekFigures
from penchant.web.dashboard.rows.words import KIND_WORDS, control_in_words, data_in_words, parts_of, rules_in_words
from penchant.web.dashboard.shown import day
from penchant.web.dashboard.site import PageAnswer, Visit
from penchant.wire import CardPart, CardWeek, PlacementCard, format_timestamp


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


async def card(visit: Visit) -> PageAnswer:
    """Show the card of a row."""
    view, name = await visit.view(), visit.text("name")
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    found = await read_card(visit.services.cards, view, name)
    values = {"source": view.head.name, "name": name, "card": found, "kind": KIND_WORDS[found.kind]}
    return PageAnswer(template="card.html", values=values)

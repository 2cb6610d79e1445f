"""What rows need of the service: placements, their lists and results, and drafts, wired together once a process."""

from typing import Protocol, Self

import msgspec

from penchant.hooks import PersonExport
from penchant.live.background import BackgroundTask
from penchant.live.election import Election
from penchant.live.views import View
from penchant.service import Services
from penchant.service.lists.previews import Previews
from penchant.wire import format_timestamp
from penchant.wire.schemas import TimeText
from penchant_rows.service.cards import Cards
from penchant_rows.service.drafts import Drafts
from penchant_rows.service.effects import DraftEffects
from penchant_rows.service.impressions import Impressions, ListIds
from penchant_rows.service.lists import PlacementLists, PlacementPreviews, VariantGuard
from penchant_rows.service.results import Results
from penchant_rows.service.versions import Placements
from penchant_rows.wire.answers import ExportedImpression, PersonImpressions


class RowServices(msgspec.Struct, frozen=True, kw_only=True):
    """The use cases of placements, impressions and drafts; ``services.of(RowServices)`` has those of a process."""

    placements: Placements
    lists: PlacementLists
    previews: PlacementPreviews
    results: Results
    cards: Cards
    list_ids: ListIds
    impressions: Impressions
    drafts: Drafts
    effects: DraftEffects

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the use cases over those of the service."""
        database, clock, metrics = services.database, services.clock, services.metrics
        placements = Placements(database)
        lists = PlacementLists(database, placements, services.lists, VariantGuard(database, clock=clock), metrics)
        list_ids = ListIds(database.storage.list_secret(), clock=clock)
        drafts = Drafts(database, services.views, services.content.words, services.access, metrics, clock=clock)
        return cls(
            placements=placements,
            lists=lists,
            previews=PlacementPreviews(placements, lists),
            results=Results(database, clock=clock),
            cards=Cards(database, services.views, services.lists.inputs, clock=clock),
            list_ids=list_ids,
            impressions=Impressions(database, list_ids, metrics, clock=clock),
            drafts=drafts,
            effects=DraftEffects(database, lists, placements, services.of(Previews)),
        )


class WithServices(Protocol):
    """What has the use cases of the service, such as a request."""

    @property
    def services(self) -> Services:
        """The use cases."""
        ...


def row_services(asking: WithServices) -> RowServices:
    """Return the use cases of rows beside those of a request."""
    return asking.services.of(RowServices)


def publication(services: Services, election: Election) -> BackgroundTask:
    """Return the task that publishes drafts whose time has come."""
    publish_due = services.of(RowServices).drafts.publish_due
    return BackgroundTask(name="drafts", interval_s=5.0, work=publish_due, elected=election)


async def _impressions_of(services: Services, view: View, user_id: str, limit: int | None) -> PersonImpressions[str]:
    stored = await services.of(RowServices).impressions.of_person(view, user_id, limit)
    return PersonImpressions(
        impressions=tuple(
            ExportedImpression(
                placement=each.placement,
                variant=each.variant,
                content_id=each.piece_id,
                position=each.position or None,
                made_at=format_timestamp(each.made_at),
                timestamp=format_timestamp(each.shown_at),
                led_to=tuple(kind.value for kind in each.led_to),
            )
            for each in stored
        )
    )


IMPRESSIONS = PersonExport(PersonImpressions[TimeText], _impressions_of)
"""What the export of a person has of rows."""

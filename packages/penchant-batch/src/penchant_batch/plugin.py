"""What the package brings: the people of a piece over HTTP, and a cluster that finds stand-ins."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penchant.hooks import implementation

if TYPE_CHECKING:
    from penchant.live.background import BackgroundTask
    from penchant.service import Services
    from penchant.settings import NodeSettings
    from penchant.web.operations import Operation
    from penchant_engine.index.people.item_item import StandInSearch


@implementation
def operations() -> Iterable["Operation"]:
    """Return the operation that lists people of a piece."""
    from penchant_batch.audience import AUDIENCE  # noqa: PLC0415  # only processes that answer need it

    return AUDIENCE


@implementation
def background(services: "Services") -> Iterable["BackgroundTask"]:
    """Return what forgets people: those of whom nobody asks, and those of sources in which somebody was erased."""
    from penchant_batch.audience import forgetting  # noqa: PLC0415  # as above

    return forgetting(services)


@implementation
def stand_in_search(settings: "NodeSettings") -> "StandInSearch | None":
    """Return what has the cluster of the settings find stand-ins."""
    if settings.cluster is None:
        return None
    from penchant_batch.stand_ins import search_on  # noqa: PLC0415  # only a builder with a cluster needs it

    return search_on(settings.cluster, settings)

"""What rows bring: placements, impressions and drafts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penchant.hooks import ListReader, PersonExport, implementation

if TYPE_CHECKING:
    from penchant.importing import LineKind
    from penchant.live.background import BackgroundTask
    from penchant.live.election import Election
    from penchant.service import Services
    from penchant.service.outcomes import ListOutcomes
    from penchant.storage import StoragePart
    from penchant.web.operations import Operation
    from penchant.wire.fields import Record


@implementation
def operations() -> Iterable["Operation"]:
    """Return the operations of placements, drafts and impressions."""
    from penchant_rows.web import drafts, placements  # noqa: PLC0415  # only processes that answer need them

    return (*placements.PLACEMENTS, *drafts.DRAFTS, *placements.IMPRESSIONS)


@implementation
def source_settings() -> Iterable[type["Record"]]:
    """Return the settings of rows and drafts."""
    from penchant_rows.wire.settings import RowSettings  # noqa: PLC0415  # as above

    return (RowSettings,)


@implementation
def list_outcomes(services: "Services") -> "ListOutcomes":
    """Return what rows showed."""
    from penchant_rows.service.outcomes import PlacementOutcomes  # noqa: PLC0415  # as above

    return services.of(PlacementOutcomes)


@implementation
def tables() -> "StoragePart":
    """Return the tables of placements, impressions and drafts."""
    from penchant_rows.storage.part import ROWS  # noqa: PLC0415  # as above

    return ROWS


@implementation
def lines() -> Iterable["LineKind"]:
    """Return lines of placements and drafts."""
    from penchant_rows.importing import LINES  # noqa: PLC0415  # as above

    return LINES


@implementation
def export() -> PersonExport:
    """Return what a person was shown."""
    from penchant_rows.service.wiring import IMPRESSIONS  # noqa: PLC0415  # as above

    return IMPRESSIONS


@implementation
def list_reader(services: "Services") -> ListReader:
    """Return what reads the ids of lists of placements."""
    from penchant_rows.service.wiring import RowServices  # noqa: PLC0415  # as above

    return services.of(RowServices).impressions.named_piece


@implementation
def background(services: "Services", election: "Election") -> Iterable["BackgroundTask"]:
    """Return the task that publishes drafts whose time has come."""
    from penchant_rows.service import wiring  # noqa: PLC0415  # as above

    return (wiring.publication(services, election),)

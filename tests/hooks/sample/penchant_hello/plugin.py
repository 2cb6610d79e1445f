"""What the package brings."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penchant.hooks import ListReader, Mount, PersonExport, implementation

if TYPE_CHECKING:
    from penchant.enrichment import Enrichment
    from penchant.importing import LineKind
    from penchant.live.background import BackgroundTask
    from penchant.service import Services
    from penchant.service.lists.kinds import RankingKind
    from penchant.service.outcomes import ListOutcomes
    from penchant.settings import NodeSettings
    from penchant.storage import StoragePart
    from penchant.web.operations import Operation
    from penchant.wire.fields import Record
    from penchant_engine.index.people.item_item import StandInSearch


@implementation
def operations() -> Iterable["Operation"]:
    """Return a greeting of each source."""
    from penchant_hello.web import HELLO  # noqa: PLC0415  # only processes that answer need it

    return HELLO


@implementation
def source_settings() -> Iterable[type["Record"]]:
    """Return how a source is greeted."""
    from penchant_hello.settings import HelloSettings  # noqa: PLC0415  # as above

    return (HelloSettings,)


@implementation
def enrich() -> Iterable["Enrichment"]:
    """Return what makes a keyword of a piece's label."""
    from penchant_hello.keywords import Initials  # noqa: PLC0415  # as above

    return (Initials(),)


@implementation
def list_kinds() -> Iterable["RankingKind"]:
    """Return what became available first."""
    from penchant_hello.lists import OLDEST  # noqa: PLC0415  # as above

    return (OLDEST,)


@implementation
def list_outcomes() -> "ListOutcomes | None":
    """Return nothing: it shows nothing."""
    return None


@implementation
def tables() -> "StoragePart":
    """Return the table of who was greeted."""
    from penchant_hello.storage import PART  # noqa: PLC0415  # as above

    return PART


@implementation
def lines() -> Iterable["LineKind"]:
    """Return who was greeted, to be taken elsewhere."""
    from penchant_hello.storage import LINES  # noqa: PLC0415  # as above

    return LINES


@implementation
def export() -> PersonExport:
    """Return whether a person was greeted."""
    from penchant_hello.web import EXPORT  # noqa: PLC0415  # as above

    return EXPORT


@implementation
def list_reader(services: "Services") -> ListReader | None:
    """Return nothing: it makes no lists."""
    del services
    return None


@implementation
def background(services: "Services") -> Iterable["BackgroundTask"]:
    """Return what counts how long the process has run."""
    from penchant_hello.web import counting  # noqa: PLC0415  # as above

    return (counting(services),)


@implementation
def stand_in_search(settings: "NodeSettings") -> "StandInSearch | None":
    """Return nothing: it has no machines to search by."""
    del settings
    return None


@implementation
def mount() -> Iterable[Mount]:
    """Return what greets at addresses of its own."""
    from penchant_hello.mounted import greet, greet_by_key  # noqa: PLC0415  # as above

    return (Mount("/-/hello", greet), Mount("/-/hello-by-key", greet_by_key, by_key=True))

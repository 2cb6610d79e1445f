"""Use cases: what a caller may do, decided here and carried out by storage, live views and the index."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from penchant.clock import Clock
from penchant.live.admission import Admission
from penchant.live.database import AsyncStorage
from penchant.live.keyword_writer import KeywordTasks
from penchant.live.people_cache import PeopleCache
from penchant.live.views import Views
from penchant.service.access import AccessControl
from penchant.service.administration import Administration
from penchant.service.browsing import SourceBrowser
from penchant.service.changes import Changes
from penchant.service.content import Content, Curation
from penchant.service.health import AudienceHealth, CatalogueHealth
from penchant.service.lists.answer_cache import AnswerCache
from penchant.service.lists.inclusion import PieceInclusion
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.previews import Previews
from penchant.service.lists.serving import Lists
from penchant.service.measuring import GaugeUpdater
from penchant.service.people import People
from penchant.service.search import SourceSearch
from penchant.service.shares import AccountShares, BodyDecoder
from penchant.service.steering_history import SteeringHistory
from penchant.service.usage import Usage
from penchant.settings import CurrentSettings, NodeSettings
from penchant.telemetry import Metrics


class Extension(Protocol):
    """Use cases that a package brings, wired together over those of the service."""

    @classmethod
    def build(cls, services: "Services") -> Self:
        """Return them; called once a process, when one of them is first asked for."""
        ...


Brought = TypeVar("Brought", bound=Extension)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that handlers may use, wired together once; `of` has what packages bring."""

    current: CurrentSettings
    clock: Clock
    packages: Mapping[str, str]
    """The version of each package that brings something, by its name."""
    metrics: Metrics
    database: AsyncStorage
    admission: Admission
    decoder: BodyDecoder
    views: Views
    access: AccessControl
    usage: Usage
    content: Content
    words: KeywordTasks
    changes: Changes
    people: People
    people_cache: PeopleCache
    curation: Curation
    inputs: LiveInputs
    lists: Lists
    inclusion: PieceInclusion
    answers: AnswerCache
    page_shares: AccountShares
    previews: Previews
    administration: Administration
    measuring: GaugeUpdater
    browsing: SourceBrowser
    search: SourceSearch
    health: CatalogueHealth
    audience_health: AudienceHealth
    tag_secret: bytes
    """The database's secret by which ETags are keyed."""
    _extensions: dict[type[Any], Any] = field(default_factory=dict)

    def of(self, kind: type[Brought]) -> Brought:
        """Return the use cases of this kind that a package brings; those of a process are the same each time."""
        extension = self._extensions.get(kind)
        if extension is None:
            extension = self._extensions[kind] = kind.build(self)
        found: Brought = extension
        return found

    @property
    def settings(self) -> NodeSettings:
        """The settings of now."""
        return self.current.now

    @property
    def steering_history(self) -> SteeringHistory:
        """What settings and lists were."""
        return SteeringHistory(self.database)

"""Use cases: what a caller may do, decided here and carried out by storage, live views and the index."""

from dataclasses import dataclass

from penchant.live.admission import Admission
from penchant.live.database import AsyncStorage
from penchant.live.people_cache import PeopleCache
from penchant.live.views import Views
from penchant.live.word_writer import WordTasks
from penchant.service.access import AccessControl
from penchant.service.administration import Administration
from penchant.service.browsing import SourceBrowser, SourceSearch
from penchant.service.changes import Changes
from penchant.service.content import Content, Curation
from penchant.service.desk import Desk
from penchant.service.drafts import Drafts
from penchant.service.effects import DraftEffects
from penchant.service.health import AudienceHealth, CatalogueHealth
from penchant.service.lists.inclusion import PieceInclusion
from penchant.service.lists.kept_lists import PersonalLists
from penchant.service.lists.previews import Previews
from penchant.service.lists.prospects import Prospects
from penchant.service.lists.serving import Lists
from penchant.service.lists.similar_answers import SimilarAnswers
from penchant.service.maps import CatalogueMaps
from penchant.service.measuring import GaugeUpdater
from penchant.service.people import People
from penchant.service.placements.cards import Cards
from penchant.service.placements.curves import CurveCounter
from penchant.service.placements.impressions import Impressions, ListIds
from penchant.service.placements.lists import PlacementLists, PlacementPreviews
from penchant.service.placements.results import Results
from penchant.service.placements.versions import Placements
from penchant.service.shares import AccountShares, BodyDecoder
from penchant.service.usage import Usage
from penchant.settings import CurrentSettings, NodeSettings
from penchant.telemetry import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that handlers may use, wired together once."""

    current: CurrentSettings
    metrics: Metrics
    database: AsyncStorage
    admission: Admission
    decoder: BodyDecoder
    views: Views
    access: AccessControl
    usage: Usage
    content: Content
    words: WordTasks
    changes: Changes
    people: People
    people_cache: PeopleCache
    curation: Curation
    drafts: Drafts
    effects: DraftEffects
    lists: Lists
    inclusion: PieceInclusion
    similar_answers: SimilarAnswers
    personal_lists: PersonalLists
    page_shares: AccountShares
    previews: Previews
    prospects: Prospects
    placements: Placements
    placement_lists: PlacementLists
    placement_previews: PlacementPreviews
    administration: Administration
    measuring: GaugeUpdater
    browsing: SourceBrowser
    search: SourceSearch
    health: CatalogueHealth
    audience_health: AudienceHealth
    maps: CatalogueMaps
    curves: CurveCounter
    desk: Desk
    list_ids: ListIds
    impressions: Impressions
    results: Results
    cards: Cards
    tag_secret: bytes
    """The database's secret by which ETags are keyed."""

    @property
    def settings(self) -> NodeSettings:
        """The settings of now."""
        return self.current.now

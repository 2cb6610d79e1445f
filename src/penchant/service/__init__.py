"""The use cases: what a caller may do, decided here and carried out by storage, live views and the index."""

from dataclasses import dataclass

from penchant.live.admission import Admission
from penchant.live.database import Database
from penchant.live.views import Views
from penchant.service.access import AccessControl
from penchant.service.administration import Administration
from penchant.service.browsing import Browsing
from penchant.service.content import Content
from penchant.service.curation import Curation
from penchant.service.explanations import Explanations
from penchant.service.health import Health
from penchant.service.measuring import Measuring
from penchant.service.people import People
from penchant.service.previews import Previews
from penchant.service.recommend import Recommender
from penchant.service.usage import Usage
from penchant.settings import CurrentSettings, Settings
from penchant.telemetry import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that handlers may use, wired together once."""

    current: CurrentSettings
    metrics: Metrics
    database: Database
    admission: Admission
    views: Views
    access: AccessControl
    usage: Usage
    content: Content
    people: People
    curation: Curation
    recommender: Recommender
    explanations: Explanations
    previews: Previews
    administration: Administration
    measuring: Measuring
    browsing: Browsing
    health: Health

    @property
    def settings(self) -> Settings:
        """The settings of now."""
        return self.current.now

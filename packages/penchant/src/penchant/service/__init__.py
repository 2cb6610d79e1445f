"""Use cases: what a caller may do, decided here and carried out by storage, live views and the index."""

from typing import Any, Protocol, Self, TypeVar

import msgspec

from penchant.clock import Clock
from penchant.live.admission import Admission
from penchant.live.database import AsyncStorage
from penchant.live.views import Views
from penchant.service.access import AccessControl
from penchant.service.content import Content
from penchant.service.lists.serving import Lists
from penchant.service.people import People
from penchant.service.usage import Usage
from penchant.settings import CurrentSettings, NodeSettings
from penchant.telemetry import Metrics


class Extension(Protocol):
    """Use cases wired together over those of the service, such as a package brings."""

    @classmethod
    def build(cls, services: "Services") -> Self:
        """Return them; called once a process, when one of them is first asked for."""
        ...


Brought = TypeVar("Brought", bound=Extension)


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What most handlers use, wired together once; `of` has all that is made of it, ours and that of packages."""

    current: CurrentSettings
    clock: Clock
    metrics: Metrics
    database: AsyncStorage
    admission: Admission
    views: Views
    access: AccessControl
    usage: Usage
    content: Content
    people: People
    lists: Lists
    _extensions: dict[type[Any], Any] = msgspec.field(default_factory=dict)

    def of(self, kind: type[Brought]) -> Brought:
        """Return the use cases of this kind; those of a process are the same each time."""
        extension = self._extensions.get(kind)
        if extension is None:
            extension = self._extensions[kind] = kind.build(self)
        found: Brought = extension
        return found

    @property
    def settings(self) -> NodeSettings:
        """The settings of now."""
        return self.current.now

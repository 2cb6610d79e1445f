"""Inputs of rows: what lists of placements are made from, beside what all lists are: what people passed over."""

from collections.abc import Mapping
from typing import Protocol

from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service.lists.inputs import ListInputs, PersonHistory, stated_history
from penchant.wire import StatedLikings, decode_preferences
from penchant_engine.index import Audience, UserFeatures
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS
from penchant_rows.model import IMPRESSION_DAYS
from penchant_rows.storage.impressions import ImpressionStore

MAX_PASSED_OVER = 1_000
"""Pieces of the lists that a person saw last, by which rotation goes: some pages a day for a month."""


class RowInputs(ListInputs, Protocol):
    """Where rankings of rows have from what they are made of."""

    async def passed_over(self, view: View, placement: str, user_id: str, now: int) -> Mapping[str, int]:
        """Return how often a person was shown each piece in lists of a placement, and passed it over."""
        ...


class StoredRowInputs:
    """Inputs of lists, with what people passed over out of storage."""

    def __init__(self, database: AsyncStorage, inputs: ListInputs) -> None:
        self._database = database
        self.now = inputs.now
        self.audience = inputs.audience
        self.count_likes = inputs.count_likes
        self.person = inputs.person
        self.history = inputs.history
        self.hidden = inputs.hidden

    async def passed_over(self, view: View, placement: str, user_id: str, now: int) -> Mapping[str, int]:
        """Return how often a person was shown each piece in lists of a placement, and passed it over."""
        storage, head, since = self._database.storage, view.head, shown_since(view, now)

        def read() -> Mapping[str, int]:
            if not decode_preferences(storage.people.read_preferences(head.source_id, user_id)).personal:
                return {}
            return storage.store(ImpressionStore).passed_over(
                head.source_id, head.incarnation, user_id, placement, since=since, limit=MAX_PASSED_OVER
            )

        return await self._database.promptly(read)


class PageInputs:
    """Inputs of the rows of one page, which are made at one moment: the person and the audience are read once."""

    def __init__(self, inputs: RowInputs, now: int) -> None:
        self._inputs = inputs
        self._now = now
        self._audiences: dict[int, Audience] = {}
        self._people: dict[str, UserFeatures] = {}
        self._hidden: dict[str, frozenset[str]] = {}
        self.count_likes = inputs.count_likes
        self.history = inputs.history
        self.passed_over = inputs.passed_over

    def now(self, _view: View) -> int:
        """Return the moment of the page."""
        return self._now

    async def audience(self, view: View, now: int, min_version: int) -> Audience:
        """Return what all people like."""
        if min_version not in self._audiences:
            self._audiences[min_version] = await self._inputs.audience(view, now, min_version)
        return self._audiences[min_version]

    async def person(self, view: View, request: ListRequest, now: int, likings: StatedLikings | None) -> UserFeatures:
        """Return what lists take of a person: under rules of a placement it is made for that one."""
        if likings is not None or view.settings is not view.source_settings:
            return await self._inputs.person(view, request, now, likings)
        if request.user_id not in self._people:
            self._people[request.user_id] = await self._inputs.person(view, request, now, None)
        return self._people[request.user_id]

    async def hidden(self, view: View, user_id: str) -> frozenset[str]:
        """Return the pieces that a person wants to see no more."""
        if user_id not in self._hidden:
            self._hidden[user_id] = await self._inputs.hidden(view, user_id)
        return self._hidden[user_id]


class StatedRowInputs:
    """Inputs of somebody made up, of whom some likings alone are known; all else is as requests have it."""

    def __init__(self, inputs: ListInputs, likings: StatedLikings) -> None:
        self._inputs = inputs
        self._likings = likings
        self.now = inputs.now
        self.audience = inputs.audience
        self.count_likes = inputs.count_likes

    async def person(self, view: View, request: ListRequest, now: int, _: StatedLikings | None) -> UserFeatures:
        """Return what lists take of who has these likings; raises as `LiveInputs.person`."""
        return await self._inputs.person(view, request, now, self._likings)

    async def history(self, view: View, _: ListRequest, now: int) -> PersonHistory:
        """Return the likings as if they had just been told."""
        return stated_history(view, self._likings, now)

    async def hidden(self, _view: View, _user_id: str) -> frozenset[str]:
        """Return nothing: nothing is known that is hidden."""
        return frozenset()

    async def passed_over(self, _view: View, _placement: str, _user_id: str, _now: int) -> Mapping[str, int]:
        """Return nothing: nothing was shown yet."""
        return {}


def shown_since(view: View, now: int) -> int:
    """Return since when it counts for rotation what somebody was shown."""
    return now - min(view.settings.retention_days, IMPRESSION_DAYS) * DAY_MS

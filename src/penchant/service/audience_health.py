"""Health of an audience: how old what is known of people's likes is, and what it says of the catalogue's keywords."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from penchant.live.views import View, Views
from penchant.model import DAY_MS
from penchant.service.health import KnownLikes

MILLION = 1_000_000
"""Telling is counted in millionths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceStanding:
    """How old the audience weights of a source are, and what they say.

    ``pending`` counts interactions and erasures that the weights do not know; ``age_s`` is how many seconds ago they
    were current, ``None`` before the first ones. ``telling`` is lambda of the interface, section 6.
    """

    version: int
    pending: int
    age_s: float | None
    likes: int
    telling: float


class AudienceHealth:
    """Tells how the audience of a source stands."""

    def __init__(self, views: Views, *, clock: Callable[[], float] = time.time) -> None:
        self._views = views
        self._clock = clock

    async def standing(self, view: View) -> tuple[AudienceStanding, KnownLikes | None]:
        """Return how the audience stands now, and the likes by which categories can be judged.

        Raises:
            UnknownSource: the source was deleted meanwhile.
            StorageUnavailable: the database is away, and nothing was counted before.
        """
        today = int(self._clock() * 1000) // DAY_MS
        audience = await self._views.audience(view, today)
        head, figures = view.head, audience.figures
        standing = AudienceStanding(
            version=audience.version,
            pending=max(0, head.interactions_version - audience.version),
            age_s=self._views.audience_age_s(view, today),
            likes=figures.likes,
            telling=figures.telling / MILLION,
        )
        likes = await self._views.likes(view, today) if figures.likes else None
        if likes is None:
            return standing, None
        known = KnownLikes(
            likes=likes,
            count=figures.likes,
            version=head.interactions_version,
            erased_at=head.erased_at,
            oldest_day=today - view.settings.retention_days,
        )
        return standing, known

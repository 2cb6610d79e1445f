"""Plain lists: the recommendations of many people at once, as `PersonalRanking` makes them one by one.

Plain is a request that asks for nothing but a length: by the source's settings, without a limit per keyword.
"""

from collections.abc import Callable, Container, Iterator
from typing import Generic, TypeVar

import numpy as np

from penchant_engine import ranking
from penchant_engine.computed import computed
from penchant_engine.index import Audience, Filter, IntArray
from penchant_engine.index.people.people_lists import BatchRecommender
from penchant_engine.index.people.table import PeopleTable
from penchant_engine.lists.personal import blending_of, popular_at
from penchant_engine.model import MAX_TAKE
from penchant_engine.views import CatalogueView

Entry = TypeVar("Entry")


class PlainLists(Generic[Entry]):
    """The lists of the people of a table over the only segment of a view, at a moment; ``entry`` makes one of them."""

    def __init__(
        self,
        view: CatalogueView,
        people: PeopleTable,
        audience: Audience,
        now: int,
        entry: Callable[[str, float], Entry],
    ) -> None:
        self._view = view
        self._people = people
        self._audience = audience
        self._now = now
        self._entry = entry

    def contents(
        self, people: IntArray, take: int, without: Container[int] = (), *, threads: int = 1
    ) -> Iterator[list[Entry] | None]:
        """Yield the lists of people by number; ``None``: it has to be made alone.

        As those of people ``without`` a plain list are.
        """
        view, settings = self._view, self._view.settings
        ids = view.snapshot.parts[0].segment.ids
        if settings.max_per_value or not len(ids):
            yield from [None] * len(people)
            return
        # The whitelist raises what is among the best of a list of full length.
        count = MAX_TAKE if view.whitelist else take
        shown = Filter(moment=self._now, blacklisted=view.blacklisted)
        found = self._people_lists.lists(people, shown, count, with_seen=not settings.exclude_seen, threads=threads)
        # Each name once; after the end of a list there is nowhere, of which nobody asks the name.
        used, places = np.unique(np.minimum(found.rows, len(ids) - 1), return_inverse=True)
        names = list(map(ids.take(used).__getitem__, places.ravel().tolist()))
        pieces = list(map(self._entry, names, ranking.scores_of(found.units.ravel().tolist())))
        for row, (person, length) in enumerate(zip(people.tolist(), found.lengths.tolist(), strict=True)):
            own = slice(row * count, row * count + length)
            yield None if length < 0 or person in without else self._raised(names[own], pieces[own])[:take]

    @computed
    def _people_lists(self) -> BatchRecommender:
        view, audience = self._view, self._audience
        popular, factor = popular_at(view, self._now, audience), audience.figures.content_factor
        settings = view.settings
        return BatchRecommender(
            self._people,
            view.snapshot,
            settings,
            audience,
            popular,
            lambda met: blending_of(settings, None, factor(met)),
        )

    def _raised(self, ids: list[str], best: list[Entry]) -> list[Entry]:
        """Return the best pieces, for all of which something speaks, with those on the whitelist first."""
        if not self._view.whitelist:
            return best
        by_id = dict(zip(ids, best, strict=True))
        first = [by_id.pop(each) for each in self._view.whitelist if each in by_id]
        return [*first, *by_id.values()]

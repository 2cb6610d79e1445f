"""Closed loop: people with true tastes look at lists, what they do makes the next lists, and tastes judge these.

A day has `ROUNDS`; who comes in one sees lists of all that was reported before it:

    true tastes -> who comes -> lists by the index and its rules -> looks, opens, likes -> what is reported -> tally
                                        ^                                                                        |
                                        '----------- popularity, weights, figures, made anew each round <--------'

All methods meet the same people, who have the same luck; each has a loop of its own. Besides there are probes: people
who are looked at, and whose lists are made each day from two likes and from `MANY_KNOWN`, but who do nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import numpy as np

from penchant.errors import InvalidInput
from penchant.model import SourceSettings
from penchant_engine.computed import computed
from penchant_engine.index import Audience, FloatArray, IntArray, InteractionArrays, Snapshot, Tally
from penchant_engine.index.layout import BoolArray
from penchant_engine.index.people.person import user_features
from penchant_engine.index.people.statistics import HUNDREDTHS
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.model import DAY_MS, Algorithm, Blend, InteractionType, StoredInteraction
from penchant_engine.views import CatalogueView
from penchant_lab import metrics
from penchant_lab.histories import SourceHistory
from penchant_lab.served import AS_SERVED, weighed_audience
from penchant_lab.trials import Tell
from penchant_lab.true_tastes import draw_tastes, most_met

PENCHANT, CONTENT, POPULAR, ORACLE = "penchant", "content", "popular", "oracle"
METHODS = (PENCHANT, CONTENT, POPULAR, ORACLE)
"""The product as a source's settings have it, its content alone, its popularity alone, and one that knows tastes."""
MAX_DAYS, MAX_PEOPLE, MAX_PIECES = 365, 5_000, 2_000
"""So much takes an hour or two for each method, and half a gigabyte."""
PEOPLE, DAYS, PIECES = 300, 40, 600
PROBES, MANY_KNOWN, FEW_KNOWN, ARRIVAL_LIKES = 80, 15, 2, 3
SHOWN = 10
ROUNDS = 4
"""Times a day that what people did reaches lists; a service needs a second."""
START_MS = 20_000 * DAY_MS
"""When a loop begins: a fixed day, so that the same seed gives the same figures at any time."""
ARRIVAL_SHARE = 0.6
"""Half of the people are there at once, the others come over this share of the days."""
COLD_SHARE = 0.75
NOISE_OPENS = 0.3
SEARCHES = 0.1
LOOK_POWER = 0.7


class LoopCondition(NamedTuple):
    """Who comes, and what they report: the share of noise, whether newcomers have likes, whether opens are all."""

    noise: float
    is_cold: bool
    clicks_only: bool = False


CONDITIONS: Mapping[str, LoopCondition] = {
    "real": LoopCondition(noise=0.0, is_cold=False),
    "cold": LoopCondition(noise=0.0, is_cold=True),
    "n50": LoopCondition(noise=0.5, is_cold=False),
    "cold30": LoopCondition(noise=0.3, is_cold=True),
    "clicks30": LoopCondition(noise=0.3, is_cold=False, clicks_only=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRequest:
    """How to simulate; ``rotation`` is what is taken off a piece's s each time that it was shown and passed over."""

    condition: LoopCondition = CONDITIONS["real"]
    people: int = PEOPLE
    days: int = DAYS
    pieces: int = PIECES
    probes: int = PROBES
    rotation: float = 0.0
    seed: int = 0
    methods: tuple[str, ...] = METHODS


class DayFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of one day; ``None`` of what a method has not, or nobody came for.

    ``shown`` is how likely people open what they are shown and have not opened yet, on average; ``two_likes`` the same
    of lists of probes with two likes, ``niche`` of the quarter of probes with many whose tastes are the least common.
    Coverage, Gini and overlap (how much of a list another has, too) are of lists of probes with many likes, as is the
    content's share of what speaks for their pieces.
    """

    day: int
    shown: float | None
    two_likes: float
    niche: float
    coverage: float
    gini: float
    overlap: float
    kappa: float | None
    content_share: float | None


class LoopFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of a method: ``shown`` over all visits, ``two_likes`` and ``niche`` over the latter half of the days."""

    name: str
    shown: float
    two_likes: float
    niche: float
    opened: int
    liked: int
    days: list[DayFigures]


class Simulation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A simulation: of what, under which condition, and what came of each method."""

    name: str
    noise: float
    cold: bool
    clicks_only: bool
    rotation: float
    people: int
    days: int
    pieces: int
    probes: int
    seed: int
    methods: list[LoopFigures]


def open_chances(tastes: FloatArray) -> FloatArray:
    """Return how likely people open a piece that they look at."""
    return 0.01 + 0.55 * _logistic(3 * (tastes - 1.7))


def like_chances(tastes: FloatArray) -> FloatArray:
    """Return how likely people like a piece that they have opened."""
    return _logistic(3 * (tastes - 1.2))


def _logistic(values: FloatArray) -> FloatArray:
    found: FloatArray = 1 / (1 + np.exp(-values))
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowd:
    """The people of a simulation, those who come before the probes; the same for all methods.

    ``first`` are pieces that each likes from the beginning, the surest finds first; ``noise`` opens by chance.
    """

    tastes: FloatArray
    first: IntArray
    arrivals: IntArray
    noise: BoolArray
    knows: BoolArray
    people: int

    @classmethod
    def draw(cls, history: SourceHistory, request: LoopRequest) -> "Crowd":
        """Return the people of a request.

        Raises:
            InvalidInput: too few people of the history like enough to take after them.
        """
        count = request.people
        tastes = draw_tastes(history, count + request.probes, request.seed)
        random = np.random.default_rng([request.seed, 13])
        # The least of exponential draws over rates: chances without replacement, one after the other.
        keys = random.exponential(size=tastes.shape) / (open_chances(tastes) * like_chances(tastes))
        late = np.arange(count) - count // 2
        arrivals = np.where(late < 0, 0, late * ARRIVAL_SHARE * request.days / max(1, count - count // 2))
        order = random.permutation(count)
        noise = order < round(request.condition.noise * count)
        knows = ~noise & (random.random(count) < (1 - COLD_SHARE if request.condition.is_cold else 1))
        return cls(
            tastes=tastes,
            first=np.argsort(keys, axis=1, kind="stable")[:, :MANY_KNOWN],
            arrivals=random.permutation(arrivals.astype(np.int64)),
            noise=noise,
            knows=knows,
            people=count,
        )

    @property
    def probes(self) -> range:
        """The numbers of the probes."""
        return range(self.people, len(self.tastes))

    @computed
    def chances(self) -> FloatArray:
        """How likely each opens each piece."""
        return open_chances(self.tastes)

    @computed
    def liking(self) -> FloatArray:
        """How likely each likes each piece once it is opened."""
        return like_chances(self.tastes)

    @computed
    def niche(self) -> IntArray:
        """The quarter of probes, by their place, whose tastes are the least like those of all."""
        probes = self.tastes[self.people :]
        return np.argsort(probes @ self.tastes.mean(axis=0), kind="stable")[: -(-len(probes) // 4)]

    def visitors(self, day: int, round_number: int) -> IntArray:
        """Return who comes in a round: everybody every second day from the one of arrival on."""
        everybody = np.arange(self.people)
        comes = (day >= self.arrivals) & ((day - self.arrivals) % 2 == 0) & (everybody % ROUNDS == round_number)
        return np.flatnonzero(comes)


class LoopSource:
    """A source as the service has it: an index, and a tally that follows what people do."""

    def __init__(self, history: SourceHistory, settings: SourceSettings) -> None:
        self.settings = settings
        self.ids = history.ids
        self.numbers = {piece_id: number for number, piece_id in enumerate(history.ids)}
        # Nothing is new: what is said to come later has been there for ever.
        old = {
            each.id: replace(
                each,
                available_from=each.available_from if each.available_from < START_MS - DAY_MS * 365 else 0,
                available_until=None,
            )
            for each in history.pieces
        }
        self._snapshot = Snapshot.empty().apply(old)
        self._snapshot.prepare(settings.category_factors)
        self._view = CatalogueView(snapshot=self._snapshot, settings=settings)
        self._tally = Tally.empty(settings.oldest_day(START_MS // DAY_MS))
        self._version = 0
        self._histories: dict[int, list[StoredInteraction]] = {}
        self.audience: Audience

    def record(self, person: int, piece: int, kind: InteractionType, moment: int, *, is_shared: bool = True) -> None:
        """Take in what somebody did; of a probe it is not ``is_shared``, and counts for the person alone."""
        self._version += 1
        stored = StoredInteraction(
            user_id="", piece_id=self.ids[piece], type=kind, occurred_at=moment, version=self._version
        )
        self._histories.setdefault(person, []).append(stored)
        if is_shared:
            self._tally.record(person.to_bytes(16, "big"), stored.piece_id, kind, moment, self._version)

    def follow(self, now: int) -> None:
        """Bring popularity, weights and figures to what was recorded."""
        self.audience = weighed_audience(self._tally, self._snapshot, self.settings, now // DAY_MS, self._version)

    def ranking(
        self,
        person: int,
        now: int,
        algorithm: Algorithm | None,
        *,
        sinking: Mapping[str, float] | None = None,
        likes: int | None = None,
    ) -> PersonalRanking:
        """Return a person's list, by all that the person did or the first so many interactions."""
        own = self._histories.get(person, [])[:likes]
        latest = sorted(own, key=lambda each: (each.occurred_at, each.version), reverse=True)
        figures = user_features(InteractionArrays.of(latest), self._snapshot, self.settings, now // DAY_MS)
        request = msgspec.structs.replace(AS_SERVED, take=SHOWN, algorithm=algorithm, sinking=sinking or {})
        return PersonalRanking(self._view, request, now, figures, self.audience)


class Loop:
    """The loop of one method."""

    def __init__(self, history: SourceHistory, request: LoopRequest, crowd: Crowd, method: str) -> None:
        settings = history.settings
        if method == POPULAR:
            settings = replace(settings, blend=Blend(content=0.0, audience=0.0, popularity=1.0))
        self._request, self._crowd, self._method = request, crowd, method
        self._algorithm = Algorithm.COSINE if method == CONTENT else None
        self.source = LoopSource(history, settings)
        self._opened = np.zeros(crowd.tastes.shape, dtype=np.bool_)
        self._passed: dict[int, dict[str, int]] = {}
        self._counts = [0, 0]
        for place, probe in enumerate(crowd.probes):
            for rank, piece in enumerate(crowd.first[probe].tolist()):
                kind = self._kind(is_watched=(place + rank) % 2 == 0)
                # At hours that are not even: of made-up times the order of likes would not count.
                moment = START_MS - (MANY_KNOWN - rank) * 3_600_000 + (place * 7_919 + rank * 104_729) % 1_800_000
                self.source.record(probe, piece, kind, moment, is_shared=False)

    def run(self, tell: Tell) -> LoopFigures:
        """Return what came of it by day."""
        days, seen = list[DayFigures](), list[FloatArray]()
        for day in range(self._request.days):
            tell(self._method, day, self._request.days)
            shown = [np.concatenate(list(self._rounds(day)) or [np.zeros(0)])]
            seen += shown
            days.append(self._judge(day, shown[0]))
        late = days[len(days) // 2 :]
        return LoopFigures(
            name=self._method,
            shown=_mean(np.concatenate(seen)) or 0.0,
            two_likes=_mean(np.array([each.two_likes for each in late])) or 0.0,
            niche=_mean(np.array([each.niche for each in late])) or 0.0,
            opened=self._counts[0],
            liked=self._counts[1],
            days=days,
        )

    def _rounds(self, day: int) -> Iterator[FloatArray]:
        """Let people come, and yield how likely those with tastes were to open what they were shown."""
        # Drawn for everybody, whoever comes: so that all methods meet the same luck.
        random = np.random.default_rng([self._request.seed, 14, day])
        luck = random.random((self._crowd.people, SHOWN, 4))
        finds = random.random((self._crowd.people, 5))
        for number in range(ROUNDS):
            now = START_MS + day * DAY_MS + number * (DAY_MS // ROUNDS)
            visitors = self._crowd.visitors(day, number).tolist()
            for person in visitors:
                if self._crowd.arrivals[person] == day and self._crowd.knows[person]:
                    self._arrive(person, now, luck[person])
            if self._method != ORACLE:
                self.source.follow(now)
            # All lists first: what is done in a round shows from the next one on.
            for person, pieces in [(each, self._list(each, now)) for each in visitors]:
                if not self._crowd.noise[person]:
                    fresh = [piece for piece in pieces if not self._opened[person, piece]]
                    yield self._crowd.chances[person, fresh]
                self._visit(person, pieces, now, luck[person])
                if finds[person, 0] < SEARCHES and not self._crowd.noise[person]:
                    self._search(person, now, finds[person])

    def _arrive(self, person: int, now: int, luck: FloatArray) -> None:
        for rank, piece in enumerate(self._crowd.first[person, :ARRIVAL_LIKES].tolist()):
            moment = now - 1 - int((ARRIVAL_LIKES - rank + luck[rank, 0]) * 60_000)
            self._opened[person, piece] = True
            self.source.record(person, piece, self._kind(is_watched=luck[rank, 1] < 0.5), moment)

    def _list(self, person: int, now: int) -> list[int]:
        if self._method == ORACLE:
            chances = np.where(self._opened[person], -1.0, self._crowd.chances[person])
            return list(np.argsort(-chances, kind="stable")[:SHOWN].tolist())
        passed = self._passed.get(person, {})
        sinking = {piece: (1 - self._request.rotation) ** count for piece, count in passed.items() if count}
        return self._numbers(self.source.ranking(person, now, self._algorithm, sinking=sinking))

    def _numbers(self, ranking: PersonalRanking) -> list[int]:
        return [self.source.numbers[each.id] for each in ranking.arrangement.pieces[:SHOWN]]

    def _visit(self, person: int, pieces: Sequence[int], now: int, luck: FloatArray) -> None:
        passed = self._passed.setdefault(person, {}) if self._request.rotation else {}
        for place, (piece, (look, opens, likes, kind)) in enumerate(zip(pieces, luck.tolist(), strict=False)):
            name = self.source.ids[piece]
            passed[name] = passed.get(name, 0) + 1
            is_new = not self._opened[person, piece] and look < (place + 1) ** -LOOK_POWER
            chance = NOISE_OPENS if self._crowd.noise[person] else self._crowd.chances[person, piece]
            if is_new and opens < chance:
                passed[name] = 0
                self._act(person, piece, now + place * 60_000 + int(look * 50_000), likes, kind)

    def _search(self, person: int, now: int, luck: FloatArray) -> None:
        """Let somebody find a piece that suits, without a list."""
        rates = np.where(self._opened[person], 0, self._crowd.chances[person] * self._crowd.liking[person])
        sums = np.cumsum(rates)
        piece = int(np.searchsorted(sums, luck[1] * sums[-1], side="right"))
        if piece < len(rates):
            self._act(person, piece, now + 900_000 + int(luck[2] * 900_000), *luck[3:].tolist())

    def _act(self, person: int, piece: int, moment: int, likes: float, kind: float) -> None:
        """Open a piece, and like it or not."""
        self._opened[person, piece] = True
        self._counts[0] += 1
        self.source.record(person, piece, InteractionType.CLICK, moment)
        if not self._crowd.noise[person] and likes < self._crowd.liking[person, piece]:
            self._counts[1] += 1
            if not self._request.condition.clicks_only:
                self.source.record(person, piece, self._kind(is_watched=kind < 0.5), moment + 5_000)

    def _kind(self, *, is_watched: bool) -> InteractionType:
        if self._request.condition.clicks_only:
            return InteractionType.CLICK
        return InteractionType.WATCH if is_watched else InteractionType.RATE_LIKE

    def _judge(self, day: int, shown: FloatArray) -> DayFigures:
        """Return the figures of a day, at its end."""
        now = START_MS + (day + 1) * DAY_MS - 1
        few, many = self._probe_lists(now, FEW_KNOWN), self._probe_lists(now, MANY_KNOWN)
        counts = metrics.shown_counts(many, len(self.source.ids))
        is_told = self._method == PENCHANT
        figures = None if self._method == ORACLE else self.source.audience.figures
        return DayFigures(
            day=day,
            shown=_mean(shown),
            two_likes=_mean(self._chances_of(few)) or 0.0,
            niche=_mean(self._chances_of(many)[self._crowd.niche]) or 0.0,
            coverage=_rounded(metrics.coverage(counts)),
            gini=_rounded(metrics.gini(counts)),
            overlap=_rounded(overlap(many)),
            kappa=None if figures is None else figures.kappa / HUNDREDTHS,
            content_share=self._content_share(now) if is_told else None,
        )

    def _probe_lists(self, now: int, known: int) -> IntArray:
        lists = np.full((len(self._crowd.probes), SHOWN), metrics.NOTHING, dtype=np.int64)
        for row, probe in enumerate(self._crowd.probes):
            if self._method == ORACLE:
                own = self._crowd.chances[probe].copy()
                own[self._crowd.first[probe, :known]] = -1
                pieces = np.argsort(-own, kind="stable")[:SHOWN].tolist()
            else:
                pieces = self._numbers(self.source.ranking(probe, now, self._algorithm, likes=known))
            lists[row, : len(pieces)] = pieces
        return lists

    def _chances_of(self, lists: IntArray) -> FloatArray:
        """Return the mean chance of each probe's list."""
        is_piece = lists != metrics.NOTHING
        chances = np.where(is_piece, self._crowd.chances[np.asarray(self._crowd.probes)[:, None], lists], 0)
        found: FloatArray = chances.sum(axis=1) / np.maximum(1, is_piece.sum(axis=1))
        return found

    def _content_share(self, now: int) -> float:
        """Return which share of what speaks for the first pieces of probes comes from their keywords."""
        content = total = 0.0
        for probe in self._crowd.probes:
            ranking = self.source.ranking(probe, now, None)
            for first in ranking.arrangement.pieces[:1]:
                shares = [max(0.0, part.share) for part in ranking.why(first.id, listed=False).parts or ()]
                content, total = content + shares[0], total + sum(shares)
        return _rounded(content / total if total else 0.0)


def overlap(lists: IntArray) -> float:
    """Return which share of a list another one has, too: the mean over all pairs of lists."""
    counts = np.bincount(lists[lists != metrics.NOTHING])
    entries, people = int(counts.sum()), len(lists)
    return float((counts * (counts - 1)).sum() / (entries * (people - 1))) if entries and people > 1 else 0.0


def simulate(history: SourceHistory, request: LoopRequest, tell: Tell) -> Simulation:
    """Return what comes of each method; the same request gives the same.

    Raises:
        InvalidInput: the history has too few pieces, or people to take after.
    """
    chosen = most_met(history, request.pieces)
    if chosen.piece_count <= MANY_KNOWN + SHOWN:
        raise InvalidInput(
            f"{history.name} has {chosen.piece_count} pieces; more than {MANY_KNOWN + SHOWN} are needed."
        )
    crowd = Crowd.draw(chosen, request)
    condition = request.condition
    return Simulation(
        name=history.name,
        noise=condition.noise,
        cold=condition.is_cold,
        clicks_only=condition.clicks_only,
        rotation=request.rotation,
        people=request.people,
        days=request.days,
        pieces=chosen.piece_count,
        probes=request.probes,
        seed=request.seed,
        methods=[Loop(chosen, request, crowd, method).run(tell) for method in request.methods],
    )


def _mean(values: FloatArray) -> float | None:
    return _rounded(float(values.mean())) if len(values) else None


def _rounded(value: float) -> float:
    return round(value, 5)

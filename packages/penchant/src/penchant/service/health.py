"""Health of catalogues: findings made in a thread of their own, at leisure, kept as long as a source stays as it is.

Requests never wait for findings: they get what is found by then, with how far it is. The event loop and the one
thread share what a source is in, by its version:

    event loop                          thread
    findings(): kept, waiting   ----->  takes it from the waiting ones, the accounts in turn
    findings(): as they are     <-----  keeps the vocabulary's findings, then the unreached ones chunk by chunk
    _forget(): kept no longer   ----->  stops at the next chunk; keeps nothing of it

A source is forgotten when it has a newer version, or when its account or all together have too many.

How an audience stands is found at once: how old what is known of people's likes is, and what it says of keywords.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import msgspec
from msgspec.structs import replace

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.findings import (
    EXAMPLES,
    KappaFall,
    Reach,
    TellingFindings,
    VocabularyFindings,
    kappa_fall,
    telling_by_category,
    vocabulary,
)
from penchant.live.views import View, Views
from penchant.service import Services
from penchant.storage import SourceHead
from penchant.telemetry import Metrics, log_failure
from penchant_engine.index import Filter, Likes
from penchant_engine.index.people.order import DIRECTION_SCALE
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.model import InteractionType

MAX_KEPT = 64
"""Sources whose findings are kept: some hundred examples each."""
KEPT_OF_ACCOUNT = 8
"""Of these, sources of one account; for so many it waits, too, and each holds a view for as long."""
MAX_LISTS = 100_000
"""Lists that are looked at for pieces that no list leads to: a minute's work."""
MAX_S = 60.0
"""How long that may take."""
LEAST_S = 10.0
"""How long it may take where another account waits for its turn."""
CHUNK = 10
"""Lists between two looks at the clock."""
GROWTH = 0.05
"""Likes are judged again once they, or kappa, are more or less by this share."""
MAX_JUDGED_PIECES = 200_000
"""Pieces of a source up to which its categories are judged: all of them are put into one segment for it."""
PAUSE_SHARE = 1.0
"""How long it pauses for the time that it worked, so that requests go before it."""


class UnreachedPieces(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces that none of the lists looked at leads to: examples, how many, and of how many lists."""

    pieces: Sequence[str]
    count: int
    lists: int
    of: int
    done: bool

    @property
    def complete(self) -> bool:
        """Whether every list was looked at."""
        return self.lists >= self.of


class LikesStamp(msgspec.Struct, frozen=True, kw_only=True):
    """How many likes there are on a UTC day, and the kappa that they give.

    ``version`` is that of the interactions, ``erased_at`` that of the latest erasure.
    """

    count: int
    kappa: int
    version: int
    erased_at: int
    today: int

    def serves(self, other: "LikesStamp") -> bool:
        """Return whether other likes would hardly tell anything else, and are of the same people."""
        near = (
            abs(other.count - self.count) <= GROWTH * self.count
            and abs(other.kappa - self.kappa) <= GROWTH * self.kappa
        )
        return near and other.today == self.today and other.erased_at <= self.version


class KnownLikes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The likes of a source that are judged."""

    likes: Likes
    stamp: LikesStamp


class JudgedLikes(msgspec.Struct, frozen=True, kw_only=True):
    """What likes say: what each category tells of them, how many there are by type, and whether kappa has halved."""

    categories: TellingFindings
    types: Mapping[InteractionType, int]
    fall: KappaFall | None
    stamp: LikesStamp


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Findings about a catalogue's health at a version; ``None`` for those that are still being made."""

    version: int
    vocabulary: VocabularyFindings | None = None
    judged: JudgedLikes | None = None
    unreached: UnreachedPieces | None = None
    failed: bool = False
    made_at: int | None = None
    """When the latest of them was made, in milliseconds since 1970 UTC."""

    @property
    def done(self) -> bool:
        """Whether nothing more is being found out."""
        return self.failed or (self.unreached is not None and self.unreached.done)


SourceVersion = tuple[int, int, int, int, int]
"""An account, and a source of it with incarnation, epoch and version."""


def source_version(head: SourceHead) -> SourceVersion:
    """Return the version of a source, by which findings are kept."""
    return head.account_id, head.source_id, head.incarnation, head.epoch, head.version


class CatalogueHealth:
    """Finds out how catalogues are, one after the other, the accounts in turn."""

    def __init__(self, metrics: Metrics, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._metrics = metrics
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penchant-health")
        self._stopping = threading.Event()
        self._kept: dict[SourceVersion, Findings] = {}
        self._waiting: dict[int, dict[SourceVersion, tuple[View, KnownLikes | None]]] = {}
        self._turn = 0
        self._lock = threading.Lock()

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what finds it out over the service."""
        return cls(services.metrics, clock=services.clock)

    def close(self) -> None:
        """Stop what is under way, and wait for its end, some milliseconds."""
        self._stopping.set()
        self._thread.shutdown(cancel_futures=True)

    def findings(self, view: View, likes: KnownLikes | None = None) -> Findings:
        """Return the findings so far about a source at its version; the first call for a version begins the work.

        Likes that are far more or fewer than those known begin it, too, for what follows from likes.
        """
        head, version = view.head, source_version(view.head)
        known = self._kept.get(version)
        if known is None:
            # Another version of the same source, whose place this one takes.
            for other in [each for each in self._kept if each[:2] == version[:2]]:
                self._forget(other)
            known = self._kept[version] = Findings(version=head.version)
            own = [each for each in self._kept if each[0] == head.account_id]
            # Oldest first. An account with too many loses its own before others lose theirs.
            for other in own[:-KEPT_OF_ACCOUNT] or list(self._kept)[:-MAX_KEPT]:
                self._forget(other)
            self._wait(version, view, likes)
        elif known.done and not known.failed and _lacks_likes(known, view, likes):
            self._wait(version, view, likes)
        return known

    def _wait(self, version: SourceVersion, view: View, likes: KnownLikes | None) -> None:
        with self._lock:
            self._waiting.setdefault(version[0], {})[version] = (view, likes)
        # One call for each view; after some were forgotten, the last calls find none.
        self._thread.submit(self._find_out_next)

    def _forget(self, version: SourceVersion) -> None:
        del self._kept[version]
        with self._lock:
            self._waiting.get(version[0], {}).pop(version, None)

    def _find_out_next(self) -> None:
        """Find out about the source that waits longest of the account whose turn it is."""
        with self._lock:
            accounts = [account for account, views in self._waiting.items() if views]
            if not accounts:
                return
            # Another account than the last time, if one waits; the accounts themselves go round.
            self._turn = next((account for account in accounts if account != self._turn), accounts[0])
            own = self._waiting.pop(self._turn)
            version = next(iter(own))
            view, likes = own.pop(version)
            # Behind the others, where it has more.
            if own:
                self._waiting[self._turn] = own
        self._find_out(view, likes, version)

    def _others_wait(self, account: int) -> bool:
        with self._lock:
            return any(views and other != account for other, views in self._waiting.items())

    def _find_out(self, view: View, likes: KnownLikes | None, version: SourceVersion) -> None:
        try:
            known = self._kept.get(version)
            if known is not None and known.vocabulary is None:
                self._keep(version, replace(known, vocabulary=vocabulary(view.snapshot)))
            known = self._kept.get(version)
            if known is not None and likes is not None and _lacks_likes(known, view, likes):
                self._keep(version, replace(known, judged=_judged(view, likes)))
            known = self._kept.get(version)
            if known is not None and not known.done:
                self._look(view, version)
        except Exception:  # noqa: BLE001  # nobody waits for it who could be told
            log_failure("a catalogue's health could not be found out", metrics=self._metrics, where="health")
            self._keep(version, Findings(version=view.head.version, failed=True))

    def _look(self, view: View, version: SourceVersion) -> None:
        """Look at a view's lists for pieces that none leads to, within bounds of time, pausing after each chunk."""
        shown = Filter(moment=self._clock.now_ms(), blacklisted=view.blacklisted)
        reach = Reach(
            snapshot=view.snapshot, shown=shown, category_weights=view.settings.category_factors, most=MAX_LISTS
        )
        begun = time.monotonic()
        more = True
        while more and version in self._kept:
            if time.monotonic() - begun > (LEAST_S if self._others_wait(version[0]) else MAX_S):
                break
            started = time.monotonic()
            more = reach.look(CHUNK)
            self._keep_unreached(version, _unreached(reach, done=False))
            # Wait out the pause, unless the process stops meanwhile.
            if self._stopping.wait((time.monotonic() - started) * PAUSE_SHARE):
                return
        self._keep_unreached(version, _unreached(reach, done=True))

    def _keep_unreached(self, version: SourceVersion, unreached: UnreachedPieces) -> None:
        known = self._kept.get(version)
        if known is not None:
            self._keep(version, replace(known, unreached=unreached))

    def _keep(self, version: SourceVersion, findings: Findings) -> bool:
        """Keep findings, unless they were pushed out meanwhile."""
        if version not in self._kept:
            return False
        self._kept[version] = replace(findings, made_at=self._clock.now_ms())
        return True


def _lacks_likes(known: Findings, view: View, likes: KnownLikes | None) -> bool:
    """Return whether likes have yet to be judged, or to be judged anew."""
    if likes is None or view.head.piece_count > MAX_JUDGED_PIECES:
        return False
    return known.judged is None or not known.judged.stamp.serves(likes.stamp)


def _judged(view: View, known: KnownLikes) -> JudgedLikes:
    """Return what likes say of the categories of a view, and of themselves."""
    catalogue, settings, likes = view.snapshot.merged(), view.settings, known.likes
    oldest_day = settings.oldest_day(known.stamp.today)
    counts = likes.counts(catalogue.ids, settings, oldest_day)
    return JudgedLikes(
        categories=telling_by_category(likes.matrix(catalogue.ids, settings, oldest_day), catalogue),
        types=counts.types,
        fall=kappa_fall(likes, counts.days, catalogue, settings, known.stamp.today),
        stamp=known.stamp,
    )


def _unreached(reach: Reach, *, done: bool) -> UnreachedPieces:
    """Return the progress so far, at the end with the pieces: to count those costs a pass over all ids."""
    missing = reach.unreached() if done else []
    return UnreachedPieces(
        pieces=missing[:EXAMPLES],
        count=len(missing),
        lists=reach.looked_at,
        of=reach.snapshot.piece_count,
        done=done,
    )


MILLION = 1_000_000
"""Telling is counted in millionths."""


class AudienceStanding(msgspec.Struct, frozen=True, kw_only=True):
    """How old the audience weights of a source are, and what they say.

    ``pending`` counts interactions and erasures that the weights do not know; ``age_s`` is how many seconds ago they
    were current, ``None`` before the first ones. ``telling`` is lambda of the interface, section 6, ``direction`` eta,
    from 0 to 1, and ``even_gaps`` rho, ``None`` where no like is later than another. ``counts_order``: lists go by it.
    ``full`` is what a full like is.
    """

    version: int
    pending: int
    age_s: float | None
    likes: int
    telling: float
    direction: float
    even_gaps: float | None
    counts_order: bool
    full: FullLike


class AudienceHealth:
    """Tells how the audience of a source stands."""

    def __init__(self, views: Views, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._views = views
        self._clock = clock

    async def standing(self, view: View) -> tuple[AudienceStanding, KnownLikes | None]:
        """Return how the audience stands now, and the likes by which categories can be judged.

        Raises:
            UnknownSource: the source was deleted meanwhile.
            StorageUnavailable: the database is away, and nothing was counted before.
        """
        today = self._clock.today()
        audience = await self._views.audience(view, today)
        head, figures = view.head, audience.figures
        standing = AudienceStanding(
            version=audience.version,
            pending=max(0, head.interactions_version - audience.version),
            age_s=self._views.audience_age_s(view, today),
            likes=figures.likes,
            telling=figures.telling / MILLION,
            direction=figures.direction / DIRECTION_SCALE,
            even_gaps=figures.commonest_gaps / figures.gaps if figures.gaps else None,
            counts_order=figures.strength(view.settings.order) > 0,
            full=FullLike(figures.full_total, figures.full_count),
        )
        likes = await self._views.likes(view, today) if figures.likes else None
        if likes is None:
            return standing, None
        stamp = LikesStamp(
            count=figures.likes,
            kappa=figures.kappa,
            version=head.interactions_version,
            erased_at=head.erased_at,
            today=today,
        )
        return standing, KnownLikes(likes=likes, stamp=stamp)

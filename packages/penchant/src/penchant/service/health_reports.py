"""Reports of a catalogue's health: what is found by now, and what likes say of its keywords, in figures and words."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

import msgspec

from penchant.findings import VocabularyFindings
from penchant.live.views import View
from penchant.service import Services
from penchant.service.health import AudienceHealth, AudienceStanding, CatalogueHealth, Findings, UnreachedPieces
from penchant.service.like_mix import TypeOfLike, mix_of_likes, mix_sentence
from penchant.service.outcomes import ListOpenings, ListOutcomes, NoOutcomes, UnseenPieces, list_outcomes
from penchant.storage import SourceHead
from penchant.telemetry import logger
from penchant.wire import encode, format_timestamp
from penchant.wire.catalogue_answers import (
    CatalogueFindings,
    CategoryTells,
    FlatFinding,
    KeywordCount,
    KeywordFindings,
    KeywordName,
    LikeFindings,
    LonelyFinding,
    OnceFinding,
    PlayedFinding,
    RowShare,
    TellingFall,
    TypeShare,
    UnreachedFinding,
    UnseenFinding,
    VariantFinding,
)
from penchant.wire.times import format_day
from penchant_engine.bounded_cache import BoundedCache

WAIT_S = 0.5
"""How long a request waits for findings that are just being made: a small catalogue's are there by then."""
STEP_S = 0.02
WAIT_AGAIN_S = 0.1
"""How long it waits where there are findings of before, which it gets instead."""
FINDINGS_FOLDER = "findings"
MAX_NOTED = 1_000
"""Sources of which a process knows which findings it has written last."""
MUCH, LITTLE = 1.6, 1.3
"""How many times as alike pieces that one person likes have to be for keywords to tell much, and not to tell little.

Where keywords are a few genres it is 1.1 to 1.3, with many subjects or weighted shelves about 2."""
STRONGLY, SOMEWHAT = 0.15, 0.02
"""Directions from which on what people like next depends on what they liked last; shuffled it is below 0.012.

Where people go through parts and series it is 0.15 to 0.4, where they see what is new about 0.1.
"""


class KappaFallText(msgspec.Struct, frozen=True, kw_only=True):
    """That keywords are taken to tell half of what they did a week ago: since when, and what it came with.

    ``days`` are those that took most of it, with ``likes`` of their own; ``openers`` led to most of these.
    """

    before: float
    now: float
    days: Sequence[int]
    likes: int
    openers: Sequence[ListOpenings]


class LastFindings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found last about the pieces of a source, as the interface has it; nothing of what people like."""

    version: int
    made_at: str
    keywords: KeywordFindings
    unreached: UnreachedFinding
    unseen: UnseenFinding[str] | None = None


class FindingsFiles:
    """The last findings of sources, a small file each in a folder that processes share, across versions and restarts.

    A cache: one that cannot be read or written is none. The last writer wins.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, head: SourceHead) -> LastFindings | None:
        """Return the last findings about a source as it was made; ``None`` where there are none that can be read."""
        try:
            return msgspec.json.decode((self._folder / _file_name(head)).read_bytes(), type=LastFindings)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, head: SourceHead, findings: LastFindings) -> None:
        """Keep findings in the place of those of before."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(encode(findings))
            Path(file.name).replace(self._folder / _file_name(head))
        except OSError as error:
            logger.warning("the last findings about a source cannot be kept: %s", error.strerror)

    def keep_only(self, heads: Iterable[SourceHead]) -> None:
        """Remove what is of no source any more, and what a killed writer left."""
        names = {_file_name(head) for head in heads}
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if path.name not in names:
                    path.unlink(missing_ok=True)


def _file_name(head: SourceHead) -> str:
    """Return the name of a file: of a source that was emptied, restored or made again it is another."""
    return f"{head.source_id}-{head.created_at}-{head.incarnation}-{head.epoch}.json"


class HealthReports:
    """What is known of how catalogues are."""

    def __init__(
        self, health: CatalogueHealth, audience: AudienceHealth, outcomes: ListOutcomes, files: FindingsFiles
    ) -> None:
        self._health = health
        self._audience = audience
        self._outcomes = outcomes
        self._records_shown = not isinstance(outcomes, NoOutcomes)
        self._files = files
        self._written: BoundedCache[int, tuple[int, str, str]] = BoundedCache(MAX_NOTED)

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the reports over what the service finds out."""
        audience = AudienceHealth(services.views, clock=services.clock)
        files = FindingsFiles(Path(services.settings.data) / FINDINGS_FOLDER)
        return cls(services.of(CatalogueHealth), audience, list_outcomes(services), files)

    async def report(self, view: View, wait_s: float) -> CatalogueFindings[str]:
        """Return what is found about a source; while that is being made, of its pieces what was found last.

        It waits so long for what is being made, where there is nothing of before.
        """
        findings, standing = await self.by_now(view, 0)
        last = None if findings.done and not findings.failed else await asyncio.to_thread(self._files.read, view.head)
        if not findings.done and wait_s:
            findings, standing = await self.by_now(view, wait_s if last is None else WAIT_AGAIN_S)
        fall, unseen = await self.kappa_fall(view, findings), await self._outcomes.unseen(view)
        report = findings_answer(view, findings, standing, fall, unseen)
        report = msgspec.structs.replace(report, records_shown=self._records_shown)
        if report.done and not report.failed:
            return self._unless_counted(await self._kept(view, report))
        if last is None:
            return self._unless_counted(report)
        return msgspec.structs.replace(
            report,
            version=last.version,
            made_at=last.made_at,
            keywords=last.keywords,
            unreached=last.unreached,
            unseen=report.unseen or (last.unseen if self._records_shown else None),
        )

    def _unless_counted(self, report: CatalogueFindings[str]) -> CatalogueFindings[str]:
        """Return a report that is not done as long as the pieces that nobody saw were never counted."""
        is_pending = self._records_shown and report.unseen is None
        return msgspec.structs.replace(report, done=False) if is_pending else report

    async def _kept(self, view: View, report: CatalogueFindings[str]) -> CatalogueFindings[str]:
        """Keep what is found for later, and return it, with the pieces that nobody saw as last counted, if need be."""
        if report.unseen is None and self._records_shown:
            last = await asyncio.to_thread(self._files.read, view.head)
            report = msgspec.structs.replace(report, unseen=None if last is None else last.unseen)
        if report.made_at is None or report.keywords is None or report.unreached is None:
            return report
        findings = LastFindings(
            version=report.version,
            made_at=report.made_at,
            keywords=report.keywords,
            unreached=report.unreached,
            unseen=report.unseen,
        )
        mark = (report.version, report.made_at, "" if report.unseen is None else report.unseen.since)
        if self._written.get(view.head.source_id) != mark:
            await asyncio.to_thread(self._files.write, view.head, findings)
            self._written.put(view.head.source_id, mark)
        return report

    def forget_others(self, heads: Iterable[SourceHead]) -> None:
        """Remove what was found last about sources that are gone."""
        self._files.keep_only(heads)

    async def by_now(self, view: View, wait_s: float) -> tuple[Findings, AudienceStanding]:
        """Return what is found about a source, waiting so long for what is being made, and how its audience stands."""
        standing, likes = await self._audience.standing(view)
        findings = self._health.findings(view, likes)
        deadline = asyncio.get_running_loop().time() + wait_s
        while not findings.done and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(STEP_S)
            # The same view each time: findings are of one version.
            findings = self._health.findings(view, likes)
        return findings, standing

    async def kappa_fall(self, view: View, findings: Findings) -> KappaFallText | None:
        """Return how kappa has halved within a week; ``None`` where it has not, as far as is known."""
        fall = None if findings.judged is None else findings.judged.fall
        if fall is None:
            return None
        days, likes = [each.day for each in fall.days], sum(each.likes for each in fall.days)
        openers = await self._outcomes.openers(view, days, likes)
        return KappaFallText(before=fall.before / 100, now=fall.now / 100, days=days, likes=likes, openers=openers)


def findings_answer(
    view: View,
    findings: Findings,
    standing: AudienceStanding,
    fall: KappaFallText | None,
    unseen: UnseenPieces | None,
) -> CatalogueFindings[str]:
    """Return what was found as the interface has it."""
    unreached = findings.unreached
    return CatalogueFindings(
        source=view.head.name,
        version=view.head.version,
        pieces=view.head.piece_count,
        made_at=None if findings.made_at is None else format_timestamp(findings.made_at),
        done=findings.done,
        failed=findings.failed,
        keywords=None if findings.vocabulary is None else _keyword_findings(findings.vocabulary),
        unreached=None if unreached is None else _unreached_finding(unreached),
        unseen=None if unseen is None else _unseen_finding(unseen),
        most_played=() if unseen is None else [PlayedFinding(**each._asdict()) for each in unseen.most_played],
        likes=_like_findings(view, findings, standing, fall),
    )


def _unreached_finding(found: UnreachedPieces) -> UnreachedFinding:
    return UnreachedFinding(count=found.count, examples=found.pieces, lists=found.lists, of=found.of, done=found.done)


def _unseen_finding(found: UnseenPieces) -> UnseenFinding[str]:
    since = format_timestamp(found.since)
    return UnseenFinding(count=found.total, examples=found.pieces, since=since, shown=found.shown)


def fall_answer(fall: KappaFallText) -> TellingFall:
    """Return how kappa has halved as the interface has it."""
    openers = [RowShare(placement=each.name, title=each.title, opened=each.opened) for each in fall.openers]
    days = list(map(format_day, fall.days))
    return TellingFall(before=fall.before, now=fall.now, days=days, likes=fall.likes, placements=openers)


def _keyword_findings(found: VocabularyFindings) -> KeywordFindings:
    groups = [
        [KeywordCount(category=each.term.category, keyword=each.term.keyword, pieces=each.pieces) for each in group]
        for group in found.alike
    ]
    once = [KeywordName(category=term.category, keyword=term.keyword) for term in found.once]
    return KeywordFindings(
        count=found.terms,
        complete=found.complete,
        used_once=OnceFinding(count=found.once_count, examples=once),
        written_alike=VariantFinding(count=found.alike_count, examples=groups),
        one_weight=[FlatFinding(category=each.name, weight=each.weight, keywords=each.pairs) for each in found.flat],
        lonely=LonelyFinding(count=found.lonely_count, examples=found.lonely, words_only=found.worded_count),
    )


def _like_findings(
    view: View, findings: Findings, standing: AudienceStanding, fall: KappaFallText | None
) -> LikeFindings:
    mix = like_mix(view, findings, standing)
    judged = None if findings.judged is None else findings.judged.categories
    return LikeFindings(
        count=standing.likes,
        pending=standing.pending,
        age_seconds=standing.age_s,
        tells=standing.telling,
        grade=telling_grade(standing.telling),
        categories=[
            CategoryTells(category=each.name, tells=each.telling, grade=telling_grade(each.telling))
            for each in judged.categories
        ]
        if judged
        else (),
        people=judged.people if judged else 0,
        of_people=judged.of if judged else 0,
        direction=standing.direction,
        degree=order_degree(standing.direction),
        same_gaps=standing.even_gaps,
        counts_order=standing.counts_order,
        types=[TypeShare(type=each.type.value, count=each.likes, grade=each.grade) for each in mix],
        full_like=mix_sentence(mix),
        full_weight=standing.full.weight / standing.full.likes,
        fall=None if fall is None else fall_answer(fall),
    )


def like_mix(view: View, findings: Findings, standing: AudienceStanding) -> list[TypeOfLike]:
    """Return what the likes of a source are made of, as far as is found out by now."""
    return [] if findings.judged is None else mix_of_likes(findings.judged.types, standing.full, view.settings)


def telling_grade(telling: float) -> Literal["much", "something", "little"]:
    """Return in a word how much keywords tell of what people like."""
    if telling >= MUCH:
        return "much"
    return "something" if telling >= LITTLE else "little"


def order_degree(direction: float) -> Literal["strongly", "somewhat", "hardly"]:
    """Return in a word how much what people like next depends on what they liked last."""
    if direction >= STRONGLY:
        return "strongly"
    return "somewhat" if direction >= SOMEWHAT else "hardly"

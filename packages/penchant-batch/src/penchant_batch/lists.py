"""Bulk lists: the lists of a range of people, as lines of JSON, each the body that the service would answer with.

They are made by the very rankings of requests (`penchant.service.lists`), from files in the place of storage; plain
ones together (`penchant_engine.lists.plain_lists`).
"""

import asyncio
import gzip
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from penchant.live.views import View
from penchant.service.lists.answers import PersonalResult, personal_result_of
from penchant.service.lists.inputs import PersonHistory
from penchant.service.lists.kinds import rank_personal
from penchant.wire import StatedLikings, encode
from penchant.wire.answers import RecommendationResult, RecommendedPiece
from penchant_batch.executor import Files, Work
from penchant_batch.inputs import BulkInputs, read_inputs
from penchant_engine.compiling import load_kernels
from penchant_engine.index import Audience, PieceCounts, UserFeatures
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import LISTS, SERVED, Kind
from penchant_engine.lists.plain_lists import PlainLists
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_rows.service.answers import placed_of
from penchant_rows.service.kinds import PlacementRequest
from penchant_rows.service.lists import answers_by
from penchant_rows.wire.placement_answers import PlacedPiece

COMPRESSION = 1
"""Level of gzip: higher ones take longer than making the lists, for a tenth less."""


class KernelChoice(NamedTuple):
    """The kernels that work searches with: those of a folder of the machine where it was planned."""

    folder: str
    kinds: tuple[Kind, ...]

    def use(self) -> None:
        """Search with them; on another machine with those of a folder for all such work there."""
        folder = Path(self.folder)
        here = folder if folder.exists() else Path(tempfile.gettempdir()) / f"penchant-kernels-{os.getuid()}"
        use_kernels(here, *self.kinds)


def prepare(files: Files) -> Work:
    """Return what makes the lists of a range of people, compressed by itself: gzip files joined are one."""
    inputs = read_inputs(files)
    (part,) = inputs.view.snapshot.parts
    plain = PlainLists(inputs.view, inputs.people, inputs.audience, inputs.context.now, RecommendedPiece)
    weights = part.segment.posting_weights.dtype.char
    KernelChoice(inputs.context.kernels, tuple(kind for kind in (*SERVED, *LISTS) if kind[1] in {"", weights})).use()

    def work(begin: int, end: int) -> bytes:
        lines = asyncio.run(lines_of(inputs, plain, begin, end))
        # Without time, so that equal lists give equal files.
        return gzip.compress(b"".join(lines), COMPRESSION, mtime=0)

    return work


def use_kernels(folder: Path, *kinds: Kind) -> None:
    """Search with the compiled kernels of a folder, compiled first where it has none."""
    engine.use({kind: load_kernels(folder, kind) for kind in kinds})


class FileInputs:
    """What rankings are made from for people of a range, out of the files of bulk work: nothing here ever waits."""

    def __init__(self, inputs: BulkInputs, begin: int, end: int) -> None:
        self._inputs = inputs
        self.ids = inputs.people.ids.take(range(begin, end))
        self._numbers = {user_id: begin + place for place, user_id in enumerate(self.ids)}

    def now(self, _view: View) -> int:
        """Return the moment that all lists are of."""
        return self._inputs.context.now

    async def audience(self, _view: View, _now: int, _min_version: int) -> Audience:
        """Return what all people like."""
        return self._inputs.audience

    async def count_likes(self, view: View, _now: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece under a half-life of the placement."""
        (part,) = view.snapshot.parts
        return self._inputs.facts.count_likes(half_life_days, part.segment)

    async def person(self, view: View, request: ListRequest, _now: int, _likings: StatedLikings | None) -> UserFeatures:
        """Return what lists take of a person of the range."""
        number = self._numbers[request.user_id]
        return self._inputs.people.figures(number, view.snapshot, view.settings, self._inputs.preferences(number))

    async def history(self, _view: View, request: ListRequest, _now: int) -> PersonHistory:
        """Return what a person of the range did and said."""
        number = self._numbers[request.user_id]
        done = self._inputs.facts.interactions(number, request.user_id)
        return PersonHistory.counted(done, self._inputs.preferences(number))

    async def hidden(self, _view: View, user_id: str) -> frozenset[str]:
        """Return the pieces that a person of the range wants to see no more."""
        return frozenset(self._inputs.preferences(self._numbers[user_id]).counted.hidden)

    async def passed_over(self, _view: View, _placement: str, user_id: str, _now: int) -> Mapping[str, int]:
        """Return how often a person of the range was shown each piece, and passed it over."""
        number = self._numbers[user_id]
        return self._inputs.facts.passed_over(number) if self._inputs.preferences(number).personal else {}


async def lines_of(inputs: BulkInputs, plain: PlainLists[RecommendedPiece], begin: int, end: int) -> list[bytes]:
    """Return the lists of people from one number up to another, each as a line."""
    people, view, take = FileInputs(inputs, begin, end), inputs.view, inputs.context.take
    placement = inputs.context.placement
    if placement is None:
        lists = list[PersonalResult]()
        for user_id, content in zip(people.ids, plain.contents(np.arange(begin, end), take, inputs.said), strict=True):
            if content is None:
                ranking = await rank_personal(people, view, ListRequest(user_id=user_id, take=take))
                lists.append(personal_result_of(ranking))
            else:
                lists.append(RecommendationResult(id=user_id, content=content))
        return [encode(each) + b"\n" for each in lists]
    in_force, name = placement.in_force, placement.row.name
    lines = list[bytes]()
    for user_id in people.ids:
        request = PlacementRequest(placement=name, user_id=user_id, content_id=placement.content_id, take=take)
        variant = in_force.variant_for(view.head.name, user_id)
        shown = None if variant in placement.stopped else variant
        answer, *_ = await answers_by(people, _entries, view, in_force, shown, request)
        lines.append(encode(answer.result) + b"\n")
    return lines


async def _entries(ranking: ListRanking, *, explain: bool = False) -> list[PlacedPiece]:
    ranking.require()
    return placed_of(ranking, explain=explain)

"""Bulk lists: the lists of a range of people, as lines of JSON, each the body that the service would answer with."""

import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penchant.cluster import Files, Work
from penchant.index import BlendFactors, Filter, FoundLists, ManyListsSpec, PeopleLists, engine
from penchant.index.kernel_samples import FINDING, RIDGE, Kind
from penchant.live.compiling import load_kernels
from penchant.model import MAX_TAKE, Preferences
from penchant.ranking import SCORE_SCALE, RankedPiece
from penchant.service.bulk_inputs import BulkInputs, read_inputs
from penchant.service.list_inputs import blending_of, popular_at
from penchant.service.recommend import promoted_first, result_of, suited
from penchant.service.requests import PersonalRequest
from penchant.wire import RecommendationResult, RecommendedPiece, encode

COMPRESSION = 1
"""Level of gzip: higher ones take longer than making the lists, for a tenth less."""


def prepare(files: Files) -> Work:
    """Return what makes the lists of a range of people, compressed by itself: gzip files joined are one."""
    inputs = read_inputs(files)
    folder, (part,) = _kernel_folder(inputs), inputs.view.snapshot.parts
    weights = part.segment.posting_weights.dtype.char
    use_kernels(folder, FINDING, RIDGE, ("d", weights), ("lists", weights))
    lists = ListMaker(inputs)

    def work(begin: int, end: int) -> bytes:
        # Without time, so that equal lists give equal files.
        return gzip.compress(b"".join(lists.lines(begin, end)), COMPRESSION, mtime=0)

    return work


def use_kernels(folder: Path, *kinds: Kind) -> None:
    """Search with the compiled kernels of a folder, compiled first where it has none."""
    engine.use({kind: load_kernels(folder, kind) for kind in kinds})


def _kernel_folder(inputs: BulkInputs) -> Path:
    """Return the folder of the service, or, where that is another machine's, one for all such work on this machine."""
    folder = Path(inputs.context.kernels)
    return folder if folder.exists() else Path(tempfile.gettempdir()) / f"penchant-kernels-{os.getuid()}"


class ListMaker:
    """Makes lists by one kernel for all people of a range, and those that it cannot make as a request's are made."""

    def __init__(self, inputs: BulkInputs) -> None:
        self._inputs = inputs
        self._lists = None
        # Pieces that are to be unlike each other depend on those that are listed already.
        if not inputs.view.settings.max_per_value:
            self._lists = PeopleLists(inputs.people, inputs.view.snapshot, inputs.weights, _spec(inputs))

    def lines(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the lists of people from one number up to another, each as a line."""
        inputs = self._inputs
        # The whitelist raises from the same pieces, however few of them are asked for.
        take = MAX_TAKE if inputs.view.whitelist else inputs.context.take
        found = None if self._lists is None else self._lists.find(begin, end, take)
        if found is None:
            found = FoundLists([None] * (end - begin), np.zeros((end - begin, 1), dtype=np.int64))
        scores = ((SCORE_SCALE - np.clip(found.units, 0, SCORE_SCALE)) / SCORE_SCALE).tolist()
        for number, ids in enumerate(found.ids):
            person = begin + number
            said = inputs.preferences(person)
            if ids is None or said:
                # The kernel knows nothing of preferences.
                result = self._searched(person, said)
            elif inputs.view.whitelist:
                ranked = list(map(RankedPiece, ids, found.units[number].tolist()))
                result = result_of(self._query(person), promoted_first(inputs.view, ranked))
            else:
                content = list(map(_entry, ids, scores[number]))
                result = RecommendationResult(id=inputs.people.ids[person], content=content)
            yield encode(result) + b"\n"

    def _searched(self, person: int, said: Preferences) -> RecommendationResult:
        """Return a person's list as a request's is made."""
        inputs = self._inputs
        figures = inputs.people.figures(person, inputs.view.snapshot, inputs.view.settings, said)
        return suited(inputs.view, self._query(person), figures, inputs.audience, inputs.context.now)

    def _query(self, person: int) -> PersonalRequest:
        return PersonalRequest(user_id=self._inputs.people.ids[person], take=self._inputs.context.take)


def _entry(piece_id: str, score: float) -> RecommendedPiece:
    return RecommendedPiece(id=piece_id, score=score)


def _spec(inputs: BulkInputs) -> ManyListsSpec:
    """Return what `list_inputs.searched_by` makes of a request without parameters."""
    view, now = inputs.view, inputs.context.now
    figures = inputs.audience.figures

    def blending(met: int) -> BlendFactors:
        return blending_of(view.settings, None, figures.content_factor(met))

    return ManyListsSpec(
        shown=Filter(moment=now, blacklisted=view.blacklisted),
        settings=view.settings,
        excludes_seen=view.settings.exclude_seen,
        popular=popular_at(view, now, inputs.audience).lifted[0],
        blending=blending,
    )

"""Made-up histories."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from penchant.model import SourceSettings
from penchant_engine.model import DAY_MS, WHOLE, IndexedPiece, InteractionType, Term
from penchant_lab.contest import Contest, Evaluation, made_here
from penchant_lab.histories import SourceHistory, history_of
from penchant_lab.trials import EvaluationRequest


def made(rows: Sequence[tuple[str, str, str, int]], pieces: Sequence[str], **settings: Any) -> SourceHistory:
    """Return a history of rows (person, piece, type, day)."""
    known = [IndexedPiece(id=each, weights={Term("genre", each[0]): 1}, available_from=0) for each in pieces]
    events = ((person, piece, InteractionType(kind), day * DAY_MS, WHOLE) for person, piece, kind, day in rows)
    return history_of("made", known, events, SourceSettings(**settings))


def drawn(people: int, pieces: int, each: int, *, groups: int = 1, seed: int = 0) -> SourceHistory:
    """Return a history of people who like pieces at random, those of one group out of the same part of the pieces."""
    random = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        own = np.arange(person % groups, pieces, groups)
        for day, piece in enumerate(random.choice(own, min(each, len(own)), replace=False).tolist()):
            rows.append((f"u{person}", f"p{piece:04d}", "RateLike", day))
    return made(rows, [f"p{number:04d}" for number in range(pieces)])


def evaluate(history: SourceHistory, request: EvaluationRequest) -> Evaluation:
    """Return how methods do on a history, by this process."""
    contest = Contest(history, [request])
    return contest.evaluated(made_here(contest, lambda _what, _done, _total: None))[0]


@pytest.fixture(scope="session")
def alike() -> SourceHistory:
    """A history in which people of four groups like the same pieces."""
    return drawn(120, 80, 12, groups=4)


@pytest.fixture(scope="session")
def many_alike() -> SourceHistory:
    """The same of so many people that enough of them judge settings."""
    return drawn(330, 80, 12, groups=4)


@pytest.fixture(scope="session")
def by_chance() -> SourceHistory:
    """A history in which everybody likes pieces at random."""
    return drawn(150, 80, 12)

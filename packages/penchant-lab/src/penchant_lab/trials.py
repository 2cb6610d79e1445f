"""Trials: what is known of a history, and the people by whose later likes lists are judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penchant.errors import InvalidInput
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.index.layout import BoolArray
from penchant_engine.model import InteractionType
from penchant_lab import metrics
from penchant_lab.histories import Knowledge, SourceHistory, relevant_pieces
from penchant_lab.mixes import record_as
from penchant_lab.splits import (
    RELEVANT,
    KnowledgeLimits,
    SplitRule,
    draw_newcomers,
    first_asked,
    judged_settings,
    known_within,
    split,
)

PEOPLE = 3_000
MEMORY_BYTES = 4 << 30
BATCH = 64
"""People whose scores are held at once."""

Lists = Callable[[IntArray], IntArray]
"""Gives the lists (n_people, 20) of these people."""
Tell = Callable[[str, int, int], None]
"""Shows progress: what is being done, and how many lists of how many are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """What is to be evaluated, and with how much effort. ``methods`` of ``None`` are all.

    With ``limits`` only newcomers are asked for; ``asked`` leaves so many of each person's later likes, the first ones.
    ``recorded`` is a mix or a type by which what is known counts as recorded (`mixes`), "" for as it was. ``diversity``
    and ``calibration`` are those of the service's own lists; by the ``calibration_category`` all lists are judged.
    """

    split: SplitRule
    limits: KnowledgeLimits | None = None
    asked: int | None = None
    recorded: str = ""
    relevant: Sequence[InteractionType] = RELEVANT
    people: int = PEOPLE
    memory_bytes: int = MEMORY_BYTES
    methods: Sequence[str] | None = None
    diversity: float = 0.0
    calibration: float = 0.0
    calibration_category: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedPeople:
    """People by whom methods are judged, ascending, and the pieces that each of them liked later."""

    people: IntArray
    relevant: Sequence[IntArray]

    def take(self, which: BoolArray, most: int, random: np.random.Generator) -> "JudgedPeople":
        """Return the people that a mask chooses, or ``most`` of them drawn at random."""
        rows = np.flatnonzero(which)
        if len(rows) > most:
            rows = np.sort(random.choice(rows, most, replace=False))
        return JudgedPeople(people=self.people[rows], relevant=[self.relevant[row] for row in rows.tolist()])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trial:
    """The knowledge and the people by which all methods are judged; ``held_out`` counts interactions."""

    knowledge: Knowledge
    warm: JudgedPeople
    cold: JudgedPeople
    held_out: int

    @classmethod
    def of(cls, history: SourceHistory, request: EvaluationRequest) -> "Trial":
        """Return the trial that is asked for.

        Raises:
            InvalidInput: no person has both known interactions and relevant ones that are held out.
        """
        knowledge, held_out = known_part(history, request)
        warm, cold = sample_people(knowledge, held_out, request)
        if not len(warm.people) and not len(cold.people):
            raise InvalidInput(nothing_to_judge(history, request))
        if request.recorded:
            asked = np.concatenate((warm.people, cold.people))
            knowledge = record_as(knowledge, request.recorded, asked, request.relevant, request.split.seed)
        return cls(knowledge=knowledge, warm=warm, cold=cold, held_out=int(np.count_nonzero(held_out)))

    @property
    def people(self) -> IntArray:
        """All who are asked for: the warm ones, then the cold ones."""
        return np.concatenate((self.warm.people, self.cold.people))


def known_part(history: SourceHistory, request: EvaluationRequest) -> tuple[Knowledge, BoolArray]:
    """Return what is known of a history, and which of its events methods are judged by."""
    parts = split(history.events, request.split, request.relevant)
    knowledge = Knowledge.of(history, parts.known, judged_settings(history.settings, request.split))
    if request.limits is None:
        return knowledge, parts.held_out
    people, _ = relevant_pieces(knowledge, parts.held_out, request.relevant)
    able = people[np.diff(knowledge.likes.starts)[people] >= max(1, request.limits.likes or 0)]
    newcomers = draw_newcomers(able, request.people, history.person_count, request.split.seed)
    return known_within(knowledge, parts, request.limits, request.split, newcomers)


def sample_people(
    knowledge: Knowledge, held_out: BoolArray, request: EvaluationRequest, among: BoolArray | None = None
) -> tuple[JudgedPeople, JudgedPeople]:
    """Return the people by whom methods are judged: those with known interactions, and those without (cold).

    ``among`` is a mask of people; ``None`` is all of them.
    """
    if request.asked is not None:
        held_out = first_asked(knowledge, held_out, request.relevant, request.asked, request.split)
    people, relevant = relevant_pieces(knowledge, held_out, request.relevant)
    everyone = JudgedPeople(people=people, relevant=relevant)
    random = np.random.default_rng([request.split.seed, 2])
    warm = knowledge.active[people] if len(people) else np.zeros(0, dtype=np.bool_)
    is_among = np.ones(len(people), dtype=np.bool_) if among is None else among[people]
    warm, cold = warm & is_among, ~warm & is_among
    return everyone.take(warm, request.people, random), everyone.take(cold, request.people, random)


def nothing_to_judge(history: SourceHistory, request: EvaluationRequest) -> str:
    """Return why there is no person to judge by."""
    if not len(history.events):
        return f"{history.name} has no interactions; recommendations are judged by what people did."
    types = ", ".join(kind.value for kind in request.relevant)
    if request.limits is not None:
        likes = max(1, request.limits.likes or 0)
        return (
            f"Of people with {likes:,} known likes and more, and {types} among the interactions that are held out, "
            f"{history.name} has less than two: one to ask for, and one who makes the source."
        )
    return (
        f"Nobody in {history.name} has {types} among the interactions that are held out; name other types with "
        "--relevant, or another --split."
    )


def mean_ndcg(lists: IntArray, relevant: Sequence[IntArray]) -> FloatArray:
    """Return NDCG@10 by person."""
    return metrics.ndcg(metrics.hits_of(lists, relevant), counts_of(relevant))


def in_batches(lists: Lists, people: IntArray) -> IntArray:
    """Return the lists of people, some at a time."""
    joined = np.full((len(people), metrics.RECALLED), metrics.NOTHING, dtype=np.int64)
    for begin in range(0, len(people), BATCH):
        joined[begin : begin + BATCH] = lists(people[begin : begin + BATCH])
    return joined


def counts_of(relevant: Sequence[IntArray]) -> IntArray:
    """Return how many pieces each person has."""
    return np.asarray([len(each) for each in relevant], dtype=np.int64)

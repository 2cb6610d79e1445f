"""Evaluation and tuning by an executor of which some are lost, beside the same by this process alone."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from penchant.model import SourceSettings
from penchant_batch.executor import Executor, WorkPlan
from penchant_batch.lists import KernelChoice
from penchant_engine.model import Blend
from penchant_lab.contest import Contest, ContestLists, made_here
from penchant_lab.histories import SourceHistory
from penchant_lab.list_work import ListWork, MethodLists
from penchant_lab.splits import SplitRule
from penchant_lab.trials import EvaluationRequest
from penchant_lab.tuning import CandidateLists, TuningRequest, TuningTrial, gather_here, tune

NO_KERNELS = KernelChoice("", ())
ExecutorOf = Callable[[WorkPlan, Path], Executor]


def quietly(_what: str, _done: int, _total: int) -> None:
    pass


def evaluate_by(executor_of: ExecutorOf, history: SourceHistory, folder: Path, lose: Callable[[], object]) -> None:
    """Evaluate with an executor, lose something after the first part, and compare all lists."""
    requests = [
        EvaluationRequest(split=SplitRule(cold=cold), methods=("popular", "penchant", "EASE")) for cold in (0.0, 0.1)
    ]
    contest = Contest(history, requests)
    folder.mkdir()
    work = ListWork(history, ContestLists, (requests, contest.shares), NO_KERNELS)
    plan = work.write_plan(len(contest.shares), folder)

    found = dict[int, MethodLists]()
    with closing(executor_of(plan, folder)) as executor:
        for number, content in executor.run(range(plan.range_count)):
            if not found:
                lose()
            found[number] = MethodLists.decode(content)

    for number, here in enumerate(made_here(contest, quietly)):
        assert found[number].parameters == here.parameters
        assert (found[number].lists == here.lists).all()


def tune_by(executor_of: ExecutorOf, history: SourceHistory, folder: Path, lose: Callable[[], object]) -> None:
    """Tune with an executor, lose something in the middle, and compare what is found.

    Nearly every change gains at first, so that much of what was begun ahead of the search is in vain.
    """
    history = replace(history, settings=SourceSettings(blend=Blend(content=0, audience=0, popularity=1)))
    request = TuningRequest(trial=EvaluationRequest(split=SplitRule(), people=60), candidates=8, test_people=240)
    trial = TuningTrial.of(history, request)
    folder.mkdir()
    plan = ListWork(history, CandidateLists.of, request, NO_KERNELS).write_plan(trial.item_count, folder)
    asked = list[int]()

    with closing(executor_of(plan, folder)) as executor:

        def gather(needed: Sequence[int], likely: Iterable[int]) -> list[MethodLists]:
            found = [MethodLists.decode(content) for content in executor.gather(needed, likely)]
            asked.extend(needed)
            if len(asked) == 6:
                lose()
            return found

        by_executor = tune(trial, request, gather, quietly, lambda: 0.0)

    assert by_executor == tune(trial, request, gather_here(trial), quietly, lambda: 0.0)
    assert by_executor.better
    assert len(asked) > 6

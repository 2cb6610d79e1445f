"""Evaluation and tuning by processes: what comes out is what one process makes, whatever becomes of the others."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from evaluation.by_executors import evaluate_by, tune_by
from penchant_batch.executor import Executor, WorkPlan, executor_of
from penchant_lab.histories import SourceHistory

pytestmark = pytest.mark.slow


def two_processes(plan: WorkPlan, folder: Path) -> Executor:
    return executor_of(plan, folder, None, 2)


def kill_one() -> None:
    """Kill one of the processes that this one has started."""
    child = multiprocessing.active_children()[0]
    os.kill(child.pid or 0, signal.SIGKILL)


def test_an_evaluation_of_which_a_process_is_killed_has_the_same_lists(alike: SourceHistory, tmp_path: Path) -> None:
    evaluate_by(two_processes, alike, tmp_path / "work", kill_one)


def test_tuning_of_which_a_process_is_killed_finds_the_same(many_alike: SourceHistory, tmp_path: Path) -> None:
    tune_by(two_processes, many_alike, tmp_path / "work", kill_one)

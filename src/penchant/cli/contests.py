"""Contests of a command: lists made by processes or a cluster, and gone on with after an interruption.

OUT.work/trial, plan.json, parts/   beside the file for the figures, or in a temporary folder where there is none
"""

import hashlib
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import click

from penchant import __version__
from penchant.cli.histories import FEW, HistoryOrigin, kernels_for
from penchant.cluster import StoredPlan, WorkFolder, executor_of
from penchant.evaluation.contest import Contest, ContestLists, made_here
from penchant.evaluation.list_work import ListWork, MethodLists, read_history
from penchant.evaluation.report import Evaluation
from penchant.evaluation.trials import EvaluationRequest, Tell
from penchant.settings import start_with_one_thread


class ContestRun:
    """Evaluations of one history, one for each request."""

    def __init__(self, origin: HistoryOrigin, requests: Sequence[EvaluationRequest], processes: int | None) -> None:
        self._origin = origin
        self._requests = requests
        self._processes = processes

    def evaluated(self, tell: Tell, out: Path | None, *, anew: bool) -> list[Evaluation]:
        """Return the evaluations; with a file that they are for, a run that was interrupted is gone on with.

        Raises:
            PenchantError: there is nothing to judge by, or the work cannot be done.
        """
        with ExitStack() as stack:
            if out is None:
                out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penchant-evaluate-"))) / "figures"
            folder = WorkFolder(out)
            request = {"release": __version__, "evaluation": self._digest()}
            is_begun = not anew and folder.resumable(request) is not None
            history = read_history(folder.path) if is_begun else self._origin.read()
            contest = Contest(history, self._requests)
            if sum(share.end - share.begin for share in contest.shares) <= FEW:
                return contest.evaluated(made_here(contest, tell))
            stack.enter_context(folder.locked())
            # Another process may have come to its end with it just now.
            stored = folder.resumable(request) if is_begun else None
            if stored is None:
                folder.clear()
                kernels = stack.enter_context(kernels_for(history, self._origin.settings))
                work = ListWork(history, ContestLists, (self._requests, contest.shares), kernels)
                plan = work.write_plan(len(contest.shares), folder.path)
                stored = StoredPlan(request=request, about={}, plan=plan)
                folder.begin(stored)
            else:
                click.echo("Going on with what was begun.", err=True)
            return self._by_executor(contest, folder, stored, tell)

    def _by_executor(self, contest: Contest, folder: WorkFolder, stored: StoredPlan, tell: Tell) -> list[Evaluation]:
        # A cluster's tasks have one thread as well.
        start_with_one_thread()
        with closing(executor_of(stored.plan, folder.path, self._origin.settings.cluster, self._processes)) as executor:
            folder.fill(stored.plan, executor, lambda done, total: tell("making lists", done, total))
        evaluated = contest.evaluated([MethodLists.decode(content) for content in folder.contents(stored.plan)])
        folder.remove()
        return evaluated

    def _digest(self) -> str:
        """Return what tells this run from others; files count by their size and time."""
        origin = self._origin
        paths = [each for each in (origin.pieces, origin.interactions, origin.source_settings) if each is not None]
        files = [(path.absolute(), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
        database = (Path(origin.settings.data).absolute(), origin.settings.database)
        about = repr((origin.account, origin.source, files, database, self._requests))
        # A digest, since the address of a database holds a password.
        return hashlib.sha256(about.encode()).hexdigest()

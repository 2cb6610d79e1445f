"""``penchant evaluate``: how good recommendations are, judged by what people did afterwards, beside baselines.

Lists are made by processes or a cluster, and gone on with after an interruption:

    OUT.work/trial, plan.json, parts/   beside the file for the figures, or in a temporary folder where there is none
"""

import hashlib
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from penchant import __version__
from penchant.cli.numbers import NumberRange
from penchant.cli.options import anew_option, figures_option, new_file, processes_option, write_figures
from penchant.cli.output import output_file
from penchant.cli.progress import progress
from penchant.settings import start_with_one_thread
from penchant_batch.executor import executor_of, require_executor
from penchant_batch.work_folder import StoredPlan, WorkFolder
from penchant_engine.model import InteractionType
from penchant_import.commands.importing import SuggestingChoice
from penchant_lab import contenders, contest, trials
from penchant_lab.commands.histories import (
    FEW,
    HistoryOrigin,
    history_options,
    kernels_for,
    origin_of,
    trial_of,
    trial_options,
)
from penchant_lab.commands.list_files import ListColumns, ListFile, NamedFile, read_lists, write_lists, write_split
from penchant_lab.contest import Contest, ContestLists, Evaluation, GroupFigures, MeanFigure, MethodFigures, made_here
from penchant_lab.foreign_lists import ForeignLists
from penchant_lab.histories import SourceHistory
from penchant_lab.interval_plots import IntervalPanel, draw_intervals
from penchant_lab.list_work import ListWork, MethodLists, read_history
from penchant_lab.metrics import RECALLED
from penchant_lab.mixes import MIXES
from penchant_lab.package_methods import PACKAGE_METHODS, require_packages
from penchant_lab.splits import KnowledgeLimits
from penchant_lab.trials import EvaluationRequest, Tell, Trial, known_part

WIDTH = 140
MAX_HISTORY, MAX_LIKES = 1_000_000_000, 1_000
new_folder = click.Path(file_okay=False, path_type=Path)


class _Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between them, each once."""

    name = "numbers"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isascii() and word.isdigit() and self._least <= int(word) <= self._most for word in words):
            self.fail(
                f"{value!r} is no list of numbers from {self._least:,} to {self._most:,}, such as 1,3.", param, ctx
            )
        return tuple(dict.fromkeys(map(int, words)))


@click.command()
@history_options
@trial_options
@click.option(
    "--cold",
    type=NumberRange(0, 0.9),
    default=0.0,
    help="Share of pieces, and of people, of which everything is held out.",
)
@click.option(
    "--history",
    type=_Numbers(0, MAX_HISTORY),
    metavar="N[,N...]",
    help="Young sources: only the first N interactions of people who are not asked for are known.",
)
@click.option(
    "--known",
    type=_Numbers(1, MAX_LIKES),
    metavar="N[,N...]",
    help="People with few likes: only the first N likes of those who are asked for are known.",
)
@click.option(
    "--ask",
    "asked",
    type=click.IntRange(1, MAX_LIKES),
    metavar="N",
    help="Ask for the first N of each person's later likes: what comes next. (Default: for all that are held out.)",
)
@click.option(
    "--as",
    "as_type",
    type=click.Choice([kind.value for kind in InteractionType]),
    help="Count all that is known as if it had been recorded by this type, to see what types cost.",
)
@click.option(
    "--mix",
    type=click.Choice(tuple(MIXES)),
    help="Count what is known as recorded by a mix of types: "
    + "; ".join(f"{name}: {words}" for name, (words, _) in MIXES.items())
    + ".",
)
@click.option(
    "--people",
    type=click.IntRange(1, 1_000_000),
    default=trials.PEOPLE,
    help="People to ask for at most, drawn by the seed; as many of whom nothing is known.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=SuggestingChoice((*contenders.METHODS, *PACKAGE_METHODS)),
    help=f"Only this method; repeat it (default all but those of other packages: {', '.join(PACKAGE_METHODS)}).",
)
@click.option(
    "--lists",
    "list_files",
    type=NamedFile(),
    multiple=True,
    help="Judge the lists of this file, too: a row for each person, piece, and rank or score (CSV, NDJSON, Parquet); "
    "repeat it.",
)
@click.option("--person-column", "person", help="Its column of people, where the name does not tell.")
@click.option("--piece-column", "piece", help="Its column of pieces.")
@click.option("--rank-column", "rank", help="Its column of ranks, the least first.")
@click.option("--score-column", "score", help="Its column of scores, the greatest first.")
@click.option(
    "--write-split",
    "split_folder",
    type=new_folder,
    help="Write what is known, what is held out, and who is asked for, to make lists from; nothing is judged.",
)
@click.option("--write-lists", "lists_folder", type=new_folder, help="Write the lists of our methods, a file for each.")
@click.option(
    "--memory",
    type=NumberRange(0.01, 1024),
    default=trials.MEMORY_BYTES / 2**30,
    help="GiB that EASE, item-kNN and RP3beta may take in each process; they are left out where they need more.",
)
@click.option(
    "--diversity",
    type=NumberRange(0, 1),
    default=0.0,
    help="The diversity of penchant's lists, as in a request.",
)
@click.option(
    "--calibration",
    type=NumberRange(0, 1),
    default=0.0,
    help="The calibration of penchant's lists, as in a request.",
)
@click.option(
    "--calibration-category",
    help="The category by which lists are to keep the shares of tastes, and by which that of all is judged.",
)
@click.option("--plot", type=new_file, help="File for a plot of NDCG@10 and Recall@20 with their intervals, as SVG.")
@figures_option
@anew_option
@processes_option("--processes")
def evaluate(
    *,
    diversity: float,
    calibration: float,
    calibration_category: str | None,
    cold: float,
    as_type: str | None,
    mix: str | None,
    history: tuple[int, ...] | None,
    known: tuple[int, ...] | None,
    people: int,
    methods: tuple[str, ...],
    memory: float,
    split_folder: Path | None,
    plot: Path | None,
    json_file: Path | None,
    anew: bool,
    processes: int | None,
    **options: Any,
) -> None:
    """Hold out a part of what people did, recommend from the rest, and count what they would have been shown.

    Of a source (--source, with --data or --database), or of files in the shape that import takes (--folder, or
    --pieces and --interactions). Everything is ranked that the person does not know yet. Nothing is changed. Of several
    numbers of --history or --known all pairs are evaluated. The table has the best one first. Interrupted, the same
    command with --json FILE goes on from there.
    """
    lists = _lists_beside(options)
    cases = _limits_of(history, known)
    if calibration and not calibration_category:
        raise click.UsageError("--calibration needs the category that it goes by: --calibration-category.")
    if as_type and mix:
        raise click.UsageError("--as goes not with --mix: name one of them.")
    if cases != [None]:
        _require_limitable(is_cold=cold > 0, foreign=lists.files or split_folder or lists.folder)
    require_packages(methods)
    request, named = trial_of(
        options,
        asked=options.pop("asked"),
        recorded=as_type or mix or "",
        people=people,
        cold=cold,
        memory_bytes=int(memory * 2**30),
        methods=methods or None,
        diversity=diversity,
        calibration=calibration,
        calibration_category=calibration_category or "",
    )
    origin = origin_of(**named)
    if split_folder is not None:
        _write_split(split_folder, origin, request)
        return
    run = _ContestRun(origin, [replace(request, limits=each) for each in cases], processes, lists)
    with progress() as tell:
        evaluated = run.evaluated(tell, None if str(json_file) == "-" else json_file, anew=anew)
    figures = evaluated[0] if len(evaluated) == 1 else evaluated
    write_figures(json_file, contest.as_json(figures), lambda: _show(evaluated))
    if plot is not None:
        _write_plot(plot, evaluated)


def _require_limitable(*, is_cold: bool, foreign: object) -> None:
    """Raise `click.UsageError` where a young source cannot be judged so."""
    if is_cold:
        raise click.UsageError("--cold goes with neither --history nor --known.")
    if foreign:
        raise click.UsageError("--history and --known go with neither --lists nor --write-split nor --write-lists.")


class _ListsBeside(NamedTuple):
    """Files of lists that are judged beside, how they are read, and the folder that ours are written to, if any."""

    files: Sequence[ListFile]
    columns: ListColumns
    folder: Path | None

    def read(self, history: SourceHistory) -> list[ForeignLists]:
        return [read_lists(file, self.columns, history) for file in self.files]


class _ContestRun:
    """Evaluations of one history, one for each request."""

    def __init__(
        self,
        origin: HistoryOrigin,
        requests: Sequence[EvaluationRequest],
        processes: int | None,
        lists: _ListsBeside,
    ) -> None:
        require_executor(origin.settings.cluster, processes)
        self._origin = origin
        self._requests = requests
        self._processes = processes
        self._lists = lists

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
            contest = Contest(history, self._requests, self._lists.read(history))
            if sum(share.end - share.begin for share in contest.shares) <= FEW:
                return self._judged(contest, made_here(contest, tell))
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
        evaluated = self._judged(contest, [MethodLists.decode(content) for content in folder.contents(stored.plan)])
        folder.remove()
        return evaluated

    def _judged(self, contest: Contest, parts: Sequence[MethodLists]) -> list[Evaluation]:
        if self._lists.folder is not None:
            trial, lists = contest.lists(parts)
            write_lists(self._lists.folder, lists, trial, self._origin.names(contest.history))
        return contest.evaluated(parts)

    def _digest(self) -> str:
        """Return what tells this run from others; files count by their size and time."""
        origin = self._origin
        paths = [each for each in (origin.pieces, origin.interactions, origin.source_settings) if each is not None]
        files = [(path.absolute(), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
        database = (Path(origin.settings.data).absolute(), origin.settings.database)
        about = repr((origin.account, origin.source, files, database, self._requests))
        # A digest, since the address of a database holds a password.
        return hashlib.sha256(about.encode()).hexdigest()


def _limits_of(history: tuple[int, ...] | None, known: tuple[int, ...] | None) -> list[KnowledgeLimits | None]:
    """Return the limits of each evaluation to what is known; ``None`` for none."""
    if history is None and known is None:
        return [None]
    return [KnowledgeLimits(history=size, likes=likes) for likes in known or (None,) for size in history or (None,)]


def _lists_beside(options: dict[str, Any]) -> _ListsBeside:
    """Return what the options say of lists, which are taken out of them."""
    columns = ListColumns(*(options.pop(name) for name in ListColumns._fields))
    lists = _ListsBeside(options.pop("list_files"), columns, options.pop("lists_folder"))
    names = {name.lower() for name in (*contenders.METHODS, *PACKAGE_METHODS)}
    for file in lists.files:
        if file.name.lower() in names:
            raise click.UsageError(f"--lists: {file.name!r} is the name of a method already; write OTHER={file.path}.")
        names.add(file.name.lower())
    return lists


def _write_split(folder: Path, origin: HistoryOrigin, request: EvaluationRequest) -> None:
    history = origin.read()
    trial = Trial.of(history, request)
    held_out = history.events.take(known_part(history, request)[1])
    write_split(folder, trial, held_out, origin.names(history))
    click.echo(
        f"Wrote known.csv, held-out.csv and relevant.csv to {folder}. Make lists of {RECALLED} from known.csv for the "
        f"{len(trial.people):,} people in relevant.csv, and judge them with the same options and --lists mine=FILE."
    )


def _show(evaluated: Sequence[Evaluation]) -> None:
    for each in evaluated:
        show(each)
    if len(evaluated) > 1:
        _show_beside(evaluated)


def show(evaluated: Evaluation) -> None:
    """Print an evaluation for people."""
    console = Console(width=WIDTH)
    console.print(
        f"{_named(evaluated)}: {evaluated.pieces:,} pieces ({evaluated.cold_pieces:,} cold), "
        f"{evaluated.people:,} people, {evaluated.interactions:,} interactions, "
        f"{evaluated.held_out:,} of them held out ({evaluated.split}); "
        f"asked for {evaluated.warm_people_asked:,} people, and {evaluated.cold_people_asked:,} unknown ones",
        highlight=False,
        soft_wrap=True,
    )
    by_category = ["KL@10"] if any(each.miscalibration10 for each in evaluated.methods) else []
    ranked = ("NDCG@10", "HR@10", "MRR@20", "Recall@20", "penchant minus it")
    table = Table("method", *ranked, "coverage", "Gini", "novelty", "ILD@10", *by_category)
    methods = contest.best_first(evaluated.methods)
    for each in methods:
        ranks = (
            _interval(each.warm_people.ndcg10),
            _mean(each.warm_people.hit_rate10),
            _mean(each.warm_people.mrr20),
            _interval(each.warm_people.recall20),
            _interval(each.penchant_minus),
        )
        beyond = (f"{each.coverage10:.1%}", f"{each.gini10:.3f}", f"{each.novelty10:.1f}", _mean(each.ild10))
        apart_by = [_mean(each.miscalibration10)] if by_category else []
        table.add_row(each.name, *ranks, *beyond, *apart_by)
    console.print(table)
    apart = Table("Recall@20", "warm pieces", "cold pieces", "cold entries", "cold people", "seconds")
    for each in methods:
        apart.add_row(each.name, *_apart(each), f"{each.seconds:.1f}")
    console.print(apart)
    for each in methods:
        if each.parameters:
            console.print(f"{each.name}: {each.parameters}", highlight=False, soft_wrap=True)
    for sentence in (*evaluated.notes, *contest.conclude(evaluated)):
        console.print(sentence, highlight=False, soft_wrap=True)


def _show_beside(evaluated: Sequence[Evaluation]) -> None:
    table = Table("NDCG@10", *(each.name for each in evaluated[0].methods))
    for each in evaluated:
        table.add_row(_known(each), *(_interval(method.warm_people.ndcg10) for method in each.methods))
    Console(width=WIDTH).print(table)


def _write_plot(path: Path, evaluated: Sequence[Evaluation]) -> None:
    panels = [
        IntervalPanel(
            f"{title}: {_named(each)}",
            {
                method.name: (figure.value, figure.low, figure.high)
                for method in contest.best_first(each.methods)
                if (figure := getattr(method.warm_people, member)) is not None
            },
        )
        for each in evaluated
        for title, member in (("NDCG@10", "ndcg10"), ("Recall@20", "recall20"))
    ]
    first = evaluated[0]
    title = f"{first.name}: {first.warm_people_asked:,} people, held out by {first.split}; means and 95 % intervals"
    with output_file(path) as file:
        file.write(draw_intervals(title, panels, contenders.PENCHANT))


def _named(evaluated: Evaluation) -> str:
    known = _known(evaluated)
    return f"{evaluated.name}, known {known}" if known else evaluated.name


def _known(evaluated: Evaluation) -> str:
    return KnowledgeLimits(history=evaluated.history, likes=evaluated.known_likes).title


def _apart(method: MethodFigures) -> tuple[str, str, str, str]:
    return (
        _group(method.warm_pieces),
        _group(method.cold_pieces),
        f"{method.cold_shown:.1%}",
        _group(method.cold_people),
    )


def _group(group: GroupFigures) -> str:
    return "no people" if not group.people else f"{_interval(group.recall20)} of {group.people:,}"


def _mean(figure: MeanFigure | None) -> str:
    return "" if figure is None else f"{figure.value:.3f}"


def _interval(figure: MeanFigure | None) -> str:
    return "" if figure is None else f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"

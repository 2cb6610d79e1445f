"""``penchant tune``: whether other settings would have done better, and by how much; applied on request only."""

import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click
import msgspec

from penchant.bootstrap import storage_of
from penchant.cli.histories import (
    FEW,
    HistoryOrigin,
    history_options,
    kernels_for,
    origin_of,
    processes_option,
    progress,
    trial_of,
    trial_options,
)
from penchant.cli.tuned import TunedSource
from penchant.cluster import executor_of, require_executor
from penchant.evaluation import tuning
from penchant.evaluation.list_work import ListWork, MethodLists
from penchant.evaluation.report import MeanFigure
from penchant.evaluation.setting_changes import changed_members
from penchant.evaluation.trials import Tell
from penchant.evaluation.tuning import MIN_JUDGES, CandidateLists, TuningRequest, TuningResult, TuningTrial
from penchant.wire import encode, encode_settings


@click.command()
@history_options
@trial_options
@click.option(
    "--seconds",
    type=click.FloatRange(1, 86_400),
    default=tuning.SECONDS,
    show_default=True,
    help="Time after which no other settings are tried.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 1_000),
    default=tuning.CANDIDATES,
    show_default=True,
    help="Settings to try at most.",
)
@click.option(
    "--people",
    type=click.IntRange(2, 1_000_000),
    default=tuning.PEOPLE,
    show_default=True,
    help="People to try settings on at most, drawn by the seed; up to three times as many others judge the best.",
)
@click.option("--apply", "is_applied", is_flag=True, help="Put better settings in force; the former ones are kept.")
@click.option("--rollback", is_flag=True, help="Put in force what was before the last --apply, and try nothing.")
@click.option("--force", is_flag=True, help="Roll back although the settings were changed since.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@processes_option
def tune(
    *,
    seconds: float,
    candidates: int,
    people: int,
    is_applied: bool,
    rollback: bool,
    force: bool,
    as_json: bool,
    processes: int | None,
    **options: Any,
) -> None:
    """Try settings by replay of a source's own history, and propose those that are certainly better.

    Weights of categories and types of interaction, half-lives and the blend are chosen on one part of what was held
    out by a third of the people, and judged by what the others did later, whom nothing was chosen by: 200 at least.
    Nothing is changed without --apply.
    """
    trial, named = trial_of(options, people=people)
    origin = origin_of(**named)
    if (is_applied or rollback) and (origin.source is None or origin.source_settings is not None):
        raise click.UsageError("--apply and --rollback are for a --source, and its own settings.")
    if rollback:
        _roll_back(origin, force=force)
        return
    require_executor(origin.settings.cluster, processes)
    request = TuningRequest(
        trial=trial,
        candidates=candidates,
        seconds=seconds,
        # However few may choose, enough may judge.
        test_people=max(3 * people, MIN_JUDGES),
    )
    with progress() as tell:
        tuned = _tuned(origin, request, processes, tell)
    # The database was closed after the history was read: a search takes minutes.
    applied = is_applied and tuned.better
    if applied:
        with closing(storage_of(origin.settings)) as storage:
            _of(origin, storage).apply(tuned)
    if as_json:
        sys.stdout.buffer.write(encode(_members(tuned, applied=applied)) + b"\n")
        return
    _show(tuned, applied=applied)


def _tuned(origin: HistoryOrigin, request: TuningRequest, processes: int | None, tell: Tell) -> TuningResult:
    """Return the best settings, with lists made by processes or a cluster where there are many."""
    history = origin.read()
    trial = TuningTrial.of(history, request)
    is_short = len(trial.validation.people) * request.candidates <= FEW
    if is_short or tuning.obstacles(history.settings, len(trial.test.people)):
        return tuning.tune(trial, request, tuning.gather_here(trial), tell, time.monotonic)
    with ExitStack() as stack:
        kernels = stack.enter_context(kernels_for(history, origin.settings))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penchant-tune-")))
        plan = ListWork(history, CandidateLists.of, request, kernels).write_plan(trial.item_count, folder)
        executor = stack.enter_context(closing(executor_of(plan, folder, origin.settings.cluster, processes)))

        def gather(needed: Sequence[int], likely: Iterable[int]) -> Sequence[MethodLists]:
            return [MethodLists.decode(content) for content in executor.gather(needed, likely)]

        return tuning.tune(trial, request, gather, tell, time.monotonic)


def _roll_back(origin: HistoryOrigin, *, force: bool) -> None:
    with closing(storage_of(origin.settings)) as storage:
        last = _of(origin, storage).roll_back(force=force)
    click.echo(f"The settings of {last.source} are again those from before {last.applied_at}.")


def _of(origin: HistoryOrigin, storage: Any) -> TunedSource:
    return TunedSource(storage, Path(origin.settings.data), origin.account, str(origin.source))


def _members(tuned: TuningResult, *, applied: bool) -> dict[str, Any]:
    """Return the result as JSON; ``settings`` are ``None`` where there are objections to them."""
    figures = {
        "validationGain": tuned.validation_gain,
        "testBefore": tuned.test_before,
        "testAfter": tuned.test_after,
        "testGain": tuned.gain,
    }
    return {
        "better": tuned.better,
        "objections": tuned.objections,
        "applied": applied,
        "settings": msgspec.Raw(encode_settings(tuned.settings)) if tuned.better else None,
        "tried": tuned.tried,
        "validationPeople": tuned.validation_people,
        "testPeople": tuned.test_people,
        "sureValidationGain": round(tuned.sure_gain, 5),
    } | {name: MeanFigure.of(estimate) for name, estimate in figures.items()}


def _show(tuned: TuningResult, *, applied: bool) -> None:
    """Print the result for people: what changes, by how much, and how to put it in force."""
    if tuned.tried:
        click.echo(
            f"Tried {tuned.tried} settings on {tuned.validation_people:,} people; "
            f"{tuned.test_people:,} others judged the best, by what was held out from all."
        )
    if tuned.objections:
        click.echo("Nothing is certainly better than the settings in force.")
        for objection in tuned.objections:
            click.echo(objection)
        if tuned.settings != tuned.before:
            click.echo(
                f"Where it was chosen the best gained {tuned.validation_gain} (by {tuned.sure_gain:+.4f} at least, "
                "for the best of so many)."
            )
        return
    click.echo(f"NDCG@10 {tuned.test_before.value:.4f} becomes {tuned.test_after.value:.4f}: {tuned.gain}")
    before, after = (msgspec.json.decode(encode_settings(each)) for each in (tuned.before, tuned.settings))
    for name, one, other in changed_members(before, after):
        click.echo(f"  {name}: {_plain(one)} -> {_plain(other)}")
    click.echo(encode_settings(tuned.settings).decode())
    if applied:
        click.echo("These settings are in force now; --rollback takes that back.")
    else:
        click.echo("Put them in force with --apply, or by PUT of the line above to the settings of the source.")


def _plain(value: object) -> str:
    return "default" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)

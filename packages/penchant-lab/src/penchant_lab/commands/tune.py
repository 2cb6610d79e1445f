"""``penchant tune``: whether other settings would have done better, and by how much; applied on request only.

Settings before tuning: what was in force, in a file of the data folder for each source, the latest last.
"""

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
from penchant.cli.numbers import NumberRange
from penchant.cli.options import COMMAND_LINE, head_of, json_option, processes_option
from penchant.cli.progress import progress
from penchant.errors import Refused
from penchant.live.keyword_writer import replace_settings
from penchant.model import SourceSettings
from penchant.storage import Storage
from penchant.wire import decode_stored_settings, encode, encode_settings, format_timestamp
from penchant_batch.executor import executor_of, require_executor
from penchant_engine.owned_folders import write_whole
from penchant_lab import tuning
from penchant_lab.commands.histories import (
    FEW,
    HistoryOrigin,
    history_options,
    kernels_for,
    origin_of,
    trial_of,
    trial_options,
)
from penchant_lab.contest import MeanFigure
from penchant_lab.list_work import ListWork, MethodLists
from penchant_lab.trials import Tell
from penchant_lab.tuning import MIN_JUDGES, CandidateLists, TuningRequest, TuningResult, TuningTrial, changed_members

FOLDER = "tuned"
MOST = 20
"""Changes of a source that are kept. Why in files: D68 of docs/decisions.md."""


class AppliedTuning(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of settings that was applied, and can be taken back."""

    applied_at: str
    account: str
    source: str
    before: msgspec.Raw
    after: msgspec.Raw


class TunedSource:
    """A source whose settings are changed by tuning, with what they were."""

    def __init__(self, storage: Storage, data: Path, account: str, source: str) -> None:
        """Find the source.

        Raises:
            UnknownSource: there is none of this name.
        """
        self._storage = storage
        self._account, self._source = account, source
        self._head = head_of(storage, account, source)
        self._path = data / FOLDER / f"{self._head.source_id}.json"

    def settings(self) -> SourceSettings:
        """Return the settings in force."""
        _, curation = self._storage.sources.read_curation(self._head.account_id, self._source)
        return decode_stored_settings(curation.settings)

    def apply(self, tuned: TuningResult) -> None:
        """Put the settings of a result in force, once what they replace is written down and synced.

        Raises:
            Refused: there are objections to them, or others than those before are in force by now.
        """
        if tuned.objections:
            raise Refused(" ".join(("Nothing is put in force.", *tuned.objections)))
        if self.settings() != tuned.before:
            raise Refused("The settings have changed meanwhile; tune again.")
        moment = format_timestamp(time.time_ns() // 1_000_000)
        change = AppliedTuning(
            applied_at=moment,
            account=self._account,
            source=self._source,
            before=msgspec.Raw(encode_settings(tuned.before)),
            after=msgspec.Raw(encode_settings(tuned.settings)),
        )
        # Written down first: after a crash in between, the worst is a note of settings that were never put in force.
        kept = self._read()
        self._write([*kept, change][-MOST:])
        try:
            self._replace(tuned.settings)
        except BaseException:
            self._write(kept)
            raise

    def roll_back(self, *, force: bool) -> AppliedTuning:
        """Put in force what was before the latest change; return that change.

        Raises:
            Refused: there is none, or the settings were changed since.
        """
        kept = self._read()
        if not kept:
            raise Refused(f"No tuned settings of {self._source!r} were applied from this data folder.")
        last = kept[-1]
        if not force and self.settings() != decode_stored_settings(bytes(last.after)):
            raise Refused("The settings were changed since they were tuned; --force gives that up.")
        self._replace(decode_stored_settings(bytes(last.before)))
        self._write(kept[:-1])
        return last

    def _replace(self, settings: SourceSettings) -> None:
        command = replace_settings(
            account_id=self._head.account_id,
            source=self._source,
            actor=COMMAND_LINE,
            settings=settings,
            bypasses_review=True,
        )
        self._storage.submit(command).result()

    def _read(self) -> list[AppliedTuning]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[AppliedTuning])
        except FileNotFoundError:
            return []
        except msgspec.DecodeError as error:
            raise Refused(f"{self._path} cannot be read ({error}); move it away.") from error

    def _write(self, changes: list[AppliedTuning]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._path, msgspec.json.format(msgspec.json.encode(changes)) + b"\n")


@click.command()
@history_options
@trial_options
@click.option(
    "--seconds",
    type=NumberRange(1, 86_400),
    default=tuning.SECONDS,
    help="Time after which no other settings are tried.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 1_000),
    default=tuning.CANDIDATES,
    help="Settings to try at most.",
)
@click.option(
    "--people",
    type=click.IntRange(2, 1_000_000),
    default=tuning.PEOPLE,
    help="People to try settings on at most, drawn by the seed; up to three times as many others judge the best.",
)
@click.option("--apply", "is_applied", is_flag=True, help="Put better settings in force; the former ones are kept.")
@click.option("--rollback", is_flag=True, help="Put in force what was before the last --apply, and try nothing.")
@click.option("--force", is_flag=True, help="Roll back although the settings were changed since.")
@json_option
@processes_option("--processes")
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
        with closing(storage_of(origin.settings, make=False)) as storage:
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
    with closing(storage_of(origin.settings, make=False)) as storage:
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
        "fullLike": tuned.full_like,
        "sureValidationGain": round(tuned.sure_gain, 5),
    } | {name: MeanFigure.of(estimate) for name, estimate in figures.items()}


def _show(tuned: TuningResult, *, applied: bool) -> None:
    """Print the result for people: what changes, by how much, and how to put it in force."""
    if tuned.tried:
        click.echo(
            f"Tried {tuned.tried} settings on {tuned.validation_people:,} people; "
            f"{tuned.test_people:,} others judged the best, by what was held out from all."
        )
        if tuned.full_like:
            click.echo(f"{tuned.full_like} Weights of types count beside that: of one that counts alone none is tried.")
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

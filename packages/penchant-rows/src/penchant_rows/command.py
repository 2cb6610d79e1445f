"""``penchant replay``: how a draft of a placement would have done, estimated from what people were shown and did."""

import time
from contextlib import closing
from pathlib import Path

import click

from penchant.bootstrap import index_folder, storage_of
from penchant.cli.locations import DataLocation, data_options, existing_file
from penchant.cli.options import account_option, view_of
from penchant.cli.output import amount
from penchant.experiments import BoundedRate
from penchant.wire import format_timestamp
from penchant_rows.service.replays import replay
from penchant_rows.wire.placements import decode_placement


@click.command(name="replay")
@data_options
@account_option
@click.option("--source", required=True, help="Source of the placement.")
@click.option("--placement", required=True, help="Placement that the draft would replace.")
@click.option(
    "--draft", required=True, type=existing_file, help="File with the draft, as JSON: what PUT would be given."
)
def replay_draft(*, location: DataLocation, account: str, source: str, placement: str, draft: Path) -> None:
    """Estimate from the log how a draft of a placement would have done, where chance allows it, and say so where not.

    A draft may give other shares of people to lists that variants show already, all people to one of them too.
    """
    settings = location.settings()
    spec = decode_placement(draft.read_bytes())
    with closing(storage_of(settings, make=False)) as storage:
        view = view_of(storage, index_folder(settings), account, source)
        now = max(time.time_ns() // 1_000_000, view.head.changed_at)
        replayed = replay(storage, view, placement, spec, now)
    estimate = replayed.estimate
    shown = f"{amount(replayed.shown, 'pieces')} to {amount(replayed.people, 'people')}"
    click.echo(
        f"Shown since {format_timestamp(replayed.since)}: {shown},"
        f" {replayed.successes} led to something, {replayed.present_rate:.2%}."
    )
    click.echo(f"Under the draft: {_interval(estimate.rate)}; by as much as {float(estimate.people):.0f} people tell.")
    click.echo(f"Difference: {_interval(estimate.difference)}; {_verdict(estimate.difference)}.")


def _interval(rate: BoundedRate) -> str:
    return f"{float(rate.value):.2%} (95 %: {float(rate.lower):.2%} to {float(rate.upper):.2%})"


def _verdict(rate: BoundedRate) -> str:
    if rate.lower > 0:
        return "better, by what was shown"
    return "worse, by what was shown" if rate.upper < 0 else "undecided"

"""``penchant recommend``: the lists of everybody, or of some users, at one version of a source, in one file.

List files: the lists of many people as a file: lines of JSON, compressed or not, or a table (Parquet).
"""

import gzip
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from penchant import __version__
from penchant.bootstrap import data_folder, index_folder, kernel_folder, storage_of
from penchant.cli.locations import DataLocation, data_options, existing_file
from penchant.cli.options import account_option, anew_option, head_of, new_file, processes_option, view_of
from penchant.cli.progress import progress
from penchant.errors import InvalidInput, Refused
from penchant.importing import numbered_lines
from penchant.settings import NodeSettings
from penchant.wire import format_timestamp
from penchant.wire.text import id_problem
from penchant_batch.executor import executor_of, require_executor
from penchant_batch.inputs import BulkRequest, write_inputs
from penchant_batch.lists import use_kernels
from penchant_batch.placement_facts import read_placement
from penchant_batch.work_folder import Manifest, StoredPlan, WorkFolder
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import FINDING, RIDGE
from penchant_engine.model import MAX_TAKE

WriteLists = Callable[[Iterator[bytes], BinaryIO], None]
"""Writes parts, each some lines of JSON compressed by gzip, to a file."""


class _Entry(msgspec.Struct, frozen=True):
    id: str
    score: float


class _List(msgspec.Struct, frozen=True):
    id: str
    content: list[_Entry]

    @property
    def begin(self) -> tuple[str, ...]:
        return (self.id,)


class _VariantList(msgspec.Struct, frozen=True, rename="camel"):
    user_id: str
    variant: str
    kind: str
    content: list[_Entry]

    @property
    def begin(self) -> tuple[str, ...]:
        return (self.user_id, self.variant, self.kind)


def writer_of(out: Path, *, is_placement: bool) -> WriteLists:
    """Return what writes a file of this name, of lists of a placement or of recommendations.

    Raises:
        click.UsageError: its ending is none that can be written.
        Refused: what writes it is not installed.
    """
    if out.name.endswith(".ndjson.gz"):
        return lambda parts, file: file.writelines(parts)
    if out.suffix == ".ndjson":
        return lambda parts, file: file.writelines(gzip.decompress(part) for part in parts)
    if out.suffix == ".parquet":
        return _parquet_writer(is_placement=is_placement)
    raise click.UsageError("--out ends with .ndjson.gz, .ndjson or .parquet.")


def _parquet_writer(*, is_placement: bool) -> WriteLists:
    """Return what writes a row for each entry, a group of rows for each part."""
    try:
        import pyarrow.parquet  # noqa: PLC0415  # an extra
    except ImportError:
        raise Refused("Parquet needs pyarrow: install penchant[parquet].") from None
    arrow: Any = pyarrow
    names = ("userId", "variant", "kind") if is_placement else ("userId",)
    kinds = dict.fromkeys(names, arrow.string())
    kinds |= {"rank": arrow.int32(), "contentId": arrow.string(), "score": arrow.float64()}
    schema = arrow.schema(list(kinds.items()))
    decoder: msgspec.json.Decoder[_List | _VariantList]
    decoder = msgspec.json.Decoder(_VariantList if is_placement else _List)

    def write(parts: Iterator[bytes], file: BinaryIO) -> None:
        with arrow.parquet.ParquetWriter(file, schema) as writer:
            for part in parts:
                rows = [
                    (*own.begin, rank, entry.id, entry.score)
                    for own in map(decoder.decode, gzip.decompress(part).splitlines())
                    for rank, entry in enumerate(own.content, start=1)
                ]
                columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
                arrays = [arrow.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

    return write


@click.command()
@data_options
@account_option
@click.option("--source", required=True, help="Source to recommend from.")
@click.option(
    "--users",
    "users_file",
    type=existing_file,
    help="File with a user id a line, also .gz: only their lists, in its order. Default everybody, ascending.",
)
@click.option("--placement", help="Placement whose lists are written, each person's by the variant that they see.")
@click.option("--content", "content_id", help="Piece beside which they are, for placements of what is similar to one.")
@click.option("--take", type=click.IntRange(1, MAX_TAKE), default=MAX_TAKE, help="Entries of a list at most.")
@processes_option("--workers")
@click.option(
    "--out",
    required=True,
    type=new_file,
    help="File to write: .ndjson.gz, .ndjson or .parquet.",
)
@anew_option
def recommend(
    *,
    location: DataLocation,
    account: str,
    source: str,
    users_file: Path | None,
    placement: str | None,
    content_id: str | None,
    take: int,
    processes: int | None,
    out: Path,
    anew: bool,
) -> None:
    """Write the lists of everybody: those that the service would answer with, all of one version of the source.

    Beside the file lies what it was made from (.manifest.json). Interrupted, the same command goes on from there.
    """
    if content_id is not None and placement is None:
        raise click.UsageError("--content is for the lists of a placement: --placement.")
    settings = location.settings()
    write = writer_of(out, is_placement=placement is not None)
    require_executor(settings.cluster, processes)
    users = None if users_file is None else read_users(users_file)
    request = {
        "release": __version__,
        "account": account,
        "source": source,
        "take": take,
        "placement": placement,
        "content": content_id,
        "users": None if users is None else hashlib.sha256("\n".join(users).encode()).hexdigest(),
    }
    work = WorkFolder(out)
    if anew or work.resumable(request) is None:
        # Before anything is made: a wrong name leaves nothing behind.
        with closing(storage_of(settings, make=False)) as storage:
            head_of(storage, account, source)
    started = time.monotonic()
    with work.locked(), progress() as tell:
        stored = None if anew else work.resumable(request)
        if stored is None:
            work.clear()
            stored = _gather(settings, work.path, request, users)
            work.begin(stored)
        else:
            click.echo(f"Going on with what was begun: lists of {stored.about['moment']}.", err=True)
        with closing(executor_of(stored.plan, work.path, settings.cluster, processes)) as executor:
            work.fill(stored.plan, executor, lambda done, total: tell("recommending", done, total))
        manifest = work.finish(stored, write)
    _tell(out, manifest, time.monotonic() - started)


def read_users(path: Path) -> list[str]:
    """Return the ids in a file, each once, in its order.

    Raises:
        InvalidInput: one of them is no id of a person.
    """
    users = dict[str, None]()
    for number, line in numbered_lines(path):
        user_id = line.decode("utf-8", "replace").rstrip("\r\n")
        problem = id_problem(user_id)
        if problem is not None:
            raise InvalidInput(f"{path}, line {number}: {problem}")
        users[user_id] = None
    return list(users)


def _gather(settings: NodeSettings, folder: Path, request: dict[str, Any], users: Sequence[str] | None) -> StoredPlan:
    """Write the files of the work, and return its plan."""
    data_folder(settings)
    kernels = kernel_folder(settings)
    use_kernels(kernels, FINDING, RIDGE)
    try:
        with closing(storage_of(settings, make=False)) as storage:
            view = view_of(storage, index_folder(settings), request["account"], request["source"])
            now = max(time.time_ns() // 1_000_000, view.head.changed_at)
            placement = None
            if request["placement"] is not None:
                placement = read_placement(storage, view, request["placement"], request["content"], now)
            bulk = BulkRequest(users=users, now=now, take=request["take"], kernels=kernels, placement=placement)
            plan, head = write_inputs(storage, view, bulk, folder)
    finally:
        engine.use({})
    about = {
        "release": __version__,
        "source": head.name,
        "version": head.version,
        "interactionsVersion": head.interactions_version,
        "moment": format_timestamp(now),
        "take": request["take"],
    }
    if placement is not None:
        about["placement"] = placement.row.name
        about["placementVersion"] = placement.row.version
        about["stopped"] = placement.stopped
        about["contentId"] = placement.content_id
    return StoredPlan(request=request, about=about, plan=plan)


def _tell(out: Path, manifest: Manifest, took_s: float) -> None:
    about = msgspec.to_builtins(manifest.about)
    click.echo(
        f"Wrote the lists of {manifest.count} people to {out}, of version {about['version']} of {about['source']}"
        f" and version {about['interactionsVersion']} of its interactions, in {took_s:.1f} s."
    )

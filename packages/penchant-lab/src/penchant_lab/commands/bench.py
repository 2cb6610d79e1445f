"""``penchant bench``: how fast the service and its index are on this machine."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from penchant.cli.numbers import NumberRange
from penchant.cli.options import figures_option, write_figures
from penchant.live.segment_files import SegmentFiles
from penchant.settings import MAX_WORKERS
from penchant_engine.compiling import load_kernels, user_folder
from penchant_engine.index.compiled.engine import use
from penchant_engine.index.compiled.samples import KINDS
from penchant_lab.bench import catalogue, engine, service
from penchant_lab.bench import limit as requests
from penchant_lab.bench.plain import require_empty
from penchant_lab.bench.report import BenchReport, machine, show
from penchant_lab.bench.server import BenchTarget


@click.command()
@click.option("--pieces", type=click.IntRange(100, 20_000_000), default=10_000, help="Pieces to make.")
@click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with pieces.ndjson or pieces.ndjson.gz to measure instead of made pieces.",
)
@click.option(
    "--interactions",
    type=click.IntRange(0, 100_000_000),
    default=0,
    help="Interactions to make before lists of people are measured.",
)
@click.option("--workers", type=click.IntRange(1, MAX_WORKERS), default=1, help="Processes that answer.")
@click.option("--database", help="Address of an empty PostgreSQL database to measure with; it is filled.")
@click.option(
    "--limit",
    is_flag=True,
    help="Only how near each kind of request comes to a fixed answer of the same size by the same server program.",
)
@click.option("--seconds", type=NumberRange(0.5, 600), default=3.0, help="Time for each figure.")
@figures_option
def bench(
    *,
    pieces: int,
    source: Path | None,
    interactions: int,
    workers: int,
    database: str | None,
    limit: bool,
    seconds: float,
    json_file: Path | None,
) -> None:
    """Measure the service and its index on a temporary folder, beside baselines in the same run."""
    if database is not None:
        require_empty(database)
    batches: Iterable[list[bytes]] = catalogue.made(pieces) if source is None else catalogue.given(source)
    report = BenchReport(
        catalogue="made" if source is None else source.name, pieces=pieces, workers=workers, machine=machine()
    )
    with tempfile.TemporaryDirectory(prefix="penchant-bench-") as home:
        folder = Path(home) / "data"
        served = BenchTarget(folder=folder, workers=workers, database=database)
        if limit:
            kept = replace(served, kernel_folder=user_folder())
            requests.measure(report, batches, kept, seconds=seconds, interactions=interactions)
        else:
            service.measure(report, batches, served, seconds=seconds, interactions=interactions)
            measure_engine(report, served, seconds)
    write_figures(json_file, msgspec.json.format(msgspec.json.encode(report)) + b"\n", lambda: show(report))


def measure_engine(report: BenchReport, served: BenchTarget, seconds: float) -> None:
    """Measure the index of the catalogue that the service has just built, if it is large enough for a file."""
    files = SegmentFiles(served.folder / "index")
    for source_id in files.sources():
        published = next(files.published(source_id), None)
        segment = None if published is None else files.read(published)
        if segment is not None:
            kernels = {kind: load_kernels(served.kernels, kind) for kind in KINDS}
            use(kernels)
            engine.measure_loading(report, served)
            engine.measure(report, segment, kernels, seconds)

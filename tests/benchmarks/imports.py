"""Imports: what 100,000 rows of each table format cost in this revision and in one before, turn by turn.

    python tests/benchmarks/imports.py SRC BEFORE [--rows N] [--pairs N] [NAME ...]

SRC and BEFORE are where the packages of the two lie, as PYTHONPATH names folders, with any Python that has the
dependencies of both. Printed are seconds of CPU and MiB of memory of `penchant import`, medians, and whether both give
the same report and the same export.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import nan
from multiprocessing import get_context
from pathlib import Path
from typing import Any

FILES = {
    f"{kind}{ending}": form
    for kind in ("pieces", "interactions")
    for ending, form in {
        ".csv": "csv",
        ".tsv": "csv",
        ".ndjson": "ndjson",
        ".parquet": "parquet",
        ".arrow": "parquet",
        "-stream.arrow": "parquet",
    }.items()
} | {"marc.xml": "marcxml", "feed.xml": "feed"}
"""The files that are imported, and by which format."""
PEOPLE_SHARE = 10
GENRES, AUTHORS, WORDS, DAYS = 40, 5_000, 3_000, 300
TYPES = "Click", "Watch", "Purchase", "RateLike"


def drawn_rows(kind: str, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, always the same but for the day on which they begin."""
    draw, now = random.Random(1), int(datetime.now(UTC).timestamp()) // 86_400 * 86_400
    for number in range(rows):
        if kind == "pieces":
            words = [f"word{draw.randrange(WORDS)}" for _ in range(15)]
            genres = draw.sample(range(GENRES), 2)
            yield {
                "id": f"p{number}",
                "title": " ".join(words[:3]),
                "genres": "|".join(f"genre {each}" for each in genres),
                "author": f"Author {draw.randrange(AUTHORS)}",
                "year": draw.randrange(1950, 2026),
                "summary": f"{' '.join(words[3:])}.",
            }
        else:
            yield {
                "user_id": f"u{draw.randrange(rows // PEOPLE_SHARE)}",
                "item_id": f"p{draw.randrange(rows)}",
                "event": draw.choice(TYPES),
                "timestamp": now - draw.randrange(DAYS * 86_400),
            }


def as_submitted(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in the shape of the interface."""
    if "user_id" in row:
        moment = datetime.fromtimestamp(row["timestamp"], UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return {"userId": row["user_id"], "type": row["event"], "contentId": row["item_id"], "timestamp": moment}
    return {
        "id": row["id"],
        "label": row["title"],
        "categories": {"genre": row["genres"].split("|"), "author": [row["author"]]},
        "extras": {"year": row["year"], "summary": row["summary"]},
    }


def write_files(folder: Path, rows: int) -> None:
    """Write the files, in a process of its own: what it holds would be counted as memory of what it starts."""
    import pyarrow as pa  # noqa: PLC0415  # as above
    import pyarrow.csv  # noqa: PLC0415  # as above
    import pyarrow.parquet  # noqa: PLC0415  # as above

    for kind in "pieces", "interactions":
        drawn = list(drawn_rows(kind, rows))
        with (folder / f"{kind}.ndjson").open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(as_submitted(row))}\n" for row in drawn)
        table = pa.Table.from_pylist(drawn)
        pa.csv.write_csv(table, folder / f"{kind}.csv")
        pa.csv.write_csv(table, folder / f"{kind}.tsv", pa.csv.WriteOptions(delimiter="\t"))
        pa.parquet.write_table(table, folder / f"{kind}.parquet")
        for name, opened in ((".arrow", pa.ipc.new_file), ("-stream.arrow", pa.ipc.new_stream)):
            with opened(str(folder / f"{kind}{name}"), table.schema) as writer:
                writer.write_table(table, max_chunksize=64 * 1024)
    write_documents(folder, rows)


def write_documents(folder: Path, rows: int) -> None:
    """Write the pieces as records of a library, and as a feed."""
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    with (folder / "marc.xml").open("w", encoding="utf-8") as marc, (folder / "feed.xml").open("w") as feed:
        marc.write('<collection xmlns="http://www.loc.gov/MARC21/slim">\n')
        feed.write('<rss version="2.0"><channel><title>Feed</title>\n')
        for number, row in enumerate(drawn_rows("pieces", rows)):
            subjects = "".join(
                f'<datafield tag="650" ind1=" " ind2="0"><subfield code="a">{genre}</subfield></datafield>'
                for genre in row["genres"].split("|")
            )
            marc.write(
                f'<record><leader>00000nam a2200000 a 4500</leader><controlfield tag="001">{row["id"]}</controlfield>'
                f'<datafield tag="100" ind1="1" ind2=" "><subfield code="a">{row["author"]}</subfield></datafield>'
                f'<datafield tag="245" ind1="1" ind2="0"><subfield code="a">{row["title"]}</subfield></datafield>'
                f'<datafield tag="520" ind1=" " ind2=" "><subfield code="a">{row["summary"]}</subfield></datafield>'
                f"{subjects}</record>\n"
            )
            moment = (begin + timedelta(minutes=number)).strftime("%a, %d %b %Y %H:%M:%S GMT")
            categories = "".join(f"<category>{genre}</category>" for genre in row["genres"].split("|"))
            feed.write(
                f"<item><guid>{row['id']}</guid><title>{row['title']}</title><link>https://example.org/{row['id']}"
                f"</link><pubDate>{moment}</pubDate>{categories}<description>{row['summary']}</description></item>\n"
            )
        marc.write("</collection>\n")
        feed.write("</channel></rss>\n")


def command(source: str, words: Sequence[str], printed: Path) -> tuple[float, float]:
    """Run a command of a revision; return its seconds of CPU, those of its threads and children too, and its MiB."""
    with printed.open("wb") as out, printed.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            (sys.executable, "-m", "penchant", *words), stdout=out, stderr=err, env={**os.environ, "PYTHONPATH": source}
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print(printed.with_suffix(".err").read_text())
        return nan, nan
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def imported(source: str, file: Path, *, is_compared: bool) -> tuple[float, float, Any]:
    """Import a file with a revision; return what that cost, and what it told and stored."""
    with tempfile.TemporaryDirectory(prefix="imports-") as folder:
        report, where = Path(folder, "report.json"), ("--data", f"{folder}/data", "--account", "a", "--source", "s")
        cost = command(source, ("import", *where, "--from", FILES[file.name], "--json", str(file)), report)
        told = json.loads(report.read_bytes()) | {"seconds": 0}
        if is_compared:
            exported = Path(folder, "export.ndjson")
            command(source, ("export", *where), exported)
            told = told, exported.read_bytes()
        return *cost, told


def are_same(one: tuple[Any, bytes], other: tuple[Any, bytes]) -> list[bool]:
    """Return whether two reports are the same, where both have a member, and two exports."""
    return [all(one[0][name] == other[0][name] for name in one[0].keys() & other[0].keys()), one[1] == other[1]]


def main() -> None:
    """Print a line for each file."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("src")
    arguments.add_argument("before")
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("names", nargs="*", default=list(FILES))
    chosen = arguments.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix="imports-files-") as folder:
        writing = get_context("spawn").Process(target=write_files, args=(Path(folder), chosen.rows))
        writing.start()
        writing.join()
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{chosen.rows} rows, {chosen.pairs} pairs (a process begins with {own:.0f} MiB of its parent)")
        print(f"{'':24}{'CPU s':>8}{'before':>8}{'ratio':>8}{'MiB':>8}{'before':>8}  same report, same export")
        for name in chosen.names:
            costs: dict[str, list[tuple[float, float]]] = {chosen.src: [], chosen.before: []}
            told = {}
            for turn in range(chosen.pairs):
                for source, found in list(costs.items())[:: 1 if turn % 2 else -1]:
                    *cost, told[source] = imported(source, Path(folder, name), is_compared=not turn)
                    found.append((cost[0], cost[1]))
                if not turn:
                    same = are_same(*told.values())
            (now, now_mib), (before, before_mib) = (
                (statistics.median(each) for each in zip(*found, strict=True)) for found in costs.values()
            )
            print(
                f"{name:24}{now:8.2f}{before:8.2f}{now / before:8.2f}{now_mib:8.0f}{before_mib:8.0f}  "
                f"{', '.join('yes' if each else 'NO' for each in same)}",
                flush=True,
            )


if __name__ == "__main__":
    main()

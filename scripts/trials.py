"""Trials of imports: what real tools write, and what comes of it; `scripts/tools` runs both halves."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FILMS: dict[str, list[Any]] = {
    "id": ["rope", "m"],
    "title": ["Rope", "M"],
    "genre": [["Film noir", "Crime, true", "it's"], ["Film noir"]],
}
THING = {
    "@context": "https://schema.org/",
    "@id": "https://x.example/rope",
    "@type": "Movie",
    "name": {"@language": "en", "@value": "Rope"},
    "genre": "Crime",
}
GRAPH = """@prefix s: <http://schema.org/> .
<https://x.example/rope> a s:Movie ; s:name "Rope" ; s:genre "Crime" .
<https://x.example/m> a s:Movie ; s:name "M" ; s:genre "Crime" .
"""
SHOWN_LETTERS = 110


class Written(NamedTuple):
    """A file that a tool wrote: by which package, what it is, and how it is imported."""

    package: str
    what: str
    file: str
    format: str
    options: tuple[str, ...] = ()


NODE = {
    "feed, Atom, categories with labels": (
        "feed",
        "atom.xml",
        """const {Feed} = require('feed');
const f = new Feed({title:'t', id:'http://x.example/', link:'http://x.example/', updated:new Date(1793527200000)});
for (const n of ['a', 'b']) f.addItem({title:n, id:'http://x.example/' + n, link:'http://x.example/' + n,
  date:new Date(1793527200000), category:[{name:'Sea'}]});
console.log(f.atom1());""",
    ),
    "feed, RSS": (
        "feed",
        "feed-rss.xml",
        """const {Feed} = require('feed');
const f = new Feed({title:'t', id:'http://x.example/', link:'http://x.example/', updated:new Date(1793527200000)});
for (const n of ['a', 'b']) f.addItem({title:n, id:'http://x.example/' + n, link:'http://x.example/' + n,
  date:new Date(1793527200000), category:[{name:'Sea'}]});
console.log(f.rss2());""",
    ),
    "podcast, RSS": (
        "podcast",
        "podcast.xml",
        """const {Podcast} = require('podcast');
const p = new Podcast({title:'t', siteUrl:'http://x.example/', feedUrl:'http://x.example/f',
  pubDate:new Date(1793527200000)});
for (const n of ['a', 'b']) p.addItem({title:n, guid:n, url:'http://x.example/' + n, date:new Date(1793527200000),
  categories:['Sea'], enclosure:{url:'http://x.example/' + n + '.mp3', size:1, type:'audio/mpeg'}});
console.log(p.buildXml());""",
    ),
    "@iptv/xmltv, programmes without stop": (
        "@iptv/xmltv",
        "guide.xml",
        """import('@iptv/xmltv').then(({writeXmltv}) => console.log(writeXmltv({
channels:[{id:'c', displayName:[{_value:'C'}]}],
programmes:['2030-11-01T20:00:00Z', '2030-11-01T22:00:00Z'].map((at, n) => ({channel:'c', start:new Date(at),
  title:[{_value:'Night ' + n}], category:[{_value:'Film'}]}))})));""",
    ),
}


def write_all(folder: Path) -> None:
    """Have each tool write its files, and a list of them."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    listed: list[Written] = []
    for writer in (tables, documents, records):
        writer(listed)
    versions = {each.package: metadata.version(each.package) for each in listed}
    for what, (package, file, program) in NODE.items():
        home = folder.parent / "node_modules"
        with suppress(FileNotFoundError, subprocess.CalledProcessError):
            text = subprocess.run(
                ["node", "-e", program], check=True, capture_output=True, text=True, cwd=home.parent
            ).stdout
            Path(file).write_text(text, "utf-8")
            listed.append(Written(package, what.partition(", ")[2], file, "xmltv" if "guide" in file else "feed"))
            versions[package] = json.loads((home / package / "package.json").read_text("utf-8"))["version"]
    Path("list.json").write_text(json.dumps([versions, listed]), "utf-8")


def tables(listed: list[Written]) -> None:
    """Write tables by the libraries of data frames."""
    import datasets
    import duckdb
    import fastparquet
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow import parquet

    frame = pd.DataFrame(FILMS)
    frame.to_csv("pandas.csv", index=False)
    times = pd.DataFrame({"user_id": ["u"], "item_id": ["rope"], "event": ["view"]})
    times["time"] = pd.to_datetime([1793527200.123457], unit="s")
    times.to_parquet("times.parquet")
    frame[frame["id"] == "m"].to_parquet("filtered.parquet")
    listed.append(Written("pandas", "CSV, lists in cells", "pandas.csv", "csv"))
    listed.append(Written("pandas", "Parquet, times of nanoseconds", "times.parquet", "parquet"))
    listed.append(Written("pandas", "Parquet of a filtered frame", "filtered.parquet", "parquet"))
    lines = pl.DataFrame(
        {"id": ["rope", "m"], "categories": [{"genre": ["Crime"], "tag": None}, {"genre": ["Crime"], "tag": ["x"]}]}
    )
    lines.write_ndjson("polars.ndjson")
    pl.DataFrame(FILMS).write_ipc_stream("polars.arrow")
    listed.append(Written("polars", "NDJSON, null members", "polars.ndjson", "ndjson"))
    listed.append(Written("polars", "Arrow stream", "polars.arrow", "parquet"))
    films = pa.table(FILMS)  # noqa: F841  # DuckDB finds it by its name
    duckdb.sql("CREATE TABLE films AS SELECT * FROM films")
    duckdb.sql("COPY films TO 'duckdb.csv'")
    duckdb.sql("COPY (SELECT id, title, 'infinity'::DATE AS available_until FROM films) TO 'forever.parquet'")
    duckdb.sql("COPY (SELECT *, 'films' AS catalog FROM films) TO 'parts' (FORMAT parquet, PARTITION_BY (catalog))")
    duckdb.sql("COPY (SELECT id, title, 1::HUGEINT AS n, INTERVAL 1 DAY AS d FROM films) TO 'odd.parquet'")
    duckdb.sql(
        "COPY (SELECT 'rope' AS \"contentId\", 'u' AS \"userId\", 'Click' AS type, TIMESTAMP '2026-11-01 10:00:00'"
        " AS timestamp) TO 'duckdb.ndjson' (FORMAT json)"
    )
    listed.append(Written("duckdb", "CSV, lists in cells", "duckdb.csv", "csv"))
    listed.append(Written("duckdb", "Parquet, the date infinity", "forever.parquet", "parquet"))
    listed.append(Written("duckdb", "Parquet in folders of partitions", "parts", "parquet"))
    listed.append(Written("duckdb", "Parquet, huge integers and intervals", "odd.parquet", "parquet"))
    listed.append(Written("duckdb", "NDJSON, times without zone", "duckdb.ndjson", "ndjson"))
    dataset = datasets.Dataset.from_dict(FILMS)
    dataset.to_csv("datasets.csv")
    dataset.save_to_disk("saved")
    listed.append(Written("datasets", "CSV, lists in cells", "datasets.csv", "csv"))
    listed.append(Written("datasets", "`save_to_disk`", "saved/data-00000-of-00001.arrow", "parquet"))
    fastparquet.write("fast.parquet", frame)
    listed.append(Written("fastparquet", "Parquet, lists as JSON", "fast.parquet", "parquet"))
    from decimal import Decimal

    ids = [Decimal(12345678901234567890), Decimal(12345678901234567891)]
    parquet.write_table(pa.table({"id": pa.array(ids, pa.decimal128(38, 0)), "title": ["a", "b"]}), "decimal.parquet")
    raw = pa.table({"id": pa.array([b"caf\xe9", b"caf\xe8"]), "title": ["a", "b"]})
    parquet.write_table(raw, "binary.parquet")
    listed.append(Written("pyarrow", "Parquet, ids of DECIMAL(38,0)", "decimal.parquet", "parquet"))
    listed.append(Written("pyarrow", "Parquet, ids of bytes in Latin-1", "binary.parquet", "parquet"))


def documents(listed: list[Written]) -> None:
    """Write linked data and feeds."""
    import feedgen.feed
    import pyld
    import rdflib

    graph = rdflib.Graph().parse(data=GRAPH, format="turtle")
    graph.serialize("rdflib.jsonld", format="json-ld")
    context = {"@context": {"@vocab": "https://schema.org/"}}
    vocabulary = THING | context
    Path("pyld.jsonld").write_text(json.dumps(pyld.jsonld.compact(vocabulary, context)), "utf-8")
    listed.append(Written("rdflib", "JSON-LD, expanded", "rdflib.jsonld", "schema.org"))
    listed.append(Written("pyld", "JSON-LD, value objects", "pyld.jsonld", "schema.org"))
    feed = feedgen.feed.FeedGenerator()
    feed.id("http://x.example/")
    feed.title("t")
    feed.link(href="http://x.example/")
    feed.description("d")
    for name in ("a", "b"):
        entry = feed.add_entry()
        entry.id(f"http://x.example/{name}")
        entry.title(name)
        entry.link(href=f"http://x.example/{name}")
        entry.category(term="sea", label="Sea")
    feed.rss_file("feedgen.xml")
    listed.append(Written("feedgen", "RSS", "feedgen.xml", "feed"))


def records(listed: list[Written]) -> None:
    """Write records of libraries, and a vocabulary."""
    import pymarc

    def record(kind: str, title: str) -> pymarc.Record:
        made = pymarc.Record()
        made.leader = pymarc.Leader(f"00000n{kind} a2200000 a 4500")
        made.add_field(pymarc.Field(tag="001", data=title.lower()))
        tag = "100" if kind == "z " else "245"
        made.add_field(pymarc.Field(tag=tag, indicators=["0", "0"], subfields=[pymarc.Subfield("a", title)]))
        made.add_field(pymarc.Field(tag="650", indicators=[" ", "0"], subfields=[pymarc.Subfield("a", "Boats")]))
        return made

    with Path("pymarc.xml").open("wb") as stream:
        writer = pymarc.XMLWriter(stream)
        for each in (record("am", "One"), record("am", "Two"), record("z ", "Bee")):
            writer.write(each)
        writer.close(close_fh=False)
    listed.append(Written("pymarc", "MARCXML, two books and an authority", "pymarc.xml", "marcxml"))


def outcome(source: Path, words: tuple[str, ...]) -> str:
    """Return what comes of a file: what was stored, or why nothing was."""
    with tempfile.TemporaryDirectory() as data:
        report = penchant(
            "import",
            "--data",
            data,
            "--account",
            "default",
            "--source",
            "s",
            "--skip-invalid",
            "--json",
            *words,
            str(source),
        )
        if report.returncode:
            errors = report.stderr.strip().splitlines()
            if any(line.startswith("Traceback") for line in errors):
                return f"traceback: {errors[-1]}"
            return "refused: " + " ".join(" ".join(errors[-2:]).split())
        counts = json.loads(report.stdout)
        lines = penchant(
            "export", "--data", data, "--account", "default", "--source", "s", "--with", "interactions"
        ).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    pieces = [row for row in rows if "categories" in row]
    parts = [amount(len(pieces), "piece")] if pieces else []
    keys = {str(key) for row in pieces for each in row["categories"].values() for key in keywords(each)}
    parts += [" · ".join(sorted(keys))] if keys else []
    filters = {f"{name} {value}" for row in pieces for name, value in row["filters"].items()}
    parts += sorted(filters)
    people = [row["userId"] for row in rows if "userId" in row]
    parts += [f"{amount(len(people), 'interaction')} of {', '.join(sorted(set(people)))}"] if people else []
    left_out = sum(each["count"] for each in counts["leftOut"]) + counts["invalidRows"]
    return "; ".join(parts or ["nothing"]) + (f" ({left_out} left out)" if left_out else "")


def amount(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count} {what}{'s' * (count != 1)}"


def keywords(value: Any) -> list[Any]:
    """Return the keywords of a category, those of categories within it too."""
    if isinstance(value, dict):
        return [key for each in value.values() for key in keywords(each)]
    return [each["key"] if isinstance(each, dict) else each for each in value]


def penchant(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "penchant", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "400"},
    )


def cell(text: str, folder: Path) -> str:
    """Return a text as a cell of a table: short, without names of folders."""
    text = text.replace(f"{folder}/", "").replace("|", "\\|").replace("\ufffd", "�")
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def import_all(folder: Path) -> str:
    """Return a table of what comes of each file."""
    versions, written = json.loads((folder / "list.json").read_text("utf-8"))
    lines = ["| tool | what it wrote | what comes of it |", "|---|---|---|"]
    for package, what, file, format_name, options in written:
        stored = cell(outcome(folder / file, ("--from", format_name, *options)), folder)
        lines.append(f"| {package} {versions[package]} | {what} | {stored} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the half that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", choices=("write", "import"))
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if chosen.half == "write":
        write_all(folder)
        return
    table = import_all(folder)
    document = ROOT / "docs" / "lab" / "import-trials.md"
    head, _, _ = document.read_text("utf-8").partition(MARK)
    document.write_text(head + MARK + table, "utf-8")
    print(table)


MARK = "<!-- by scripts/tools -->\n\n"

if __name__ == "__main__":
    main()

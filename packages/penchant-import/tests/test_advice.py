"""Advice that works: what an import proposes is given back to it, and is accepted and helps."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from import_folders import Folder
from penchant.cli import commands
from penchant.errors import Refused
from penchant_import.formats import FORMATS, unused_options
from penchant_import.options import ImportOptions as Options
from penchant_import.options import KeywordColumn, parse_column

Tell = Callable[..., str]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """What a dry run of an import prints; it has to be accepted, unless another code is said."""

    def run(*words: str, code: int = 0) -> str:
        given = ["import", "--dry-run", "--data", str(tmp_path / "data"), "--source", "s", *words]
        ended = CliRunner().invoke(commands, given)
        assert ended.exit_code == code, ended.output
        return ended.output or f"{ended.exception}\n"

    return run


def proposals(output: str) -> list[list[str]]:
    """Return the options that the lines of an output propose, as a shell has them."""
    lines = re.findall(r"^ +(--\S.*?) (?:makes keywords|keeps the|leaves out the)", output, re.MULTILINE)
    lines += re.findall(r"for instance (--columns .*?)\.$", output, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def in_csv(cells: Sequence[str]) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


COLUMNS = (
    "dcterms:subject",
    "dcterms",
    "a=b",
    'it\'s "one"',
    "two words",
    "where,when",
    "x:y=z:",
    "$HOME `id`",
    "Made: of",
)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("separator", ("|", ";", ",", "/", " > ", ""))
def test_every_proposal_is_accepted_and_joins_pieces(folder: Folder, tell: Tell, column: str, separator: str) -> None:
    cells = [separator.join(each) for each in (("boats", "piers"), ("boats", "nets"), ("nets", "piers"), ("boats",))]
    rows = [in_csv((str(n), f"Name{n}", cell)) for n, cell in enumerate(cells if separator else "abab")]
    path = folder.write("a.csv", in_csv(("id", "dcterms:title", column)), *rows)
    words = ["--from", "csv", "--no-words", str(path)]

    proposed = proposals(tell(*words))

    assert [each[0] for each in proposed] == ["--keywords", "--words"]
    for options in proposed:
        tell("--from", "csv", *options, str(path))
    assert "4 of 4 pieces share a keyword" in tell(*words, *proposed[0])


def test_signs_within_names_are_no_separators_where_the_names_join_as_much(folder: Folder, tell: Tell) -> None:
    rows = [f"{n},Name{n},{('AC/DC', 'Queen')[n % 2]},/{'ab'[n % 2]}/{n}.jpg" for n in range(6)]
    path = folder.write("a.csv", "id,title,band,file", *rows)

    proposed = proposals(tell("--from", "csv", "--no-words", str(path)))

    assert [options[1] for options in proposed if options[0] == "--keywords"] == ["band=band"]


def test_all_columns_that_would_join_pieces_are_proposed_those_that_join_most_first(folder: Folder, tell: Tell) -> None:
    rows = [f"{n},Name{n},m{n % 2},k{n % 3},{'rare' if n < 3 else n},s{n % 4}" for n in range(12)]
    path = folder.write("a.csv", "id,title,maker,kind,series,shelf", *rows)

    proposed = proposals(tell("--from", "csv", "--no-words", str(path)))

    columns = [options[1].partition("=")[0] for options in proposed if options[0] == "--keywords"]
    assert (set(columns[:3]), columns[3:]) == ({"maker", "kind", "shelf"}, ["series"])


def test_sentences_are_never_split_at_commas(folder: Folder, tell: Tell) -> None:
    kinds = ("animal", "spanish", "animal", "spanish")
    texts = [
        f"It may be of {kind} origin, or from the sea, and is kept for {n} years at most."
        for n, kind in enumerate(kinds)
    ]
    rows = [in_csv((str(n), f"Name{n}", text, "dry, warm")) for n, text in enumerate(texts)]
    path = folder.write("a.csv", "id,title,origin,skin", *rows, in_csv(("9", "Name9", texts[0], "warm")))

    proposed = [options[1] for options in proposals(tell("--from", "csv", "--no-words", str(path)))]

    assert not any(each.startswith("origin") for each in proposed)


def test_keywords_that_come_by_name_are_kept_beside_those_that_are_proposed(folder: Folder, tell: Tell) -> None:
    rows = (f'{n},Name{n},"g{n}, h{n}",m{n % 2}' for n in range(6))
    path = folder.write("a.csv", "id,title,genres,maker", *rows)

    proposed = proposals(tell("--from", "csv", "--no-words", str(path)))

    assert proposed[:2] == [["--keywords", "maker=maker"], ["--keywords", "genre=genres:,"]]
    taken = tell("--from", "csv", "--no-words", *proposed[0], *proposed[1], str(path))
    assert '"genre":["g0","h0"],"maker":["m0"]' in taken


def test_lists_in_brackets_are_proposed_as_lists(folder: Folder, tell: Tell) -> None:
    rows = (in_csv((str(n), f"Name{n}", f"['m{n % 2}', 'k, {n % 3}']")) for n in range(6))
    path = folder.write("a.csv", "id,title,moods", *rows)

    assert proposals(tell("--from", "csv", "--no-words", str(path)))[0] == ["--keywords", "moods=moods"]


names = st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(":=, '\""), min_size=1, max_size=6)


@given(
    names=st.lists(names.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True),
    separator=st.sampled_from("|,:="),
)
def test_of_columns_that_fit_an_option_the_longest_is_meant(names: list[str], separator: str) -> None:
    column = max(names, key=len)

    for written in (f"c={column}:{separator}", f"c={column}"):
        found = parse_column(written).resolve(names) if not column.startswith(":") else None
        assert found is None or len(found.column) >= len(column)
        assert found is None or found.option_text == written


@pytest.mark.parametrize("encoding", ("klingon", "zlib", "undefined"))
def test_an_encoding_that_is_none_of_texts_is_refused(folder: Folder, tell: Tell, encoding: str) -> None:
    path = folder.write("a.csv", "id,title", "1,Rope")

    assert "--encoding takes a name such as" in tell("--from", "csv", "--encoding", encoding, str(path), code=2)


def test_columns_that_are_not_there_are_refused_whatever_they_are_for(folder: Folder) -> None:
    folder.write("a.csv", "id,title", "1,Rope")
    folder.write("b.csv", "user,item,event,ts", "u,1,view,1")

    for option in ("label", "user", "type", "rating", "time"):
        with pytest.raises(Refused, match="the column gone is missing"):
            folder.read("csv", **{f"{option}_column": "gone"})
    assert len(folder.read("csv", label_column="title", time_column="ts")) == 2


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"ndjson"}))
def test_options_that_a_format_has_no_use_for_are_refused(folder: Folder, tell: Tell, name: str) -> None:
    path = folder.write("a.csv", "x", "1")
    given = {"keywords": ("--keywords", "a=b"), "columns": ("--columns", "a"), "decimal": ("--decimal", ",")}
    chosen = Options(keywords=(KeywordColumn(column="b", category="a"),), columns=("a",), decimal=",")

    unused = unused_options(name, chosen)

    for words in given.values():
        output = tell("--from", name, *words, str(path), code=2) if words[0] in unused else ""
        assert not output or f"{words[0]}: the format {name} has no use for this" in output


def test_each_format_says_which_options_it_uses() -> None:
    strange = Options(decimal=",", columns=("a",), rating_scale=7, keywords=(KeywordColumn(column="b", category="a"),))

    assert [name for name in FORMATS if not unused_options(name, strange)] == ["csv"]


@pytest.mark.parametrize("name", ("shopify", "gorse", "recombee", "metarank"))
def test_columns_of_options_that_no_file_has_are_told(folder: Folder, name: str) -> None:
    folder.write("items.csv", "Handle,Title,item_id", "1,Rope,1")
    folder.write("a.jsonl", '{"event":"item","item":"1","fields":[{"name":"x","value":"y"}]}')
    if name == "metarank":
        (folder.path / "items.csv").unlink()

    folder.read(name, keywords=(KeywordColumn(column="b", category="gone"),))

    assert folder.left_out()["(options)", "gone=b"][0] == "names no column or field of these files"


def test_fields_with_colons_are_named_in_formats_of_json(folder: Folder) -> None:
    folder.write("items.json", '[{"itemId":"1","dcterms:subject":"a|b","dcterms":"c"}]')

    (piece,) = folder.read("recombee", keywords=(parse_column("topic=dcterms:subject:|"),))

    assert piece["categories"] == {"topic": ["a", "b"]}


@pytest.mark.parametrize(
    ("rows", "expected"),
    (
        (("196\t242\t3\t881250949", "186\t302\t5\t891717742"), ["--columns", "user,item,rating,time"]),
        (("kim,242,2026-11-01", "lee,302,2026-11-02"), ["--columns", "user,item,time", "--type", "*=Watch"]),
        (("1|Toy Story|Animation", "2|GoldenEye|Action"), ["--columns", "id,title,column 3"]),
        (("7", "8"), ["--columns", "id"]),
    ),
)
def test_tables_without_a_heading_are_told_with_the_option_that_helps(
    folder: Folder, tell: Tell, rows: tuple[str, ...], expected: list[str]
) -> None:
    path = folder.write("u.csv", *rows)

    output = tell("--from", "csv", str(path), code=1)

    assert "line 1 looks like a row, not like a heading (" in output
    (options,) = proposals(output)
    assert options == expected
    assert f"{len(rows)} rows" in tell("--from", "csv", *options, str(path))


TEXTS = [f"A rope that sailors of {town} have made by hand for {n} years." for n, town in enumerate(("Rye", "Bremen"))]
WITH_TEXTS = {
    "ndjson": ("a.ndjson", '{{"id":"{0}","label":"N{0}","categories":{{}},"extras":{{"the plot":"{1}"}}}}'),
    "specification": ("a.json", '{{"id":"{0}","categories":{{}},"filters":{{}},"extras":{{"plot":"{1}"}}}}'),
    "csv": ("a.csv", "{0},N{0},{1},oak/m{0}"),
    "shopify": ("products.csv", "{0},N{0},{1},m{0}"),
    "woocommerce": ("wc.csv", "{0},N{0},{1},m{0},1,simple"),
    "merchant": ("a.tsv", "{0}\tN{0}\t{1}\tm{0}"),
    "schema.org": ("a.jsonl", '{{"@type":"T{0}","@id":"{0}","name":"N{0}","description":"{1}"}}'),
    "feed": ("a.rss", "<item><guid>{0}</guid><title>N{0}</title><description>{1}</description></item>"),
    "gorse": ("items.jsonl", '{{"ItemId":"{0}","Comment":"Rope of {0}","Labels":{{"x: y":"v{0}","size":7}}}}'),
    "recombee": ("items.jsonl", '{{"itemId":"{0}","title":"N{0}","Made: of":"oak/m{0}","plot":"{1}"}}'),
    "metarank": (
        "a.jsonl",
        '{{"event":"item","item":"{0}","fields":[{{"name":"plot","value":"{1}"}},{{"name":"a:b","value":"c/{0}"}}]}}',
    ),
}
HEADINGS = {
    "csv": "id,title,the plot,Made: of",
    "shopify": "Handle,Title,Body (HTML),Vendor",
    "woocommerce": "ID,Name,Description,Brands,Published,Type",
    "merchant": "id\ttitle\tdescription\tbrand",
}


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_proposals_of_every_format_are_accepted_and_help(folder: Folder, tell: Tell, name: str) -> None:
    file, line = WITH_TEXTS[name]
    lines = [line.format(n, text) for n, text in enumerate(TEXTS)]
    if name == "feed":
        lines = ["<rss>", *lines, "</rss>"]
    path = folder.write(file, *filter(None, [HEADINGS.get(name)]), *lines)
    first = tell("--from", name, "--no-words", str(path))

    proposed = proposals(first)

    assert "--words" in {options[0] for options in proposed}
    for options in proposed:
        told = tell("--from", name, *([] if "--words" in options else ["--no-words"]), *options, str(path))
        assert "2 of 2 pieces share a keyword" in told

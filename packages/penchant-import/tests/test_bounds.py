"""Files that would take all memory: packed ones, endless lines, rows, cells and elements, read in a bounded process."""

import gzip
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from penchant_import.files import MAX_COLUMNS, Files, InputFile, UnreadableFile

GIB = 1 << 30
MIB = 1 << 20
ADDRESS_SPACE = 1_200 * MIB
"""Of a process that reads such a file: what its libraries take, and a line or item of the greatest length."""


def packed(path: Path, start: bytes, part: bytes, length: int, *, level: int = 1) -> Path:
    """Write a file in gzip that begins so, and then repeats a part for so many bytes: a member each, packed once."""
    block = part * (MIB // len(part))
    path.write_bytes(gzip.compress(start) + gzip.compress(block, level) * (length // len(block)))
    return path


READING = """
    import resource, sys
    from pathlib import Path
    from penchant_import.files import Files
    from penchant_import.files import InputFile, UnreadableFile
    from penchant_import.markup import read_items
    resource.setrlimit(resource.RLIMIT_AS, ({space}, {space}))
    file = InputFile(path=Path(sys.argv[1]))
    found = read_items(Files([file]), file, ["item"]) if ".xml" in sys.argv[1] else Files([file]).rows(file)
    try:
        for _ in found:
            pass
    except UnreadableFile as error:
        print(error.detail)
"""


def told_of(path: Path) -> str:
    """Return what reading a file is refused with, by a process of little memory."""
    code = textwrap.dedent(READING.format(space=ADDRESS_SPACE))
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.stress
@pytest.mark.parametrize(
    ("name", "start", "part"),
    (
        ("commas.csv.gz", b"id,title\n1,", b","),
        ("letters.csv.gz", b"id,title\n1,", b"x"),
        ("cells.csv.gz", b'id,title\n1,"', b"x\n"),
        ("quoted.csv.gz", b"id,title\n1,", b'"a\n",'),
        ("text.xml.gz", b"<rss><channel><item><title>", b"x"),
        ("tag.xml.gz", b"<rss><channel><item><title a='", b"x"),
        ("elements.xml.gz", b"<rss><channel><item>", b"<a/>"),
        ("within.xml.gz", b"<rss><channel><item>", b"<a>"),
    ),
)
def test_a_row_or_item_without_end_is_refused_in_little_memory(
    tmp_path: Path, name: str, start: bytes, part: bytes
) -> None:
    path = packed(tmp_path / name, start, part, GIB)

    assert path.stat().st_size < 16 * MIB
    assert name in told_of(path)


@pytest.mark.stress
def test_a_file_of_zeros_is_out_of_relation(tmp_path: Path) -> None:
    path = packed(tmp_path / "many.csv.gz", b"id,title\n", b"1," + b"a" * 1_021 + b"\n", 160 * MIB, level=9)

    assert "times its size" in told_of(path)


def rows(path: Path) -> list[dict[str, str]]:
    file = InputFile(path=path)
    return [row.values for row in Files([file]).rows(file)]


@pytest.mark.parametrize(
    "heading", (",".join(f"c{n}" for n in range(MAX_COLUMNS + 1)), "id,title\n" + "," * MAX_COLUMNS)
)
def test_too_many_columns_are_refused_with_their_line(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(heading + "\n")

    with pytest.raises(UnreadableFile, match=f"line {1 + heading.count(chr(10))}: more than {MAX_COLUMNS} columns"):
        rows(path)


def test_as_many_columns_as_may_be_and_any_number_of_quoted_commas_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"c{n}" for n in range(MAX_COLUMNS)]
    many = ",".join("x" * 5_000)
    path.write_text(f'{",".join(names)}\n"{many}\n{many}"{"," * (MAX_COLUMNS - 1)}\nx{"," * (MAX_COLUMNS - 1)}\n')

    first, second = rows(path)

    assert first["c0"] == f"{many}\n{many}"
    assert (len(first), set(second.values())) == (MAX_COLUMNS, {"", "x"})


def test_long_rows_are_counted_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penchant_import.files.MAX_LINE_BYTES", 40)
    path = tmp_path / "rows.csv"
    path.write_text("id,title\n" + '1,"a b c d e\nf g h"\n' * 20)
    assert len(rows(path)) == 20

    path.write_text('id,title\n1,"a b c d e\nf g h i j k l m n o p q r s t"\n')
    with pytest.raises(UnreadableFile, match="line 3: a row longer than 40 letters"):
        rows(path)


@pytest.mark.slow
@pytest.mark.parametrize("form", ("csv.gz", "zip", "zip of gz"))
def test_packed_files_are_read_as_ever(tmp_path: Path, form: str) -> None:
    text = "id,title\n" + "".join(f"{n},title {n % 7}\n" for n in range(50_000))
    inner = gzip.compress(text.encode()) if form != "zip" else text.encode()
    path = tmp_path / "items.csv.gz"
    path.write_bytes(inner)
    member = None
    if form != "csv.gz":
        member = "items.csv" if form == "zip" else "items.csv.gz"
        path = tmp_path / "items.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, inner)
    file = InputFile(path=path, member=member)
    files = Files([file])

    found = list(files.rows(file))

    assert (len(found), found[-1].values) == (50_000, {"id": "49999", "title": "title 5"})
    assert files.position.done == files.position.size

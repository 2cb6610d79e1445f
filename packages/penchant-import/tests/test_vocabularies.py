"""Files of vocabularies: tables and thesauri, and what is wrong with them, line by line."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from import_folders import Folder
from penchant.cli.host import CommandHost
from penchant.errors import InvalidInput, Refused
from penchant.importing import StoredTarget
from penchant.vocabulary import MAX_ENTRIES, Vocabulary
from penchant.wire.settings import read_settings
from penchant.wire.vocabulary import read_vocabulary
from penchant_import import vocabularies
from penchant_import.files import UnreadableFile
from penchant_import.hosting import Settings
from penchant_import.vocabularies import VariantRow, VocabularyFile, apply_vocabulary, read_vocabulary_file, write_table

HOST = CommandHost()
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:noir a skos:Concept ; skos:prefLabel "film noir"@en , "Schwarze Serie"@de ;
    skos:altLabel "noir"@en , "dark cinema"@en-GB , "Krimi"@de , "nwar"@fr ; skos:hiddenLabel "filmnoir" .
:crime a skos:Concept ; skos:prefLabel "crime"@en , "Krimi"@de ; skos:altLabel "noir films"@en , "whodunit"@en .
:mystery a skos:Concept ; skos:prefLabel "mystery"@en ; skos:altLabel "whodunit"@en , "crime"@en .
:western a skos:Concept ; skos:prefLabel "Western"@de ; skos:broader :noir .
"""
RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="http://example.org/noir">
    <skos:prefLabel xml:lang="en">film
      noir</skos:prefLabel>
    <skos:altLabel xml:lang="en">noir</skos:altLabel>
  </skos:Concept>
</rdf:RDF>
"""


def faults_of(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        read_vocabulary_file(HOST, path)
    return [((fault.pointer or "").removeprefix(f"{path}, "), fault.detail) for fault in refused.value.faults]


def test_a_table_says_what_counts_as_what_and_what_for_nothing(folder: Folder) -> None:
    rows = ("3;genre/Noir;genre/noir", "1;genre/film, noir;genre/noir", "12;tag/x;", ";;")
    file = folder.write("v.csv", "pieces;from;to", *rows)

    read = read_vocabulary_file(HOST, file)

    noir = {"genre/Noir": "genre/noir", "genre/film, noir": "genre/noir"}
    assert read_vocabulary(read.words) == Vocabulary(noir, frozenset({"tag/x"}))
    assert read.remarks == ()


KEYWORDS = st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"]), min_size=1).filter(str.isprintable)


@given(st.sets(KEYWORDS), KEYWORDS)
def test_what_is_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, others: set[str], first: str
) -> None:
    rows = [VariantRow(f"c/{each}", f"c/{first}", 1) for each in sorted(others - {first})]
    file = tmp_path_factory.mktemp("table") / "v.csv"
    with file.open("w", encoding="utf-8", newline="") as table:
        write_table([*rows, VariantRow("d/-", "", 2)], table)

    vocabulary = read_vocabulary(read_vocabulary_file(HOST, file).words)

    assert vocabulary == Vocabulary({row.source: row.target for row in rows}, frozenset({"d/-"}))


def test_faults_of_a_table_are_told_with_their_lines(folder: Folder) -> None:
    file = folder.write(
        "v.csv",
        "from,to",
        "genre/a,genre/b",
        "genre/b,genre/c",
        "nothing,genre/c",
        "genre/x,genre/y",
        "genre/x,genre/z",
        "genre/x,",
        ",genre/y",
        "one",
    )

    assert [(place, detail.split(".")[0].split(";")[0]) for place, detail in faults_of(file)] == [
        ("line 9", "Found 1 columns"),
        ("line 4", "Found another text"),
        ("line 6", "This keyword stands for another one already"),
        ("line 8", "Found another text"),
        ("line 2", "genre/a stands for genre/b, which itself stands for another one"),
        ("line 7", "This keyword stands for another one"),
    ]


def test_a_table_has_its_columns_and_not_too_many_rows(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreadableFile, match="to"):
        read_vocabulary_file(HOST, folder.write("a.csv", "from,into", "a/b,a/c"))
    monkeypatch.setattr(vocabularies, "MAX_ALIASES", 2)
    with pytest.raises(UnreadableFile, match="line 4: a vocabulary has up to 2 keywords"):
        read_vocabulary_file(HOST, folder.write("b.csv", "from,to", "a/1,a/b", "a/2,a/b", "a/3,a/b"))
    with pytest.raises(Refused, match="is a table"):
        read_vocabulary_file(HOST, folder.write("c.csv", "from,to"), category="genre")


@pytest.mark.parametrize("name", ("skos.ttl", "skos", "skos.ttl.gz"))
def test_labels_of_a_thesaurus_stand_for_the_preferred_one(folder: Folder, name: str) -> None:
    file = folder.write(name, TURTLE)

    found = read_vocabulary_file(HOST, file, category="genre", languages=["EN"])

    assert dict(read_vocabulary(found.words).aliases) == {
        "genre/dark cinema": "genre/film noir",
        "genre/filmnoir": "genre/film noir",
        "genre/noir": "genre/film noir",
        "genre/noir films": "genre/crime",
    }
    assert found.remarks == [
        "Labels left out that name a concept of their own: 1, such as genre/crime",
        "Labels left out that are of several concepts: 1, such as genre/whodunit",
        "Concepts left out without a preferred label in these languages: 1",
    ]


def test_the_first_language_names_and_the_others_count_as_it(folder: Folder) -> None:
    file = folder.write("skos.ttl", TURTLE)

    aliases = read_vocabulary(read_vocabulary_file(HOST, file, category="genre", languages=["en", "de"]).words).aliases

    assert aliases["genre/Schwarze Serie"] == "genre/film noir"
    assert "genre/Krimi" not in aliases
    assert "genre/nwar" not in aliases
    with pytest.raises(Refused, match="several languages \\(de, en\\): choose by --language"):
        read_vocabulary_file(HOST, file, category="genre")


def test_rdf_in_xml_is_read_as_turtle_is(folder: Folder) -> None:
    found = read_vocabulary_file(HOST, folder.write("skos.rdf", RDF), category="genre/sub")

    assert read_vocabulary(found.words).aliases == {"genre/sub/noir": "genre/sub/film noir"}
    with pytest.raises(Refused, match="say by --category"):
        read_vocabulary_file(HOST, folder.path / "skos.rdf")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    (
        ("a.rdf", RDF.replace("<rdf:RDF", '<!DOCTYPE x [<!ENTITY e "noir">]><rdf:RDF'), "entities and external parts"),
        ("a.rdf", RDF.replace("</skos:Concept>", ""), "a.rdf, line 8, column 3: not XML: mismatched tag"),
        ("a.rdf", RDF.replace('rdf:about="http://example.org/noir"', 'rdf:ID="1 2"'), "not RDF"),
        ("a.rdf", RDF.replace("skos:", "s:").replace("xmlns:skos", "xmlns:s").replace("2004/02", "1999"), "no concept"),
        ("a.ttl", "@prefix : <http://example.org/> .\n\n:a :b [ .", "a.ttl, line 3: not RDF"),
        ("a.ttl", ":a :b :c .", "not RDF"),
        ("a.ttl", "", "no concept with a label"),
    ),
)
def test_what_is_no_thesaurus_is_refused(folder: Folder, name: str, text: str, told: str) -> None:
    file = folder.write(name, text)

    with pytest.raises(UnreadableFile, match=told):
        read_vocabulary_file(HOST, file, category="genre")


def test_a_document_type_elsewhere_is_not_followed(folder: Folder) -> None:
    elsewhere = folder.write("elsewhere.dtd", '<!ATTLIST skos:Concept rdf:about CDATA "&fault;">')
    text = RDF.replace("<rdf:RDF", f'<!DOCTYPE x SYSTEM "{elsewhere.as_uri()}"><rdf:RDF')

    found = read_vocabulary_file(HOST, folder.write("skos.rdf", text), category="genre")

    assert read_vocabulary(found.words).aliases == {"genre/noir": "genre/film noir"}


@given(st.text())
def test_any_turtle_is_read_or_refused_in_our_words(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("turtle") / "a.ttl"
    file.write_text(TURTLE[:400] + text + TURTLE[400:], encoding="utf-8", newline="")

    try:
        found = read_vocabulary_file(HOST, file, category="genre", languages=["en"])
    except (Refused, InvalidInput) as error:
        assert str(file) in error.detail  # noqa: PT017  # either way is fine
    else:
        assert read_vocabulary(found.words).aliases


def test_what_else_a_thesaurus_says_matters_not(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    date = '\n:noir :made "2020-99-99"^^<http://www.w3.org/2001/XMLSchema#date> .\n'
    file = folder.write("skos.ttl", TURTLE + date)

    found = read_vocabulary_file(HOST, file, category="genre", languages=["en"])

    assert (len(read_vocabulary(found.words).aliases), caplog.records) == (4, [])


def test_a_thesaurus_is_not_read_past_its_bound(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabularies, "MAX_THESAURUS_BYTES", 100)

    with pytest.raises(UnreadableFile, match="over 100 bytes"):
        read_vocabulary_file(HOST, folder.write("skos.ttl", TURTLE), category="genre")


def test_labels_that_are_no_keywords_are_told_by_what_they_are(folder: Folder) -> None:
    file = folder.write("skos.ttl", TURTLE.replace('"noir"@en', f'"{"n" * 1000}"@en'))

    with pytest.raises(InvalidInput) as refused:
        read_vocabulary_file(HOST, file, category="genre", languages=["en"])

    assert [fault.pointer for fault in refused.value.faults] == ["genre/" + "n" * 1000]


def test_a_missing_package_is_named(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)

    with pytest.raises(Refused, match=r"install penchant-import\[skos\]"):
        read_vocabulary_file(HOST, folder.write("skos.ttl", TURTLE), category="genre")


def test_a_vocabulary_is_added_to_what_there_is_or_takes_its_place(target: StoredTarget) -> None:
    target.put("settings", [b'{"halfLifeDays":7,"vocabulary":{"ignore":["a/x"]}}'])

    def put(words: Settings, *, replaces: bool = False) -> Vocabulary:
        return read_vocabulary(apply_vocabulary(HOST, target, VocabularyFile(words), replaces=replaces))

    both = put({"aliases": [{"from": ["a/b"], "to": "a/c"}]})
    assert both == Vocabulary({"a/b": "a/c"}, frozenset({"a/x"}))
    settings = read_settings(target.settings())
    assert (settings.vocabulary, settings.half_life_days) == (both, 7)
    assert put({"aliases": [{"from": ["a/d"], "to": "a/e"}]}, replaces=True).aliases == {"a/d": "a/e"}
    with pytest.raises(InvalidInput):
        put({"ignore": [f"a/{number}" for number in range(MAX_ENTRIES)]})
    assert read_settings(target.settings()).vocabulary == Vocabulary({"a/d": "a/e"})

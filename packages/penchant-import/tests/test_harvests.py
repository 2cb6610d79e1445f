"""Harvests of repositories: Dublin Core, as they answer with it to OAI-PMH."""

import pytest

from import_folders import Folder, drafted
from penchant.errors import Refused

DC = "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:oai_dc='http://www.openarchives.org/OAI/2.0/oai_dc/'"


def answer(*records: str) -> str:
    """Return an answer of a server."""
    return (
        f"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><ListRecords>{''.join(records)}</ListRecords></OAI-PMH>"
    )


def record(number: int, inner: str) -> str:
    """Return a record of some elements of Dublin Core."""
    header = f"<header><identifier>oai:r.example:{number}</identifier><datestamp>2026-11-01</datestamp></header>"
    return f"<record>{header}<metadata><oai_dc:dc {DC}>{inner}</oai_dc:dc></metadata></record>"


TIDES = (
    "<dc:title>Tides</dc:title><dc:title>Gezeiten</dc:title><dc:creator>Bee, Ann</dc:creator>"
    "<dc:subject>sea; islands</dc:subject><dc:subject>tides</dc:subject>"
    "<dc:description>Of two islands.</dc:description>"
    "<dc:description>Von zwei Inseln.</dc:description><dc:date>1999</dc:date><dc:date>2001-01-01</dc:date>"
    "<dc:type>info:eu-repo/semantics/article</dc:type><dc:language>en</dc:language><dc:identifier>17</dc:identifier>"
    "<dc:identifier>https://r.example/17</dc:identifier><dc:relation>r</dc:relation>"
)
DELETED = "<record><header status='deleted'><identifier>oai:r.example:2</identifier></header></record>"


def test_records_of_a_harvest_are_pieces_and_what_is_no_piece_is_told(folder: Folder) -> None:
    folder.write("a.xml", answer(record(1, TIDES), DELETED, "<resumptionToken cursor='0'>next</resumptionToken>"))

    assert folder.read("oai_dc") == [
        drafted(
            "oai:r.example:1",
            "Tides",
            author=["Bee, Ann"],
            subject=["sea", "islands", "tides"],
            type=["article"],
            language=["en"],
            extras={"description": "Of two islands.", "date": "1999", "link": "https://r.example/17"},
        )
    ]
    left = folder.left_out()
    assert left["a.xml", "record"][0] == "deleted there; delete it here, too"
    assert left["a.xml", "resumptionToken"][0].startswith("this is one page of several")
    assert left["a.xml", "description"][1] == left["a.xml", "title"][1] == 1


def test_of_records_of_one_id_the_newest_counts_and_a_page_is_told(folder: Folder) -> None:
    newer, older = (record(1, f"<dc:title>{each}</dc:title>") for each in ("New", "Old"))
    folder.write("a.xml", answer(newer.replace("2026-11-01", "2026-11-02"), older))

    (piece,) = folder.read("oai_dc")

    assert piece["label"] == "New"
    assert not folder.notes.is_partial
    folder.write("b.xml", answer("<resumptionToken>next</resumptionToken>"))
    folder.read("oai_dc")
    assert folder.notes.is_partial


def test_a_single_record_goes_by_its_own_identifier(folder: Folder) -> None:
    folder.write("a.xml", f"<oai_dc:dc {DC}>{TIDES}</oai_dc:dc>")

    assert [each["id"] for each in folder.read("oai_dc")] == ["17"]


def test_other_metadata_and_refusals_are_told(folder: Folder) -> None:
    marc = "<record><header><identifier>1</identifier></header><metadata><record xmlns='m'/></metadata></record>"
    folder.write("a.xml", answer(marc))

    (problem,) = folder.read("oai_dc")
    assert problem.detail.startswith("Found metadata of <record>; --from marcxml reads it")
    folder.write("a.xml", "<OAI-PMH><error code='noRecordsMatch'>Nothing since then.</error></OAI-PMH>")
    with pytest.raises(Refused, match="the server answered noRecordsMatch: Nothing since then"):
        folder.read("oai_dc")


def test_marcxml_says_what_dublin_core_is(folder: Folder) -> None:
    folder.write("a.xml", answer(record(1, TIDES)))

    (problem,) = folder.read("marcxml")

    assert problem.detail == (
        "Found Dublin Core, no MARC; import it --from oai_dc, or ask its server for metadataPrefix=marc21."
    )

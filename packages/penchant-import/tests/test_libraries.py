"""The book trade and libraries: what products of ONIX 3 and records of MARC in XML become.

`of_others/pymarc-batch.xml` is `test/batch.xml` of edsu/pymarc (BSD-2-Clause, its text beside it), records of the
Library of Congress. Messages of ONIX here have the shape of those in zach-m/jonix's tests.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from import_folders import Folder, drafted, run
from penchant_import.files import UnreadableFile
from penchant_import.options import KeywordColumn
from penchant_import.pieces import HIDDEN_SINCE

OF_OTHERS = Path(__file__).parent / "of_others"

IDS = (
    "<ProductIdentifier><ProductIDType>03</ProductIDType><IDValue>9780000000001</IDValue></ProductIdentifier>"
    "<ProductIdentifier><ProductIDType>15</ProductIDType><IDValue>978-0-00-000000-2</IDValue></ProductIdentifier>"
)


def element(name: str, **parts: str) -> str:
    """Return an element with these elements inside, which have texts."""
    return f"<{name}>" + "".join(f"<{part}>{text}</{part}>" for part, text in parts.items()) + f"</{name}>"


def title(kind: str = "01", level: str = "01", **parts: str) -> str:
    """Return a title of a product."""
    inner = element("TitleElement", TitleElementLevel=level, **parts)
    return f"<TitleDetail><TitleType>{kind}</TitleType>{inner}</TitleDetail>"


def contributor(role: str, **parts: str) -> str:
    """Return somebody who made a product."""
    return element("Contributor", ContributorRole=role, **parts)


def subject(scheme: str, **parts: str) -> str:
    """Return a subject of a product."""
    return element("Subject", SubjectSchemeIdentifier=scheme, **parts)


def text(kind: str, content: str) -> str:
    """Return a text about a product."""
    return element("TextContent", TextType=kind, Text=content)


def product(
    *described: str, collateral: str = "", publishing: str = "", notification: str = "03", ids: str = IDS
) -> str:
    """Return a product in one line."""
    return (
        f"<Product><RecordReference>r-1</RecordReference><NotificationType>{notification}</NotificationType>{ids}"
        f"<DescriptiveDetail>{''.join(described)}</DescriptiveDetail>"
        f"<CollateralDetail>{collateral}</CollateralDetail>"
        f"<PublishingDetail>{publishing}</PublishingDetail></Product>"
    )


def read_onix(folder: Folder, *products: str, **options: Any) -> list[Any]:
    """Return the pieces of a message, whose first product is in line 2."""
    head = '<ONIXMessage release="3.0" xmlns="http://ns.editeur.org/onix/3.0/reference"><Header/>'
    folder.write("books.xml", head, *products, "</ONIXMessage>")
    return folder.read("onix", **options)


COVER = (
    "<SupportingResource><ResourceContentType>01</ResourceContentType><ResourceVersion>"
    "<ResourceLink>https://p.example/1.jpg</ResourceLink></ResourceVersion></SupportingResource>"
)
WHOLE = product(
    "<ProductForm>BC</ProductForm><ProductFormDetail>B105</ProductFormDetail>",
    "<Collection><CollectionType>10</CollectionType>",
    title(level="02", TitlePrefix="The", TitleWithoutPrefix="Harbour Books"),
    "</Collection>",
    title("10", TitleText="TIDES (PB)"),
    title(TitlePrefix="The", TitleWithoutPrefix="Tides", Subtitle="A Year"),
    contributor("A01", NamesBeforeKey="Ann", PrefixToKey="van", KeyNames="Bee"),
    contributor("A12", PersonNameInverted="Dee, Cee"),
    contributor("B06", PersonName="Eff Gee"),
    contributor("A24", PersonName="Aitch Eye"),
    element("Language", LanguageRole="01", LanguageCode="eng"),
    element("Language", LanguageRole="02", LanguageCode="swe"),
    element("Extent", ExtentType="00", ExtentValue="245", ExtentUnit="03"),
    subject("93", SubjectCode="FFP"),
    subject("94", SubjectCode="1DNS"),
    subject("10", SubjectCode="FIC022000", SubjectHeadingText="FICTION / Mystery"),
    subject("20", SubjectHeadingText="sea; old islands"),
    subject("24", SubjectHeadingText="House list"),
    subject("15", SubjectCode="x"),
    collateral=text("02", "Short.") + text("03", "&lt;p&gt;Two &lt;em&gt;isl&lt;/em&gt;ands.&lt;/p&gt;") + COVER,
    publishing=element("Imprint", ImprintName="Pan")
    + element("Publisher", PublisherName="Example Press")
    + element("PublishingDate", PublishingDateRole="01", Date="20060807")
    + element("PublishingDate", PublishingDateRole="11", Date="1968")
    + element("PublishingDate", PublishingDateRole="09", Date="20060101")
    + "<PublishingStatus>04</PublishingStatus>",
)
PIECE = drafted(
    "r-1",
    "The Tides: A Year",
    series=["The Harbour Books"],
    author=["Ann van Bee"],
    illustrator=["Cee Dee"],
    translator=["Eff Gee"],
    language=["eng"],
    thema=["F", "FF", "FFP"],
    **{"thema place": ["1D", "1DN", "1DNS"]},
    bisac=["FIC", "FIC022000"],
    keyword=["sea", "old islands"],
    subject=["House list"],
    imprint=["Pan"],
    publisher=["Example Press"],
    filters={"availableFrom": "2006-01-01T00:00:00.000Z"},
    extras={
        "isbn": "9780000000002",
        "description": "Two islands.",
        "form": "BC",
        "pages": 245,
        "image": "https://p.example/1.jpg",
        "published": "2006-08-07",
        "firstPublished": "1968",
    },
)


def test_a_product_of_onix_has_people_subjects_texts_and_dates(folder: Folder) -> None:
    assert read_onix(folder, WHOLE) == [PIECE]

    fields = {field for _, field in folder.left_out()}
    assert fields == {"ProductFormDetail", "Contributor (A24)", "Language (02)", "Subject (15)"}


SHORT = {
    "Product": "product", "RecordReference": "a001", "NotificationType": "a002", "ProductIDType": "b221",
    "IDValue": "b244", "ProductForm": "b012", "TitleType": "b202", "TitleElementLevel": "x409", "TitleText": "b203",
    "TitlePrefix": "b030", "TitleWithoutPrefix": "b031", "Subtitle": "b029", "ContributorRole": "b035",
    "PersonName": "b036", "PersonNameInverted": "b037", "NamesBeforeKey": "b039", "PrefixToKey": "b247",
    "KeyNames": "b040", "LanguageRole": "b253", "LanguageCode": "b252", "ExtentType": "b218", "ExtentValue": "b219",
    "ExtentUnit": "b220", "SubjectSchemeIdentifier": "b067", "SubjectCode": "b069", "SubjectHeadingText": "b070",
    "TextType": "x426", "Text": "d104", "ResourceContentType": "x436", "ResourceLink": "x435", "ImprintName": "b079",
    "PublisherName": "b081", "PublishingStatus": "b394", "PublishingDateRole": "x448", "Date": "b306",
}  # fmt: skip
"""Short names by EDItEUR's schema; composites have their names in small letters."""


def test_short_names_say_the_same(folder: Folder) -> None:
    short = re.sub(r"<(/?)(\w+)", lambda tag: f"<{tag[1]}{SHORT.get(tag[2], tag[2].lower())}", WHOLE)
    folder.write("short.xml", f'<ONIXmessage xmlns="http://ns.editeur.org/onix/3.0/short">{short}</ONIXmessage>')

    assert folder.read("onix") == [PIECE]


def test_texts_may_be_xhtml_which_parts_words_where_it_does_for_readers(folder: Folder) -> None:
    xhtml = '<p xmlns="http://www.w3.org/1999/xhtml">One &amp; <em>is</em>land.</p><p>Two.</p>'

    (piece,) = read_onix(folder, product(collateral=text("03", xhtml)))

    assert piece["extras"]["description"] == "One & island. Two."


def test_the_short_text_counts_where_there_is_no_other(folder: Folder) -> None:
    (piece,) = read_onix(folder, product(collateral=text("06", "Great!") + text("02", "Short.")))

    assert piece["extras"]["description"] == "Short."
    assert {field for _, field in folder.left_out()} == {"TextContent (06)"}


def test_a_volume_without_a_title_is_called_by_its_collection_and_number(folder: Folder) -> None:
    levels = element("TitleElement", TitleElementLevel="01", PartNumber="Part 3")
    levels += element("TitleElement", TitleElementLevel="02", TitleText="Harbour")

    (piece,) = read_onix(folder, product(f"<TitleDetail><TitleType>01</TitleType>{levels}</TitleDetail>"))

    assert piece["label"] == "Harbour, Part 3"


@pytest.mark.parametrize("status", ("01", "07", "15"))
def test_what_cannot_be_had_is_hidden(folder: Folder, status: str) -> None:
    (piece,) = read_onix(folder, product(publishing=f"<PublishingStatus>{status}</PublishingStatus>"))

    assert piece["filters"] == {"availableUntil": HIDDEN_SINCE}


def test_what_a_product_says_in_a_way_that_has_no_place_is_left_out(folder: Folder) -> None:
    described = (
        contributor("A01"),
        contributor("A01", CorporateName="Harbour Club"),
        subject("29", SubjectCode="3443"),
        element("Extent", ExtentType="09", ExtentValue="90", ExtentUnit="05"),
    )
    date = element("PublishingDate", PublishingDateRole="01", Date="soon")

    (piece,) = read_onix(folder, product(*described, collateral=COVER.replace(">01<", ">15<"), publishing=date))

    assert piece == drafted("r-1", author=["Harbour Club"], clil=["3443"], extras={"isbn": "9780000000002"})
    fields = {field for _, field in folder.left_out()}
    assert fields == {"Extent (09)", "SupportingResource (15)", "PublishingDate (01)"}


def test_a_deletion_hides_and_a_part_of_a_product_is_left_out(folder: Folder) -> None:
    gone = "<Product><RecordReference>r-2</RecordReference><NotificationType>05</NotificationType></Product>"

    (piece,) = read_onix(folder, gone, product(notification="04"))

    assert piece == drafted("r-2", filters={"availableUntil": HIDDEN_SINCE})
    assert folder.left_out()["books.xml", "Product"][1:] == (1, 3)


def test_an_isbn_may_be_the_id(folder: Folder) -> None:
    piece, problem = read_onix(folder, product(), product(ids=""), id_column="isbn")

    assert piece["id"] == "9780000000002"
    assert problem.detail == "Found a product without isbn."
    with pytest.raises(UnreadableFile, match="RecordReference or isbn is accepted"):
        read_onix(folder, product(), id_column="ean")


def test_onix_2_is_refused_with_its_reason(folder: Folder) -> None:
    (problem,) = read_onix(folder, "<Product><RecordReference>r</RecordReference><Title/></Product>")

    assert (problem.pointer, "ONIX 3 is accepted" in problem.detail) == ("DescriptiveDetail", True)


def test_text_in_many_elements_within_each_other_is_read(folder: Folder) -> None:
    (piece,) = read_onix(folder, product(collateral=text("03", f"{'<b>' * 900}deep{'</b>' * 900}")))

    assert piece["extras"]["description"] == "deep"


def test_real_records_of_a_library_are_read(folder: Folder) -> None:
    shutil.copy(OF_OTHERS / "pymarc-batch.xml", folder.path / "batch.xml")

    music, site = folder.read("marcxml")

    assert music == drafted(
        "5637241",
        "The Great Ray Charles",
        language=["eng"],
        publisher=["Atlantic"],
        subject=["Jazz", "Piano with jazz ensemble"],
        period=["1951-1960"],
        performer=["Charles, Ray"],
        extras={"year": 1957},
    )
    assert (site["id"], site["label"]) == ("12149120", "The White House")
    assert site["categories"] == {
        "language": ["eng"],
        "lcc": ["F"],
        "dewey": ["975", "975.3"],
        "publisher": ["White House Web Team"],
        "subject": ["White House (Washington, D.C.)", "United States"],
        "author": ["White House Web Team"],
    }
    assert (site["extras"]["link"], site["extras"]["year"]) == ("http://www.whitehouse.gov", 1994)
    assert site["extras"]["description"].endswith("Links to White House for Kids.")


def field(tag: str, *parts: tuple[str, str], marks: str = "  ") -> str:
    """Return a field of a record."""
    inner = "".join(f'<subfield code="{code}">{value}</subfield>' for code, value in parts)
    return f'<datafield tag="{tag}" ind1="{marks[0]}" ind2="{marks[1]}">{inner}</datafield>'


def record(number: str, *fields: str, leader: str = "00000nam a2200000 a 4500") -> str:
    """Return a record in one line."""
    control = f'<controlfield tag="001">{number}</controlfield>' if number else ""
    return (
        f'<record xmlns="http://www.loc.gov/MARC21/slim"><leader>{leader}</leader>{control}{"".join(fields)}</record>'
    )


def read_marc(folder: Folder, *records: str, **options: Any) -> list[Any]:
    """Return the pieces of records, the first of which is in line 2."""
    folder.write("records.xml", "<collection>", *records, "</collection>")
    return folder.read("marcxml", **options)


def test_a_record_has_people_headings_classes_and_links(folder: Folder) -> None:
    fields = (
        field("020", ("a", "978-0-00-000000-2 (pbk.) :")),
        field("022", ("a", "0549-0863")),
        field("080", ("a", "551.4")),
        field("084", ("a", "RB 10115"), ("2", "rvk")),
        field("100", ("a", "Bee, A. B.,"), ("e", "author.")),
        field(
            "245", ("a", "\u0098The\u009c tides."), ("n", "Part 2,"), ("p", "Ebb :"), ("b", "a year /"), ("c", "A. Bee")
        ),
        field("264", ("b", "Example Press,"), marks=" 1"),
        field("264", ("b", "Printer,"), marks=" 3"),
        field("490", ("a", "Harbour books ;"), ("v", "3"), marks="1 "),
        field("830", ("a", "Harbour books.")),
        field("651", ("a", "Scotland"), ("x", "Tides."), ("v", "Maps.")),
        field("648", ("a", "1900-1999")),
        field("653", ("a", "sea"), ("a", "boats")),
        field("655", ("a", "Fiction.")),
        field("700", ("a", "Dee, Cee,"), ("4", "http://id.loc.gov/vocabulary/relators/ill")),
        field("700", ("a", "Eff, Gee,"), ("e", "bookseller.")),
        field("700", ("a", "Other, One."), ("t", "Another work.")),
        field("856", ("3", "Cover image"), ("u", "https://l.example/1.jpg"), marks="42"),
        field("856", ("u", "https://l.example/1"), marks="40"),
        field("856", ("3", "Contents"), ("u", "https://l.example/toc"), marks="42"),
    )

    (piece,) = read_marc(folder, record("42", *fields))

    assert piece == drafted(
        "42",
        "The tides. Part 2. Ebb: a year",
        udc=["551.4"],
        rvk=["RB 10115"],
        author=["Bee, A. B."],
        publisher=["Example Press"],
        series=["Harbour books"],
        place=["Scotland"],
        subject=["Tides"],
        genre=["Maps", "Fiction"],
        period=["1900-1999"],
        keyword=["sea", "boats"],
        illustrator=["Dee, Cee"],
        contributor=["Eff, Gee"],
        extras={
            "isbn": "9780000000002",
            "issn": "0549-0863",
            "image": "https://l.example/1.jpg",
            "link": "https://l.example/1",
        },
    )
    reasons = {field: reason for (_, field), (reason, _, _) in folder.left_out().items()}
    assert reasons["700"] == "names another work"
    assert reasons["490"] == "the same as 830"
    assert {"264", "856"} <= reasons.keys()


def test_numbers_that_are_no_classes_are_no_keywords(folder: Folder) -> None:
    fields = (
        field("020", ("c", "5.00")),
        field("082", ("a", "[E]")),
        field("050", ("a", "Atlantic 1259")),
        field("082", ("a", "813")),
    )

    (piece,) = read_marc(folder, record("42", *fields))

    assert piece["categories"] == {"dewey": ["813"]}


def test_answers_of_oai_pmh_have_records_within_records(folder: Folder) -> None:
    inner = record("42", field("245", ("a", "Tides")))
    kept = f"<record><header><identifier>oai:l:42</identifier></header><metadata>{inner}</metadata></record>"
    gone = '<record><header status="deleted"><identifier>oai:l:43</identifier></header></record>'

    (piece,) = read_marc(folder, kept, gone)

    assert piece == drafted("42", "Tides")
    assert folder.left_out()["records.xml", "record"] == ("deleted there; delete it here, too", 1, 3)


def test_a_record_whose_leader_says_deleted_is_hidden(folder: Folder) -> None:
    (piece,) = read_marc(folder, record("42", leader="00000dam a2200000 a 4500"))

    assert piece["filters"] == {"availableUntil": HIDDEN_SINCE}


def test_the_id_of_a_record_may_be_of_another_field(folder: Folder) -> None:
    piece, problem = read_marc(folder, record("", field("024", ("a", "x-1"))), record("42"), id_column="024")

    assert piece["id"] == "x-1"
    assert (problem.pointer, problem.detail) == ("024", "Found a record without a field 024.")


@pytest.mark.parametrize(("letter", "kind"), (("z", "authority"), ("y", "holdings"), ("w", "classification")))
def test_records_that_describe_no_work_are_counted_and_left_out(folder: Folder, letter: str, kind: str) -> None:
    other = record("n1", field("100", ("a", "Bee, Ann")), leader=f"00000n{letter}  a2200000n  4500")

    (piece,) = read_marc(folder, record("42"), other)

    assert piece["id"] == "42"
    assert folder.left_out()["records.xml", "record"] == (f"describes no work: {kind}", 1, 3)


def test_a_file_of_such_records_alone_says_so(folder: Folder) -> None:
    kind = '<record type="Authority"><controlfield tag="001">n1</controlfield></record>'
    folder.write("records.xml", "<collection>", kind, "</collection>")

    with pytest.raises(UnreadableFile, match="1 record: describes no work: authority"):
        run("marcxml", folder, None)


def test_two_records_of_one_number_are_named(folder: Folder) -> None:
    read_marc(folder, record("42", field("245", ("a", "Tides"))), record("42", field("245", ("a", "Gardens"))))

    told = ("another piece of this id, replaced by records.xml, line 3", 1, 2)
    assert folder.left_out()["records.xml", "'42'"] == told


@pytest.mark.parametrize("column", ("999$c", "999c"))
def test_the_id_of_a_record_may_be_a_part_of_a_field(folder: Folder, column: str) -> None:
    piece, problem = read_marc(folder, record("", field("999", ("c", "77"))), record("42"), id_column=column)

    assert piece["id"] == "77"
    assert problem.detail == f"Found a record without a field {column}."
    with pytest.raises(UnreadableFile, match=r"such as 020 or 999\$c"):
        read_marc(folder, id_column="title")


def test_dublin_core_says_how_it_is_read(folder: Folder) -> None:
    (problem,) = read_marc(folder, "<record><metadata><dc><title>A</title></dc></metadata></record>")

    assert "--from oai_dc" in problem.detail


def test_an_answer_with_a_token_is_one_page_of_several(folder: Folder) -> None:
    read_marc(folder, record("42"), "<resumptionToken/>")
    assert not folder.notes.is_partial

    read_marc(folder, record("42"), "<resumptionToken>2</resumptionToken>")

    assert folder.notes.is_partial


@pytest.mark.parametrize(
    ("states", "availability", "filters"),
    (
        (("40",), "40", {"availableUntil": HIDDEN_SINCE}),
        (("40", "21"), "21", {}),
        (("31",), "31", {}),
        ((), None, {}),
    ),
)
def test_what_no_supplier_has_is_hidden(
    folder: Folder, states: tuple[str, ...], availability: str | None, filters: dict[str, str]
) -> None:
    details = "".join(f"<SupplyDetail><ProductAvailability>{s}</ProductAvailability></SupplyDetail>" for s in states)
    supply = f"<ProductSupply>{details}</ProductSupply></Product>"

    (piece,) = read_onix(folder, product(ids="").replace("</Product>", supply))

    assert piece["extras"].get("availability") == availability
    assert piece["filters"] == filters


def test_two_messages_of_one_product_are_named_and_the_later_counts(folder: Folder) -> None:
    gone = "<Product><RecordReference>r-1</RecordReference><NotificationType>05</NotificationType></Product>"

    read_onix(folder, product(), gone)

    assert folder.left_out()["books.xml", "'r-1'"][1:] == (1, 2)


def test_names_of_dspace_lose_the_key_of_their_authority(folder: Folder) -> None:
    folder.write("d.csv", "id,creator", '1,"Bee, Ann::a-key::600||Dee, Cee::virtual::-1||C++::std"')

    (piece,) = folder.read("csv", keywords=(KeywordColumn(column="creator", category="author", separator="||"),))

    assert piece["categories"] == {"author": ["Bee, Ann", "Dee, Cee", "C++::std"]}

"""Tables as people have them: their delimiters, encodings, column names, times and decimals, and rows of one id."""

import json
import zipfile

import pytest

from import_folders import Folder, drafted
from penchant.errors import Refused
from penchant_engine.model import InteractionType
from penchant_import.drafts import UNTIMED_REASON, DraftKind, RowProblem
from penchant_import.files import Files, InputFile, gather
from penchant_import.formats import read_drafts
from penchant_import.formats.tables import WHOLE_NUMBERS
from penchant_import.options import ImportOptions, KeywordColumn


@pytest.mark.parametrize("delimiter", (",", ";", "\t", "|"))
def test_the_delimiter_is_found_out_by_the_heading(folder: Folder, delimiter: str) -> None:
    folder.write("a.csv", delimiter.join(("id", "title", "genres")), delimiter.join(("1", "Name", "x")))

    assert folder.read("csv")[0]["label"] == "Name"


def test_a_delimiter_that_is_not_found_out_is_asked_for(folder: Folder) -> None:
    folder.write("a.csv", "sku#title", "1#Name")

    with pytest.raises(Refused, match=r"Found are sku#title. If these are several columns, .* --delimiter"):
        folder.read("csv")
    assert folder.read("csv", delimiter="#")[0] == drafted("1", "Name")


@pytest.mark.parametrize(
    ("encoding", "option"), (("windows-1252", "windows-1252"), ("utf-16", None), ("utf-8-sig", None))
)
def test_encodings_are_named_or_begin_with_their_mark(folder: Folder, encoding: str, option: str | None) -> None:
    (folder.path / "a.csv").write_bytes("id;title\n1;Caf\xe9\n".encode(encoding))

    assert folder.read("csv", encoding=option)[0]["label"] == "Café"


@pytest.mark.parametrize("name", ("item", "item_id:token", "Handle", "SKU", "tconst", "Article", "ISBN"))
def test_ids_are_known_by_the_names_that_people_use(folder: Folder, name: str) -> None:
    folder.write("a.csv", f"{name},title", "7,Name")

    assert folder.read("csv")[0]["id"] == "7"


def test_people_items_and_times_are_known_by_the_names_that_people_use(folder: Folder) -> None:
    folder.write("a.csv", "user,item,event,ts", "kim,7,view,1700000000")
    folder.write("b.csv", "user_id:token,item_id:token,rating:float,timestamp:float", "lee,8,5,1700000000")

    first, second = folder.read("csv")

    assert first == {"userId": "kim", "type": "Click", "contentId": "7", "timestamp": "2023-11-14T22:13:20.000Z"}
    assert (second["userId"], second["contentId"], second["type"]) == ("lee", "8", "RateLike")


def test_interactions_without_a_column_of_times_are_refused_unless_they_shall_happen_now(folder: Folder) -> None:
    folder.write("a.csv", "user,item,event,moment_of_truth", "kim,7,view,1700000000")

    with pytest.raises(Refused, match=r"no column of times .* --time-column, or say with --without-times"):
        folder.read("csv")
    assert "timestamp" not in folder.read("csv", without_times=True)[0]
    assert folder.read("csv", time_column="moment_of_truth")[0]["timestamp"] == "2023-11-14T22:13:20.000Z"


def test_times_are_written_as_the_option_says(folder: Folder) -> None:
    folder.write("a.csv", "user,item,event,time", "kim,7,view,01/11/2026 10:00", "kim,7,view,2026-11-01")

    good, bad = folder.read("csv", time_format="%d/%m/%Y %H:%M")

    assert good["timestamp"] == "2026-11-01T10:00:00.000Z"
    assert bad == ("time", "Found '2026-11-01'; a time in the form %d/%m/%Y %H:%M is accepted (--time-format).")
    assert "--time-format" in folder.read("csv")[0].detail


@pytest.mark.parametrize("delimiter", (",", ";"))
def test_quotes_may_have_a_backslash_before_them_as_spark_writes_them(folder: Folder, delimiter: str) -> None:
    rows = (
        r'rope,"He said \"hi, there\" twice",C:\temp',
        r'sail,Ends in \,"the \"end\""',
        r'mast,"5\" nail",""',
        r'x,"back \\ slash, comma",x',
        r'y,"q\"","\",\\"',
        'z,"Two',
        r'lines \"q\\\"","a,b"',
    )
    folder.write("films.csv", *(row.replace(",", delimiter) for row in ("id,title,text", *rows)))

    pieces = [(each["label"], each["extras"].get("description")) for each in folder.read("csv")]

    assert pieces == [
        (label.replace(",", delimiter), text and text.replace(",", delimiter))
        for label, text in (
            ('He said "hi, there" twice', r"C:\temp"),
            ("Ends in " + "\\", 'the "end"'),
            ('5" nail', None),
            (r"back \ slash, comma", "x"),
            ('q"', r'",' + "\\"),
            ("Two\n" + r'lines "q\"', "a,b"),
        )
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    (
        (r'"{""a"": ""say \""hi\""""}"', r'{"a": "say \"hi\""}'),
        (r'"ends in \"', "ends in " + "\\"),
        (r"a 5\" nail", r"a 5\" nail"),
        (r'"two \\ backslashes"', r"two \\ backslashes"),
    ),
)
def test_backslashes_of_a_table_whose_quotes_are_doubled_stay(folder: Folder, cell: str, text: str) -> None:
    folder.write("films.csv", "id,title,colour", f"rope,Rope,{cell}")

    assert folder.read("csv") == [drafted("rope", "Rope", extras={"colour": text})]


def test_decimals_with_a_comma_are_numbers_where_that_is_said(folder: Folder) -> None:
    folder.write("a.csv", "id;price;sizes", "1;1.234,50;1,2,3")
    folder.write("b.csv", "user;item;rating;ts", "kim;1;4,5;1")

    piece, rating = folder.read("csv", decimal=",")

    assert piece["extras"] == {"price": 1234.5, "sizes": "1,2,3"}
    assert rating["type"] == "RateLike"
    assert folder.read("csv")[0]["extras"]["price"] == "1.234,50"
    assert folder.read("csv")[1].detail == "Found '4,5', which is no number."


def test_lists_with_commas_are_several_keywords_but_names_are_not(folder: Folder) -> None:
    folder.write("a.csv", "id;genres;author;tags", "1;Drame, Com\xe9die;Bee, Ann;a|b,c")

    (piece,) = folder.read("csv")

    assert piece["categories"] == {"genre": ["Drame", "Comédie"], "author": ["Bee, Ann"], "tag": ["a", "b,c"]}


def test_rows_of_one_id_that_stand_together_are_one_piece(folder: Folder) -> None:
    folder.write(
        "a.csv",
        "book_id,title,author,price,genres",
        "1,Tides,Ann Bee,9,sea",
        "1,,Cee Dee,9,sea|storm",
        "1,Other,Ann Bee,12,",
        "2,Rope,Ann Bee,1,",
    )

    tides, rope = folder.read("csv")

    assert tides == drafted("1", "Tides", author=["Ann Bee", "Cee Dee"], genre=["sea", "storm"], extras={"price": "9"})
    assert rope["id"] == "2"
    lost = "another value in a further row of the same id; the first one is kept"
    assert folder.left_out()["a.csv", "title"] == (lost, 1, 4)
    assert folder.left_out()["a.csv", "price"] == (lost, 1, 4)


def test_rows_of_one_id_that_stand_apart_are_told(folder: Folder) -> None:
    folder.write("a.csv", "id,title", "1,Old", "2,Name", "1,New")

    assert [piece["label"] for piece in folder.read("csv")] == ["Old", "Name", "New"]
    assert "sort the file by id" in folder.left_out()["a.csv", "id"][0]
    assert folder.left_out()["a.csv", "id"][1:] == (1, 4)


def test_of_folders_and_archives_only_known_files_are_taken(folder: Folder) -> None:
    folder.write("LICENSE.txt", "All rights are somebody's.")
    folder.write("a.ndjson", '{"id":"a","categories":{}}')
    with zipfile.ZipFile(folder.path / "more.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside/b.json", '[{"id":"b","categories":{}}, {"id":"c","categories":{}}]')
        archive.writestr("inside/README", "Nothing to read.")
        archive.writestr("__MACOSX/inside/._b.json", "\0")

    assert [piece["id"] for piece in folder.read("ndjson")] == ["a", "b", "c"]
    assert {file for file, _ in folder.left_out()} == {"LICENSE.txt", "README"}
    assert [file.name for file in Files(gather([folder.path / "LICENSE.txt"])).select("ndjson")] == ["LICENSE.txt"]


def test_folders_without_a_known_file_and_damaged_archives_are_refused(folder: Folder) -> None:
    folder.write("LICENSE.txt", "All rights are somebody's.")
    with pytest.raises(Refused, match=r"Found no file that ends in .ndjson, .jsonl, .json"):
        folder.read("ndjson")

    folder.write("a.zip", "PK")
    with pytest.raises(Refused, match=r"a.zip cannot be read"):
        folder.read("ndjson")


def test_arrays_over_several_lines_tell_where_they_cease_to_be_json(folder: Folder) -> None:
    folder.write("a.json", "[", '  {"id": "a", "categories": {}},', '  {"id": nothing}', "]")

    with pytest.raises(Refused, match=r"a.json: The file is not JSON: .* line 3, column 1\d"):
        folder.read("ndjson")


def test_csv_columns_are_known_by_their_names(folder: Folder) -> None:
    folder.write(
        "shop.csv",
        "id,Title,Genres,catalogs,available_from,colour",
        '1,"Two\nlines",a|b,kids;new,2026-01-02,blue',
        "2,Short,,,,",
    )

    first, second = folder.read("csv")

    assert first == drafted(
        "1",
        "Two\nlines",
        genre=["a", "b"],
        filters={"catalogs": ["kids", "new"], "availableFrom": "2026-01-02T00:00:00.000Z"},
        extras={"colour": "blue"},
    )
    assert second["id"] == "2"


@pytest.mark.parametrize("heading", ("", '""', "Unnamed: 0"))
def test_numbers_of_rows_of_a_data_frame_are_left_out_of_csv(folder: Folder, heading: str) -> None:
    folder.write("a.csv", f"{heading},id,title", "0,a,A", "1,b,B", "note,c,C")

    assert folder.read("csv") == [
        drafted("a", "A"), drafted("b", "B"), drafted("c", "C", extras={heading.strip('"') or "column 1": "note"}),
    ]  # fmt: skip
    assert folder.left_out()["a.csv", heading.strip('"') or "column 1"] == ("numbers of rows of a data frame", 2, 2)


def test_csv_columns_can_be_chosen(folder: Folder) -> None:
    folder.write("shop.csv", "sku;text;g;c", "1;Name;x,y;p/q", "2;Name;x;")

    first, second = folder.read(
        "csv",
        delimiter=";",
        id_column="sku",
        label_column="text",
        keywords=(
            KeywordColumn(column="g", category="kind", separator=","),
            KeywordColumn(column="c", category="path/to"),
        ),
        catalogs=KeywordColumn(column="c", category="", separator="/"),
    )

    assert first["categories"] == {"kind": ["x", "y"], "path/to": ["p/q"]}
    assert second == drafted("2", "Name", kind=["x"])


def test_csv_with_a_column_of_users_holds_interactions(folder: Folder) -> None:
    folder.write("a.csv", "user_id,item_id,event,timestamp,shop", "u,1,add-to-cart,1700000000000,x", "u,1,sniff,,x")
    folder.write("c.csv", "user,item,rating,ts", "u,1,10,")
    folder.write("b.csv", "user,id,stars,ts", "u,1,9,1", "u,1,4,1", "u,1,11,1")

    cart, like, dislike, beyond, timeless = folder.read("csv", rating_scale=10)

    assert cart == {"userId": "u", "type": "Bookmark", "contentId": "1", "timestamp": "2023-11-14T22:13:20.000Z"}
    assert (like["type"], dislike["type"], beyond.pointer) == ("RateLike", "RateDislike", "stars")
    assert folder.left_out()["a.csv", "shop"][1] == 2
    assert timeless.pointer == "ts"
    assert timeless.detail.startswith("Found no time; without one the row would count as of now")


def test_a_table_of_one_person_has_the_interactions_of_whoever_is_named(folder: Folder) -> None:
    folder.write("a.csv", "isbn,title,rating,date", "7,Dune,5,2026-11-01")
    folder.write("b.csv", "isbn,title,genres", "7,Dune,desert")

    piece, interaction = folder.read("csv", user="kim")

    assert piece == drafted("7", "Dune", genre=["desert"])
    expected = {"userId": "kim", "type": "RateLike", "contentId": "7", "timestamp": "2026-11-01T00:00:00.000Z"}
    assert interaction == expected
    assert [each["id"] for each in folder.read("csv")] == ["7", "7"]


def test_interactions_without_people_ask_for_their_person(folder: Folder) -> None:
    path = folder.write("a.csv", "isbn,date", "7,2026-11-01")
    files = Files([InputFile(path, DraftKind.INTERACTION)])

    with pytest.raises(Refused, match="name it with --user-column, or say with --user NAME whose all rows are"):
        list(read_drafts("csv", files, ImportOptions(), folder.notes))
    (draft,) = read_drafts("csv", files, ImportOptions(user="kim", types={"*": InteractionType.WATCH}), folder.notes)
    assert json.loads(draft.body)["userId"] == "kim"


def test_blank_lines_and_the_line_that_tells_the_delimiter_stand_before_a_heading(folder: Folder) -> None:
    folder.write("a.csv", "", ";;;", "sep=;", "id;title;genres", "1;Café, noir;drama|crime", "2;x", encoding="cp1252")

    piece, short = folder.read("csv", encoding="windows-1252")

    assert piece == drafted("1", "Café, noir", genre=["drama", "crime"])
    assert short.detail == "Found 2 columns; 3 are accepted."
    assert folder.notes.all_left_out() == []
    folder.write("a.csv", '"sep=|"', "id|title, first|x;y", '1|"a\nb', 'c"|', "2")
    assert [problem.detail for problem in folder.read("csv")[1:]] == ["Found 1 columns; 3 are accepted."]


def test_headings_that_are_repeated_are_numbered_and_mean_the_same(folder: Folder) -> None:
    folder.write("a.csv", "id,title,subject,subject,subject,subject_2,price,price", "1,Tides,sea,islands,,a,1,2")

    assert Files(gather([folder.path])).columns(InputFile(folder.path / "a.csv")) == [
        "id", "title", "subject", "subject_3", "subject_4", "subject_2", "price", "price_2"
    ]  # fmt: skip
    extras = {"price": "1", "price_2": "2"}
    assert folder.read("csv") == [drafted("1", "Tides", topic=["sea", "islands", "a"], extras=extras)]


def test_moments_of_frames_and_what_they_have_nothing_of_are_read_from_ndjson(folder: Folder) -> None:
    window = '{"availableFrom":"2026-11-01 10:00:00","availableUntil":null,"catalogs":null}'
    folder.write(
        "a.ndjson",
        '{"id":"a","label":null,"categories":{"genre":["x",null,{"key":"y","weight":null}],"tag":null},'
        f'"filters":{window},"extras":{{"a":null}}}}',
        '{"userId":"u","type":"Click","contentId":"a","timestamp":"2026-11-01 10:00:00+00"}',
        '{"userId":"u","type":"Click","contentId":"a","timestamp":"2026-11-01 10:00:00.123456-03:30"}',
        '{"userId":"u","type":"Click","contentId":"a","timestamp":"long ago"}',
        '{"userId":"u","type":"Click","contentId":"a","timestamp":"1970-01-01 00:00:00"}',
    )

    piece, *clicks = folder.read("ndjson")

    assert piece["categories"] == {"genre": ["x", {"key": "y"}]}
    assert piece["filters"] == {"availableFrom": "2026-11-01T10:00:00.000Z"}
    moments = ["2026-11-01T10:00:00.000Z", "2026-11-01T13:30:00.123Z", "long ago", "1970-01-01 00:00:00"]
    assert [click["timestamp"] for click in clicks] == moments


@pytest.mark.parametrize("moment", ("2026-11-01 10:00:00+00", "2026-11-01 12:00:00+02", "2026-11-01T10:00Z"))
def test_offsets_of_hours_alone_are_read(folder: Folder, moment: str) -> None:
    folder.write("a.csv", "user,item,event,ts", f"kim,7,view,{moment}")

    assert folder.read("csv")[0]["timestamp"] == "2026-11-01T10:00:00.000Z"


def test_without_times_only_rows_without_a_time_happen_now_and_that_is_told(folder: Folder) -> None:
    times = ("2026-11-01", "", "1970-01-01", "soon", "null")
    folder.write("a.csv", "user,item,event,time", *(f"kim,{n},view,{time}" for n, time in enumerate(times)))

    interactions = folder.read("csv", without_times=True)

    assert [each.get("timestamp") for each in interactions] == ["2026-11-01T00:00:00.000Z", None, None, None, None]
    assert folder.left_out()["a.csv", "time"] == (UNTIMED_REASON, 4, 3)
    assert sum(isinstance(each, RowProblem) for each in folder.read("csv")) == 2


def test_a_row_of_nobody_is_left_out_whatever_else_it_lacks(folder: Folder) -> None:
    folder.write("a.csv", "user,item,rating,time", "0,1,,2026-11-01", "0,1,4,", "0,1,4,soon", "kim,1,4,2026-11-01")

    assert [each["userId"] for each in folder.read("csv")] == ["kim"]
    assert folder.left_out()["a.csv", "userId"] == ("'0' stands for nobody", 3, 2)


def test_ids_that_a_data_frame_wrote_with_a_point_are_whole_numbers_in_both_tables(folder: Folder) -> None:
    folder.write("a.csv", "id,title", "7.0,Seven", ",Nobody", "12.0,Twelve")
    folder.write("b.csv", "user,item,event,time", "1.000,7.000,view,2026-11-01", ",12.000,view,2026-11-01")

    seven, without, twelve, view = folder.read("csv")

    assert (seven["id"], twelve["id"], view["userId"], view["contentId"]) == ("7", "12", "1", "7")
    assert isinstance(without, RowProblem)
    told = [(each.file, each.field, each.count) for each in folder.notes.all_mapped() if each.to == WHOLE_NUMBERS]
    assert sorted(told) == [("a.csv", "id", 2), ("b.csv", "item", 2), ("b.csv", "user", 1)]


def test_ids_of_which_only_some_end_in_a_point_and_zero_stay_and_are_told(folder: Folder) -> None:
    folder.write("a.csv", "id,title", "7.0,Seven", "7.1,Version", "8.0,Eight")

    assert [each["id"] for each in folder.read("csv")] == ["7.0", "7.1", "8.0"]
    assert folder.left_out()["a.csv", "id"] == ("some end in .0 and some do not; all stay as they are", 1, 3)


def test_ids_of_which_a_spreadsheet_kept_a_few_digits_are_refused(folder: Folder) -> None:
    folder.write("a.csv", "ean;title", "9,78044E+12;Rope", "1.2345678901234567e+19;Sail", "12e+45;Hash")
    folder.write("b.csv", "user;item;event;time", "kim;9,78044E+12;view;2026-11-01")

    cut, float_, piece, view = folder.read("csv")

    assert cut.detail == "Found '9,78044E+12', a number that has lost its digits; write that column as texts."
    assert (float_.detail[-21:], view.detail) == (cut.detail[-21:], cut.detail)
    assert piece["id"] == "12e+45"

"""Facts of the wire layer: what is accepted, what is refused and where, what comes back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant.errors import InvalidInput, InvalidSyntax, PenchantError, TooManyEntries
from penchant.model import SourceSettings, Term
from penchant.wire import (
    components,
    decode_ids,
    decode_interaction_lines,
    decode_interactions,
    decode_list,
    decode_settings,
    decode_stored_piece,
    decode_submission,
    encode_settings,
    format_timestamp,
    parse_date,
    parse_interaction_timestamp,
    parse_timestamp,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = st.sampled_from(["id", "label", "categories", "filters", "extras", "catalogs", "key", "weight", "userId"])
OBJECTS = st.dictionaries(MEMBERS | st.text(), JSON, max_size=6)


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def pointers(value: bytes) -> list[str | None]:
    with pytest.raises(InvalidInput) as caught:
        decode_submission(value)
    return [fault.pointer for fault in caught.value.faults]


@given(OBJECTS)
def test_extras_come_back_as_equal_json(extras: dict[str, Any]) -> None:
    submission = decode_submission(body([{"id": "a", "categories": {}, "extras": extras}]))

    assert json.loads(submission.pieces[0].body)["extras"] == extras


@given(JSON | st.lists(OBJECTS, max_size=3) | OBJECTS)
def test_any_json_is_accepted_or_refused_in_our_words(value: Any) -> None:
    for decode in (decode_submission, decode_ids, decode_list, decode_settings):
        try:
            decode(body(value))
        except PenchantError:
            continue
    for decode_timed in (decode_interactions, decode_interaction_lines):
        try:
            decode_timed(body(value), 0)
        except PenchantError:
            continue


@pytest.mark.parametrize("text", (b"", b"\xef\xbb\xbf[]", b"[NaN]", b"[-Infinity]", b'["\xff"]', b"[1,]", b"[] x"))
def test_what_is_no_json_is_a_syntax_error(text: bytes) -> None:
    with pytest.raises(InvalidSyntax):
        decode_submission(text)


@pytest.mark.parametrize(
    "text",
    (b"[" * 100_000 + b"]" * 100_000, b'[{"id":"a","categories":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}]"),
)
def test_absurd_depth_is_invalid_input(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        decode_submission(text)


def test_too_many_entries_come_before_faults() -> None:
    with pytest.raises(TooManyEntries):
        decode_submission(b"[" + b"1," * 2_000 + b'"\\ud800"]')


def test_every_fault_has_its_pointer() -> None:
    assert pointers(body([{"categories": {"g": [{"key": "k", "weight": True}, 1]}}, 2])) == [
        "/0/id",
        "/0/categories/g/0/weight",
        "/0/categories/g/1",
        "/1",
    ]


def test_a_weight_conflict_spans_both_spellings_of_a_category() -> None:
    categories = {"a/b": [{"key": "k", "weight": 1}], "a": {"b": [{"key": "k", "weight": 2}]}}

    assert pointers(body([{"id": "a", "categories": categories}])) == ["/0/categories/a/b/0/weight"]


def test_an_enormous_weight_and_a_lone_surrogate_are_faults() -> None:
    text = b'[{"id":"a","categories":{"g":[{"key":"k","weight":1' + b"0" * 5_000 + b'}]},"x":"\\ud800"}]'

    assert pointers(text) == ["/0/categories/g/0/weight", "/0/x"]


def test_the_later_of_two_pieces_wins() -> None:
    submission = decode_submission(
        body([{"id": i, "categories": {}, "label": label} for i, label in (("a", "1"), ("b", "2"), ("a", "3"))])
    )

    assert [piece.id for piece in submission.pieces] == ["b", "a"]
    assert (submission.accepted, submission.superseded) == (3, 1)


def test_unknown_members_are_left_out_and_named() -> None:
    submission = decode_submission(
        body([{"id": "a", "a/b~": 1, "categories": {"g": [{"key": "k", "lang": 1, "weight": None}]}}])
    )

    assert submission.ignored == ("/0/a~1b~0", "/0/categories/g/0/lang")
    assert json.loads(submission.pieces[0].body)["categories"] == {"g": [{"key": "k"}]}


def test_thirty_two_levels_of_categories_work() -> None:
    nested: Any = ["k"]
    for _ in range(32):
        nested = {"a": nested}
    stored = decode_submission(body([{"id": "a", "categories": nested}])).pieces[0]

    assert decode_stored_piece(stored.body, 0).weights == {Term("/".join("a" * 32), "k"): 1}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 10_000))))
def test_stored_weights_equal_the_definition(items: list[tuple[str, int | None]]) -> None:
    unique = dict(items)
    known = [weight for weight in unique.values() if weight is not None]
    mean = max(1, int(sum(known) / len(known) + 0.5)) if known else 1
    keywords = [{"key": key, "weight": weight} for key, weight in unique.items()]
    piece = decode_stored_piece(body({"id": "a", "categories": {"g": keywords}}), 7)

    assert piece.weights == {Term("g", key): mean if weight is None else weight for key, weight in unique.items()}
    assert (piece.weighted, piece.available_from) == (bool(known), 7)


@pytest.mark.parametrize(
    ("text", "moment"),
    (
        ("1970-01-01T00:00:00.1239Z", 123),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31t23:59:59.999z", -1),
        ("1972-06-30T23:59:60Z", 78_796_800_000),
    ),
)
def test_times_are_read(text: str, moment: int) -> None:
    assert parse_timestamp(text) == moment


@pytest.mark.parametrize(
    "text",
    (
        "2026-01-01T00:00:00",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T12:30:60Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "9999-12-31T23:59:60Z",
    ),
)
def test_times_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted"):
        parse_timestamp(text)


def test_interaction_times_understand_a_space_and_are_not_ahead() -> None:
    assert parse_interaction_timestamp("1970-01-01T01:00:00 01:00", 0) == 0
    with pytest.raises(ValueError, match="5 minutes"):
        parse_interaction_timestamp("1970-01-01T00:05:00.001Z", 0)


def test_a_date_is_the_end_of_its_day() -> None:
    assert format_timestamp(parse_date("2026-11-21")) == "2026-11-21T23:59:59.999Z"


def test_settings_survive_a_round_trip() -> None:
    text = encode_settings(SourceSettings())

    assert encode_settings(decode_settings(text)) == text == encode_settings(decode_settings(b"{}"))


@pytest.mark.parametrize(
    ("value", "pointer"),
    (
        ({"colour": 1}, "/colour"),
        ({"halfLifeDays": True}, "/halfLifeDays"),
        ({"retentionDays": 0}, "/retentionDays"),
        ({"categoryWeights": {"a": 0.1 + 0.2}}, "/categoryWeights/a"),
        ({"blend": {"content": 0, "audience": 0, "popularity": 0}}, "/blend"),
    ),
)
def test_unacceptable_settings_are_refused(value: Any, pointer: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_settings(body(value))
    assert caught.value.faults[0].pointer == pointer


def test_a_list_takes_each_id_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_list(b'["a","b","a"]')
    assert caught.value.faults[0].pointer == "/2"


def test_lines_are_numbered_from_one() -> None:
    line = b'{"userId":"u","type":"Click","contentId":"c"}\n'
    with pytest.raises(InvalidInput) as caught:
        decode_interaction_lines(line + b"\n" + line.replace(b"Click", b"click"), 0)
    assert caught.value.faults[0].pointer == "/3/type"
    with pytest.raises(InvalidSyntax, match="Line 2"):
        decode_interaction_lines(line + b"{\n", 0)


@pytest.mark.parametrize("offset", range(31))
@pytest.mark.parametrize("number", ("9" * 309, "-" + "1" + "0" * 309, "1e400", '"\\udc00"', '"\\ud800\\u0041"'))
def test_what_cannot_be_kept_is_found_wherever_it_stands(number: str, offset: int) -> None:
    text = '[{"id":"a","categories":{},"extras":{"n":' + " " * offset + number + "}}]"

    assert pointers(text.encode()) == ["/0/extras/n"]


def test_components_name_every_schema() -> None:
    names = {"Receipt", "Problem", "SubmittedPiece", "Piece", "Settings", "InteractionInput", "IdList", "ContentList"}

    assert names <= components().keys()


def test_an_interaction_is_read_with_time_and_event_id() -> None:
    given_one = {"userId": "u", "type": "Click", "contentId": "c", "timestamp": "1970-01-01T00:00:00Z", "eventId": "e"}
    read = decode_interactions(body([given_one]), 0)[0]

    assert (read.occurred_at, read.event_id) == (0, "e")

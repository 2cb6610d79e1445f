"""Facts of the wire layer: what is accepted, what is refused and where, what comes back."""

import contextlib
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.errors import Fault, InvalidInput, InvalidSyntax, PenchantError, TooManyEntries
from penchant.model import PieceLimits, SourceSettings
from penchant.wire import (
    decode_list,
    decode_settings,
    decode_submission,
    encode_settings,
    format_timestamp,
    parse_timestamp,
    recording,
)
from penchant.wire.lists import decode_ids
from penchant.wire.preferences import decode_likings
from penchant.wire.recording import decode_interaction_lines, decode_interactions
from penchant.wire.settings import decode_preview
from penchant.wire.stored import decode_stored_piece
from penchant.wire.syntax import require_syntax
from penchant.wire.times import parse_date, parse_interaction_timestamp
from penchant_engine.model import Term
from strategies import examples

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


@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("text", "pointer"),
    (
        ("{}", ""),
        ("null", ""),
        ("[1]", "/0"),
        ('[{"categories":{}}]', "/0/id"),
        ('[{"id":"a"}]', "/0/categories"),
        *(
            ('[{"id":' + text + ',"categories":{}}]', "/0/id")
            for text in ('""', '"."', '".."', '"a\\u0000"', '"a\\u0085"', '"a\\ud800"', "7")
        ),
        ('[{"id":"a","categories":[]}]', "/0/categories"),
        ('[{"id":"a","categories":{"":[]}}]', "/0/categories/"),
        ('[{"id":"a","categories":{"g":"x"}}]', "/0/categories/g"),
        ('[{"id":"a","categories":{"g":[1]}}]', "/0/categories/g/0"),
        ('[{"id":"a","categories":{"g":[""]}}]', "/0/categories/g/0"),
        *(
            ('[{"id":"a","categories":{"g":[{"key":"k","weight":' + text + "}]}}]", "/0/categories/g/0/weight")
            for text in ("true", "false", '"1"', "1.5", "-1", "-1.0", "10001", "1e300", "1e400", "1" + "0" * 400)
        ),
        ('[{"id":"a","categories":{"g":[{"key":"k","weight":1},{"key":"k","weight":2}]}}]', "/0/categories/g/1/weight"),
        (
            '[{"id":"a","categories":{"n":{"g":[{"key":"k","weight":1}]},"n/g":[{"key":"k","weight":2}]}}]',
            "/0/categories/n~1g/0/weight",
        ),
        ('[{"id":"a","categories":{},"label":1}]', "/0/label"),
        ('[{"id":"a","categories":{},"label":"x\\u0000"}]', "/0/label"),
        ('[{"id":"a","categories":{},"filters":[]}]', "/0/filters"),
        ('[{"id":"a","categories":{},"filters":{"catalogs":"x"}}]', "/0/filters/catalogs"),
        ('[{"id":"a","categories":{},"filters":{"catalogs":[1]}}]', "/0/filters/catalogs/0"),
        ('[{"id":"a","categories":{},"filters":{"availableFrom":"2020-01-01"}}]', "/0/filters/availableFrom"),
        ('[{"id":"a","categories":{},"filters":{"availableUntil":5}}]', "/0/filters/availableUntil"),
        ('[{"id":"a","categories":{},"extras":"x"}]', "/0/extras"),
        ('[{"id":"a","categories":{},"extras":{"n":1e400}}]', "/0/extras/n"),
        ('[{"id":"a","categories":{},"extras":{"n":"\\udc00"}}]', "/0/extras/n"),
    ),
)
def test_what_is_no_piece_is_a_fault_at_its_place(text: str, pointer: str) -> None:
    assert pointer in pointers(text.encode())


@pytest.mark.parametrize(
    "members",
    (
        {"id": "x" * 501},
        {"label": "x" * 2001},
        {"categories": {"c" * 201: []}},
        {"categories": {"g": ["k" * 501]}},
        {"filters": {"catalogs": ["c" * 201]}},
    ),
)
def test_a_text_past_its_limit_is_a_fault_that_names_it(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_submission(body([{"id": "a", "categories": {}} | members]))
    assert any(limit in caught.value.faults[0].detail for limit in ("200", "500", "2000"))


def test_every_fault_has_its_pointer() -> None:
    assert pointers(body([{"categories": {"g": [{"key": "k", "weight": True}, 1]}}, 2])) == [
        "/0/id",
        "/0/categories/g/0/weight",
        "/0/categories/g/1",
        "/1",
    ]


def test_the_later_of_two_pieces_wins() -> None:
    submission = decode_submission(
        body([{"id": i, "categories": {}, "label": label} for i, label in (("a", "1"), ("b", "2"), ("a", "3"))])
    )

    assert [piece.id for piece in submission.pieces] == ["b", "a"]
    assert (submission.accepted, submission.superseded) == (3, 1)


def test_thirty_two_levels_of_categories_work() -> None:
    nested: Any = ["k"]
    for _ in range(32):
        nested = {"a": nested}
    stored = decode_submission(body([{"id": "a", "categories": nested}])).pieces[0]

    assert decode_stored_piece(stored.body, 0).weights == {Term("/".join("a" * 32), "k"): 1}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 10_000))))
def test_stored_weights_equal_the_definition(items: list[tuple[str, int | None]]) -> None:
    unique = dict(items)
    known = [weight for weight in unique.values() if weight]
    mean = max(1, int(sum(known) / len(known) + 0.5)) if known else 1
    keywords = [{"key": key, "weight": weight} for key, weight in unique.items()]
    piece = decode_stored_piece(body({"id": "a", "categories": {"g": keywords}}), 7)

    assert piece.weights == {Term("g", key): weight or mean for key, weight in unique.items()}
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
        "2026-01-01T00:00:00+0100",
    ),
)
def test_times_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted"):
        parse_timestamp(text)


@given(
    st.from_regex(r"[0-9]{4}-[0-9W]{2}[-0-9][0-9]{2}T[0-9:]{5}:[0-9]{2}([.,:][0-9]{3})?Z", fullmatch=True)
    | st.datetimes(timezones=st.just(UTC)).map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + ".123Z")
)
def test_times_as_machines_write_them_are_read_as_all_others(text: str) -> None:
    def read(text: str) -> int | None:
        with contextlib.suppress(ValueError):
            return parse_timestamp(text)
        return None

    assert read(text) == read(text.replace("T", "t"))


def test_interaction_times_understand_incomplete_offsets_and_are_not_ahead() -> None:
    for offset in (" 01:00", " 0100", "+0100", "+01:00"):
        assert parse_interaction_timestamp(f"1970-01-01T01:00:00{offset}", 0) == 0
    assert parse_interaction_timestamp("1969-12-31T23:00:00.000-0100", 0) == 0
    with pytest.raises(ValueError, match="5 minutes"):
        parse_interaction_timestamp("1970-01-01T00:05:00.001Z", 0)


def test_a_date_is_the_end_of_its_day() -> None:
    assert format_timestamp(parse_date("2026-11-21")) == "2026-11-21T23:59:59.999Z"


def test_settings_survive_a_round_trip() -> None:
    text = encode_settings(SourceSettings())

    assert encode_settings(decode_settings(text)) == text == encode_settings(decode_settings(b"{}"))


def test_a_list_takes_each_id_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_list(b'["a","b","a"]')
    assert caught.value.faults[0].pointer == "/2"


@pytest.mark.parametrize(
    "number", ("9" * 309, "9" * 310, "-" + "1" + "0" * 309, "9" * 400, "1e400", '"\\udc00"', '"\\ud800\\u0041"')
)
def test_what_cannot_be_kept_is_found_wherever_it_stands(number: str) -> None:
    for offset in range(31):
        text = '[{"id":"a","categories":{},"extras":{"n":' + " " * offset + number + "}}]"

        assert pointers(text.encode()) == ["/0/extras/n"], offset


SENT = st.fixed_dictionaries(
    {},
    optional={
        "userId": st.sampled_from(["u", "", 1]) | st.just("é"),
        "type": st.sampled_from(["Click", "click", "Watch"]),
        "contentId": st.sampled_from(["c", "x\ny", None]),
        "timestamp": st.sampled_from(["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.5Z", "then", None, 1]),
        "eventId": st.sampled_from(["e", None, 2]),
        "value": st.sampled_from([0.25, None, 2, "1"]),
        "other": st.sampled_from([{"deep": ["\ud800"]}, "x"]),
    },
)
LIKELY = {"userId": "u", "type": "Click", "contentId": "c"}


@given(st.lists(SENT.map(lambda some: LIKELY | some) | SENT, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n", ""]))
def test_what_is_read_at_once_is_what_is_read_by_entries(entries: list[dict[str, Any]], between: str) -> None:
    lines = between.join(map(json.dumps, entries)).encode()
    array = json.dumps(entries).encode()

    for decode, given_body in (decode_interaction_lines, lines), (decode_interactions, array):
        at_once = read_or_refused(decode, given_body)
        with mock.patch.object(recording, "MAX_PLAIN_BYTES", -1):
            assert at_once == read_or_refused(decode, given_body)


def read_or_refused(decode: Any, body: bytes) -> Any:
    try:
        return decode(body, 0)
    except InvalidInput as error:
        return error.faults, str(error)
    except InvalidSyntax as error:
        return error.detail


def test_an_interaction_is_read_with_time_and_event_id() -> None:
    given_one = {"userId": "u", "type": "Click", "contentId": "c", "timestamp": "1970-01-01T00:00:00Z", "eventId": "e"}
    read = decode_interactions(body([given_one]), 0)[0]

    assert (read.occurred_at, read.event_id) == (0, "e")


@pytest.mark.parametrize(
    ("value", "portion"), (("0", 0), ("0.01", 1), ("0.29", 29), ("0.580", 58), ("1", 100), ("1.0", 100), ("null", None))
)
def test_a_value_is_read_as_hundredths(value: str, portion: int | None) -> None:
    (read,) = decode_interactions(b'[{"userId":"u","type":"Watch","contentId":"c","value":%s}]' % value.encode(), 0)

    assert read.portion == portion


@pytest.mark.parametrize(
    ("value", "detail"),
    (
        ('"0.5"', "Found a string; a number from 0 to 1 is accepted."),
        ("true", "Found a boolean; a number from 0 to 1 is accepted."),
        ("[1]", "Found an array; a number from 0 to 1 is accepted."),
        ("-0.1", "Found -0.1; a number from 0 to 1 is accepted."),
        ("1.01", "Found 1.01; a number from 0 to 1 is accepted."),
        ("1e400", None),
        ("0.125", "Found 0.125; at most two decimals are accepted."),
    ),
)
def test_an_odd_value_is_a_fault_at_its_place(value: str, detail: str | None) -> None:
    entries = [
        b'{"userId":"u","type":"Watch","contentId":"c","value":%s%s}' % (value.encode(), more)
        for more in (b"", b',"x":1')
    ]

    with pytest.raises(InvalidInput) as caught:
        decode_interaction_lines(b"\n".join(entries), 0)

    assert [fault.pointer for fault in caught.value.faults] == ["/1/value", "/2/value"]
    assert detail is None or {fault.detail for fault in caught.value.faults} == {detail}


def is_json(text: bytes) -> bool:
    """Return whether Python's own reader takes a text as strict JSON."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text.decode(), parse_constant=refuse)
    except ValueError:
        return False
    return True


@settings(max_examples=examples(500), deadline=None)
@given(
    JSON.map(body),
    st.integers(0, 60),
    st.binary(max_size=2) | st.sampled_from([b'"', b"\\ud800", b"\\", b"NaN", b"\xff", b"\xc3\xa9", b"\n", b"1e999"]),
)
def test_what_is_json_is_what_another_reader_takes(text: bytes, place: int, put: bytes) -> None:
    changed = text[:place] + put + text[place:]

    try:
        require_syntax(changed)
    except InvalidSyntax:
        assert not is_json(changed)
    else:
        assert is_json(changed)


@pytest.mark.parametrize(
    ("text", "where"),
    (
        (b"", "it ends before its end at line 1, column 1"),
        (b'[\n "\xc3\xa9" 1]', "line 2, column 6"),
        (b"[1,\n-Infinity]", "-Infinity is no JSON number, at line 2, column 1"),
        (b'["a\xc3\xa9\xff"]', "line 1, column 5"),
    ),
)
def test_a_syntax_error_tells_line_and_column(text: bytes, where: str) -> None:
    with pytest.raises(InvalidSyntax) as caught:
        decode_submission(text)

    assert where in caught.value.detail


def test_a_lone_surrogate_is_a_fault_of_its_own_entry() -> None:
    good = b'{"id":"\\ud83d\\ude00","categories":{}}'

    assert pointers(b"[" + good + b' ,{"id":"\\uDC00","categories":{}}, ' + good + b"]") == ["/1/id"]
    assert pointers(b'[{"id":"a","categories":{},"extras":{"b":[1,{"\\ud800":2}]}}]') == ["/0/extras/b/1"]


def test_the_longest_number_that_a_double_holds_is_kept() -> None:
    stored = decode_submission(b'[{"id":"a","categories":{},"extras":{"n":1' + b"0" * 308 + b"}}]").pieces[0]
    assert json.loads(stored.body)["extras"]["n"] == 10**308


@pytest.mark.parametrize("decode", (decode_submission, decode_list, decode_settings, decode_likings, decode_preview))
def test_a_body_of_a_wrong_shape_takes_no_more_memory_than_its_size(decode: Callable[[bytes], Any]) -> None:
    text = b"[[" + b"0," * 100_000 + b"0]," + b"1" * 400 + b"]"

    tracemalloc.start()
    with pytest.raises(InvalidInput):
        decode(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3 * len(text) + 2_000_000


def test_a_piece_has_a_limit_of_keywords_and_of_bytes() -> None:
    few = PieceLimits(keywords=3, piece_bytes=200)
    nested = {"a": ["k"], "b": {"c": [{"key": "l"}, "m"]}}
    assert decode_submission(body([{"id": "a", "categories": nested}]), few).accepted == 1

    with pytest.raises(InvalidInput) as many:
        decode_submission(body([{"id": "a", "categories": nested | {"d": ["n"]}}]), few)
    with pytest.raises(InvalidInput) as plain:
        decode_submission(body([{"id": "a", "categories": {"a": ["k", "l", "m", "n"]}}]), few)
    with pytest.raises(InvalidInput) as large:
        decode_submission(body([{"id": "a", "categories": {}}, {"id": "x" * 201, "categories": {}}]), few)

    assert many.value.faults == plain.value.faults
    assert [*many.value.faults] == [
        Fault(pointer="/0/categories", detail="Found 4 keywords; a piece may have up to 3.")
    ]
    assert [(fault.pointer, "up to 200" in fault.detail) for fault in large.value.faults] == [("/1", True)]


def test_odd_interactions_are_faults_at_their_members() -> None:
    entries = [
        {"userId": ["u"], "type": 1, "contentId": None},
        "Click",
        {"userId": "u", "type": "Click", "contentId": "a", "timestamp": 3, "eventId": None, "more": [1]},
    ]

    with pytest.raises(InvalidInput) as caught:
        decode_interactions(body(entries), 0)
    assert [fault.pointer for fault in caught.value.faults] == [
        "/0/userId",
        "/0/type",
        "/0/contentId",
        "/1",
        "/2/timestamp",
    ]
    lone = b'[{"userId":"u","type":"Click","contentId":"a","x":"\\ud800"}]'
    with pytest.raises(InvalidInput) as half:
        decode_interactions(lone, 0)
    assert [fault.pointer for fault in half.value.faults] == ["/0/x"]


@pytest.mark.slow
def test_blank_lines_count_for_the_numbers_of_others() -> None:
    good = b'{"userId":"u","type":"Click","contentId":"a"}'

    assert len(decode_interaction_lines(b"\n \n" + good + b"\r\n\n  " + good, 0)) == 2
    with pytest.raises(InvalidInput) as caught:
        decode_interaction_lines(b"\n \n" + good + b"\n\n{}\n" + good.replace(b"Click", b"click"), 0)
    assert [fault.pointer for fault in caught.value.faults] == ["/5/userId", "/5/type", "/5/contentId", "/6/type"]
    with pytest.raises(InvalidSyntax, match=r"^Line 2 is not JSON: it ends before its end at column 2\.$"):
        decode_interaction_lines(good + b"\n{", 0)

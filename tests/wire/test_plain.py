"""Facts of plain pieces: to read a submission piece by piece changes nothing but the time that it takes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penchant.errors import PenchantError
from penchant.wire.pieces import DEFAULT_LIMITS, Submission, decode_submission, read_plain
from strategies import examples

Pairs = list[tuple[str, str]]
"""An object as names and JSON texts: so a name can come twice, and a text can be anything."""

NAMES = ["id", "label", "categories", "filters", "extras", "catalogs", "availableFrom", "availableUntil", "key"]
TEXTS = st.one_of(
    st.sampled_from(
        ["a", "b", ".", "..", "", '"', "\\", "\\n", "\n", "\t", "\0", "\x1f", "\x7f", "\x80", "\x9f", "\xa0", "😀"]
    ),
    st.builds(lambda letter, count: letter * count, st.sampled_from("xé"), st.sampled_from([200, 201, 500, 501])),
    st.sampled_from([2_000, 2_001]).map(lambda count: "x" * count),
    st.text(max_size=4),
)


def as_string(text: str, how: int) -> str:
    """Return a text as JSON, with or without escapes of what needs none."""
    escaped = "".join(f"\\u{unit:04X}" for unit in memoryview(text.encode("utf-16-le")).cast("H"))
    return (json.dumps(text), json.dumps(text, ensure_ascii=False), f'"{escaped}"')[how]


def as_object(pairs: Pairs, space: str = "") -> str:
    return "{" + f",{space}".join(f"{name}{space}:{space}{value}" for name, value in pairs) + "}"


STRINGS = st.builds(as_string, TEXTS, st.integers(0, 2))
NESTED = st.builds(
    lambda brackets, depth: brackets[0] * depth + brackets[1] * depth,
    st.sampled_from([("[", "]"), ('{"a":', "}"), ('{"a":[', "]}")]),
    st.sampled_from([2, 63, 64, 65, 100, 101, 199, 200, 201, 2_000]),
)
ODD = NESTED | st.sampled_from(
    ["null", "true", "0", "-0", "3.0", "1e2", "1e400", "9" * 310, '"3"', "[]", "{}", '"\\ud800"', '"\\udc00\\ud800"']
)


def objects(members: st.SearchStrategy[tuple[str, str]], most: int = 4) -> st.SearchStrategy[str]:
    return st.builds(as_object, st.lists(members, max_size=most), st.sampled_from(["", "", " \n"]))


def lists(items: st.SearchStrategy[str], most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=most).map(lambda found: "[" + ", ".join(found) + "]")


def member(name: str, *values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, str]]:
    """Return a member's name, seldom spelt with an escape, and one of these values."""
    spellings = st.sampled_from([f'"{name}"'] * 8 + [f'"\\u{ord(name[0]):04x}{name[1:]}"'])
    return st.tuples(spellings, st.one_of(*values))


ANY = st.recursive(STRINGS | ODD, lambda inner: lists(inner, 3) | objects(st.tuples(STRINGS, inner), 3), max_leaves=5)
UNKNOWN = st.tuples(STRINGS, ANY)
KEYS = st.sampled_from(['"a"', '"b"', '"\\u0061"', "null"]) | STRINGS
WEIGHTS = st.sampled_from(["1", "2", "0", "10000", "10001", "-1", "null"]) | ODD
KEYWORDS = st.one_of(
    KEYS,
    objects(member("key", KEYS) | member("weight", WEIGHTS)),
    objects(st.one_of(member("key", KEYS), member("weight", WEIGHTS), UNKNOWN)),
    ODD,
)
CATEGORY_NAMES = st.sampled_from(['"g"', '"h"', '"g/h"']) | STRINGS
CATEGORIES = st.recursive(
    lists(KEYWORDS) | lists(STRINGS), lambda inner: objects(st.tuples(CATEGORY_NAMES, inner), 3), max_leaves=5
)
MOMENTS = st.one_of(
    st.sampled_from(['"2026-01-01T00:00:00Z"', '"2026-02-30T00:00:00Z"', '"2016-12-31T23:59:60.5Z"', '""']), ODD
)
FILTERS = objects(
    st.one_of(
        member("catalogs", lists(STRINGS), lists(ODD), ODD, STRINGS),
        member("availableFrom", MOMENTS),
        member("availableUntil", MOMENTS),
        UNKNOWN,
    )
)
GOOD = st.builds(
    lambda label, members, categories: as_object(
        [('"id"', label), *members, ('"categories"', as_object([('"g"', categories)]))]
    ),
    st.sampled_from(['"a"', '"b"', '"c"']) | STRINGS,
    st.lists(
        st.one_of(
            member("label", STRINGS),
            member("filters", objects(st.tuples(st.just('"catalogs"'), lists(st.sampled_from(['"m"', '"n"']))))),
            member("extras", objects(st.tuples(STRINGS, STRINGS | st.integers().map(str)))),
        ),
        max_size=3,
    ),
    lists(KEYS | objects(member("key", KEYS) | member("weight", st.integers(0, 3).map(str)), 2)),
)
ANY_PIECE = objects(
    st.one_of(
        member("id", STRINGS),
        member("label", STRINGS, ODD),
        member("categories", CATEGORIES, ODD),
        member("filters", FILTERS, ODD),
        member("extras", objects(UNKNOWN), ANY),
        st.tuples(st.sampled_from([f'"{name}"' for name in NAMES]), ANY),
        UNKNOWN,
    ),
    7,
)
SUBMISSIONS = st.one_of(lists(GOOD), lists(GOOD | ANY_PIECE), lists(ANY_PIECE | ODD, 2), ANY)


def outcome(decode: Any, text: bytes) -> Any:
    """Return what this makes of a body: a submission, or an error with all that it says."""
    try:
        return decode(text)
    except PenchantError as error:
        return type(error), str(error), getattr(error, "faults", None)


def decode_by_member(text: bytes) -> Submission:
    """Return a submission, every member of every piece looked at."""
    return decode_submission(text, reads_plain=False)


def assert_same(text: bytes) -> None:
    assert outcome(decode_submission, text) == outcome(decode_by_member, text)


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(SUBMISSIONS.map(str.encode))
@example(b"[" + b"{}," * 99 + b'{"id":"a"},2]')
@example(b"[" + b'{"id":"a","categories":{}},' * 1_999 + b'{"id":"a","categories":{},"x":1}]')
@example(b"[" + b'{"id":"a","categories":{}},' * 2_000 + b'{"id":"a","categories":{}}]')
@example(b"[" + b'{"id":"a","categories":{}},' * 2_000 + b'{"id":"\\ud800","categories":{}}, nul]')
@example(b"[" + b'{"id":"a","categories":{},"x":1,"y":2},' * 60 + b"]")
@example(b"[" + b'{"id":"a","categories":{},"x":1,"y":2},' * 60 + b'{"id":"a","categories":{}}]')
def test_the_short_way_equals_the_long_one(text: bytes) -> None:
    assert_same(text)


@pytest.mark.slow
@settings(deadline=None)
@given(
    lists(GOOD | ANY_PIECE).map(str.encode),
    st.floats(0, 1, exclude_max=True),
    st.binary(max_size=1) | st.sampled_from([b'"', b"{", b"]", b",", b"\\", b"\xc2", b"\xff", b"\x01"]),
)
def test_so_it_does_where_a_byte_is_wrong(text: bytes, where: float, byte: bytes) -> None:
    place = int(len(text) * where)

    assert_same(text[:place] + byte + text[place + 1 :])


PLAIN = '{"id":"a","label":"","categories":{"g":["k",{"key":"l","weight":0},{"weight":1}]},"filters":{},"extras":{}}'


@pytest.mark.parametrize(
    ("old", "new"),
    (
        ("", ""),
        ('"a"', '"..."'),
        ('""', "null"),
        ('"l"', '"\\u00e9\\""'),
        ('"l"', '"\xa0"'),
        ('"weight":0', '"weight":null'),
        ('"filters":{}', '"filters":{"catalogs":["m"],"availableUntil":"2026-01-01T00:00:00Z","other":"é"}'),
        ('"extras":{}', '"extras":{"text":"two\\nlines \\u007f"}'),
        ('"extras":{}', '"extras":null'),
    ),
)
def test_the_usual_is_plain(old: str, new: str) -> None:
    text = PLAIN.replace(old, new).encode()

    assert read_plain(msgspec.Raw(text), DEFAULT_LIMITS) == decode_by_member(b"[" + text + b"]").pieces[0]


@pytest.mark.parametrize(
    ("old", "new"),
    (
        ('"a"', '"."'),
        ('"a"', '".."'),
        ('"a"', "null"),
        ('"a"', '"\x7f"'),
        ('"label":""', '"label":"\x9f"'),
        ('"label":""', '"label":"\\n"'),
        ('"label":""', '"other":""'),
        ('"k"', '{"key":"l","weight":1}'),
        ('"k"', '"\\u0080"'),
        ('"g"', '"\\u0000"'),
        ('["k"', '{"h":["k"]},"h":["k"'),
        ('"weight":0', '"weight":3.0'),
        ('"weight":0', '"weight":3.5'),
        ('"weight":0', '"weight":true'),
        ('"weight":0', '"weight":"3"'),
        ('"weight":0', '"weight":10001'),
        ('"filters":{}', '"filters":{"catalogs":"m"}'),
        ('"filters":{}', '"filters":{"catalogs":null}'),
        ('"filters":{}', '"filters":{"catalogs":["\\u007f"]}'),
        ('"filters":{}', '"filters":{"availableFrom":["2026-01-01T00:00:00Z"]}'),
        ('"filters":{}', '"filters":{"availableUntil":"2026-02-30T00:00:00Z"}'),
        ('"extras":{}', '"extras":' + '{"a":' * 201 + "1" + "}" * 201),
    ),
)
def test_the_unusual_is_not(old: str, new: str) -> None:
    text = PLAIN.replace(old, new, 1).encode()

    assert read_plain(msgspec.Raw(text), DEFAULT_LIMITS) is None
    assert_same(b"[" + text + b"]")


@pytest.mark.slow
def test_an_unusual_piece_leaves_the_others_plain() -> None:
    text = f'[{PLAIN},{{"id":"b","categories":{{"g":{{"h":["k"]}}}},"x":1}},{PLAIN}]'.encode()
    submission = decode_submission(text)

    assert isinstance(submission, Submission)
    assert [piece.id for piece in submission.pieces] == ["b", "a"]
    assert (submission.accepted, submission.superseded, submission.ignored) == (3, 1, ("/1/x",))
    assert submission == decode_by_member(text)

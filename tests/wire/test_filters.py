"""What is a filter, what is none, and where what is wrong with it lies."""

import json
from typing import Any

import pytest

from penchant.errors import InvalidInput, InvalidSyntax
from penchant.model import SourceSettings
from penchant.wire import decode_settings, encode_settings
from penchant.wire.filters import MAX_FILTER_BYTES, decode_filter, read_filter
from penchant_engine.attributes import Attribute, AttributeType

SETTINGS = SourceSettings(attributes={kind.value: Attribute(kind, f"/{kind.value}") for kind in AttributeType})
DEEP: dict[str, Any] = {"must": [{"must": [{"must": [{"must": [{"must": [{"must": [{"must": [{"must": []}]}]}]}]}]}]}]}


def pointers(value: Any) -> list[str | None]:
    with pytest.raises(InvalidInput) as caught:
        decode_filter(json.dumps(value), SETTINGS)
    return [fault.pointer for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("value", "expected"),
    (
        ([], [""]),
        ({"must": {}}, ["/must"]),
        ({"must": ["x"], "not": []}, ["/not", "/must/0"]),
        ({"key": "colour", "any": ["red"]}, ["/key"]),
        ({"key": 1, "any": ["red"]}, ["/key"]),
        ({"mustNot": [{"should": [{"key": "keyword"}]}]}, ["/mustNot/0/should/0"]),
        ({"key": "keyword", "any": []}, ["/any"]),
        ({"key": "keyword", "any": "en"}, ["/any"]),
        ({"key": "keyword", "any": ["en", 1, None]}, ["/any/1", "/any/2"]),
        ({"key": "keywords", "all": ["x" * 501]}, ["/all/0"]),
        ({"key": "keyword", "gt": "a", "lte": "b"}, ["/gt", "/lte"]),
        ({"key": "boolean", "any": [0], "gte": True}, ["/any/0", "/gte"]),
        ({"key": "integer", "gt": 1.5, "lt": True}, ["/gt", "/lt"]),
        ({"key": "integer", "any": [2**53 + 2]}, ["/any/0"]),
        ({"key": "number", "gte": "1"}, ["/gte"]),
        ({"key": "time", "lt": "yesterday"}, ["/lt"]),
        ({"key": "time", "exists": 1}, ["/exists"]),
        ({"must": [DEEP]}, ["/must/0" * 8]),
        ({"should": [{"key": "number", "gt": n} for n in range(101)]}, ["/should/100"]),
        ({"key": "number", "any": list(range(1_001))}, ["/any"]),
        ({"key": "keyword", "any": ["x" * 500] * 20}, [""]),
        ({"category": "genre"}, [""]),
        ({"category": 1, "any": ["noir"]}, ["/category"]),
        ({"category": "people/", "any": ["noir"]}, ["/category"]),
        ({"category": "genre", "key": "keyword", "any": ["noir"]}, ["/category"]),
        ({"category": "genre", "any": ["noir", 1, ""], "all": "noir"}, ["/any/1", "/any/2", "/all"]),
        ({"category": "genre", "any": [], "exists": 1}, ["/any", "/exists"]),
        ({"category": "genre", "gte": "noir", "any": ["noir"]}, ["/gte"]),
        ({"catalogs": "tv"}, ["/catalogs"]),
        ({"catalogs": []}, ["/catalogs"]),
        ({"mustNot": [{"catalogs": ["tv", None], "any": ["tv"]}]}, ["/mustNot/0/any", "/mustNot/0/catalogs/1"]),
        ({"category": "genre", "any": [str(n) for n in range(1_001)]}, ["/any"]),
        ({"should": [{"category": "genre", "any": [str(n)]} for n in range(101)]}, ["/should/100"]),
    ),
)
def test_every_fault_of_a_filter_has_its_pointer(value: Any, expected: list[str]) -> None:
    assert pointers(value) == expected


@pytest.mark.parametrize(
    "value",
    (
        {},
        DEEP,
        {"must": [], "should": [], "mustNot": []},
        {"key": "number", "gt": -1, "gte": 1.5, "lt": 9, "lte": 3, "exists": True, "any": [2], "all": [2]},
        {"key": "keyword", "any": [""]},
        {"key": "time", "gte": "2026-01-01", "lt": "2026-01-01T00:00:00+01:00"},
        {"should": [{"key": "number", "gt": n} for n in range(100)]},
        {"category": "people/director", "any": ["Lang"], "all": ["Hawks", "Lang"], "exists": True},
        {"catalogs": ["tv", "maps, charts"]},
    ),
)
def test_these_are_filters(value: Any) -> None:
    assert decode_filter(json.dumps(value), SETTINGS) == read_filter(value, SETTINGS)


def test_what_is_no_json_says_where() -> None:
    with pytest.raises(InvalidSyntax, match=r"^The filter is not JSON: .*line 1, column 9"):
        decode_filter('{"must":}', SETTINGS)


def test_a_filter_may_be_so_long_whatever_its_spaces() -> None:
    with pytest.raises(InvalidInput, match=str(MAX_FILTER_BYTES)):
        decode_filter(" " * MAX_FILTER_BYTES + "{}", SETTINGS)


def test_filters_are_the_same_that_differ_in_spaces_alone() -> None:
    one, other = ('{"key": "boolean", "any": [true]}', '{"key":"boolean","any":[true]}')

    assert decode_filter(one, SETTINGS) == decode_filter(other, SETTINGS)
    assert hash(decode_filter(one, SETTINGS)) == hash(decode_filter(other, SETTINGS))


@pytest.mark.parametrize(
    ("value", "expected"),
    (
        ([], ["/attributes"]),
        ({"": {"pointer": "/a", "type": "time"}}, ["/attributes/"]),
        ({"a": "keyword"}, ["/attributes/a"]),
        ({"a/b": {"type": "keyword", "of": 1}}, ["/attributes/a~1b/of", "/attributes/a~1b/pointer"]),
        ({"a": {"pointer": "a", "type": "keyword"}}, ["/attributes/a/pointer"]),
        ({"a": {"pointer": "/a~2", "type": "keyword"}}, ["/attributes/a/pointer"]),
        ({"a": {"pointer": "", "type": "keyword"}}, ["/attributes/a/pointer"]),
        ({"a": {"pointer": "/a", "type": "Keyword"}}, ["/attributes/a/type"]),
        ({"a": {"pointer": "/a", "type": ["keyword"]}}, ["/attributes/a/type"]),
        ({str(n): {"pointer": "/a", "type": "keyword"} for n in range(33)}, ["/attributes"]),
    ),
)
def test_every_fault_of_attributes_has_its_pointer(value: Any, expected: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_settings(json.dumps({"attributes": value}).encode())

    assert [fault.pointer for fault in caught.value.faults] == expected


def test_attributes_come_back_as_they_were_set() -> None:
    given = {"attributes": {"year": {"pointer": "/made/year", "type": "integer"}}}

    found = json.loads(encode_settings(decode_settings(json.dumps(given).encode())))

    assert found["attributes"] == given["attributes"]
    assert "attributes" not in json.loads(encode_settings(decode_settings(b"{}")))

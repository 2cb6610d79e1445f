"""Headers that are put in order once say what Starlette's say, and a plain path is its own decoded form."""

from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from penchant.errors import MalformedPath
from penchant.web.query import RequestHeaders, decode_component, is_plain

NAMES = st.sampled_from(["host", "x-api-key", "etag"])
PAIRS = st.lists(st.tuples(NAMES.map(str.encode), st.binary(max_size=3)), max_size=6)


@given(raw=PAIRS, name=NAMES)
def test_headers_are_found_as_starlette_finds_them(raw: list[tuple[bytes, bytes]], name: str) -> None:
    found, expected = RequestHeaders(raw), Headers(raw=raw)

    assert found.getlist(name) == found.getlist(name.upper()) == expected.getlist(name)
    assert found.get(name) == expected.get(name.upper())
    assert found.get(name, "none") == expected.get(name, "none")
    assert (name.upper() in found) == (name in expected)
    assert found.items() == expected.items()


@given(raw=st.text(st.characters(max_codepoint=255), max_size=4))
def test_a_plain_path_is_its_own_decoded_form(raw: str) -> None:
    try:
        decoded = decode_component(raw)
    except MalformedPath:
        decoded = ""

    assert is_plain(raw) == (raw == decoded and "%" not in raw)

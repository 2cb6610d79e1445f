"""Dumps of Gorse, in the form of Protocol Buffers."""

import struct
from collections.abc import Iterable

import pytest

from import_folders import Folder, drafted
from penchant.errors import Refused


def varint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """Return a message of Protocol Buffers, written by its document."""
    found = b""
    for number, value in fields:
        if isinstance(value, float):
            found += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            found += varint(number << 3) + varint(value)
        else:
            text = value.encode() if isinstance(value, str) else value
            found += varint(number << 3 | 2) + varint(len(text)) + text
    return found


def dump(*parts: int | bytes) -> bytes:
    def written() -> Iterable[bytes]:
        for part in parts:
            yield struct.pack("<q", part) if isinstance(part, int) else struct.pack("<q", len(part)) + part

    return b"".join(written())


TIME = message((1, 1_793_527_200), (2, 500_000_000))
ITEM = message((2, "rope"), (3, 1), (4, "deck"), (4, "sale"), (5, TIME), (6, '{"material":["hemp"]}'), (7, "Rope"))


def test_a_dump_of_gorse_gives_items_and_feedback(folder: Folder) -> None:
    old = message((2, "star"), (3, "kim"), (4, "rope"), (5, TIME), (6, "fine"))
    new = message((2, "star"), (3, "lee"), (4, "rope"), (5, 2.0), (6, TIME))
    half = message((2, "read"), (3, "lee"), (4, "rope"), (5, 0.5), (6, TIME))
    strange = message((2, "knot"), (3, "kim"), (4, "rope"), (5, TIME))
    content = dump(-1, message((1, "kim"), (2, "null")), -2, ITEM, -3, old, new, half, strange, 0)
    (folder.path / "gorse.bin").write_bytes(content)

    rope, first, second, third = folder.read("gorse")

    assert rope == drafted(
        "rope",
        "Rope",
        material=["hemp"],
        filters={
            "catalogs": ["deck", "sale"],
            "availableFrom": "2026-11-01T10:00:00.500Z",
            "availableUntil": "1970-01-01T00:00:00.000Z",
        },
    )
    assert first == {"userId": "kim", "type": "RateLike", "contentId": "rope", "timestamp": "2026-11-01T10:00:00.500Z"}
    assert second == first | {"userId": "lee"}
    assert third == second | {"type": "Click", "value": 0.5}
    assert "'knot' is not mapped" in folder.left_out()["gorse.bin", "FeedbackType"][0]


@pytest.mark.parametrize(
    ("content", "said"),
    (
        (dump(-2, ITEM), "byte 8[0-9]+: the dump ends in the middle|byte [0-9]+: the dump ends in the middle"),
        (dump(-2, ITEM)[:-5], "byte 16: the dump ends in the middle"),
        (dump(-2, 1 << 40), "byte 16: found no length of a message"),
        (dump(-2, b"\x12\xff"), "byte 16: the message cannot be read"),
        (dump(-2, b"\x12\x02\xff\xfe", 0), "byte 16: the message cannot be read"),
    ),
)
def test_dumps_that_are_damaged_say_where(folder: Folder, content: bytes, said: str) -> None:
    (folder.path / "gorse.bin").write_bytes(content)

    with pytest.raises(Refused, match=said):
        folder.read("gorse")

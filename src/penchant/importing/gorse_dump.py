"""Gorse's dump: a stream of messages in Protocol Buffers, each behind its length, as ``/api/dump`` of its master gives.

length -1, -2 or -3    users, items or feedback follow
length n > 0           a message of n bytes
length 0               the end
"""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple

import msgspec

from penchant.importing.files import Files
from penchant.importing.inputs import InputFile, UnreadableFile

USERS, ITEMS, FEEDBACK = -1, -2, -3
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_LENGTH = struct.Struct("<q")
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DumpMessage(NamedTuple):
    """A message of a dump: its number from 1, its stream, and its members by the names that Gorse's JSON has."""

    number: int
    stream: int
    members: dict[str, Any]


def is_dump(files: Files, file: InputFile) -> bool:
    """Return whether a file begins as a dump does."""
    with files.open(file) as stream:
        start = stream.read(_LENGTH.size)
    return len(start) == _LENGTH.size and _LENGTH.unpack(start)[0] in (USERS, ITEMS, FEEDBACK)


def read_dump(files: Files, file: InputFile) -> Iterator[DumpMessage]:
    """Yield the items and feedback of a dump.

    Raises:
        UnreadableFile: it is cut off or damaged.
    """
    with files.open(file) as stream:
        number, kind, offset = 0, 0, 0
        while length := _LENGTH.unpack(_exactly(stream, _LENGTH.size, file, offset))[0]:
            offset += _LENGTH.size
            if length < 0:
                kind = length
                continue
            if length > MAX_MESSAGE_BYTES or kind not in (USERS, ITEMS, FEEDBACK):
                raise UnreadableFile(f"{file}, byte {offset}: found no length of a message; the dump is damaged.")
            message = _exactly(stream, length, file, offset)
            number += 1
            try:
                members = _item(message) if kind == ITEMS else _feedback(message)
            except (ValueError, IndexError, struct.error, OverflowError) as error:
                raise UnreadableFile(f"{file}, byte {offset}: the message cannot be read ({error}).") from None
            offset += length
            if kind != USERS:
                yield DumpMessage(number, kind, members)


def _exactly(stream: BinaryIO, size: int, file: InputFile, offset: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise UnreadableFile(f"{file}, byte {offset}: the dump ends in the middle.")
    return found


def _item(message: bytes) -> dict[str, Any]:
    """Return the members of an item; the numbers are those of its fields in the messages of Gorse."""
    members: dict[str, Any] = {"Categories": []}
    for field, value in _fields(message):
        match field:
            case 2:
                members["ItemId"] = value.decode()
            case 3:
                members["IsHidden"] = bool(value)
            case 4:
                members["Categories"].append(value.decode())
            case 5:
                members["Timestamp"] = _moment(value)
            case 6:
                members["Labels"] = msgspec.json.decode(value)
            case 7:
                members["Comment"] = value.decode()
    return members


def _feedback(message: bytes) -> dict[str, Any]:
    """Return feedback; since it has a value, its time is the field 6 and not 5."""
    fields = dict(_fields(message))
    time = fields[5] if isinstance(fields.get(5), bytes) else fields.get(6)
    names = {2: "FeedbackType", 3: "UserId", 4: "ItemId"}
    members = {name: fields[field].decode() for field, name in names.items() if field in fields}
    return members | ({} if time is None else {"Timestamp": _moment(time)})


def _moment(message: bytes) -> str:
    """Return a ``google.protobuf.Timestamp`` as ISO 8601."""
    fields = dict(_fields(message))
    seconds = fields.get(1, 0)
    seconds -= (seconds >> 63) << 64  # written as unsigned, and negative before 1970
    return (_EPOCH + timedelta(seconds=seconds, microseconds=fields.get(2, 0) // 1000)).isoformat()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: numbers of varints, bytes of what has a length."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        # A key is the number of the field and, in its last three bits, how the value is written.
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield field, value
            continue
        size = {_FIXED_64: 8, _FIXED_32: 4}.get(wire)
        if wire == _BYTES:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError(f"field {field} does not fit")
        if wire == _BYTES:
            yield field, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7

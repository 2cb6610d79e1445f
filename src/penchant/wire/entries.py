"""Entries of a body: the items of its JSON array as they came, before anything is built of what is in them.

So a body of a wrong shape is refused at the first byte of each entry, and a body of too many entries costs no memory.
"""

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.wire.syntax import fail_at, kind_of, require_syntax, require_utf8

_any_splitter = msgspec.json.Decoder(list[msgspec.Raw])


def split_array(body: bytes, limit: int | None, what: str) -> Sequence[msgspec.Raw]:
    """Return the entries of a JSON array, at most ``limit`` (``None``: any number); ``what`` names them to people.

    The entries are JSON but for surrogates that stand alone in them.

    Raises:
        InvalidSyntax: not JSON; looked for to the end of the body.
        TooManyEntries: more than ``limit``.
        InvalidInput: no array, or nested deeper than can be read.
    """
    try:
        require_utf8(body)
        return _split(body, limit, what)
    except (msgspec.DecodeError, RecursionError):
        pass
    # Not for msgspec: either no JSON, which raises, or JSON with lone surrogates, which are replaced here.
    text = require_syntax(body)
    try:
        entries = _split(text, limit, what)
    except msgspec.ValidationError:
        fail_at("", f"Found {kind_of(msgspec.Raw(body.strip()))}; an array of {what} is accepted.")
    return entries if text == body else _as_they_came(entries, text, body)


def _split(body: bytes, limit: int | None, what: str) -> Sequence[msgspec.Raw]:
    if limit is None:
        return _any_splitter.decode(body)
    # An array read as a record of ``limit`` + 1 optional members: the last one is set where there are too many.
    found: Sequence[Any] = msgspec.structs.astuple(_splitter(limit).decode(body))
    if found[limit] is not msgspec.UNSET:
        raise TooManyEntries(f"Found more than {limit} entries; up to {limit} {what} are accepted in one request.")
    return found[: found.index(msgspec.UNSET)]


@functools.lru_cache(maxsize=8)
def _splitter(limit: int) -> msgspec.json.Decoder[msgspec.Struct]:
    """Return a decoder of so many entries and one more: those behind it are passed over, nothing is made of them."""
    names = [(f"entry{number}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for number in range(limit + 1)]
    entries = msgspec.defstruct("_Entries", names, array_like=True, gc=False)
    return msgspec.json.Decoder(entries)


def _as_they_came(entries: Sequence[msgspec.Raw], text: bytes, body: bytes) -> list[msgspec.Raw]:
    """Return the entries of a body by their places in a text of the same structure."""
    found, start = [], 0
    for entry in entries:
        # From the end of the entry before it: an entry is nowhere before its own place.
        start = text.index(bytes(entry), start)
        end = start + memoryview(entry).nbytes
        found.append(msgspec.Raw(body[start:end]))
        start = end
    return found

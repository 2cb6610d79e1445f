"""Splitting of a listing into entries while it arrives: JSON is read as it comes, one entry in memory at most.

It finds the entries of the only array that the outermost object holds, without looking into them: decoding an
entry shows whether it is good. Brackets count the depth, and a comma or the closing bracket at depth 2 ends an entry:

    {"source": "films", "content": [ {"id": ..., "categories": {...}}, {"id": ...} ]}
    1                              2 3                        4     3  2
                                     |----------- entry ------------|  |- entry --|
"""

import re
from collections.abc import Iterator

from penchant.client.errors import UnreadableAnswer

# Possessive (++, *+): what was matched is not given back, so that no text makes the search slow.
_TOKEN = re.compile(rb'(?:[^"\[\]{},]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{},])', re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""Everything up to the next bracket or comma that is in no string; inside of entries commas do not matter."""
_OPENING, _CLOSING = b"[{", b"]}"
_ENTRIES_DEPTH = 2
"""Entries lie in an array, which lies in an object."""


class Splitter:
    """Cuts the entries out of a listing that comes in parts."""

    def __init__(self) -> None:
        self._rest = b""
        self._place = 0
        """Up to where the rest was looked through: what follows is an unfinished token."""
        self._start: int | None = None
        """Where the present entry begins in the rest; none outside of the array."""
        self._depth = 0
        self._is_complete = False

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Yield every entry that ends in this part."""
        self._rest += part
        while token := self._pattern().match(self._rest, self._place):
            self._place = token.end()
            entry = self._take(token[1], token.start(1))
            if entry:
                yield entry
        self._forget()

    def end(self) -> None:
        """Say that nothing follows.

        Raises:
            UnreadableAnswer: the listing has not ended.
        """
        if not self._is_complete:
            raise UnreadableAnswer("The listing ended in the middle; what came before is right.")

    def _pattern(self) -> re.Pattern[bytes]:
        return _BRACKET if self._depth > _ENTRIES_DEPTH else _TOKEN

    def _take(self, token: bytes, start: int) -> bytes:
        """Follow a token; return the entry that ends with it, or nothing."""
        entry = b""
        if token in _OPENING:
            self._depth += 1
            if token == b"[" and self._depth == _ENTRIES_DEPTH:
                self._start = start + 1
        elif token in _CLOSING:
            if token == b"]" and self._depth == _ENTRIES_DEPTH:
                entry, self._start = self._cut(start), None
            self._depth -= 1
            self._is_complete = self._depth == 0
        elif token == b"," and self._depth == _ENTRIES_DEPTH and self._start is not None:
            entry, self._start = self._cut(start), start + 1
        return entry

    def _cut(self, end: int) -> bytes:
        return self._rest[self._start : end].strip()

    def _forget(self) -> None:
        """Let go of what was looked through, but for the entry that has not ended."""
        # Positions are moved by as much as is cut off in front of them.
        done = self._place if self._start is None else self._start
        self._rest = self._rest[done:]
        self._place -= done
        if self._start is not None:
            self._start = 0

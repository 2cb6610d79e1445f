"""Normalizing: texts of anybody in one of Unicode's forms, in time that goes with their length."""

import functools
import unicodedata
from typing import Literal

MAX_MARKS = 30
"""Combining characters in a row: what Unicode's stream-safe texts have at most (UAX 15)."""


def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in one of Unicode's forms, of more than 30 combining characters in a row the first 30.

    Anybody's text takes time in proportion to its length: to order these characters takes the square of how many stand
    in a row, in one call that no other thread of the process interrupts.
    """
    marks = _marks()
    # Of more than 30 in a row one stands at one of these places.
    if not marks.isdisjoint(text[MAX_MARKS :: MAX_MARKS + 1]):
        kept, run = [], 0
        for character in text:
            run = run + 1 if character in marks else 0
            if run <= MAX_MARKS:
                kept.append(character)
        text = "".join(kept)
    return unicodedata.normalize(form, text)


@functools.cache
def _marks() -> frozenset[str]:
    """Return the characters whose full decomposition begins and ends with a combining one; made when first needed."""
    marks = set()
    for character in map(chr, range(0x300, 0x20000)):
        if unicodedata.combining(character) or unicodedata.decomposition(character):
            full = unicodedata.normalize("NFKD", character)
            if unicodedata.combining(full[0]) and unicodedata.combining(full[-1]):
                marks.add(character)
    return frozenset(marks)

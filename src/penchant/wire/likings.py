"""Likings: what a person likes and dislikes, sent with a request, of whom nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penchant.errors import TooManyEntries
from penchant.model import Term
from penchant.wire.stated import read_categories, read_ids
from penchant.wire.syntax import Faults, decode_object, kind_of
from penchant.wire.text import id_problem

MAX_LIKINGS = 1_000
"""Ids and keywords together that one request names."""
_IDS = ("liked", "disliked")
_KEYWORDS = ("likedKeywords", "dislikedKeywords")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLikings:
    """Pieces and keywords that a person likes and dislikes; those in both count as liked."""

    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    liked_terms: tuple[Term, ...] = ()
    disliked_terms: tuple[Term, ...] = ()


def decode_likings(body: bytes) -> StatedLikings:
    """Return the pieces and keywords that a body says are liked or disliked.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more ids and keywords than are accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    faults = Faults()
    faults.only(value, (*_IDS, *_KEYWORDS), "")
    liked, disliked = (read_ids(value, name, faults) for name in _IDS)
    liked_terms, disliked_terms = (_terms(value, name, faults) for name in _KEYWORDS)
    count = len(liked) + len(disliked) + len(liked_terms) + len(disliked_terms)
    if count > MAX_LIKINGS:
        raise TooManyEntries(f"Found {count} ids and keywords; up to {MAX_LIKINGS} together are accepted.")
    faults.raise_any()
    return StatedLikings(liked=liked, disliked=disliked, liked_terms=liked_terms, disliked_terms=disliked_terms)


def _terms(value: Mapping[str, Any], name: str, faults: Faults) -> tuple[Term, ...]:
    """Return the distinct terms of a member, in order; faults are noted."""
    found: list[Term] = []
    for where, category, keywords in read_categories(value, name, faults):
        if isinstance(keywords, list):
            found += _keywords(category, keywords, where, faults)
        else:
            faults.add(where, f"Found {kind_of(keywords)}; an array of keywords is accepted.")
    return tuple(dict.fromkeys(found))


def _keywords(category: str, keywords: list[Any], where: str, faults: Faults) -> list[Term]:
    found = []
    for place, keyword in enumerate(keywords):
        text = isinstance(keyword, str)
        problem = id_problem(keyword) if text else f"Found {kind_of(keyword)}; a string is accepted."
        if problem:
            faults.add(f"{where}/{place}", problem)
        else:
            found.append(Term(category, keyword))
    return found

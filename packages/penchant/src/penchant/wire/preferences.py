"""What people say that they like: as preferences, which are stored, and with a single request, of which nothing is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.wire.fields import (
    BOOLEAN,
    ID_SCHEMA,
    Body,
    Description,
    Example,
    Json,
    Record,
    Shape,
    is_category,
    is_number,
)
from penchant.wire.lists import ids
from penchant.wire.syntax import Faults, decode_object, encode, kind_of, pointer
from penchant.wire.text import id_problem
from penchant_engine.model import NO_PREFERENCES, Preferences, Term

MAX_SAID = 1_000
"""Keywords, pieces and categories together that a person may name."""
MAX_LIKINGS = 1_000
"""Ids and keywords together that one request names."""


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


_IDS = ids(into=_distinct)
"""What is named twice counts once, and is no fault."""


def _categories(value: Any, where: str, faults: Faults) -> Iterator[tuple[str, str, Any]]:
    """Yield the categories of an object with their pointers and values; nested ones are named by their path."""
    if not isinstance(value, dict):
        faults.add(where, f"Found {kind_of(value)}; an object of categories is accepted.")
        return
    for category, keywords in value.items():
        at = where + pointer(category)
        if is_category(category, at, faults):
            yield at, category, keywords


def _read_names(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        return faults.refuse(where, f"Found {kind_of(value)}; an array of categories is accepted.")
    names = []
    for place, name in enumerate(value):
        if not isinstance(name, str):
            faults.add(f"{where}/{place}", f"Found {kind_of(name)}; the name of a category is accepted.")
        elif is_category(name, f"{where}/{place}", faults):
            names.append(name)
    return _distinct(names)


def _read_weights(value: Any, where: str, faults: Faults) -> dict[Term, float]:
    """Return the weights of keywords; one of 0 says nothing."""
    weights: dict[Term, float] = {}
    for at, category, keywords in _categories(value, where, faults):
        if not isinstance(keywords, dict):
            faults.add(at, f"Found {kind_of(keywords)}; an object of keywords with their weights is accepted.")
            continue
        for keyword, weight in keywords.items():
            problem = id_problem(keyword) or _weight_problem(weight)
            if problem:
                faults.add(at + pointer(keyword), problem)
            elif weight:
                weights[Term(category, keyword)] = float(weight)
    return weights


def _weight_problem(weight: Any) -> str | None:
    if is_number(weight) and -1 <= weight <= 1:
        return None
    shown = weight if is_number(weight) else kind_of(weight)
    return f"Found {shown}; a number from -1 (disliked) to 1 (liked) is accepted."


def _read_terms(value: Any, where: str, faults: Faults) -> tuple[Term, ...]:
    """Return the distinct terms that categories of keywords name, in order."""
    terms: dict[Term, None] = {}
    for at, category, keywords in _categories(value, where, faults):
        if not isinstance(keywords, list):
            faults.add(at, f"Found {kind_of(keywords)}; an array of keywords is accepted.")
            continue
        for place, keyword in enumerate(keywords):
            is_text = isinstance(keyword, str)
            problem = id_problem(keyword) if is_text else f"Found {kind_of(keyword)}; a string is accepted."
            if problem:
                faults.add(f"{at}/{place}", problem)
            else:
                terms[Term(category, keyword)] = None
    return tuple(terms)


def _by_category(read: Callable[[Any, str, Faults], Any], keywords: Json) -> Shape:
    return Shape(read, {"type": "object", "additionalProperties": keywords})


_WEIGHTS = _by_category(
    _read_weights, {"type": "object", "additionalProperties": {"type": "number", "minimum": -1, "maximum": 1}}
)
_TERMS = _by_category(_read_terms, {"type": "array", "items": ID_SCHEMA})
_NAMES = Shape(_read_names, {"type": "array", "items": {"type": "string", "minLength": 1}})


class PersonPreferences(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a person has said: keywords by category with weights from -1 (disliked) to 1 (liked), pieces, categories.

    ``personal`` is there where it is false: the person is switched off.
    """

    keywords: Annotated[
        dict[str, dict[str, float]], _WEIGHTS, Example({"genre": {"science fiction": 1.0, "horror": -0.5}})
    ]
    hidden: Annotated[list[str], _IDS, Example(["gravity"])]
    unused_categories: Annotated[list[str], _NAMES, Example(["country"])]
    personal: Annotated[
        bool,
        BOOLEAN,
        Description("With `false` lists know nothing of the person, and nothing that the person does is stored."),
    ] = True


PREFERENCES = Body(PersonPreferences, required=())
"""All members but ``personal`` are there in an answer, and any may be left out of a body."""


class Likings(Record, frozen=True, kw_only=True, rename="camel"):
    """What somebody likes and dislikes: ids, and keywords by category."""

    liked: Annotated[Sequence[str], _IDS, Example(["alien"])] = ()
    disliked: Annotated[Sequence[str], _IDS] = ()
    liked_keywords: Annotated[Mapping[str, Sequence[str]], _TERMS] = {}
    disliked_keywords: Annotated[Mapping[str, Sequence[str]], _TERMS, Example({"genre": ["drama"]})] = {}


LIKINGS = Body(Likings)


class StatedLikings(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces and keywords that a person likes and dislikes; those in both count as liked."""

    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    liked_keywords: tuple[Term, ...] = ()
    disliked_keywords: tuple[Term, ...] = ()


def decode_preferences(body: bytes) -> Preferences:
    """Return the preferences in a body, or in what is stored, where nothing stands for none.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more is said than is accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    if not body:
        return NO_PREFERENCES
    return read_preferences(decode_object(body))


def read_preferences(value: Mapping[str, Any]) -> Preferences:
    """Return the preferences in a decoded object; raises as `decode_preferences`."""
    faults = Faults()
    members = PREFERENCES.read(value, "", faults)
    preferences = Preferences(stated=members.pop("keywords", {}), **members)
    if len(preferences) > MAX_SAID:
        problem = f"Found {len(preferences)} keywords, pieces and categories"
        raise TooManyEntries(f"{problem}; up to {MAX_SAID} together are accepted.")
    faults.raise_any()
    return preferences


def preferences_answer(preferences: Preferences) -> PersonPreferences:
    """Return preferences as they are answered."""
    keywords: dict[str, dict[str, float]] = {}
    for (category, keyword), weight in preferences.stated.items():
        keywords.setdefault(category, {})[keyword] = weight
    return PersonPreferences(
        keywords=keywords,
        hidden=list(preferences.hidden),
        unused_categories=list(preferences.unused_categories),
        personal=preferences.personal,
    )


def encode_preferences(preferences: Preferences) -> bytes:
    """Return preferences as they are stored; nothing for none."""
    return encode(preferences_answer(preferences)) if preferences else b""


def decode_likings(body: bytes) -> StatedLikings:
    """Return the pieces and keywords that a body says are liked or disliked.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more ids and keywords than are accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    faults = Faults()
    members = LIKINGS.read(decode_object(body), "", faults)
    count = sum(map(len, members.values()))
    if count > MAX_LIKINGS:
        raise TooManyEntries(f"Found {count} ids and keywords; up to {MAX_LIKINGS} together are accepted.")
    faults.raise_any()
    return StatedLikings(**members)

"""Vocabulary of a source as JSON: keywords that stand for others, and those that count for nothing."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

import msgspec

from penchant.vocabulary import MAX_ENTRIES, Vocabulary
from penchant.wire.fields import Body, Example, Json, Record, Shape, described, ref
from penchant.wire.syntax import Faults, kind_of

MAX_KEYWORD_NAME = 1_000
"""Characters of a keyword with its category."""
_SHOWN_LETTERS = 60
_KEYWORD = described({"type": "string", "minLength": 3, "maxLength": MAX_KEYWORD_NAME, "pattern": "^[^/]+/."})
# Keywords of an alias are looked at together with those of others: their readers are below.


class AliasSettings(Record, frozen=True, kw_only=True):
    """Keywords that stand for another one, each as its category and itself: ``genre/noir``."""

    sources: Annotated[
        Sequence[str],
        described({"type": "array", "minItems": 1, "items": _KEYWORD.schema}),
        Example(["genre/film noir"]),
    ] = msgspec.field(name="from")
    target: Annotated[str, _KEYWORD, Example("genre/noir")] = msgspec.field(name="to")


class VocabularySettings(Record, frozen=True, kw_only=True):
    """Keywords that stand for others, and those that count for nothing."""

    aliases: Annotated[
        Sequence[AliasSettings], described({"type": "array", "maxItems": MAX_ENTRIES, "items": ref("Alias")})
    ] = ()
    ignore: Annotated[
        Sequence[str], described({"type": "array", "maxItems": MAX_ENTRIES, "items": _KEYWORD.schema})
    ] = ()


ALIAS = Body(AliasSettings, takes_null=False, description="Keywords that stand for another one.")
VOCABULARY = Body(
    VocabularySettings,
    takes_null=False,
    description=f"Keywords as category/keyword, up to {MAX_ENTRIES} all together.",
)


def _read_vocabulary(value: Any, where: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        return faults.refuse(where, f"Found {kind_of(value)}; an object is accepted.")
    faults.only(value, VOCABULARY.members, where)
    aliases: dict[str, str] = {}
    places: dict[str, str] = {}
    for place, entry in enumerate(_list(value.get("aliases"), f"{where}/aliases", faults)):
        _read_alias(entry, f"{where}/aliases/{place}", faults, aliases, places)
    ignored = {
        _keyword(name, f"{where}/ignore/{place}", faults): place
        for place, name in enumerate(_list(value.get("ignore"), f"{where}/ignore", faults))
    }
    if len(aliases) + len(ignored) > MAX_ENTRIES:
        faults.add(where, f"Found {len(aliases) + len(ignored)} keywords; up to {MAX_ENTRIES} are accepted.")
    for source, target in aliases.items():
        if target in aliases:
            detail = f"{_short(source)} stands for {_short(target)}, which itself stands for another one."
            faults.add(places[source], detail)
        if source in ignored:
            faults.add(f"{where}/ignore/{ignored[source]}", "This keyword stands for another one; ignore that.")
    return Vocabulary(aliases, frozenset(ignored))


def _read_alias(entry: Any, where: str, faults: Faults, aliases: dict[str, str], places: dict[str, str]) -> None:
    """Add what an entry says to the aliases, and where it says so to their places."""
    if not isinstance(entry, dict):
        faults.add(where, f"Found {kind_of(entry)}; an object with from and to is accepted.")
        return
    faults.only(entry, ALIAS.members, where)
    target = _keyword(entry.get("to"), f"{where}/to", faults)
    sources = _list(entry.get("from"), f"{where}/from", faults)
    if not sources:
        faults.add(f"{where}/from", "Found no keyword; at least one is accepted.")
    for number, source in enumerate(sources):
        name = _keyword(source, f"{where}/from/{number}", faults)
        places.setdefault(name, f"{where}/from/{number}")
        if aliases.setdefault(name, target) != target:
            faults.add(f"{where}/from/{number}", "This keyword stands for another one already.")


def _list(value: Any, where: str, faults: Faults) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    faults.add(where, f"Found {kind_of(value)}; an array is accepted.")
    return []


def _keyword(value: Any, where: str, faults: Faults) -> str:
    if not isinstance(value, str):
        faults.add(where, f"Found {kind_of(value)}; a text such as genre/noir is accepted.")
        return ""
    category, slash, keyword = value.partition("/")
    if not (category and slash and keyword) or len(value) > MAX_KEYWORD_NAME or not value.isprintable():
        accepted = f"a category and a keyword, such as genre/noir, of up to {MAX_KEYWORD_NAME} characters"
        faults.add(where, f"Found another text; {accepted} are accepted.")
    return value


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN_LETTERS else f"{name[:_SHOWN_LETTERS]}…"


def _write_vocabulary(vocabulary: Vocabulary) -> Json:
    sources: dict[str, list[str]] = {}
    for source, target in vocabulary.aliases.items():
        sources.setdefault(target, []).append(source)
    aliases = [{"from": names, "to": target} for target, names in sources.items()]
    members = {"aliases": aliases, "ignore": sorted(vocabulary.ignored)}
    return {name: member for name, member in members.items() if member}


VOCABULARY_SHAPE = Shape(_read_vocabulary, ref("Vocabulary"), _write_vocabulary)
"""The setting `vocabulary`."""


def read_vocabulary(value: Any) -> Vocabulary:
    """Return the vocabulary in a decoded value; raises `InvalidInput`, every fault with its pointer."""
    faults = Faults()
    vocabulary = VOCABULARY_SHAPE.read(value, "", faults)
    faults.raise_any()
    return cast(Vocabulary, vocabulary)

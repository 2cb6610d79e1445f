"""Words of pieces: the setting, the words that are stored beside a piece, and the vocabulary of a source as JSON."""

import functools
import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

import msgspec

from penchant.vocabulary import MAX_ENTRIES, Vocabulary
from penchant.wire.fields import Body, Example, Json, Record, Shape, described, integer, ref
from penchant.wire.syntax import Faults, encode, kind_of
from penchant.wire.text import name_problem
from penchant.words import AUTO, LANGUAGES, MAX_KEPT, MAX_MEMBERS, NO_KEPT_WORDS, NONE, KeptWords, WordRule, kept_words
from penchant_engine.model import WORDS_CATEGORY

MAX_KEYWORD_NAME = 1_000
"""Characters of a keyword with its category."""
_SHOWN_LETTERS = 60
_EXTRAS = "extras."
_DEFAULT = WordRule()


def _read_members(value: Any, where: str, faults: Faults) -> Any:
    accepted = f"an array of 1 to {MAX_MEMBERS} different members, `label` or `extras.NAME`, is accepted."
    is_list = isinstance(value, list) and 0 < len(value) <= MAX_MEMBERS
    if not is_list or len({each for each in value if isinstance(each, str)}) < len(value):
        return faults.refuse(where, f"Found {kind_of(value)}; {accepted}")
    for place, member in enumerate(value):
        name = member.removeprefix(_EXTRAS)
        if member != "label" and (name == member or name_problem(name)):
            faults.add(f"{where}/{place}", "Found another member; `label` or `extras.NAME` is accepted.")
    return tuple(value)


def _read_language(value: Any, where: str, faults: Faults) -> Any:
    if isinstance(value, str) and value in {AUTO, NONE, *LANGUAGES}:
        return value
    return faults.refuse(where, f"Found another language; accepted are {', '.join((AUTO, NONE, *LANGUAGES))}.")


class WordSettings(Record, frozen=True, kw_only=True):
    """From which members of a piece its words are taken, the heading first, how many are kept, and the language."""

    members: Annotated[
        Sequence[str],
        Shape(
            _read_members,
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_MEMBERS, "uniqueItems": True},
            list,
        ),
        Example(["label", "extras.description"]),
    ] = msgspec.field(default=_DEFAULT.members, name="from")
    keep: Annotated[int, integer(1, MAX_KEPT), Example(_DEFAULT.keep)] = _DEFAULT.keep
    language: Annotated[
        str,
        Shape(_read_language, {"type": "string", "enum": [AUTO, NONE, *LANGUAGES]}),
        Example(AUTO),
    ] = _DEFAULT.language


WORDS = Body(WordSettings, takes_null=False)


def _read_words(value: Any, where: str, faults: Faults) -> Any:
    return None if value is None else WordRule(**WORDS.read(value, where, faults))


def encode_word_setting(rule: WordRule) -> Json:
    """Return a rule as the member of settings."""
    return {key: member.shape.write(getattr(rule, member.name)) for key, member in WORDS.members.items()}


WORDS_SHAPE = Shape(
    _read_words,
    {"oneOf": [ref("Words"), {"type": "null"}], "description": "Words of texts as keywords; null for none."},
    encode_word_setting,
)
"""The setting `words`."""


def word_rule_numbers() -> Json:
    """Return which rule this release works out words by: its number, and the version of Unicode's tables."""
    return {"number": _DEFAULT.number, "tables": _DEFAULT.tables}


def encode_word_rule(rule: WordRule | None) -> bytes:
    """Return a rule as storage keeps it, the numbers of the rule and of Unicode's tables with it; empty for none."""
    return b"" if rule is None else encode(encode_word_setting(rule) | {"number": rule.number, "tables": rule.tables})


@functools.lru_cache(maxsize=256)
def decode_word_rule(stored: bytes) -> WordRule | None:
    """Return a rule that storage keeps; ``None`` for none."""
    if not stored:
        return None
    members = msgspec.json.decode(stored)
    numbers = {name: members.pop(name) for name in ("number", "tables")}
    return WordRule(**WORDS.read(members, "", Faults()), **numbers)


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


class _TextPiece(msgspec.Struct):
    """A piece of which only what may hold words is built."""

    label: str | None = None
    categories: dict[str, msgspec.Raw] = {}
    extras: dict[str, msgspec.Raw] = {}


_text_decoder = msgspec.json.Decoder(_TextPiece)
_value_decoder = msgspec.json.Decoder(str | list[Any] | None, strict=True)


def words_of_piece(body: bytes, rule: WordRule) -> KeptWords:
    """Return the words of a piece, of what storage keeps of it; none where it was submitted with words of its own."""
    piece = _text_decoder.decode(body)
    if WORDS_CATEGORY in piece.categories:
        return NO_KEPT_WORDS
    return kept_words([_text(piece, member) for member in rule.members], rule)


def _text(piece: _TextPiece, member: str) -> str:
    """Return the text of a member, "" of what is neither a text nor a list of texts."""
    if not member.startswith(_EXTRAS):
        return piece.label or ""
    raw = piece.extras.get(member.removeprefix(_EXTRAS))
    # By the first character: an object of a megabyte would be built for nothing.
    if raw is None or bytes(memoryview(raw)[:1]) not in {b'"', b"["}:
        return ""
    value = _value_decoder.decode(raw)
    if isinstance(value, str):
        return value
    return "\n".join(value) if value and all(isinstance(each, str) for each in value) else ""


@functools.lru_cache(maxsize=256)
def key_of_rule(stored: bytes) -> bytes:
    """Return by what the words of a rule are known beside a piece.

    The number stands behind what releases of rule 1 look for, so that they read these words. What such a node works out
    itself, by rule 1 under the name of a later one, has no number, and is told from these by that.
    """
    rule, digest = decode_word_rule(stored), hashlib.blake2b(stored, digest_size=6).hexdigest()
    return (digest if rule is None or rule.number == 1 else f"{digest}:{rule.number}").encode()


def encode_words(body: bytes, rules: Iterable[bytes], stored: bytes = b"") -> bytes:
    """Return what is to be stored beside a piece: a line for each of these rules, its key and its words.

    Lines that are ``stored`` already stay as they are.
    """
    lines = {line.partition(b" ")[0]: line for line in stored.split(b"\n")}
    kept = {}
    for each in dict.fromkeys(rules):
        rule = decode_word_rule(each)
        if rule is not None:
            key = key_of_rule(each)
            kept[key] = lines.get(key) or b" ".join((key, " ".join(words_of_piece(body, rule).words).encode()))
    return b"\n".join(kept.values())


def decode_words(stored: bytes, key: bytes) -> Sequence[str] | None:
    """Return the words by the rule of a key of those stored beside a piece; ``None`` where it has none by this rule."""
    for line in stored.split(b"\n"):
        if line.startswith(key + b" "):
            return line.decode().split()[1:]
    return None

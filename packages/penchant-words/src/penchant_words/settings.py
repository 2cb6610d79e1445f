"""The setting of a source by which its pieces have words, as JSON and as storage keeps it."""

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from penchant.model import SourceSettings
from penchant.wire.fields import Before, Body, Example, Json, Label, Record, Shape, integer, ref
from penchant.wire.syntax import Faults, encode, kind_of
from penchant.wire.text import name_problem
from penchant_engine.model import WORDS_CATEGORY
from penchant_words.texts import AUTO, LANGUAGES, MAX_KEPT, MAX_MEMBERS, NONE, WordRule

WORDS_WEIGHT = 0.5
"""The weight of the category of words where none is stated (interface, section 11)."""
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

    @property
    def rule(self) -> WordRule:
        """The rule by which this release makes words under this setting."""
        return WordRule(members=tuple(self.members), keep=self.keep, language=self.language)


WORDS = Body(WordSettings, takes_null=False)


def _read_words(value: Any, where: str, faults: Faults) -> Any:
    return None if value is None else WordSettings(**WORDS.read(value, where, faults))


def encode_word_setting(settings: WordSettings | WordRule) -> Json:
    """Return what words are made by as the member of settings."""
    return {key: member.shape.write(getattr(settings, member.name)) for key, member in WORDS.members.items()}


WORDS_SHAPE = Shape(
    _read_words,
    {"oneOf": [ref("Words"), {"type": "null"}], "description": "Words of texts as keywords; null for none."},
    encode_word_setting,
)
"""The setting `words`."""


class TextSettings(Record, frozen=True, kw_only=True):
    """What a source settles for the texts of its pieces: whether their words are keywords, and which."""

    words: Annotated[
        WordSettings | None,
        WORDS_SHAPE,
        Example({"from": ["label", "extras.description"], "keep": 40}),
        Label("Words of texts"),
        Before("vocabulary"),
    ] = None

    @property
    def category_factors(self) -> Mapping[str, float]:
        """What words weigh in lists where nothing is stated."""
        return {} if self.words is None else {WORDS_CATEGORY: WORDS_WEIGHT}


def words_setting(settings: SourceSettings) -> WordSettings | None:
    """Return by what a source's pieces have words; ``None`` where they have none."""
    return settings.of(TextSettings).words


def settings_by(rule: WordRule, settings: SourceSettings | None = None) -> SourceSettings:
    """Return settings, the defaults without any, under which pieces have words by a rule."""
    words = WordSettings(members=rule.members, keep=rule.keep, language=rule.language)
    return (settings or SourceSettings()).having(TextSettings(words=words))


def rule_numbers() -> Json:
    """Return which rule this release makes words by: its number, and the version of Unicode's tables."""
    return {"number": _DEFAULT.number, "tables": _DEFAULT.tables}


def encode_word_rule(rule: WordRule | None) -> bytes:
    """Return a rule as storage keeps it, the numbers of the rule and of Unicode's tables with it; empty for none."""
    return b"" if rule is None else encode(encode_word_setting(rule) | {"number": rule.number, "tables": rule.tables})


@functools.lru_cache(maxsize=256)
def decode_word_rule(stored: bytes) -> WordRule:
    """Return a rule that storage keeps."""
    members = msgspec.json.decode(stored)
    numbers = {name: members.pop(name) for name in ("number", "tables")}
    return WordRule(**WORDS.read(members, "", Faults()), **numbers)

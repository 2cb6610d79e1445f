"""Keywords of pieces: the words of their texts, as the service keeps them beside these."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import msgspec

from penchant.enrichment import Enrichment
from penchant.model import SourceSettings
from penchant.wire.stored import decode_stored_label
from penchant_engine.model import WORDS_CATEGORY
from penchant_words.settings import (
    TextSettings,
    WordSettings,
    decode_word_rule,
    encode_word_rule,
    rule_numbers,
    words_setting,
)
from penchant_words.texts import AUTO, NO_KEPT_WORDS, NONE, KeptWords, WordRule, kept_words

LOOKED_AT_FOR_LANGUAGE = 500
_EXTRAS = "extras."


class TextWords(Enrichment):
    """Makes keywords of the words in pieces' texts."""

    category: ClassVar = WORDS_CATEGORY
    settings: ClassVar = TextSettings
    automatic: ClassVar = TextSettings(words=WordSettings())
    included: ClassVar = "the words of their texts"
    explained: ClassVar = "a source that this submission makes takes words of labels and descriptions as keywords."

    def rule(self, settings: SourceSettings) -> bytes:
        """Return the rule of the setting, with the numbers of this release."""
        words = words_setting(settings)
        return b"" if words is None else encode_word_rule(words.rule)

    def keywords(self, body: bytes, rule: bytes) -> Sequence[str]:
        """Return the words of a piece."""
        return words_of_piece(body, decode_word_rule(rule)).words

    def is_outdated(self, stored: bytes, current: bytes) -> bool:
        """Return whether a rule is of an older release, or by older tables."""
        return decode_word_rule(stored).age < decode_word_rule(current).age

    def exported(self) -> Mapping[str, Any]:
        """Return the numbers of the rule: the words themselves do not travel, but are made of the pieces."""
        return {"wordRule": rule_numbers()}

    def figures(self, bodies: Iterable[bytes], settings: SourceSettings) -> Mapping[str, Any]:
        """Return the language of all texts together where most of them tell none by themselves; "" otherwise."""
        return {"language": _language_of_short_texts(bodies, settings)}


def _language_of_short_texts(bodies: Iterable[bytes], settings: SourceSettings) -> str:
    """Return the language that labels together tell.

    A title has no three stop words: "The Firm" and "The Son" are then alike.
    """
    words = words_setting(settings)
    if words is None or words.language != AUTO:
        return ""
    pieces = list(islice(bodies, LOOKED_AT_FOR_LANGUAGE))
    kept = [words_of_piece(body, words.rule) for body in pieces]
    telling = [each.language != NONE for each in kept if each.words]
    if 2 * sum(telling) >= len(telling):
        return ""
    labels = (decode_stored_label(body) or "" for body in pieces)
    language = kept_words(["\n".join(labels)], words.rule).language
    return "" if language == NONE else language


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

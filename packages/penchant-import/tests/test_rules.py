"""Rules that the service and what reads files have each: they say the same."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant import model, vocabulary
from penchant.errors import PenchantError
from penchant.importing import exporting
from penchant.wire import encode_settings, syntax, text
from penchant_engine.model import InteractionType
from penchant_import import drafts, rules
from penchant_import.drafts import CheckedInteraction
from penchant_words import texts as words
from penchant_words.settings import settings_by

TEXTS = (
    st.text() | st.text(min_size=199, max_size=202) | st.text(st.characters(categories=["Cc", "L", "Zl"]), max_size=5)
)
CHECKS = ("id_problem", "name_problem", "source_problem", "label_problem")


@given(TEXTS)
def test_a_text_is_what_it_is_to_both(given_text: str) -> None:
    for name in CHECKS:
        assert getattr(rules, name)(given_text) == getattr(text, name)(given_text)


def test_long_texts_are_too_long_to_both() -> None:
    for length in (200, 201, 500, 501, 2_000, 2_001):
        for name in CHECKS:
            assert getattr(rules, name)("x" * length) == getattr(text, name)("x" * length)


@pytest.mark.parametrize(
    "body",
    (b"", b"{", b'{"a":1,}', b'["a"\n,NaN]', b'{"a":\xff}', b'"\xc3\xa9" x', b"[" * 3_000 + b"]" * 3_000, b'{"a":"b"}'),
)
def test_what_is_no_json_is_told_alike(body: bytes) -> None:
    try:
        syntax.require_syntax(body)
        problem = None
    except PenchantError as error:
        problem = error.detail

    assert rules.syntax_problem(body) == problem


def test_bounds_and_names_are_the_same() -> None:
    assert (rules.MAX_PIECES, rules.MAX_INTERACTIONS) == (
        model.MAX_PIECES_PER_SUBMISSION,
        model.MAX_INTERACTIONS_PER_REQUEST,
    )
    assert (rules.MAX_ALIASES, rules.MAX_MEMBERS) == (vocabulary.MAX_ENTRIES, words.MAX_MEMBERS)
    assert ((rules.AUTO, rules.NONE), rules.LANGUAGES) == ((words.AUTO, words.NONE), words.LANGUAGES)
    settings = msgspec.json.decode(encode_settings(settings_by(words.WordRule())))
    assert settings["words"] == rules.DEFAULT_WORDS
    assert settings["retentionDays"] == 396


@given(st.text(), st.sampled_from(InteractionType), st.text(), st.none() | st.integers(0, 1 << 43))
def test_an_export_and_an_import_make_the_same_event_id(user: str, kind: InteractionType, piece: str, at: int) -> None:
    given_one = CheckedInteraction(user, kind, piece, at)

    stored = model.NewInteraction(user_id=user, type=kind, piece_id=piece, occurred_at=at)

    assert drafts.stable_event_id(given_one) == exporting.stable_event_id(stored)

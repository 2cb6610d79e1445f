"""Words of texts: the rule of the interface, section 11, word by word."""

import hashlib
import json
import sys
import time
import unicodedata
from itertools import pairwise

import pytest
import stopwordsiso
from hypothesis import given
from hypothesis import strategies as st

from penchant.words import LANGUAGES, MAX_TEXT, RULE, WordRule, kept_words, running_words

LISTS = {1: "ed04dde06ff7aa23"}
"""By number of the rule a digest of the lists of stop words: other lists are another rule."""


def kept(*texts: str, **rule: object) -> tuple[str, ...]:
    return kept_words(texts, WordRule(**rule)).words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    (
        ("Tom &amp; Jerry", ["tom", "jerry"]),
        ("a<b>bold</b>er <!-- no --> claim", ["bold", "er", "claim"]),
        ("see https://a.example/x?y and WWW.b.example now", ["see", "and", "now"]),
        ("mail me@there.example or @home", ["mail", "or", "home"]),
        ("\ufb01ne Straße \uff21\uff22", ["fine", "strasse", "ab"]),
        ("john's, John\u2019s and l'homme", ["john", "john", "and", "homme"]),
        ("rock'n'roll 'quoted' 90's", ["rock", "quoted"]),
        ("x 7 1975 42nd mp3", ["42nd", "mp3"]),
        ("snake_case half-done", ["snake", "case", "half", "done"]),
        ("हिन्दी e\u0301", ["हिन्दी"]),
        ("日本語 猫", ["日本", "本語", "猫"]),
        ("ラーメンbar", ["ラー", "ーメ", "メン", "bar"]),
        ("ไทย", ["ไท", "ทย"]),
        ("한국어 어", ["한국어"]),
        ("", []),
    ),
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert running_words(text) == words


def test_words_of_greatest_count_are_kept_the_heading_counting_twice() -> None:
    assert kept("one", "two two three one", language="none") == ("one", "two", "three")
    assert kept("", "bb aa bb aa cc", language="none", keep=2) == ("bb", "aa")


def test_stop_words_of_the_language_go_that_most_of_the_text_is_in() -> None:
    text = "der Hund und die Katze sind in dem Haus"
    assert kept_words(["", text], WordRule()).language == "de"
    assert kept("", text) == ("hund", "katze", "haus")
    assert "und" in kept("", text, language="none")
    assert "der" in kept("", text, language="en")


def test_two_stop_words_are_no_language() -> None:
    assert kept_words(["", "the shark and boats"], WordRule()).language == "none"
    assert kept_words(["", "the shark and the boats"], WordRule()).language == "en"


def test_each_member_is_cut_at_20_000_characters() -> None:
    assert kept("", "sharks " * 5_000 + "boat", keep=100) == ("sharks",)
    assert MAX_TEXT == 20_000


def test_words_longer_than_keywords_are_left_out() -> None:
    assert kept("", "a" * 501 + " " + "b" * 500) == ("b" * 500,)


def test_the_rule_is_that_of_its_lists() -> None:
    lists = {code: sorted(stopwordsiso.stopwords(code)) for code in LANGUAGES}
    digest = hashlib.blake2b(json.dumps(lists).encode(), digest_size=8).hexdigest()

    assert LISTS[RULE] == digest, "other stop words are another rule: raise its number"


@pytest.mark.slow
def test_pythons_words_are_letters_and_digits_of_unicode() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        is_word = character.isalnum()
        assert is_word == (unicodedata.category(character)[0] in "LN"), hex(code)


def plainly(text: str) -> list[str]:
    """Return the words of a text without markup, apostrophes and scripts without spaces, as the interface says."""
    found, word = [], ""
    for character in unicodedata.normalize("NFKC", text).casefold() + " ":
        if unicodedata.category(character)[0] in "LMN":
            word += character
        else:
            found.append(word)
            word = ""
    return [each for each in found if len(each) > 1 and any(unicodedata.category(part)[0] != "N" for part in each)]


@given(st.text(st.characters(exclude_characters="<>&@'\u2019", exclude_categories=("Cs", "Lo")), max_size=60))
def test_words_are_those_of_the_plain_definition(text: str) -> None:
    # Letters of category Lo have scripts without spaces among them, whose pairs are tested above.
    if "www." not in text.lower() and "://" not in text:
        assert running_words(text) == plainly(text)


@given(st.text("日本語猫한abc 1", max_size=30))
def test_scripts_without_spaces_give_pairs_of_neighbours(text: str) -> None:
    runs, run = [], ""
    for character in f"{text} ":
        if character in "日本語猫":
            run += character
        else:
            runs.append(run)
            run = ""
    expected = [pair for each in runs for pair in (map("".join, pairwise(each)) if len(each) > 1 else [each]) if pair]

    assert [word for word in running_words(text) if word[0] in "日本語猫"] == expected


@pytest.mark.parametrize(
    "text",
    (
        "<b" * 10_000,
        "<b>" * 7_000,
        "a" * 20_000,
        "a" + "\u0301" * 20_000,
        "@" * 20_000,
        "a@b." * 5_000,
        "a'" * 10_000,
        "&" * 20_000,
        "&#" * 10_000,
        "www." * 5_000,
        "\ufdfa" * 20_000,
        "".join(map(chr, range(0x20, 0x4E20))),
    ),
    ids=range(12),
)
def test_hostile_texts_take_bounded_work_and_give_the_same_words_each_time(text: str) -> None:
    started = time.process_time()
    first = kept(text, text)

    assert kept(text, text) == first
    # Not how fast it is: what grows with the square of a text takes minutes of the processor's time.
    assert time.process_time() - started < 30

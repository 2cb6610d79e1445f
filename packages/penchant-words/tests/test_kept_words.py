"""Words of texts: the rule of the interface, section 11, word by word."""
# ruff: noqa: RUF001  # letters of other languages are what this is about

import hashlib
import json
import sys
import unicodedata
from itertools import pairwise

import pytest
import stopwordsiso
from hypothesis import given
from hypothesis import strategies as st

from penchant.normalizing import normalize
from penchant_words.texts import (
    AUTO,
    LANGUAGES,
    MAX_TEXT,
    RULE,
    WordRule,
    decode_entities,
    kept_words,
    running_words,
)
from words_reference import kept_by_definition, without_long_runs

LISTS = {2: "ed04dde06ff7aa23"}
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
    # Letters of category Lo have scripts without spaces among them, whose pairs are tested above; signs become some.
    has_unspaced = any(unicodedata.category(each) == "Lo" for each in unicodedata.normalize("NFKC", text))
    if "www." not in text.lower() and "://" not in text and not has_unspaced:
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


def test_romanian_is_compared_and_kept_with_commas_below() -> None:
    text = "și deși toți niște vampiri, şi toţi ajung în oraşul și orașul"
    assert kept_words(["", text], WordRule()) == ("ro", ("orașul", "vampiri", "ajung"))


def test_greek_is_compared_and_kept_without_accents() -> None:
    text = "είναι αυτό έχει όταν πώς ο ζορμπάς, Οδύσσεια ΟΔΥΣΣΕΙΑ προϊόν"
    assert kept_words(["", text], WordRule()) == ("el", ("οδυσσεια", "ζορμπας", "προϊον"))
    # An increment sign is what some of the list's words have for a delta.
    assert kept("", "ΔΙΑ ολωσδιόλου άλλος", language="el") == ()


def test_turkish_has_an_i_with_and_one_without_a_dot() -> None:
    text = "Işık ışık İnsan insan İçin için ve bir bu da"
    assert kept_words(["", text], WordRule()) == ("tr", ("ışık", "insan"))
    assert kept("", "IŞIK I\u0307ÇİN İNSAN", language="tr") == ("ışık", "insan")


@pytest.mark.parametrize("title", ("Home Alone", "Home Fire", "Young Man, Young World"))
def test_words_of_the_heading_come_back_where_few_are_kept(title: str) -> None:
    expected = tuple(word for word in dict.fromkeys(running_words(title)) if word != "man")
    assert kept(title, "and this is it for them", language="en") == expected


def test_what_comes_back_stands_behind_what_was_kept_and_makes_three() -> None:
    assert kept("The Third World Home Fire", "dragon", language="en") == ("dragon", "third", "world")
    assert kept("The Third World Home Fire", "dragon", language="en", keep=2) == ("dragon", "third")
    assert kept("The Third World", "dragon, knight, castle", language="en") == ("dragon", "knight", "castle")


WORDS = """
    the and Home world that it's don't john’s l'homme für und mp3 42 x café cafe\u0301 ß ǰ
    και και\u0301 ΕΊΝΑΙ είναι Αὐτὸς αὐτόσ όσος δεν ολωσδιόλου Σ ΌΣΟΣ ς ΐ ΐος ΄ ο\u0342 \u0301
    și şi deși toţi toți a fi Işık IŞIK İçin için ve bir bu da İ 日本語 ไทย ไทย's
    <b>bold</b> a@b.example www.a.example/x &amp; &#769;
"""
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join),
    st.text(st.sampled_from("aeIİıσΣςάὰᾶΐşţșțéß'’ \u0301\u0308\u0342\u0344\u0345\u2206日ท1<b>&;@."), max_size=40),
)
LONG = st.tuples(st.sampled_from("ae 日ά"), st.integers(25, 40), st.sampled_from("\u0301\u0344\u0f73\uff9e")).map(
    lambda run: run[0] + run[1] * run[2]
)


@given(
    st.lists(st.one_of(TEXTS, st.tuples(TEXTS, LONG, TEXTS).map("".join)), min_size=1, max_size=3),
    st.sampled_from((AUTO, AUTO, "none", "en", "ro", "el", "tr", "fr")),
    st.integers(1, 8),
)
def test_kept_words_are_those_of_the_definition(texts: list[str], language: str, keep: int) -> None:
    rule = WordRule(language=language, keep=keep)
    assert kept_words(texts, rule) == kept_by_definition(texts, rule)


@given(st.lists(st.one_of(LONG, st.text(max_size=3)), max_size=8).map("".join))
def test_of_more_than_30_combining_characters_in_a_row_the_first_30_are_normalized(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert normalize(form, text) == unicodedata.normalize(form, without_long_runs(text))


def test_entities_are_decoded_whatever_number_they_have() -> None:
    assert decode_entities("&lt;&#" + "0" * 5_000 + "65;&#0;") == "<A\ufffd"
    assert decode_entities("&#" + "1" * 5_000 + ";") == "\ufffd"
    assert kept("Jaws &#" + "1" * 5_000 + ";") == ("jaws",)

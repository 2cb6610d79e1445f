"""Words of texts by the definition (interface, section 11), step by step, to compare the fast way with."""
# ruff: noqa: RUF001  # letters of other languages are what this is about

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import stopwordsiso

from penchant_words.texts import LANGUAGES, KeptWords, WordRule

UNSPACED = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO", "MYANMAR", "KHMER")


def kept_by_definition(texts: Sequence[str], rule: WordRule) -> KeptWords:
    """Return the words to keep of a piece's texts, and the language found."""
    language = language_by_definition(texts) if rule.language == "auto" else rule.language
    members = [[written(word, language) for word in words_in(text, language)] for text in texts]
    members = [[word for word in words if is_word(word)] for words in members]
    stop_words = {written(word.casefold(), language) for word in stopwordsiso.stopwords(language)}
    places, counts = dict[str, int](), Counter[str]()
    for number, words in enumerate(members):
        for word in words:
            places.setdefault(word, len(places))
            counts[word] += 2 if number == 0 else 1
    ranked = sorted(counts, key=lambda word: (-counts[word], places[word]))
    kept = [word for word in ranked if word not in stop_words][: rule.keep]
    for word in members[0]:
        if word in stop_words and len(word) >= 4 and word not in kept and len(kept) < min(3, rule.keep):
            kept.append(word)
    return KeptWords(language, tuple(kept))


def language_by_definition(texts: Sequence[str]) -> str:
    """Return the language that most running words are stop words of."""
    running = [word for text in texts for word in words_in(text)]
    hits = Counter[str]()
    for code in LANGUAGES:
        stop_words = {written(word.casefold(), code) for word in stopwordsiso.stopwords(code)}
        forms = [written(word, code) for word in running]
        hits[code] = sum(form in stop_words and is_word(form) for form in forms)
    most = max(hits.values())
    return min(code for code in LANGUAGES if hits[code] == most) if most >= 3 else "none"


def words_in(text: str, language: str = "none") -> Iterator[str]:
    """Yield the words of a text, single characters and numbers among them."""
    for run in runs_in(plain(text, language)):
        first, *others = run.split("'")
        yield (others[-1] if sum(map(str.isalpha, first)) <= 2 else first) if others else run


def plain(text: str, language: str) -> str:
    """Return a text without markup and addresses, in one form of letters."""
    text = without_long_runs(html.unescape(text[:20_000]))
    text = re.sub(r"</?[A-Za-z!][^>]*>", " ", text)
    text = re.sub(r"(?:https?://|\bwww\.)\S*", " ", text, flags=re.IGNORECASE)
    text = " ".join(part for part in text.split() if not re.fullmatch(r"[^@]+@.+\..+", part))
    text = unicodedata.normalize("NFKC", text)
    if language == "tr":
        text = text.replace("I", "ı").replace("İ", "i")
    return text.casefold().replace("’", "'")


def without_long_runs(text: str) -> str:
    """Return a text with the first 30 of each run of combining characters."""
    kept, run = "", 0
    for character in text:
        full = unicodedata.normalize("NFKD", character)
        run = run + 1 if unicodedata.combining(full[0]) and unicodedata.combining(full[-1]) else 0
        kept += character if run <= 30 else ""
    return kept


def runs_in(text: str) -> Iterator[str]:
    """Yield runs of letters, marks and digits with apostrophes between letters; of scripts without spaces, pairs."""
    run = ""
    for place, character in enumerate(text + " "):
        is_between = character == "'" and text[place - 1 : place].isalpha() and text[place + 1 : place + 2].isalpha()
        is_between = is_between and not (is_unspaced(text[place - 1]) or is_unspaced(text[place + 1]))
        is_part = unicodedata.category(character)[0] in "LMN" or (is_between and bool(run))
        if run and (not is_part or is_unspaced(run[-1]) != is_unspaced(character)):
            yield from [run] if len(run) == 1 or not is_unspaced(run) else map("".join, pairwise(run))
            run = ""
        run += character if is_part else ""


def is_unspaced(text: str) -> bool:
    """Return whether a text begins with a character of a script that is written without spaces."""
    return unicodedata.name(text[0], "").removeprefix("COMBINING ").startswith(UNSPACED)


def is_word(word: str) -> bool:
    """Return whether a run is no single character, save of a script without spaces, nor digits only."""
    is_number = all(unicodedata.category(character)[0] == "N" for character in word)
    return bool(word) and (len(word) > 1 or is_unspaced(word)) and not is_number and len(word) <= 500


def written(word: str, language: str) -> str:
    """Return a word in the writing of a language."""
    if language == "ro":
        return word.replace("ş", "ș").replace("ţ", "ț")
    if language == "el":
        letters = unicodedata.normalize("NFD", word.replace("\u2206", "δ"))
        plain = "".join(letter for letter in letters if letter not in "\u0300\u0301\u0342")
        return re.sub("σ$", "ς", unicodedata.normalize("NFC", plain))
    return word

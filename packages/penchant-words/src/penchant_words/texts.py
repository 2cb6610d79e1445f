"""Words of texts: which of them become keywords of a piece that describes itself in sentences (interface, section 11).

From a text to its words:

    "John&rsquo;s <b>Jaws</b>, 1975"   as it stands in a piece
    "John's  Jaws , 1975"              entities, tags and addresses gone
    "john's  jaws , 1975"              one form of letters
    john jaws                          runs of letters, marks and digits; neither digits alone nor single characters

Where the language is Romanian, Greek or Turkish, letters take its form (`_written`), in stop words, too.
Nothing here depends on other pieces, so that a piece has the same words whatever is submitted beside it.
"""

import functools
import html
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from penchant.normalizing import normalize

RULE = 2
"""The number of this rule: another one where the same text gives other words, though Unicode's tables are the same."""
TABLES = unicodedata.unidata_version
"""The version of Unicode's tables, by which letters are told from all else."""
MAX_TEXT = 20_000
"""Characters that are read of a member of a piece."""
MAX_WORD = 500
"""Characters of a word; what is longer is no keyword."""
MAX_MEMBERS = 8
MAX_KEPT = 100
AUTO, NONE = "auto", "none"
LANGUAGES = (
    *("cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it"),
    *("nl", "no", "pl", "pt", "ro", "ru", "sv", "tr", "uk"),
)
"""The languages whose stop words are known, in the order that decides between equal ones."""
_HITS_BITS = 24
"""Bits for the count of a language: more running words than eight members of 20,000 characters have."""
LEAST_STOP_WORDS = 3
"""Running words of a text that must be stop words of a language for it to be taken for that language."""
LEAST_KEPT, LEAST_LETTERS = 3, 4
"""Where fewer words are kept, stop words of the heading come back that have so many characters."""

_TAG = re.compile(r"</?[A-Za-z!][^>]*>")
_ADDRESS = re.compile(r"(?:https?://|\bwww\.)\S*", re.IGNORECASE)
_ASCII_BLANKS = {code: chr(code).lower() if chr(code).isalnum() or chr(code) == "'" else " " for code in range(128)}
"""Makes small letters of large ones, and blanks of what is in no word."""
_SIGNS = {"\u2019": "'", **dict.fromkeys("\u2013\u2014\u2018\u201c\u201d\u00a0\u2022", " ")}
"""Signs of English texts, and what they count as: most of these are then ASCII, which takes much less time."""
_ASCII_RUN = re.compile(r"[a-z0-9]+(?:(?<=[a-z])'(?=[a-z])[a-z0-9]+)*")
_UNSPACED = (
    "\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\U0001b001-\U0001b11f\U0001b150-\U0001b152"  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000\U0001b164-\U0001b167"  # Katakana
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9\u17f0-\u17f9"  # Khmer
)
"""Characters of the scripts that are written without spaces."""
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_LONG_NUMBER = re.compile(r"(?<=&#)[0-9]{20,}")
_SMALL = {"tr": {0x130: "i", ord("I"): "\u0131"}}
"""By language small letters that are others than those of all languages."""
_ROMANIAN = str.maketrans("\u015f\u0163", "\u0219\u021b")
_GREEK = {0x300: None, 0x301: None, 0x342: None, 0x2206: "\u03b4"}
"""Accents of Greek that go, and what some lists have for a delta."""


class WordRule(msgspec.Struct, frozen=True, kw_only=True):
    """How pieces get words: from which members, the heading first, how many, and in which language.

    ``number`` and ``tables`` are those by which words were made that are stored.
    """

    members: tuple[str, ...] = ("label", "extras.description")
    keep: int = 40
    language: str = AUTO
    number: int = RULE
    tables: str = TABLES

    @property
    def age(self) -> tuple[int, tuple[int, ...]]:
        """What grows from release to release, and with Python's Unicode tables."""
        return self.number, tuple(int(part) for part in self.tables.split("."))


class KeptWords(NamedTuple):
    """The words that are kept of a piece, in the order of their counts, and the language found; `none` for none."""

    language: str
    words: tuple[str, ...]


NO_KEPT_WORDS = KeptWords(NONE, ())
"""What is kept of a piece whose texts give no words."""


def kept_words(texts: Sequence[str], rule: WordRule) -> KeptWords:
    """Return the words to keep of a piece's texts, one for each member of the rule, the first of which is the heading.

    Those of greatest count are kept, twice for each time in the heading, of equal ones what comes first.
    """
    running = [_runs(text) for text in texts]
    counts = Counter(itertools.chain.from_iterable(running))
    language = language_of(counts) if rule.language == AUTO else rule.language
    if language in _WRITINGS:
        if small := _SMALL.get(language):
            running = [_runs(text, small) for text in texts]
        running = [list(map(_WRITINGS[language], runs)) for runs in running]
        counts = Counter(itertools.chain.from_iterable(running))
    heading = running[0] if running else []
    # The order of the first places stays: every word of the heading is counted already.
    counts.update(heading)
    stop_words = _stop_words().get(language, frozenset())
    words = [run for run in counts if run not in stop_words and _is_word(run)]
    # Stable in reverse, too: of equal counts the first place decides.
    words.sort(key=counts.__getitem__, reverse=True)
    kept = words[: rule.keep]
    missing = min(LEAST_KEPT, rule.keep) - len(kept)
    if missing > 0:
        back = (run for run in dict.fromkeys(heading) if run in stop_words and len(run) >= LEAST_LETTERS)
        kept += itertools.islice(filter(_is_word, back), missing)
    return KeptWords(language, tuple(kept))


def language_of(counts: Mapping[str, int]) -> str:
    """Return the language that most running words are stop words of, at least three, ties by code; or `none`."""
    speakers, mask = _languages_by_stop_word(), (1 << _HITS_BITS) - 1
    hits = sum(speakers[word] * counts[word] for word in counts.keys() & speakers.keys())
    text = " ".join(counts)
    for code, letters in () if text.isascii() else _REWRITTEN:
        if letters.search(text):
            # What words in their common form counted for this language is put right by those in its own.
            written, own = _WRITINGS[code], 1 << LANGUAGES.index(code) * _HITS_BITS
            for word in filter(letters.search, counts):
                hits += counts[word] * ((speakers.get(written(word), 0) & own) - (speakers.get(word, 0) & own))
    of_languages = [hits >> place * _HITS_BITS & mask for place in range(len(LANGUAGES))]
    most = max(of_languages)
    return LANGUAGES[of_languages.index(most)] if most >= LEAST_STOP_WORDS else NONE


def running_words(text: str) -> list[str]:
    """Return the words of a text in their order."""
    return [run for run in _runs(text) if _is_word(run)]


def decode_entities(text: str) -> str:
    """Return a text with its HTML entities decoded, whatever number one has."""
    if "&" not in text:
        return text
    # Python takes the square of its digits for a number, and reads none of thousands; with eight none is a character.
    return html.unescape(_LONG_NUMBER.sub(lambda number: number[0].lstrip("0")[:8] or "0", text))


def _runs(text: str, small: Mapping[int, str] | None = None) -> list[str]:
    """Return the runs of a text, those that are no words among them; of what has an apostrophe the part that counts.

    ``small`` letters are put in place before upper and lower case become one. Costs time in proportion to the first
    20,000 characters.
    """
    text = _without_markup(text[:MAX_TEXT])
    if not text.isascii():
        for sign, plain in _SIGNS.items():
            text = text.replace(sign, plain)
    if text.isascii() and small is None:
        runs = text.translate(_ASCII_BLANKS).split()
        return _without_ascii_apostrophes(runs) if "'" in text else runs
    # A single sign may stand for 18 letters: cut again, or a hostile text would take as many times as long.
    text = normalize("NFKC", text)[: 2 * MAX_TEXT]
    text = (text if small is None else text.translate(small)).casefold().replace("_", " ")
    runs = _runs_of_all_scripts(text)
    return [_without_apostrophes(run) if "'" in run else run for run in runs] if "'" in text else runs


def _without_ascii_apostrophes(tokens: list[str]) -> list[str]:
    """Return the runs in what stands between blanks, in its place, and of each with an apostrophe the part that counts.

    Only tokens that have one are looked at: of a thousand letters there are two or three.
    """
    found: list[str] = []
    end = 0
    for place in [place for place, token in enumerate(tokens) if "'" in token]:
        found += tokens[end:place]
        runs = _ASCII_RUN.findall(tokens[place])
        found += [_without_apostrophes(run) if "'" in run else run for run in runs]
        end = place + 1
    return found + tokens[end:]


def _without_markup(text: str) -> str:
    """Return a text with a space in place of each tag and address, its entities decoded."""
    text = decode_entities(text)
    # Up to the last bracket each tag that begins has its end, so that none is looked for in vain.
    end = text.rfind(">") + 1
    if end:
        text = _TAG.sub(" ", text[:end]) + text[end:]
    if "://" in text or "www." in text.lower():
        text = _ADDRESS.sub(" ", text)
    if "@" in text:
        # Blank by blank: looked for in the whole, each character before the sign would begin a search.
        text = " ".join(part for part in text.split() if not _is_mail_address(part))
    return text


def _is_mail_address(text: str) -> bool:
    """Return whether a text without blanks is ``…@….…``."""
    name, _, host = text.partition("@")
    return bool(name) and "." in host[1:-1]


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds the runs of a text without, and with scripts that are written without spaces.

    Made when the first text that is not ASCII comes: Unicode's marks are looked up for it.
    """
    codes = itertools.chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0))
    marks = "".join(mark for mark in map(chr, codes) if unicodedata.category(mark)[0] == "M")
    # Python's \w is letters, digits and the underscore, which is a blank by now (a test holds that). The marks are a
    # set by themselves, looked at only behind ASCII: with \w they would be gone through one by one at each blank.
    mark = rf"(?![\0-\x7f])[{marks}]"
    letter, run, character = r"[^\W\d]", rf"(?:\w+|{mark})+", rf"(?![{_UNSPACED}])(?:\w|{mark})"
    return (
        re.compile(rf"{run}(?:(?<={letter})'(?={letter}){run})*"),
        re.compile(rf"[{_UNSPACED}]+|(?:{character})+(?:(?<={letter})'(?={letter})(?:{character})+)*"),
    )


def _runs_of_all_scripts(text: str) -> list[str]:
    """Return the runs of letters, marks and digits; of scripts without spaces each pair of neighbours."""
    spaced, unspaced = _patterns()
    if _UNSPACED_CHARACTER.search(text) is None:
        return spaced.findall(text)
    words: list[str] = []
    for run in unspaced.findall(text):
        if len(run) > 1 and _UNSPACED_CHARACTER.match(run):
            words += map("".join, itertools.pairwise(run))
        else:
            words.append(run)
    return words


def _without_apostrophes(word: str) -> str:
    """Return what a word with an apostrophe is: *john's* is john, *l'homme* is homme."""
    first, *others = word.split("'")
    return others[-1] if sum(map(str.isalpha, first)) <= 2 else first  # interface, section 11


def _is_word(run: str) -> bool:
    """Return whether a run is neither digits only, nor a single character, save of a script without spaces."""
    if 1 < len(run) <= MAX_WORD and not run.isnumeric():
        return True
    if len(run) < 2:
        return _UNSPACED_CHARACTER.match(run) is not None and run.isalpha()
    # Some letters of Han have a numeric value, too.
    return len(run) <= MAX_WORD and not (run.isnumeric() and not any(map(str.isalpha, run)))


def _written_in_romanian(word: str) -> str:
    """Return a word with commas below its letters, where older fonts had cedillas."""
    return word.translate(_ROMANIAN)


@functools.lru_cache(maxsize=1 << 14)
def _written_in_greek(word: str) -> str:
    """Return a word without accents, as in capitals; a sigma at its end has the form for that."""
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).translate(_GREEK))
    return f"{plain[:-1]}\u03c2" if plain.endswith("\u03c3") else plain


_WRITINGS: Mapping[str, Callable[[str], str]] = {"el": _written_in_greek, "ro": _written_in_romanian, "tr": str}
"""By language with a form of its own what gives it to a word whose case is folded."""
_REWRITTEN = (("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")), ("ro", re.compile("[\u015f\u0163]")))
"""What words have that may be stop words of these languages in another form only."""


@functools.cache
def _stop_words() -> Mapping[str, frozenset[str]]:
    """Return the stop words of each language in its writing, read when they are first needed."""
    import stopwordsiso  # noqa: PLC0415  # 1.4 MiB of words, for sources alone whose texts are read

    lists = {code: map(str.casefold, stopwordsiso.stopwords(code)) for code in LANGUAGES}
    return {code: frozenset(map(_WRITINGS.get(code, str), words)) for code, words in lists.items()}


@functools.cache
def _languages_by_stop_word() -> Mapping[str, int]:
    """Return for every stop word a number with a one for each of its languages, `_HITS_BITS` apart.

    Times a count, and added up, it counts for all languages at once: a tenth of the time that a loop over them takes.
    """
    languages: dict[str, int] = {}
    for place, code in enumerate(LANGUAGES):
        for word in filter(_is_word, _stop_words()[code]):
            languages[word] = languages.get(word, 0) | 1 << place * _HITS_BITS
    return languages

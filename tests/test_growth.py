"""Work grows with the length of what a tenant sends: no text or rule takes the square of its length.

Lengths here take milliseconds, of the worst inputs that are known; measured is how the processor's time grows.
"""

import contextlib
import itertools
import json
import tempfile
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from import_folders import Folder
from penchant.covers import cover
from penchant.errors import InvalidInput, InvalidSyntax, TooManyEntries
from penchant.findings import normal_form
from penchant.model import SourceSettings
from penchant.normalizing import normalize
from penchant.service.browsing import LabelledPiece, PieceTitles
from penchant.service.grants import person_named
from penchant.web.query import parse_query
from penchant.wire import decode_list, decode_preferences, decode_settings, decode_submission
from penchant.wire.attributes import read_pointer
from penchant.wire.filters import decode_filter, read_boosts, read_filter
from penchant.wire.recording import decode_interactions
from penchant.wire.syntax import Faults
from penchant.wire.vocabulary import read_vocabulary
from penchant_engine.attributes import Attribute, AttributeType
from penchant_import.formats.schema_org import ingredient_name
from penchant_import.texts import common_sentences, plain_text
from penchant_rows.wire.placements import read_placement
from penchant_words.texts import WordRule, decode_entities, kept_words

pytestmark = pytest.mark.slow

FACTOR = 8
MOST = 2 * FACTOR
"""How many times as long eight times as much may take: by n log n 11 times, by the square 64."""
ROUNDS, ATTEMPTS = 5, 3
LEAST_S = 2e-3
"""Time of the processor for one measurement: below that it is told too coarsely."""
Make = Callable[[int], Any]
FILTERED = SourceSettings(attributes={"a": Attribute(AttributeType.KEYWORD, "/a")})


def repeated(text: str, *, first: str = "", last: str = "") -> Make:
    """Return what makes a text of a length by repeating another."""
    return lambda length: first + text * (length // len(text)) + last


def encoded(text: str) -> Make:
    """Return what makes a body of a length by repeating a text."""
    return lambda length: repeated(text)(length).encode()


def as_json(entry: Any, *, wrap: Callable[[list[Any]], Any] = list) -> Make:
    """Return what makes JSON of about a length of entries, each by its number."""
    return lambda length: json.dumps(wrap([entry(number) for number in range(length // 8)])).encode()


def as_value(entry: Any, wrap: Callable[[list[Any]], Any]) -> Make:
    """Return what makes the value of such JSON."""
    return lambda length: json.loads(as_json(entry, wrap=wrap)(length))


def kept(text: str) -> object:
    return kept_words([text, text], WordRule())


def kept_in_turkish(text: str) -> object:
    return kept_words([text], WordRule(language="tr"))


def decomposed(text: str) -> object:
    return normalize("NFKD", text)


def read_as_pointer(text: str) -> object:
    return read_pointer(text, "", Faults())


def imported(name: str, file: str) -> Callable[[str], object]:
    """Return what reads a text as the only file of a format."""

    def read(text: str) -> object:
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(Path(path))
            folder.write(file, text)
            drafts = folder.read(name)
            assert drafts
            return drafts

    return read


def titled(text: str) -> object:
    titles = {f"{number} {word}": LabelledPiece(id=str(number), label=word) for number, word in enumerate(text.split())}
    keys = sorted(titles)
    joined = "\0".join(["", *keys, ""])
    return PieceTitles(offered=(), pieces=titles, after=None, keys=keys, joined=joined).like("a")


MARKUP = (
    "<a ",
    '<a ="',
    "<a ='>",
    "<a '",
    "<a/",
    "<!--",
    "<!",
    "<?",
    "</",
    "</a ",
    "<![CDATA[",
    "<script>",
    "<a <",
    "<b>",
)
READERS: Mapping[str, tuple[Callable[[Any], object], Sequence[Make]]] = {
    "words": (
        kept,
        (
            *map(repeated, ("<b", "<b>", "a", "@", "a@b.", "a'", "' ", "a''b ", "&", "&#", "&#1;", "www.", "http://")),
            *map(
                repeated, ("\ufdfa", "\u0301\u0316", "ά\u0345", "日", "e\u0301", "\u0301", "\U00016129\U0001611e", "ﾞ")
            ),
            repeated("<a", last=">"),
            repeated("1", first="&#"),
            lambda length: "".join(map(chr, range(0x20, 0x20 + length))),
            lambda length: "&#769;&#790;" * (length // 12),
        ),
    ),
    "words in Turkish": (kept_in_turkish, [*map(repeated, ("Iİ", "I ", "\u0301\u0316"))]),
    "forms of Unicode": (decomposed, [*map(repeated, ("\u0301\u0316", "a\u0301\u0316", "\u0344", "\uff9e", "\u0f73"))]),
    "entities": (decode_entities, [*map(repeated, ("&", "&#1", "&amp", "&a", "&#x1;")), repeated("1", first="&#")]),
    "names of people": (person_named, [*map(repeated, ("\u0301\u0316", "A", "\ufdfa"))]),
    "keywords that are nearly alike": (normal_form, [*map(repeated, ("\u0301\u0316", "-", "a-"))]),
    "HTML": (
        plain_text,
        [*(repeated(each, first="<b>") for each in MARKUP), *(repeated(each, last=">") for each in MARKUP)],
    ),
    "sentences": (lambda text: common_sentences([text] * 5), [*map(repeated, ("a. ", ".", " ", "。"))]),
    "ingredients": (ingredient_name, [*map(repeated, ("1 ", "(", "()", "g of "))]),
    "feeds": (
        imported("feed", "feed.xml"),
        [
            repeated(
                each, first=f"<rss><channel><item><guid>1</guid><{field}>", last=f"</{field}></item></channel></rss>"
            )
            for field, each in itertools.product(("author", "description"), ("@", "a@", "&lt;img ", "&lt;a =", "("))
        ],
    ),
    "books": (
        imported("goodreads", "goodreads_library_export.csv"),
        [
            repeated(each, first="Book Id,Title,My Rating,Exclusive Shelf\n1,(", last=",5,read")
            for each in ("#", "(#", ")", ") ")
        ],
    ),
    "covers": (cover, [*map(repeated, ("a ", "L'", "'", "A"))]),
    "titles looked for": (titled, [*map(repeated, ("a ", "ab ", "b a"))]),
    "queries": (
        lambda text: parse_query(text.encode()),
        [*map(repeated, ("a=1&", "%41", "a[1]=b&", "+", "catalogs=a%2C&", "[", "="))],
    ),
    "vocabularies": (
        read_vocabulary,
        (
            as_value(lambda n: {"from": [f"a/{n}"], "to": "a/b"}, lambda each: {"aliases": each}),
            as_value(lambda n: f"a/{n}", lambda each: {"aliases": [{"from": each, "to": "a/b"}]}),
            as_value(lambda n: {"from": [f"a/{n}"], "to": f"a/{n + 1}"}, lambda each: {"aliases": each}),
            as_value(lambda n: f"a/{n}", lambda each: {"ignore": each}),
        ),
    ),
    "filters": (
        lambda value: read_filter(value, FILTERED),
        (
            as_value(lambda n: {"key": "a", "any": [str(n)]}, lambda each: {"and": each}),
            as_value(lambda n: {"and": [{"key": "a", "any": [str(n)]}]}, lambda each: {"or": each}),
            as_value(str, lambda each: {"key": "a", "any": each}),
            as_value(lambda n: {"key": str(n)}, lambda each: {"or": each}),
        ),
    ),
    "filters as text": (
        lambda text: decode_filter(text, FILTERED),
        [*map(repeated, ("[", '{"and":[', '{"not":', '"\\u0041', "1"))],
    ),
    "boosts": (
        lambda value: read_boosts(value, FILTERED),
        [as_value(lambda n: {"filter": {"key": "a", "any": [str(n)]}, "factor": 2}, list)],
    ),
    "placements": (
        read_placement,
        (
            as_value(lambda n: {"id": str(n), "position": n + 1}, lambda each: {"kind": "new", "pins": each}),
            as_value(lambda n: {"filter": {"key": "a"}, "atLeast": n}, lambda each: {"kind": "new", "quotas": each}),
            as_value(str, lambda each: {"kind": "picks", "content": each}),
            as_value(lambda n: {"name": str(n), "share": 1}, lambda each: {"kind": "new", "variants": each}),
        ),
    ),
    "settings": (
        decode_settings,
        (
            as_json(lambda n: (str(n), 1), wrap=lambda each: {"categoryWeights": dict(each)}),
            as_json(
                lambda n: (str(n), {"pointer": "/" * 9, "type": "keyword"}),
                wrap=lambda each: {"attributes": dict(each)},
            ),
            as_json(str, wrap=lambda each: {"words": {"from": each}}),
        ),
    ),
    "pieces": (
        decode_submission,
        (
            as_json(lambda n: {"id": str(n), "categories": {"a": [str(n)]}}),
            as_json(str, wrap=lambda each: [{"id": "1", "categories": {"a": each}}]),
            as_json(lambda n: (str(n), [str(n)]), wrap=lambda each: [{"id": "1", "categories": dict(each)}]),
            as_json(lambda n: (str(n), n), wrap=lambda each: [{"id": "1", "categories": {}, "extras": dict(each)}]),
            as_json(lambda n: {"id": "1", "nothing": n}),
            *map(encoded, ("[", '[{"id":', '"\\u0041', "1", "[1,", '[{"id":"1","categories":{"a":{')),
        ),
    ),
    "interactions": (
        lambda body: decode_interactions(body, 0),
        (
            as_json(lambda n: {"userId": "u", "type": "Watch", "contentId": str(n)}),
            as_json(lambda n: {"userId": "u", "type": "Nothing", "contentId": str(n)}),
        ),
    ),
    "lists": (decode_list, (as_json(str), as_json(lambda _: "1"), as_json(lambda n: n))),
    "preferences": (
        decode_preferences,
        [as_json(lambda n: (str(n), {"power": 0.5}), wrap=lambda each: {"keywords": dict(each)})],
    ),
}
"""What reads texts and rules of tenants, by what it is called here, and what makes its worst inputs of a length."""


@pytest.mark.parametrize(
    ("name", "number"), [(name, n) for name, (_, makes) in READERS.items() for n in range(len(makes))]
)
def test_what_tenants_send_takes_time_in_proportion_to_its_length(name: str, number: int) -> None:
    read, makes = READERS[name]
    lengths = (400, 400 * FACTOR)

    # An attempt that something else of the machine fell into is no measurement.
    ratios = (growth(read, *map(makes[number], lengths)) for _ in range(ATTEMPTS))
    assert any(ratio <= MOST for ratio in ratios)


def growth(read: Callable[[Any], object], short: Any, long: Any) -> float:
    """Return how many times as long as the short input the long one takes of the processor."""

    def call(given: Any) -> None:
        with contextlib.suppress(InvalidInput, InvalidSyntax, TooManyEntries):
            read(given)

    def time_of(given: Any) -> float:
        call(given)
        timer = timeit.Timer(lambda: call(given), timer=time.thread_time)
        number = max(1, int(LEAST_S / max(timer.timeit(1), 1e-6)))
        return min(timer.repeat(ROUNDS, number)) / number

    return time_of(long) / time_of(short)


def test_a_pointer_takes_time_in_proportion_to_its_length() -> None:
    # Short ones: what tries each way to divide them doubles with each step.
    ratios = (growth(read_as_pointer, "/" * 9 + "~", "/" * 18 + "~") for _ in range(ATTEMPTS))
    assert any(ratio <= 4 for ratio in ratios)

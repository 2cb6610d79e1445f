"""Advice of imports: what lists will come of what was imported, and what would make better ones.

The service counts, by the very lists that it makes (`ServiceHost.figures`); here it is put into words for somebody who
has just imported a file.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from penchant_engine.model import InteractionType, counted_portion
from penchant_import.drafts import PICTURE_NAMES, CheckedInteraction, read_extras
from penchant_import.files import printable, quoted
from penchant_import.hosting import Settings
from penchant_import.measures import is_measure, normalize_name
from penchant_import.options import parse_column
from penchant_import.rules import AUTO, MAX_MEMBERS, encode, name_problem
from penchant_import.texts import read_list

MAX_PIECES = 20_000
"""Pieces that are indexed for the verdict of a dry run, and of what went to a server: the first ones."""
MAX_BYTES = 64 * 1024 * 1024
"""What these may hold together."""
MAX_ROWS = 200_000
"""Interactions that are kept where a source cannot be read: the first ones."""
MAX_SAMPLED_PIECES = 2_000
"""Pieces whose texts are looked at for advice: the first ones."""
MAX_LISTED_CATEGORIES = 4
MAX_ADVICE = 2
SENTENCES_SHARE = 0.05
"""The share of texts that are sentences, from which on those of a column are not parted at commas."""
MAX_KEYWORD_WORDS = 5
"""Words of a keyword: more are a sentence."""
MIN_ADVISED = 2
"""Pieces of which something is advised: one has no other to be like."""
MAX_VALUE_LETTERS = 100
"""A longer text is no keyword, but a text to take words from."""
MIN_MEAN_LETTERS = 40
"""Letters, in the mean, from which on texts are worth taking words from."""
ADVISED_SHARE = 0.2
"""The share of pieces that have to share a value with others, for a field to be advised as keywords."""
_WITHIN_NAMES = ("/", ">")
"""What may separate keywords, and rather stands within them: AC/DC."""
UNJOINED_SHARE = 0.05
"""The share of pieces that share no keyword, or of lists without order, from which on something is advised."""
COMMON_SHARE = 0.95
"""The share of pieces from which on what is the same tells nothing of any."""
BY_COLUMNS = frozenset({"csv", "parquet", "json", "spreadsheet", "gorse", "recombee", "metarank"})
"""Formats that take ``--keywords``."""
SampleRow = tuple[str, str, InteractionType, int, int]
"""Who, with which piece, what, and when (ms since 1970 UTC)."""


class CategoryVerdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A category: its keywords, how many pieces have one that joins them with others, and why it may be noise.

    ``telling`` is how many times as alike pieces are that one person likes as those of two people, by this category.
    """

    name: str
    keywords: int
    joining: int
    noise: str = ""
    telling: float | None = None


class ImportVerdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What lists come of an import. ``judged`` of the ``pieces`` were looked at, with ``lists`` of similar pieces.

    ``alone`` pieces share no keyword with another, ``by_words`` ones only words of their texts; of the lists some are
    ``empty``, and some ``unordered``: all that is in them is equally near. Of the ``interactions`` that were counted
    (all, or the first ones) ``unknown`` ones are about pieces that are not there. ``people`` did something,
    ``personal`` of them like a piece that there is, and ``liked`` pieces are liked. ``hidden`` of the judged pieces are
    in no list now: it is before or after their time, or they are on the blacklist. ``picture_hosts`` are hosts of
    pictures that the dashboard may not show yet.
    """

    pieces: int
    judged: int
    alone: int
    by_words: int
    hidden: int
    lists: int
    empty: int
    unordered: int
    categories: list[CategoryVerdict]
    counted_all: bool = True
    people: int = 0
    personal: int = 0
    liked: int = 0
    interactions: int = 0
    unknown: int = 0
    advice: list[str] = []
    picture_hosts: list[str] = []


_MEMBERS = {item.encode_name for item in msgspec.structs.fields(ImportVerdict)}


class ImportSample:
    """The first pieces and interactions of an import, by which it is judged where its source cannot be read.

    ``named`` are columns that became keywords by their names alone: category, column and separator.
    """

    def __init__(self) -> None:
        self.named: set[tuple[str, str, str]] = set()
        self.pieces: dict[str, bytes] = {}
        self.rows: list[SampleRow] = []
        self.has_all_rows = True
        self._bytes = 0

    def take_pieces(self, pieces: Iterable[Any]) -> None:
        """Keep pieces, of two with the same id the later one, up to the bounds."""
        for piece in pieces:
            if piece.id in self.pieces or (len(self.pieces) < MAX_PIECES and self._bytes < MAX_BYTES):
                self._bytes += len(piece.body)
                self.pieces[piece.id] = piece.body

    def take_interactions(self, interactions: Iterable[CheckedInteraction], now: int) -> None:
        """Keep interactions up to the bound; those without a time are of now."""
        for user_id, kind, piece_id, occurred_at, _, _, given in interactions:
            if len(self.rows) >= MAX_ROWS:
                self.has_all_rows = False
                return
            portion = counted_portion(kind, given)
            if portion:
                moment = now if occurred_at is None else occurred_at
                self.rows.append((user_id, piece_id, kind, moment, portion))


def judge(
    figures: Mapping[str, Any], sample: ImportSample, format_name: str, settings: Settings, *, is_there: bool
) -> ImportVerdict:
    """Return the verdict about a source of which the service has counted these figures.

    ``is_there`` says that the source is made by now: no import changes its settings. ``idle`` among the figures are
    categories that weigh something and are the same for nearly all pieces, ``language`` that of all texts together.
    """
    judged, idle, language = figures["judged"], figures["idle"], figures["language"]
    verdict = msgspec.convert({name: item for name, item in figures.items() if name in _MEMBERS}, ImportVerdict)
    poor = max(verdict.alone / max(1, judged), (verdict.empty + verdict.unordered) / max(1, verdict.lists))
    # Keywords help neither a single piece, nor those that are not shown.
    if judged < MIN_ADVISED or verdict.hidden == judged:
        poor = 0.0
    unjoined = (verdict.alone + verdict.by_words) / max(1, judged) if judged >= MIN_ADVISED else 0.0
    advice = []
    if max(poor, unjoined) >= UNJOINED_SHARE:
        advice += _keyword_advice(sample, format_name)
    advice += _word_advice(sample, settings, language, is_there=is_there, is_poor=poor >= UNJOINED_SHARE)
    if poor >= UNJOINED_SHARE and not advice and sample.pieces:
        advice.append("nothing else in the files would join the others: they need descriptions, or keywords")
    advice += [
        f"the category {printable(name)} is the same for nearly all pieces, and only makes them alike: give it the "
        "weight 0 (categoryWeights of the source's settings)"
        for name in idle[:MAX_ADVICE]
    ]
    return msgspec.structs.replace(verdict, advice=advice)


def _texts(sample: ImportSample) -> Iterator[tuple[str, str]]:
    """Yield the texts of pieces that play no part in lists, by their member of the extras."""
    for body in islice(sample.pieces.values(), MAX_SAMPLED_PIECES):
        for member, value in read_extras(body).items():
            is_address = isinstance(value, str) and value.startswith(("http://", "https://"))
            if isinstance(value, str) and not is_address and normalize_name(member) not in PICTURE_NAMES:
                yield member, value


def _keyword_advice(sample: ImportSample, format_name: str) -> list[str]:
    """Return which columns could be keywords, as they hold what several pieces share, those that join most first."""
    if format_name not in BY_COLUMNS:
        return []
    number = min(MAX_SAMPLED_PIECES, len(sample.pieces))
    texts: dict[str, list[str]] = {}
    for member, text in _texts(sample):
        texts.setdefault(member, []).append(text)
    best: dict[str, tuple[int, float, str]] = {}
    for member, item in texts.items():
        for separator in _separators_of(item):
            joining, information = _joining(item, separator, number)
            known = best.get(member, (0, 0.0, ""))
            # Parted only where that tells more, as a comma may stand within a name, and where signs that mostly do
            # join more.
            is_more = information > known[1] and (joining > known[0] or separator not in _WITHIN_NAMES)
            if joining >= ADVISED_SHARE * number and is_more:
                best[member] = joining, information, separator
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
    options = [(member, keywords_option(member.lower(), member, separator)) for member, (*_, separator) in ranked]
    advice = [
        f"{option} makes keywords of {printable(member)}, whose values several pieces share"
        for member, option in options
        if option
    ]
    kept = " ".join(filter(None, (keywords_option(*item) for item in sorted(sample.named)))) if advice else ""
    if kept:
        advice.append(f"{kept} keeps the keywords that come by the names of their columns, beside --keywords")
    return advice


def keywords_option(category: str, column: str, separator: str = "") -> str:
    """Return the option that makes keywords of a column; "" where none can be written, or the category is none."""
    written = f"{category}={column}" + (f":{separator}" if separator else "")
    is_accepted = printable(written) == written and not name_problem(category)
    meant = parse_column(written).resolve((column,)) if is_accepted else None
    return f"--keywords {quoted(written)}" if meant and (meant.column, meant.category) == (column, category) else ""


def _separators_of(texts: Sequence[str]) -> Sequence[str]:
    """Return what may separate keywords in texts: nothing in sentences, which share commas with lists, but ``|``."""
    sentences = sum(map(_is_sentence, texts))
    are_paths = any(text.startswith("/") for text in texts)
    possible: Sequence[str] = (
        ("|",) if sentences > SENTENCES_SHARE * len(texts) else ("", "|", ";", ",", *_WITHIN_NAMES)
    )
    return [
        item
        for item in possible
        if not item or (any(item in text for text in texts) and not (item == "/" and are_paths))
    ]


def _is_sentence(text: str) -> bool:
    words = max(len(part.split()) for part in re.split(r"[,;|/>]", text))
    return read_list(text) is None and (
        words > MAX_KEYWORD_WORDS or (words > 1 and text.endswith((".", "!", "?", "…")))
    )


def _joining(texts: Sequence[str], separator: str, number: int) -> tuple[int, float]:
    """Return how many texts have a value that others have, too, and how much such values tell of ``number`` pieces."""
    parted: list[set[str]] = []
    for text in texts:
        listed = read_list(text)
        parts = text.split(separator) if separator else [text]
        values = {part.strip() for part in (parts if listed is None else listed) if isinstance(part, str)}
        parted.append({item for item in values if item and len(item) <= MAX_VALUE_LETTERS and not is_measure(item)})
    counts = Counter(value for values in parted for value in values)
    joining = {value: count for value, count in counts.items() if 1 < count < COMMON_SHARE * number}
    information = sum(count * math.log2(number / count) for count in joining.values())
    return sum(not values.isdisjoint(joining) for values in parted), information


def _word_advice(
    sample: ImportSample, settings: Settings, language: str, *, is_there: bool, is_poor: bool
) -> list[str]:
    """Return of which texts words could be taken, unless that is done, and whose stop words could go."""
    number, rule = min(MAX_SAMPLED_PIECES, len(sample.pieces)), settings.get("words")
    if not number:
        return []
    letters = Counter[str]()
    for member, text in _texts(sample):
        letters[member] += len(text)
    taken = ("label",) if rule is None else rule["from"]
    texts = [f"extras.{member}" for member, count in letters.most_common() if count >= MIN_MEAN_LETTERS * number]
    # The option parts members at commas, and takes no blanks at their ends.
    sayable = [item for item in texts if is_there or ("," not in item and item == printable(item).strip())]
    others = [item for item in sayable if item not in taken][:MAX_ADVICE] if is_poor else []
    held = [item for item in taken if item == "label" or item.removeprefix("extras.") in letters]
    members = [*held, *others][:MAX_MEMBERS]
    if rule is None or rule.get("language", AUTO) != AUTO:
        language = ""
    is_more = bool(others) or (rule is None and is_poor)
    if not (is_more or language):
        return []
    reasons = ["makes keywords of the words in these texts"] if is_more else []
    reasons += ["leaves out the stop words of texts that are too short to tell their language"] if language else []
    if is_there:
        setting = encode({"words": {"from": members} | ({"language": language} if language else {})}).decode()
        return [f"the setting {printable(setting)} {' and '.join(reasons)} (an import changes none)"]
    options = ([f"--words {quoted(','.join(members))}"] if is_more else []) + (
        [f"--language {language}"] if language else []
    )
    return [f"{' '.join(options)} {' and '.join(reasons)}"]


def verdict_lines(source: str, verdict: ImportVerdict, *, dry_run: bool) -> Iterator[str]:
    """Yield the lines of a verdict for people."""
    if verdict.pieces:
        yield f"What lists come of it{' (nothing is stored)' if dry_run else ''}:"
        first = f" (the first of {verdict.pieces} are judged)" if verdict.judged < verdict.pieces else ""
        sharing = verdict.judged - verdict.alone
        by_words = f" ({verdict.by_words} of them only words of their texts)" if verdict.by_words else ""
        yield (
            f"  {source}: {sharing} of {verdict.judged} pieces share a keyword with another{by_words}, {verdict.alone} "
            f"with none{first}"
        )
        if verdict.hidden:
            yield (
                f"  {source}: {verdict.hidden} of {verdict.judged} pieces are in no list now (availableFrom, "
                "availableUntil, or the blacklist)"
            )
        looked_at = "" if verdict.lists >= verdict.pieces else " that were looked at"
        yield (
            f"  {source}: of {verdict.lists} lists of similar pieces{looked_at} {verdict.empty} are empty,"
            f" {verdict.unordered} in no order (all in them is equally near)"
        )
    yield from _category_lines(source, verdict)
    if verdict.people:
        first = "" if verdict.counted_all else f" in the first {verdict.interactions} interactions"
        yield (
            f"  {source}: {verdict.people} people{first}: {verdict.personal} like a piece that is there, so they get"
            f" lists of their own, {verdict.people - verdict.personal} get what is popular"
        )
        yield f"  {source}: {verdict.liked} of {verdict.judged} pieces are liked by somebody"
    if verdict.unknown:
        yield f"  {source}: {verdict.unknown} of {verdict.interactions} interactions are about pieces not in the source"
    if verdict.picture_hosts:
        names = ", ".join(f'"{host}"' for host in verdict.picture_hosts)
        yield f"  {source}: the dashboard shows pictures once the service's settings have image-hosts = [{names}]"
    if verdict.advice:
        yield "What would make better lists:"
        yield from (f"  {item}" for item in verdict.advice)


def _category_lines(source: str, verdict: ImportVerdict) -> Iterator[str]:
    telling = [item for item in verdict.categories if not item.noise]
    if any(item.telling is not None for item in telling):
        telling.sort(key=lambda item: -(item.telling or 0.0))
    if telling:
        names = (
            printable(item.name) + ("" if item.telling is None else f" (pieces liked together: {item.telling:.1f} x)")
            for item in telling[:MAX_LISTED_CATEGORIES]
        )
        yield f"  {source}: most is told by {', '.join(names)}"
    noise = [f"{printable(item.name)} ({item.noise})" for item in verdict.categories if item.noise]
    if noise:
        more = f" and {len(noise) - MAX_LISTED_CATEGORIES} more" if len(noise) > MAX_LISTED_CATEGORIES else ""
        yield f"  {source}: hardly anything is told by {', '.join(noise[:MAX_LISTED_CATEGORIES])}{more}"

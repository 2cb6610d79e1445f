"""Enrichment: keywords that packages make of what pieces say, kept beside these and counted in every rule of lists.

A source's rule has a line for each package that makes some: JSON by which it makes them, behind the category of the
keywords and a tab. What stood alone before others could, has no category before it. Beside a piece stands a line for
each line of the rule in force and of the wanted one: its key and the keywords, separated by blanks.

Of a package that is not installed all stays as it is stored: its keywords are no part of any rule until it is back.
"""

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from penchant.hooks import packages
from penchant_engine.model import WORDS_CATEGORY

if TYPE_CHECKING:
    from penchant.model import SourceSettings

_FIRST = WORDS_CATEGORY


class Enrichment(ABC):
    """What a package makes keywords by, of one piece at a time; they have a ``category`` of their own.

    ``settings`` is the record of a source's settings by which it does (`source_settings`); it may say by a member
    ``category_factors`` what these keywords weigh where nothing is stated. A source that a submission makes with
    ``?CATEGORY=auto`` has ``automatic``, if there is that, which ``explained`` says in words;
    ``included`` is what reads of pieces are then given of it.
    """

    category: ClassVar[str]
    settings: ClassVar[type[Any]]
    automatic: ClassVar[Any] = None
    explained: ClassVar[str] = ""
    included: ClassVar[str]

    @abstractmethod
    def rule(self, settings: "SourceSettings") -> bytes:
        """Return by what pieces get keywords under settings, as a JSON object without line breaks; empty for none.

        Its ``number``, from 1 on, is raised where the same rule makes other keywords of a piece than before.
        """

    @abstractmethod
    def keywords(self, body: bytes, rule: bytes) -> Sequence[str]:
        """Return the keywords of a stored piece by a rule, without blanks in them; it does not look at other pieces."""

    def is_outdated(self, stored: bytes, current: bytes) -> bool:
        """Return whether keywords by a stored rule are to be made anew by the rule of these settings now."""
        del stored, current
        return False

    def exported(self) -> Mapping[str, Any]:
        """Return what stands beside exported settings by which there are such keywords; names end with ``Rule``."""
        return {}

    def figures(self, bodies: Iterable[bytes], settings: "SourceSettings") -> Mapping[str, Any]:
        """Return figures of some pieces for the verdict of an import."""
        del bodies, settings
        return {}


@functools.cache
def enrichments() -> Mapping[str, Enrichment]:
    """Return what packages make keywords by, by the category of these.

    Raises:
        BrokenPackage: two make keywords of the same category.
    """
    return {each.category: each for each in packages().enrichments()}


def rule_of(settings: "SourceSettings | None") -> bytes:
    """Return the rule by which pieces are to have keywords under settings."""
    rules = {} if settings is None else {name: each.rule(settings) for name, each in enrichments().items()}
    return _joined({name: rule for name, rule in rules.items() if rule})


def read_anew(before: "SourceSettings", after: "SourceSettings") -> list[str]:
    """Return the settings that differ by which all pieces would have to be read anew, by their JSON names."""
    names = []
    for kind in {each.settings: None for each in enrichments().values()}:
        members = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        old, new = before.of(kind), after.of(kind)
        names += [key for key, name in members if getattr(old, name) != getattr(new, name)]
    return names + [name for name in ("vocabulary", "attributes") if getattr(before, name) != getattr(after, name)]


def read_as(before: "SourceSettings", after: "SourceSettings") -> "SourceSettings":
    """Return settings but for those by which pieces would have to be read anew, which are as before."""
    for each in enrichments().values():
        after = after.having(before.of(each.settings))
    return replace(after, vocabulary=before.vocabulary, attributes=before.attributes)


@functools.lru_cache(maxsize=256)
def split_rule(rule: bytes) -> Mapping[str, bytes]:
    """Return the lines of a rule by their categories, without these."""
    lines = {}
    for line in rule.split(b"\n") if rule else ():
        category, tab, own = line.rpartition(b"\t")
        lines[category.decode() if tab else _FIRST] = own
    return lines


def absent_of(rule: bytes) -> Collection[str]:
    """Return the categories of a rule that no installed package makes keywords of."""
    return split_rule(rule).keys() - enrichments().keys()


def with_absent(stored: bytes, given: bytes) -> bytes:
    """Return a rule with what a stored one has of packages that are not installed."""
    absent = absent_of(stored)
    return _joined({**{name: line for name, line in split_rule(stored).items() if name in absent}, **split_rule(given)})


def exported_rules(categories: Collection[str]) -> dict[str, Any]:
    """Return what stands beside exported settings by which there are keywords of these categories."""
    made = [each for name, each in enrichments().items() if name in categories]
    return {key: value for each in made for key, value in each.exported().items()}


def figures_of(bodies: Collection[bytes], settings: "SourceSettings") -> dict[str, Any]:
    """Return what packages tell of some pieces in the verdict of an import."""
    return {key: value for each in enrichments().values() for key, value in each.figures(bodies, settings).items()}


def is_outdated(stored: bytes, current: bytes) -> bool:
    """Return whether keywords by a stored rule are to be made anew by that of now."""
    before, now = split_rule(stored), split_rule(current)
    return any(
        each.is_outdated(before[name], now[name])
        for name, each in enrichments().items()
        if name in before and name in now
    )


@functools.lru_cache(maxsize=256)
def keys_of(rule: bytes) -> Mapping[str, bytes]:
    """Return by what keywords are known beside a piece, by the categories of a rule that packages make some of.

    The number stands behind what releases of number 1 look for, so that they read these keywords. What such a node
    makes itself, by number 1 under the name of a later one, has no number, and is told from these by that.
    """
    return {name: _key(name, line) for name, line in split_rule(rule).items() if name in enrichments()}


def encode_keywords(body: bytes, rules: Iterable[bytes], stored: bytes = b"") -> bytes:
    """Return what is to be stored beside a piece: a line for each line of these rules.

    Lines that are ``stored`` already stay as they are, those of packages that are not installed among them.
    """
    lines = {line.partition(b" ")[0]: line for line in stored.split(b"\n")}
    kept: dict[bytes, bytes] = {}
    for name, rule in dict.fromkeys(line for each in rules for line in split_rule(each).items()):
        key, enrichment = _key(name, rule), enrichments().get(name)
        if key in lines:
            kept[key] = lines[key]
        elif enrichment is not None:
            kept[key] = b" ".join((key, " ".join(enrichment.keywords(body, rule)).encode()))
    return b"\n".join(kept.values())


def decode_keywords(stored: bytes, key: bytes) -> Sequence[str] | None:
    """Return the keywords of a key of those stored beside a piece; ``None`` where it has none by this rule."""
    for line in stored.split(b"\n"):
        if line.startswith(key + b" "):
            return line.decode().split()[1:]
    return None


def _joined(lines: Mapping[str, bytes]) -> bytes:
    return b"\n".join(_line(name, lines[name]) for name in sorted(lines))


def _line(category: str, rule: bytes) -> bytes:
    return rule if category == _FIRST else b"\t".join((category.encode(), rule))


@functools.lru_cache(maxsize=256)
def _key(category: str, rule: bytes) -> bytes:
    number = msgspec.json.decode(rule).get("number", 1)
    digest = hashlib.blake2b(_line(category, rule), digest_size=6).hexdigest()
    return (digest if number == 1 else f"{digest}:{number}").encode()

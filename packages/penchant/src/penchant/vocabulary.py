"""Vocabulary: keywords that stand for others, and those that count for nothing, without touching what is stored."""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_ENTRIES = 20_000
"""Keywords that a source's vocabulary names, all together (interface, section 11)."""


def keyword_name(category: str, keyword: str) -> str:
    """Return how a vocabulary names a keyword."""
    return f"{category}/{keyword}"


@dataclass(frozen=True)
class Vocabulary:
    """What keywords count as; each is named by its category and itself, ``genre/noir``.

    ``aliases`` leads from a keyword to that which it stands for, which is no alias itself; ``ignored`` ones are none.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.aliases or self.ignored)

    @functools.cached_property
    def digest(self) -> str:
        """A short text that no other vocabulary has; empty for none."""
        if not self:
            return ""
        aliases = [name for alias in sorted(self.aliases.items()) for name in alias]
        entries = "\0".join((*aliases, "", *sorted(self.ignored)))
        return hashlib.blake2b(entries.encode(), digest_size=8).hexdigest()

    def joined(self, other: "Vocabulary") -> "Vocabulary":
        """Return this vocabulary with another one added to it, whose word counts where the two contradict each other.

        Where one says that a keyword stands for a second, and the other that this stands for a third, the first stands
        for the third.
        """
        named = other.aliases.keys() | other.ignored
        # That others stand for it, and it for what stands for others itself, may go round in a circle.
        circles = {target for target in other.aliases.values() if self.aliases.get(target) in other.aliases}
        kept = {name: target for name, target in self.aliases.items() if name not in named | circles}
        added = {name: kept.get(target, target) for name, target in other.aliases.items()}
        aliases = {name: added.get(target, target) for name, target in kept.items()} | added
        return Vocabulary(aliases, (self.ignored | other.ignored) - aliases.keys())

    def read(self, category: str, keyword: str) -> tuple[str, str] | None:
        """Return the category and keyword that a keyword counts as; ``None`` where it counts for nothing."""
        name = keyword_name(category, keyword)
        target = self.aliases.get(name, name)
        if target in self.ignored:
            return None
        if target is name:
            return category, keyword
        # A keyword may hold a slash, and a category that others are in, too: what the two have in common is one.
        if target.startswith(f"{category}/"):
            return category, target[len(category) + 1 :]
        category, _, keyword = target.rpartition("/")
        return category, keyword


NO_VOCABULARY = Vocabulary()

"""Vocabulary: keywords that stand for others, and those that count for nothing, without touching what is stored."""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_ENTRIES = 20_000
"""Keywords that a source's vocabulary names, all together (interface, section 11)."""


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

    def read(self, category: str, keyword: str) -> tuple[str, str] | None:
        """Return the category and keyword that a keyword counts as; ``None`` where it counts for nothing."""
        name = f"{category}/{keyword}"
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

"""Vocabularies as pages change them: keywords that are made one, and such a change taken back.

A keyword is named by its category and itself, ``genre/noir``.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class JoinedKeyword(NamedTuple):
    """What a keyword stands for now, and stood for before; ``None`` where it was no alias."""

    name: str
    now: str
    former: str | None


@dataclass(frozen=True)
class EditedVocabulary:
    """What keywords count as: ``aliases`` leads from one to that which it stands for; ``ignored`` ones are none."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "EditedVocabulary":
        """Return the vocabulary of settings as the interface has them."""
        member = settings.get("vocabulary") or {}
        aliases = {name: each["to"] for each in member.get("aliases", ()) for name in each["from"]}
        return cls(aliases, frozenset(member.get("ignore", ())))

    @property
    def member(self) -> Mapping[str, Any]:
        """The vocabulary as a member of settings."""
        sources: dict[str, list[str]] = {}
        for name, target in self.aliases.items():
            sources.setdefault(target, []).append(name)
        aliases = [{"from": names, "to": target} for target, names in sources.items()]
        return {"aliases": aliases, "ignore": sorted(self.ignored)}

    @property
    def digest(self) -> str:
        """A short text that no other vocabulary has; empty for none."""
        if not self.aliases and not self.ignored:
            return ""
        aliases = [name for alias in sorted(self.aliases.items()) for name in alias]
        entries = "\0".join((*aliases, "", *sorted(self.ignored)))
        return hashlib.blake2b(entries.encode(), digest_size=8).hexdigest()

    def joined(self, names: Sequence[str], target: str) -> "EditedVocabulary":
        """Return this vocabulary with some keywords standing for one, whatever they stood for before.

        Where that one stands for another, or others for the joined ones, all stand for what it leads to in the end.
        """
        # That others stand for it, and it for what stands for others itself, may go round in a circle.
        circles = {target} if self.aliases.get(target) in names else set()
        kept = {name: to for name, to in self.aliases.items() if name not in {*names, *circles}}
        added = dict.fromkeys(names, kept.get(target, target))
        aliases = {name: added.get(to, to) for name, to in kept.items()} | added
        return EditedVocabulary(aliases, self.ignored - aliases.keys())

    def changes_since(self, before: "EditedVocabulary") -> list[JoinedKeyword]:
        """Return which aliases are new, or stand for something else than before."""
        changes = [JoinedKeyword(name, now, before.aliases.get(name)) for name, now in self.aliases.items()]
        return [change for change in changes if change.former != change.now]

    def without(self, changes: Iterable[JoinedKeyword]) -> "EditedVocabulary | None":
        """Return this vocabulary with some changes taken back; ``None`` where one of them holds no more."""
        aliases = dict(self.aliases)
        for name, now, former in changes:
            if aliases.get(name) != now:
                return None
            if former is None:
                del aliases[name]
            else:
                aliases[name] = former
        return EditedVocabulary(aliases, self.ignored)

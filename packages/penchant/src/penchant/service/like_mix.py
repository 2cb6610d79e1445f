"""Mix of likes: what the likes of a source are made of by type, and in words what a full like is there.

See interface, section 6: a like counts by its grade, its weight beside that of a full like of its source.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

import msgspec

from penchant.model import SourceSettings
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.model import TOP_GRADE, WHOLE, InteractionType

_NOUNS = {
    InteractionType.PURCHASE: ("purchase", "purchases"),
    InteractionType.RATE_LIKE: ("good rating", "good ratings"),
    InteractionType.WATCH: ("watch", "watches"),
    InteractionType.BOOKMARK: ("bookmark", "bookmarks"),
    InteractionType.PLAY: ("play", "plays"),
    InteractionType.CLICK: ("click", "clicks"),
    InteractionType.PREVIEW: ("preview", "previews"),
    InteractionType.RATE_DISLIKE: ("bad rating", "bad ratings"),
}
"""What an interaction of a type is called, one and several."""
_SHARES = {1: "a sixteenth", 2: "an eighth", 4: "a quarter", 8: "half", 12: "three quarters"}


class TypeOfLike(msgspec.Struct, frozen=True, kw_only=True):
    """A type of interaction with how many likes it is the heaviest act of, and the grade of a whole one."""

    type: InteractionType
    likes: int
    grade: int

    @property
    def noun(self) -> str:
        """What one is called, with its article."""
        return f"a {_NOUNS[self.type][0]}"

    @property
    def plural(self) -> str:
        """What several are called."""
        return _NOUNS[self.type][1]

    @property
    def is_full(self) -> bool:
        """Whether it is a full like."""
        return self.grade == TOP_GRADE

    @property
    def share(self) -> str:
        """How much of a full like it is, in words."""
        return "a full one" if self.is_full else f"{_SHARES.get(self.grade, f'{self.grade} sixteenths')} of one"


def mix_of_likes(counts: Mapping[InteractionType, int], full: FullLike, settings: SourceSettings) -> list[TypeOfLike]:
    """Return the types of a source's likes, those of the highest grade first, of one grade the most frequent."""
    weights = settings.like_weights
    mix = [
        TypeOfLike(type=kind, likes=count, grade=int(full.grades[weights[kind][WHOLE]]))
        for kind, count in counts.items()
        if count and kind in weights
    ]
    return sorted(mix, key=lambda each: (-each.grade, -each.likes, each.type.code))


def mix_sentence(mix: Iterable[TypeOfLike]) -> str:
    """Return in a sentence what a full like is where likes are such; "" without any."""
    types = list(mix)
    full, parts = [each for each in types if each.is_full], [each for each in types if not each.is_full]
    # Likes may be newer than what is a full one of them.
    if not full:
        return ""
    if not parts:
        each = f"{full[0].noun} is" if len(full) == 1 else "each is"
        return (
            f"A like counts by its grade: here {_joined(one.plural for one in full)} are what people do, "
            f"so {each} a full one."
        )
    most = max(types, key=lambda each: each.likes)
    mostly = f"most likes are {most.plural}; " if 2 * most.likes > sum(each.likes for each in types) else ""
    told = [f"{_joined((each.noun for each in full), 'or')} is a full one"]
    # They come by grade already.
    for share, alike in groupby(parts, key=lambda each: each.share):
        told.append(f"{_joined((each.noun for each in alike), 'or')} {share}")
    return f"A like counts by its grade: here {mostly}{_joined(told)}."


def _joined(words: Iterable[str], last: str = "and") -> str:
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end

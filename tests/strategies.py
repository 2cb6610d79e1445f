"""Random catalogues that are small and full of ties, and how many are tried."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

KEYWORDS = st.sampled_from(["a", "b", "c", "d", "e"])
PIECE_IDS = st.sampled_from([f"p{number}" for number in range(9)] + ["é", "😀"])
WEIGHTED = st.fixed_dictionaries({"key": KEYWORDS}, optional={"weight": st.integers(0, 9)})
CATEGORY_WEIGHTS = st.dictionaries(
    st.sampled_from(["genre", "tag", "deep/er", "none"]), st.sampled_from([0, 0.25, 0.5, 1, 2, 2.75, 100]), max_size=3
)


def _unique(items: list[Any]) -> list[Any]:
    """Keep one item for each keyword, so that no two weights conflict."""
    return list({item if isinstance(item, str) else item["key"]: item for item in items}.values())


KEYWORD_LISTS = st.lists(st.one_of(KEYWORDS, WEIGHTED), max_size=5).map(_unique)
CATEGORIES = st.fixed_dictionaries(
    {},
    optional={
        "genre": st.lists(KEYWORDS, max_size=4, unique=True),
        "tag": KEYWORD_LISTS,
        "deep": st.fixed_dictionaries({"er": KEYWORD_LISTS}),
    },
)
PIECES = st.builds(lambda piece_id, categories: {"id": piece_id, "categories": categories}, PIECE_IDS, CATEGORIES)
CATALOGUES = st.lists(PIECES, min_size=1, max_size=11, unique_by=lambda piece: str(piece["id"]))
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.lists(PIECES, max_size=4)),
        st.tuples(st.just("delete"), st.lists(PIECE_IDS, max_size=3)),
        st.tuples(st.just("clear"), st.just([])),
    ),
    max_size=12,
)
VALUES = st.sampled_from([0, 0.01, 0.25, 0.5, 0.58, 1, None])
"""What part of a piece something was of, where it is told."""
INTERACTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["Click", "Play", "Watch", "Bookmark", "Preview", "Purchase", "RateLike", "RateDislike"]
            ),
            "contentId": PIECE_IDS,
            "age": st.integers(0, 120),
        },
        optional={"value": VALUES},
    ),
    max_size=12,
)


SAID = st.fixed_dictionaries(
    {},
    optional={
        "keywords": st.dictionaries(
            st.sampled_from(["genre", "tag", "deep/er"]),
            st.dictionaries(KEYWORDS, st.sampled_from([1, 0.5, -0.25, -1]), min_size=1, max_size=3),
            max_size=3,
        ),
        "hidden": st.lists(PIECE_IDS, max_size=3, unique=True),
        "unusedCategories": st.lists(st.sampled_from(["genre", "tag", "deep"]), max_size=1),
    },
)
"""Preferences of a person, as they are sent."""


def examples(number: int) -> int:
    """Return how many examples to try where the long form tries a hundred by default: its part of this number."""
    return max(5, number * settings().max_examples // 100)

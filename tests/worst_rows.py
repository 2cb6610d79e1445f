"""Worst rows: pieces and rules whose lists cost most, for they can't be met, and much of them looks as if it could."""

from collections.abc import Callable, Mapping

import numpy as np

from penchant_engine.model import Term
from penchant_engine.ranking import ArrangedList, Diversity, ListOrder, PieceKeywords, QuotaCount, WorkBudget, arranged

LISTED = 30
Keywords = Callable[[int], list[tuple[str, int]]]

SHAPES: Mapping[str, tuple[Keywords, Mapping[str, int]]] = {
    "all share one": (lambda at: [("g", 0), ("d", at)], {"g": 1, "d": 1}),
    "all share one, two the other": (lambda at: [("g", 0), ("d", at // 2)], {"g": 1, "d": 1}),
    "pairs": (lambda at: [("d", at // 2)], {"d": 1}),
    "few of two": (lambda at: [("g", at * 7 % 12), ("g", (at * 5 + 1) % 12), ("d", at // 2)], {"g": 3, "d": 1}),
    "few of three": (lambda at: [("g", at % 9), ("d", at % 11), ("e", at % 13)], {"g": 2, "d": 2, "e": 2}),
}
"""The keywords of pieces by their places, and how many of a category may have the same."""


def order_of_shape(shape: str, pieces: int) -> ListOrder:
    """Return pieces of which three in four count for one of three quotas, which want more places than there are."""
    own = [[Term(name, str(number)) for name, number in SHAPES[shape][0](at)] for at in range(pieces)]
    names = sorted({term for terms in own for term in terms}, key=str)
    numbers = {term: number for number, term in enumerate(names)}
    rows = sorted({(at, numbers[term]) for at, terms in enumerate(own) for term in terms})
    owners, having = np.asarray(rows, dtype=np.int64).T
    keywords = PieceKeywords(count=pieces, owners=owners, numbers=having, names=names, units=np.ones_like(owners))
    return ListOrder(
        units=np.arange(pieces, 0, -1),
        raised=0,
        keywords=keywords,
        quotas=[QuotaCount(least=5, of=10)] * 3,
        counted=np.asarray([(1, 2, 4, 0)[at % 4] for at in range(pieces)], dtype=np.int64),
        best=pieces,
        spread=pieces,
    )


def worst_row(shape: str, pieces: int, diversity: float = 0.0, work: WorkBudget | None = None) -> ArrangedList:
    """Return the list of a shape: what it takes beyond its work is to grow no faster than its pieces do."""
    variety = Diversity(diversity=diversity, most=SHAPES[shape][1])
    return arranged(order_of_shape(shape, pieces), variety, LISTED, work)

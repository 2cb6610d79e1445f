"""Peers: what the models of other tools share: their items as pieces, their interactions as what people did.

Ids are texts here: those of a tool as they are written, whole numbers as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant_engine.catalogue import Catalogue
from penchant_engine.errors import InvalidInput
from penchant_engine.frames import ids_of
from penchant_engine.index.layout import IntArray
from penchant_engine.interactions import DEFAULT_KIND, kind_of
from penchant_engine.model import MAX_WEIGHT, InteractionType

SCALED_WEIGHT = 1_000
"""The weight of the greatest of some numbers that are not whole, such as tf-idf."""
Keywords = Mapping[str, Mapping[str, int | None]]
"""What a piece has, by category: keywords with their weights."""


def texts_of(ids: Any) -> list[str]:
    """Return ids of a tool as text.

    Raises:
        InvalidInput: two are written the same, or one is neither a text nor a whole number.
    """
    texts = ids_of(np.asarray(ids), "ids")
    if len(set(texts)) < len(texts):
        raise InvalidInput("Two ids are written the same; they need to be all texts, or all numbers.")
    return texts


def catalogue_of(ids: Sequence[str], keywords: Iterable[Sequence[Keywords]]) -> Catalogue:
    """Return items as a catalogue; of each attribute the ``keywords`` are those of every item."""
    columns = [*keywords]
    return Catalogue(
        # As pairs: a dictionary's keyword without a weight is none.
        {"id": each, "categories": {name: [*own.items()] for column in columns for name, own in column[row].items()}}
        for row, each in enumerate(ids)
    )


def keywords_of_matrix(matrix: Any, names: Sequence[tuple[str, str]]) -> list[Keywords]:
    """Return for each row of a sparse matrix of scipy (items, names) its keywords; names are of category and keyword.

    Entries are weights, unless all are 1; where some are not whole they are scaled. Those of 0 and less are none.
    """
    rows = matrix.tocsr()
    values = np.asarray(rows.data, dtype=np.float64)
    values = np.where(np.isfinite(values), values, 0.0)
    has_weights = bool((values[values > 0] != 1).any())
    if (values != np.rint(values)).any():
        values *= SCALED_WEIGHT / values.max()
    weights = np.clip(np.rint(values), 1, MAX_WEIGHT).astype(np.int64)
    found: list[Keywords] = []
    for begin, end in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        own: dict[str, dict[str, int | None]] = {}
        for place in range(begin, end):
            if values[place] > 0:
                category, keyword = names[rows.indices[place]]
                own.setdefault(category, {})[keyword] = int(weights[place]) if has_weights else None
        found.append(own)
    return found


def kinds_of(ratings: NDArray[Any] | None, count: int, like_from: float | None, dislike_to: float | None) -> IntArray:
    """Return the codes of interactions by their ratings: liked from one value on, disliked up to another; (n,)."""
    codes = np.full(count, kind_of(DEFAULT_KIND).code, dtype=np.int64)
    if ratings is not None and like_from is not None:
        codes[np.asarray(ratings, dtype=np.float64) >= like_from] = InteractionType.RATE_LIKE.code
    if ratings is not None and dislike_to is not None:
        codes[np.asarray(ratings, dtype=np.float64) <= dislike_to] = InteractionType.RATE_DISLIKE.code
    return codes

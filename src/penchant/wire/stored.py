"""What does the index need of a stored piece? Its terms with their effective weights, catalogs and window."""

from collections.abc import Mapping
from typing import Any

import msgspec

from penchant.model import Piece, Term
from penchant.wire.times import parse_timestamp


class _Stored(msgspec.Struct):
    id: str
    categories: dict[str, Any]
    filters: dict[str, Any] = {}


class _Labelled(msgspec.Struct):
    label: str | None = None


_decoder = msgspec.json.Decoder(_Stored)
_label_decoder = msgspec.json.Decoder(_Labelled)


def decode_stored_piece(body: bytes, first_submitted_at: int) -> Piece:
    """Return a piece as the index sees it, from the bytes that storage keeps.

    ``first_submitted_at``, in milliseconds since 1970 UTC, is where its window begins if it names no start.
    """
    stored = _decoder.decode(body)
    return piece_of(stored.id, stored.categories, stored.filters, first_submitted_at)


def decode_stored_label(body: bytes) -> str | None:
    """Return the label of a piece from the bytes that storage keeps; the rest is passed over."""
    return _label_decoder.decode(body).label


def piece_of(
    piece_id: str, categories: Mapping[str, Any], filters: Mapping[str, Any], first_submitted_at: int
) -> Piece:
    """Return the piece that these valid categories and filters describe."""
    given: dict[Term, int | None] = {}
    _gather(categories, "", given)
    weights = [weight for weight in given.values() if weight is not None]
    # Rounded half up, in integers: floor(mean + 1/2), at least 1; 1 where no keyword has a weight.
    mean = max(1, (2 * sum(weights) + len(weights)) // (2 * len(weights))) if weights else 1
    begins, ends = filters.get("availableFrom"), filters.get("availableUntil")
    return Piece(
        id=piece_id,
        weights={term: mean if weight is None else weight for term, weight in given.items()},
        weighted=bool(weights),
        catalogs=frozenset(filters.get("catalogs", ())),
        available_from=first_submitted_at if begins is None else parse_timestamp(begins),
        available_until=None if ends is None else parse_timestamp(ends),
    )


def _gather(level: Mapping[str, Any], path: str, given: dict[Term, int | None]) -> None:
    """Collect the terms of a level and those below it; a keyword that repeats counts once, with its weight."""
    for name, value in level.items():
        category = path + name
        if isinstance(value, dict):
            _gather(value, category + "/", given)
            continue
        for item in value:
            if isinstance(item, str):
                given.setdefault(Term(category, item), None)
            elif "key" in item:
                term = Term(category, item["key"])
                weight = item.get("weight")
                if weight is not None or term not in given:
                    given[term] = weight

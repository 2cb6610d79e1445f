"""All that a snapshot can be asked, so that two of them can be compared."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant.model import SourceSettings
from penchant.wire.stored import decode_stored_piece
from penchant_engine.index import Audience, Filter, Snapshot, Tally
from penchant_engine.index.building import term_table
from penchant_engine.index.layout import BlendFactors
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.order import OwnLikes
from penchant_engine.index.people.person import UserProfile
from penchant_engine.index.people.personal import BlendQuery, OverlapQuery, PersonBlend
from penchant_engine.index.queries import best_of
from penchant_engine.model import DAY_MS, Algorithm, IndexedPiece, InteractionType, OrderUse, Term

EVERYTHING = Filter(moment=1)
TERMS = [Term(category, keyword) for category in ("deep/er", "genre", "none", "tag") for keyword in "abcde"]
BLENDING = BlendFactors(0.5, 0.3, 0.2, total=1.0)
CREDITS = np.array([1.0, 0.5, 0.0])


def stored(piece: dict[str, Any], first_submitted_at: int = 0) -> IndexedPiece:
    """Return a piece as followers get it."""
    return decode_stored_piece(json.dumps(piece).encode(), first_submitted_at)


def snapshot_of(pieces: list[dict[str, Any]]) -> Snapshot:
    """Return the snapshot of these pieces, built at once."""
    return Snapshot.empty().apply({piece["id"]: stored(piece) for piece in pieces})


def similar(snapshot: Snapshot, piece_id: str, *, take: int = 30, **options: Any) -> list[tuple[str, float]]:
    """Return the nearest pieces with their distances."""
    asked = {"algorithm": None, "category_weights": {}} | options
    return [(each.id, each.distance) for each in snapshot.nearest(piece_id, EVERYTHING, take=take, **asked)]


def all_answers(snapshot: Snapshot, ids: list[str], weights: dict[str, float] | None = None) -> dict[str, Any]:
    """Return what a snapshot with these pieces answers under category weights, by question."""
    weights = weights or {}
    return {
        "count": snapshot.piece_count,
        "terms": {piece_id: snapshot.terms_of(piece_id) for piece_id in ids},
        "nearest": {
            (piece_id, algorithm): similar(snapshot, piece_id, algorithm=algorithm, category_weights=weights)
            for piece_id in ids
            for algorithm in (None, Algorithm.JACCARD, Algorithm.COSINE)
        },
        "frequencies": snapshot.document_frequencies(TERMS).tolist(),
        "days": dict(snapshot.day_counts()),
        "mean norm": snapshot.mean_norm(weights),
        "overlapping": best_of(snapshot.parts, OverlapQuery(snapshot, term_table(TERMS[:7]), fill=True), EVERYTHING, 5),
        "recommended": [_recommended(snapshot, weights, take, fill=fill) for take in (3, 30) for fill in (True, False)],
    }


def _recommended(snapshot: Snapshot, weights: dict[str, float], take: int, *, fill: bool) -> list[tuple[int, str]]:
    tally, settings = Tally.empty(0), SourceSettings(category_weights=weights)
    for version, (user, piece_id) in enumerate(((b"u1", "p1"), (b"u2", "p1"), (b"u2", "p2"), (b"u3", "é"))):
        tally.record(user.ljust(16), piece_id, InteractionType.PLAY, DAY_MS, version)
    catalogue = snapshot.merged()
    made = ItemItemModel.none()
    if len(catalogue):
        made = fit_item_item(tally.compacted().matrix(catalogue.ids, settings, 0), catalogue, weights)
    audience = Audience(tally.popularity(settings, 1), made)
    popular = audience.popular(snapshot.parts, (1, 30.0), lambda: CREDITS)
    alike = audience.alike(snapshot.parts, rows_of_likes(snapshot, {"p1": 4}), OrderUse.AUTO)
    taste = placed_taste(snapshot, {term: place - 6.5 for place, term in enumerate(TERMS)}, norm=3.0)
    blend = PersonBlend(taste=taste, popular=popular, liked=alike, factors=BLENDING, category_weights=weights)
    return best_of(snapshot.parts, BlendQuery(snapshot, blend, fill=fill), EVERYTHING, take)


def placed_taste(snapshot: Snapshot, values: Mapping[Term, float], norm: float) -> UserProfile:
    """Return a taste, ascending by term, against the parts of a snapshot."""
    keys, array = term_table(values), np.fromiter(values.values(), np.float64, len(values))
    placed = [part.segment.terms.find_all(keys) for part in snapshot.parts]
    return UserProfile(by_part=tuple((terms[terms >= 0], array[terms >= 0]) for terms in placed), norm=norm)


def rows_of_likes(snapshot: Snapshot, likes: Mapping[str, int], ranks: Mapping[str, int] | None = None) -> OwnLikes:
    """Return liked pieces, given by grade, in each part of a snapshot; by ``ranks``, or all of one moment."""
    known = [
        sorted(
            (row, grade, (ranks or {}).get(piece_id, 0))
            for piece_id, grade in likes.items()
            if (row := part.find(piece_id)) is not None
        )
        for part in snapshot.parts
    ]
    tables = [np.asarray(each, dtype=np.int64).reshape(-1, 3).T for each in known]
    # A snapshot without pieces has no parts.
    return OwnLikes(*([table[column] for table in tables] for column in range(3)))

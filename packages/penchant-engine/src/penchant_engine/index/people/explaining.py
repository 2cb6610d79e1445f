"""Explanations: what each term and each part adds to a score, as shares that add up to it.

Nothing here decides what is shown, and no search comes through here: it explains what `engine` has found.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from penchant_engine.index.building import term_of
from penchant_engine.index.factors import root_norms
from penchant_engine.index.layout import FloatArray, IntArray
from penchant_engine.index.part import Part
from penchant_engine.index.people.audience import LikeShare
from penchant_engine.index.people.personal import PersonBlend
from penchant_engine.index.segment import Segment
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import WORDS_CATEGORY, Algorithm, Term

LEAST_PEOPLE = 3
"""An audience share from fewer people is given without its piece, since it would tell of them."""


MAX_NAMED_TERMS = 1_000
"""Terms that an explanation names; the rest is summed up. What is not named is never made a string."""


class TermShare(NamedTuple):
    """What a term adds to a score."""

    term: Term
    share: float


MAX_NAMED_WORDS = 5
"""Words of texts that an explanation names: the rarest of those that say as much (D175 of docs/decisions.md)."""


class TermShares(msgspec.Struct, frozen=True, kw_only=True):
    """What terms add to a score: by name those `MAX_NAMED_TERMS` that say most, and what ``others`` add together.

    Greatest first, ties by category and keyword, of words the rarest first; zeros are left out.
    """

    named: tuple[TermShare, ...] = ()
    others: int = 0
    rest: float = 0.0


class ScoreParts(msgspec.Struct, frozen=True, kw_only=True):
    """What each part of a recommendation adds to its s; ``terms`` add up to ``content``.

    ``new`` is what the start credit lifts popularity by.
    """

    content: float
    terms: TermShares
    audience: float = 0.0
    likes: tuple[LikeShare, ...] = ()
    popularity: float = 0.0
    new: float = 0.0


def similarity_shares(asked: SimilarityQuery, snapshot: Snapshot, piece_id: str, factor: float = 1.0) -> TermShares:
    """Return what each shared term adds to the similarity of a piece, of which ``factor`` counts.

    Sums of integers, each divided once, as the search divides.

    Raises:
        KeyError: no live piece has this id.
    """
    part, row = _found(snapshot, piece_id)
    terms, values = asked.terms_in(part)
    own, weights = part.segment.piece(row)
    shared, of_query, of_piece = np.intersect1d(terms, own, assume_unique=True, return_indices=True)
    added = values[of_query].astype(np.float64)
    norm = float(asked.norms_in(part.segment).exact[row])
    if asked.algorithm is Algorithm.COSINE:
        added *= weights[of_piece]
        total = math.sqrt(asked.norm * norm)
    else:
        total = asked.norm + norm - float(added.sum())
    return _named(part.segment, shared, added * factor / total) if len(shared) else TermShares()


def blended_parts(
    snapshot: Snapshot, blend: PersonBlend, piece_id: str, *, owed: Callable[[str], Sequence[LikeShare]]
) -> ScoreParts:
    """Return what the parts add to a piece's s for a person; ``owed`` tells which likes a piece owes part a to.

    Raises:
        KeyError: no live piece has this id.
    """
    part, row = _found(snapshot, piece_id)
    factors = blend.factors
    by_content, by_audience, by_popularity = (
        each / factors.total for each in (factors.content, factors.audience, factors.popularity)
    )
    # Figures lie by part, in the order of the snapshot that they were asked for.
    number = snapshot.parts.index(part)
    terms, shares = _content_shares(snapshot, blend, number, row)
    popular, audience = blend.popular, blend.liked[number].of_row(row)
    popular_share, lifted = float(popular.shares[number][row]), float(popular.lifted[number][row])
    return ScoreParts(
        content=_plain(math.fsum(shares.tolist()) * by_content),
        terms=_named(part.segment, terms, shares * by_content),
        audience=_plain(audience * by_audience),
        likes=tuple(like._replace(share=like.share * by_audience) for like in (owed(piece_id) if audience else ())),
        popularity=_plain(popular_share * by_popularity),
        new=_plain((lifted - popular_share) * by_popularity),
    )


def _content_shares(snapshot: Snapshot, blend: PersonBlend, number: int, row: int) -> tuple[IntArray, FloatArray]:
    """Return the terms of a piece of a part that a person's taste has, ascending, and what each adds to part c."""
    segment = snapshot.parts[number].segment
    terms, weights = segment.piece(row)
    root = float(root_norms(segment, blend.category_weights)[row])
    divisor = blend.taste.norm * (root + snapshot.mean_norm(blend.category_weights) / 2)
    known, amounts = blend.taste.by_part[number]
    shared, of_piece, of_taste = np.intersect1d(terms, known, assume_unique=True, return_indices=True)
    values = amounts[of_taste] * np.sqrt(weights[of_piece].astype(np.float64))
    return shared, values / divisor if divisor else np.zeros(len(values))


def overlap_parts(liked: Strings, snapshot: Snapshot, piece_id: str) -> ScoreParts:
    """Return what each shared term adds to the overlap of a piece with the terms that a person likes.

    ``liked`` are written as in the table of a segment, ascending.

    Raises:
        KeyError: no live piece has this id.
    """
    part, row = _found(snapshot, piece_id)
    terms, _ = part.segment.piece(row)
    shared = terms[liked.find_all(part.segment.terms, terms.astype(np.int64)) >= 0]
    union = len(liked) + len(terms) - len(shared)
    if not union:
        return ScoreParts(content=0.0, terms=TermShares())
    return ScoreParts(content=len(shared) / union, terms=_named(part.segment, shared, np.full(len(shared), 1 / union)))


def disclosable(likes: Sequence[LikeShare]) -> tuple[LikeShare, ...]:
    """Return those likes of an audience that may be named, the greatest share first, ties by id.

    What fewer than three people liked together, or soon after each other, would tell what one of them likes: such a
    piece is left out, while its share stays within that of the part.
    """
    named = [like for like in likes if like.people >= LEAST_PEOPLE and like.share]
    return tuple(sorted(named, key=lambda like: (-like.share, like.id, like.through or "", like.is_soon_after)))


def _named(segment: Segment, terms: IntArray, shares: FloatArray) -> TermShares:
    """Return what terms of a segment, ascending, add: those that say most by name."""
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] != 0]
    chosen = _chosen_words(segment, terms, shares) if WORDS_CATEGORY in segment.category_names else order
    kept = chosen
    if len(kept) > MAX_NAMED_TERMS:
        # The shares stay in their order: cut by size, not sorted. More than that many may be as large as the least.
        sizes = np.abs(shares[chosen])
        least = np.partition(sizes, -MAX_NAMED_TERMS)[-MAX_NAMED_TERMS]
        kept = chosen[sizes >= least][:MAX_NAMED_TERMS]
    keys, named = segment.terms.take(terms[kept].tolist()), shares[kept].tolist()
    return TermShares(
        named=tuple(TermShare(term_of(key), share) for key, share in zip(keys, named, strict=True)),
        others=len(order) - len(kept),
        # Named ones subtracted within the sum, which rounds once: it adds up to the whole with them.
        rest=math.fsum([*shares.tolist(), *(-share for share in named)]),
    )


def _chosen_words(segment: Segment, terms: IntArray, shares: FloatArray) -> IntArray:
    """Return the places of terms that add something, greatest first: of words a few, of equal ones the rarest first."""
    places = np.flatnonzero(shares)
    is_word = segment.category_of[terms[places]] == segment.category_names.index(WORDS_CATEGORY)
    pieces = np.where(is_word, np.diff(segment.posting_starts)[terms[places]], 0)
    # Terms ascend by category and keyword, as those of equal shares do.
    order = np.lexsort((places, pieces, segment.category_of[terms[places]], -shares[places]))
    is_kept = ~is_word[order] | (np.cumsum(is_word[order]) <= MAX_NAMED_WORDS)
    chosen: IntArray = places[order[is_kept]]
    return chosen


def _plain(share: float) -> float:
    """Return a share without the sign that a zero may have."""
    return share + 0.0


def _found(snapshot: Snapshot, piece_id: str) -> tuple[Part, int]:
    found = snapshot.find(piece_id)
    if found is None:
        raise KeyError(piece_id)
    return found

"""Layout: units, types of arrays and the records that kernels take, shared by the parts of the index.

Plain values: no numba here, which only the compiler of kernels loads.
"""

from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.computed import computed
from penchant_engine.model import TOP_GRADE

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Mask: TypeAlias = NDArray[np.uint8]
"""One byte a piece, 1 where it may be shown."""
Numbers: TypeAlias = NDArray[np.uint32]
Days: TypeAlias = NDArray[np.int32]
"""UTC days since 1970."""
Weights: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]
"""Weights of keywords: bytes where all of a segment fit, else 16 bits."""

DISTANCE_SCALE = 10**12
"""Distances are rounded to 12 decimals (interface, section 5) and compared as integers of this unit."""
SCORE_SCALE = 10**9
"""Scores of recommendations are rounded to nine decimals (interface, section 6) and compared likewise."""
PENALTY = 12_800
"""What the ridge regression adds to the diagonal: 50 likes of the top grade."""
WEIGHT_SCALE = 1 << 20
"""Weights between pieces are integers of this unit."""
SHARE_SCALE = 1 << 16
"""Shares of stand-ins, the evidence that pieces lack, and unit vectors are integers of this unit."""
LIKENESS_SCALE = 10**12
"""Likeness to stand-ins is compared in this unit, so that noise of doubles decides no tie."""
PEOPLE_SHIFT = 40
"""Overlaps take so many bits while they are added up; above them the people of a pair are counted."""
FACTOR_SCALE = 1 << 12
"""What a like counts is an integer of this unit: v' of the interface, section 6, is so many times the grade."""
DIRECT_SCALE = TOP_GRADE * WEIGHT_SCALE * FACTOR_SCALE
LENT_SCALE = DIRECT_SCALE * SHARE_SCALE
OWN_SCALE = TOP_GRADE * SHARE_SCALE
"""The units of sums of v' x weight, of share x v' x weight, and of share x grade.

A direct sum fits 64 bits: the v' of a person add up to 2^26 at most (1,000 likes of grade 16), a weight has 32 bits;
h x g x v x T is 2^40 at most, and a thousand of them less than 2^50. What is lent may not fit (`LENT_BITS`).
"""
LENT_BITS = 46
"""Direct sums below 2 to this are lent in one word, since the shares of a piece's stand-ins add up to 2^16."""
WORD_BITS = 32
"""Bits of the lower word of what does not fit one."""
WINDOW = 10
"""Ranks that two likes are apart at most where one comes soon after the other."""
CLOSENESS = (0, 16, 13, 10, 8, 6, 5, 4, 3, 3, 2)
"""What two likes of a person count by how many ranks they are apart."""
TOTAL_BITS = 40
"""Bits of the lower word of sums of products of counts, which have as many each."""
SUCCESSION_PENALTY = 40_960
"""What is added to all that is liked soon after a piece: ten neighbouring likes of the top grade."""
NOWHERE = 1 << 62
"""The row of an empty entry of a heap; as a limit, one that every key is below."""
FARTHEST = DISTANCE_SCALE + 1
"""A limit of distances: every piece with any similarity is nearer."""

Values: TypeAlias = NDArray[np.uint8] | NDArray[np.int16] | NDArray[np.int32] | FloatArray
"""What each term of a query adds, in the type that sums are counted in."""

COUNT, DOT, SIZE = 0, 1, 2
"""What a query adds up: shared terms, products of weights, or shared terms by their category's weight."""
NO_WEIGHTS: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
Record = TypeVar("Record")


class LastingArrays:
    """Arrays that kernels take in call after call; ``packed`` has by its maker how these are called with them."""

    @computed
    def packed(self) -> dict[object, bytes]:
        """What was found of them for calls: for as long as they are there, they lie at their places in memory."""
        return {}


def lasting(record: type[Record]) -> type[Record]:
    """Return a record of arrays as `LastingArrays`: for those that are kept from one request to the next."""
    members = {"__doc__": record.__doc__, "__module__": record.__module__, "__qualname__": record.__qualname__}
    return type(record.__name__, (LastingArrays, record), members)


class KernelQuery(NamedTuple):
    """A query against one segment; ``values`` has the type that sums are counted in."""

    mode: int
    terms: IntArray
    values: Values
    norm: float


class _PostingArrays(NamedTuple):
    starts: IntArray
    pieces: Numbers
    weights: Weights


class Postings(LastingArrays, _PostingArrays):
    """By term: the rows, ascending, of the pieces that have it, and its weight in each."""

    @computed
    def unweighted(self) -> "Postings":
        """The same without weights, for kernels that count terms alone."""
        return Postings(self.starts, self.pieces, NO_WEIGHTS)


@lasting
class FrequentTerms(NamedTuple):
    """Frequent terms, stored so that they are added up faster: bits of the 64 most frequent by piece, and columns.

    ``signatures`` have a word for each piece, ``columns`` a weight for each piece, 0 where it lacks the term. ``bits``
    and ``slots`` are by term its bit or column, -1 for none. Shapes: (n_terms,), (n_pieces,), (n_terms,),
    (n_columns, n_pieces).
    """

    bits: NDArray[np.int8]
    signatures: NDArray[np.uint64]
    slots: NDArray[np.int16]
    columns: NDArray[np.uint8]


@lasting
class PieceEntries(NamedTuple):
    """By piece: its terms, ascending, and its weight of each; ``starts`` (n + 1,) cuts both into pieces."""

    starts: IntArray
    terms: Numbers
    weights: Weights


@lasting
class Taste(NamedTuple):
    """A person's taste against one segment; terms ascend, since the order of additions is fixed.

    ``table`` is what a keyword's weight counts, by weight: its square root times the unit of category weights.
    """

    terms: IntArray
    values: FloatArray
    table: FloatArray
    norm: float
    mean_norm: float


class ProfileDots(msgspec.Struct, eq=False):
    """Dot products of all pieces of a segment with a taste, (n_pieces,), once they are known: before, room for them."""

    values: FloatArray
    are_known: bool = False


@lasting
class BlendFactors(NamedTuple):
    """Weights of the parts of a recommendation, that of ``content`` multiplied by gamma already.

    Their weighted sum is divided by ``total``.
    """

    content: float
    audience: float
    popularity: float
    total: float


@lasting
class Norms(NamedTuple):
    """Norms that distances divide by; shapes (n_pieces,).

    ``bounds`` is ``scale`` times the norm, rounded down and cut off at what its type holds: never more than the
    truth, so that a test against it is conservative.
    """

    bounds: NDArray[np.uint8] | NDArray[np.uint16]
    scale: float
    exact: Numbers | FloatArray


class SparseShares(NamedTuple):
    """Shares of those pieces that have any: rows, ascending, and a share of each, none of 0."""

    rows: IntArray
    values: FloatArray

    @classmethod
    def of(cls, shares: FloatArray) -> "SparseShares":
        """Return the shares of all pieces, (n_pieces,), without those of 0."""
        rows = np.flatnonzero(shares)
        return cls(rows, shares[rows])

    def of_row(self, row: int) -> float:
        """Return the share of one piece."""
        at = int(np.searchsorted(self.rows, row))
        return float(self.values[at]) if at < len(self.rows) and self.rows[at] == row else 0.0

    def among(self, rows: IntArray) -> "SparseShares":
        """Return the shares of some pieces, whose rows ascend."""
        known = np.append(rows, -1)[np.searchsorted(rows, self.rows)] == self.rows
        return SparseShares(self.rows[known], self.values[known])

    def by_row(self, count: int) -> FloatArray:
        """Return the shares of so many pieces, 0 for those without."""
        shares = np.zeros(count)
        shares[self.rows] = self.values
        return shares


NO_SHARES = SparseShares(np.zeros(0, dtype=np.int64), np.zeros(0))
"""The shares of no piece."""


@lasting
class PieceFeatures(NamedTuple):
    """What a recommendation needs of every piece beside its terms: norms and part p, (n_pieces,), and part a."""

    roots: FloatArray
    popular: FloatArray
    audience: SparseShares


class LikeMatrix(NamedTuple):
    """Likes of 1 to 16, by weight or by grade, twice: by person with ascending pieces, by piece with ascending people.

    ``person_starts`` (u + 1,) cuts ``pieces``, ``grades`` and ``ranks`` into people, ``piece_starts`` (n + 1,)
    ``people`` and ``piece_grades`` into pieces. A rank is how many of the person's likes are later. ``gaps`` (2,) are
    how many differences above 0 there are between the moments of people's neighbouring likes, and how many of these
    have the commonest value.
    """

    person_starts: IntArray
    pieces: Numbers
    grades: NDArray[np.uint8]
    piece_starts: IntArray
    people: Numbers
    piece_grades: NDArray[np.uint8]
    ranks: NDArray[np.uint16]
    gaps: IntArray


class LikeSequences(NamedTuple):
    """Likes by person, the latest first, and by piece.

    ``person_starts`` (u + 1,) cuts ``pieces``, ``grades``, ``ranks`` and ``ends`` into people. Likes of one moment lie
    from the place that their rank says to that of ``ends``. ``piece_starts`` (n + 1,) cuts ``people``,
    ``piece_grades`` and ``piece_ranks`` into pieces.
    """

    person_starts: IntArray
    pieces: Numbers
    grades: NDArray[np.uint8]
    ranks: NDArray[np.uint16]
    ends: NDArray[np.uint16]
    piece_starts: IntArray
    people: Numbers
    piece_grades: NDArray[np.uint8]
    piece_ranks: NDArray[np.uint16]


class LikeSeeds(NamedTuple):
    """A person's likes by row of the weights: grades v, what each counts, v', and what its successors do, h g v."""

    rows: IntArray
    grades: IntArray
    factors: IntArray
    successor_factors: IntArray


class SparseRows(NamedTuple):
    """Rows of numbers, ascending, with a value each; ``starts`` cuts both into rows."""

    starts: IntArray
    numbers: Numbers
    values: FloatArray


class LikenessNorms(NamedTuple):
    """What content likeness of pieces divides by; shapes (n,): lengths as a profile and as a piece, and their mean."""

    profiles: FloatArray
    roots: FloatArray
    mean: float


@lasting
class ItemItemMatrix(NamedTuple):
    """Weights and stand-ins of ``n`` pieces, from which part a is added up.

    ``starts`` (n + 1,) cuts ``targets``, ascending, and ``values`` into what a like of each piece says of others, in
    `WEIGHT_SCALE`. ``lent_starts`` (n + 1,) cuts ``borrowers``, ascending, and ``lent_shares`` into the pieces that
    each piece stands in for; ``evidence`` (n,) is how much stand-ins count. Both are in `SHARE_SCALE`.
    ``successor_starts`` (n + 1,) cuts ``successors``, ascending, and ``successor_values`` into what is liked soon
    after each piece, in `WEIGHT_SCALE`.
    """

    starts: IntArray
    targets: Numbers
    values: NDArray[np.int32]
    lent_starts: IntArray
    borrowers: Numbers
    lent_shares: NDArray[np.int32]
    evidence: NDArray[np.int32]
    successor_starts: IntArray
    successors: Numbers
    successor_values: NDArray[np.int32]


class PersonPairs(NamedTuple):
    """What people did with pieces, by person: rows, ascending, and what each adds to the taste.

    ``starts`` (u + 1,) cuts the others, (z,), into people.
    """

    starts: IntArray
    rows: Numbers
    values: FloatArray


class PersonEvents(NamedTuple):
    """What a person did, newest first: numbers of pieces, codes, and moments in milliseconds."""

    numbers: IntArray
    codes: IntArray
    moments: IntArray


@lasting
class CodeTables(NamedTuple):
    """By code weight, grade, and whether it is a rating or marks a piece as seen; by age what is left of a weight."""

    weights: FloatArray
    grades: NDArray[np.uint8]
    are_ratings: BoolArray
    mark_seen: BoolArray
    halves: FloatArray


class PieceFacts(NamedTuple):
    """By piece what a person did with it makes: grade and rank of a like, the value for the taste, if it is seen.

    A grade of 0 is no like, and has a rank of 0.
    """

    grades: IntArray
    ranks: IntArray
    values: FloatArray
    seen: BoolArray


class FactsBuffers(NamedTuple):
    """Zeros by piece to make `PieceFacts` in: what sums of doubles lose, the latest rating, and what has its rank."""

    lows: FloatArray
    ratings: NDArray[np.uint8]
    ranked: NDArray[np.uint8]


class PieceTerms(NamedTuple):
    """By piece: its terms, ascending, and its weight of each; by term f and its category; by category its weight."""

    starts: IntArray
    terms: Numbers
    weights: Weights
    rarities: FloatArray
    categories: Numbers
    factors: FloatArray


class PersonBlends(NamedTuple):
    """`BlendFactors` of many people, of which ``content`` and ``total`` are by person."""

    content: FloatArray
    audience: float
    popularity: float
    total: FloatArray


@lasting
class ProfileBuffers(NamedTuple):
    """Room to make a taste in: by term (v,), sums of zeros before and after, with a bit for each; then the taste."""

    highs: FloatArray
    lows: FloatArray
    bits: Numbers
    numbers: IntArray
    scores: FloatArray

    @classmethod
    def of(cls, term_count: int) -> "ProfileBuffers":
        """Return room for so many terms; what no taste has come to takes no memory."""
        highs, lows = np.zeros(term_count), np.zeros(term_count)
        bits = np.zeros(term_count // 32 + 1, dtype=np.uint32)
        return cls(highs, lows, bits, np.empty(term_count, dtype=np.int64), np.empty(term_count))


@lasting
class ShareBuffers(NamedTuple):
    """Room to add up part a in: of zeros before and after, by piece of a block, with a bit for each in ``met``.

    ``rows`` and ``direct`` (n_pieces,) are the pieces that likes speak for, and what they say of them. ``cursors`` are
    of these or of the likes, ``own_cursors`` of the likes. Where one word does not hold what is lent, ``highs`` and
    ``lent_highs`` have the upper ones, with cursors of their own.
    """

    sums: IntArray
    lent: IntArray
    liked: IntArray
    met: Numbers
    rows: IntArray
    direct: IntArray
    cursors: IntArray
    own_cursors: IntArray
    lent_highs: IntArray
    highs: IntArray
    high_cursors: IntArray

    @classmethod
    def of(cls, block: int, piece_count: int, like_count: int) -> "ShareBuffers":
        """Return room for blocks of so many pieces, for pieces and for likes; what is not touched takes no memory."""
        sums, lent, liked, lent_highs = (np.zeros(block, dtype=np.int64) for _ in range(4))
        rows, direct, highs, high_cursors = (np.empty(piece_count, dtype=np.int64) for _ in range(4))
        return cls(
            sums=sums,
            lent=lent,
            liked=liked,
            met=np.zeros(-(-block // 32), dtype=np.uint32),
            rows=rows,
            direct=direct,
            cursors=np.empty(max(piece_count, like_count), dtype=np.int64),
            own_cursors=np.empty(like_count, dtype=np.int64),
            lent_highs=lent_highs,
            highs=highs,
            high_cursors=high_cursors,
        )

    def holds(self, block: int, piece_count: int, like_count: int) -> bool:
        """Return whether it is room for such blocks, and so many pieces and likes."""
        return len(self.sums) == block and len(self.rows) >= piece_count and len(self.own_cursors) >= like_count


class Choice(NamedTuple):
    """Which pieces may be returned, and how many: those with a key below ``limit``; ``excluded`` ascends."""

    mask: Mask
    excluded: IntArray
    take: int
    limit: int


LANES = 16
"""People whose lists are searched at once."""


class StandIns(NamedTuple):
    """By piece of ``n`` with weights its stand-ins and their shares, in `SHARE_SCALE`; none of what has no weights.

    ``starts`` (n + 2,) cuts both.
    """

    starts: IntArray
    numbers: Numbers
    values: NDArray[np.int32]


class GroupPieces(NamedTuple):
    """What lists of many people need of ``n`` pieces: their terms, and what a keyword's weight counts, by weight.

    By piece what is shown to somebody, the row among the weights, ``n_weights`` for none, the evidence that it lacks,
    the norm, and part p. The ``loan`` is that of the source.
    """

    terms: PieceTerms
    table: FloatArray
    mask: Mask
    weight_rows: IntArray
    lacking: FloatArray
    roots: FloatArray
    half_mean_norm: float
    popular: FloatArray
    stand_ins: StandIns
    loan: float


class GroupPeople(NamedTuple):
    """``u`` people: what they did with pieces; their likes by row of the weights; the rows of pieces not to be shown.

    ``like_starts`` and ``seen_starts`` (u + 1,) cut the likes and what is seen, ascending, into people.
    """

    pairs: PersonPairs
    like_starts: IntArray
    likes: LikeSeeds
    seen_starts: IntArray
    seen: Numbers


@lasting
class GroupBuffers(NamedTuple):
    """Room to find the lists of `LANES` people at once in.

    By term and lane ``values``, the tastes, of zeros before and after, and ``has_term`` which terms any of them has,
    listed in ``terms``. By piece of the weights and lane ``direct``, what likes say, and ``liked``, what they lend, of
    zeros before and after; the last row, for pieces without weights, stays so. ``hidden`` has by piece a bit for each
    lane that is not shown it, of zeros before and after. The rest, by lane, is what is added up of a piece, and what is
    known of a person.
    """

    taste: ProfileBuffers
    values: FloatArray
    has_term: NDArray[np.uint8]
    terms: IntArray
    direct: IntArray
    liked: NDArray[np.int32]
    dots: FloatArray
    lent: IntArray
    norms: FloatArray
    contents: FloatArray
    least: FloatArray
    hidden: Numbers

    @classmethod
    def of(cls, term_count: int, piece_count: int, weight_count: int) -> "GroupBuffers":
        """Return room for so many terms, pieces, and pieces with weights."""
        dots, norms, contents, least = (np.zeros(LANES) for _ in range(4))
        return cls(
            taste=ProfileBuffers.of(term_count),
            values=np.zeros(term_count * LANES),
            has_term=np.zeros(term_count, dtype=np.uint8),
            terms=np.empty(term_count, dtype=np.int64),
            direct=np.zeros((weight_count + 1) * LANES, dtype=np.int64),
            liked=np.zeros((weight_count + 1) * LANES, dtype=np.int32),
            dots=dots,
            lent=np.zeros(LANES, dtype=np.int64),
            norms=norms,
            contents=contents,
            least=least,
            hidden=np.zeros(piece_count, dtype=np.uint32),
        )

    def is_for(self, term_count: int, piece_count: int, weight_count: int) -> bool:
        """Return whether it is room for so many terms, pieces, and pieces with weights."""
        sizes = len(self.has_term), len(self.hidden), len(self.liked)
        return sizes == (term_count, piece_count, (weight_count + 1) * LANES)

"""Engine: each search by compiled kernels where they are ready, by numpy otherwise, with the same answers.

Compiling takes seconds, so the builder's child does it. A thread of `penchant_engine.compiling` loads the kernels of a
kind (`Kind`) once they are there, and hands them in by `use`. While a service runs, no kind goes back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import over_ranges, run_places, starts_of
from penchant_engine.index.best import Hits, Keys, in_order
from penchant_engine.index.compiled import exact, ridge_exact
from penchant_engine.index.compiled.native_kernels import NativeKernel
from penchant_engine.index.compiled.samples import FINDING, RIDGE, Kind
from penchant_engine.index.layout import (
    CLOSENESS,
    BlendFactors,
    BoolArray,
    Choice,
    CodeTables,
    FactsBuffers,
    FloatArray,
    FrequentTerms,
    GroupBuffers,
    GroupPeople,
    GroupPieces,
    IntArray,
    ItemItemMatrix,
    KernelQuery,
    LikeMatrix,
    LikenessNorms,
    LikeSeeds,
    LikeSequences,
    Norms,
    Numbers,
    PersonBlends,
    PersonEvents,
    PersonPairs,
    PieceEntries,
    PieceFacts,
    PieceFeatures,
    PieceTerms,
    Postings,
    ProfileBuffers,
    ProfileDots,
    ShareBuffers,
    SparseRows,
    SparseShares,
    Taste,
)

Text: TypeAlias = NDArray[np.uint8]
Kernel: TypeAlias = NativeKernel

BLOCK = 65_536
REAL_BLOCK = 8_192
"""Sums that a kernel holds at once: equal to `kernels.BLOCK` and `REAL_BLOCK`, which only the compiler imports."""
SHARE_BLOCK = 65_536
"""Pieces that part a is added up of at once: three arrays of sums fit the cache."""
QUICK_PIECES = 32_768
"""Pieces of a segment that are searched with the interpreter's lock held, tens of us (D124 of docs/decisions.md)."""
QUICK_ROWS = 64
"""Pieces of a person whose taste is made so, and strings that are found so."""
QUICK_LIKES = 256
"""Likes whose shares of so few pieces are added up so."""
QUICK_EVENTS = 1_024
"""Interactions of a person that are gone through so, some ns each."""
MANY_PIECES = 2
"""Of so many pieces a search may take half as long as scoring one of them by its own terms."""
SHARED_PIECES = 1_000_000
"""Pieces of a segment from which a search is shared by threads: half a millisecond and more."""
MAX_DENSE = 500
"""Pieces of which numpy makes weights: all their pairs are held at once."""


class SearchThreads(msgspec.Struct, frozen=True):
    """Threads that search a range of rows each: how many, and what runs a function in them, as `Executor.map`."""

    count: int
    run: Callable[[Callable[[int, int], Hits], Sequence[int], Sequence[int]], Iterable[Hits]]


class _Engine:
    """The kernels of this process by kind and name, once there are any. They change no answer, only its speed."""

    def __init__(self) -> None:
        self.kernels: Mapping[Kind, Mapping[str, Kernel]] = {}
        self.missed: Callable[[], None] = lambda: None
        self.threads: SearchThreads | None = None
        self.taste_rooms: list[ProfileBuffers] = []
        self.share_rooms: list[ShareBuffers] = []
        self.group_rooms: list[GroupBuffers] = []
        """Room that nobody works in: what it takes is not asked of the machine, and cleared, each time."""

    def taste_room(self, term_count: int) -> ProfileBuffers:
        """Return room for so many terms, to be put back by who has it, any number of threads at once."""
        while self.taste_rooms:
            room = self.taste_rooms.pop()
            if len(room.highs) >= term_count:
                return room
        return ProfileBuffers.of(term_count)

    def share_room(self, block: int, piece_count: int, like_count: int) -> ShareBuffers:
        """Return room for blocks of so many pieces, for pieces and for likes, to be put back by who has it."""
        while self.share_rooms:
            room = self.share_rooms.pop()
            if room.holds(block, piece_count, like_count):
                return room
        # More than is needed now, since the next person may like more.
        return ShareBuffers.of(block, piece_count, 2 * like_count)

    def group_room(self, *sizes: int) -> GroupBuffers:
        """Return room of sizes as `GroupBuffers.of` takes them, to be put back by who has it."""
        while self.group_rooms:
            room = self.group_rooms.pop()
            if room.is_for(*sizes):
                return room
        return GroupBuffers.of(*sizes)

    def over_rows(self, count: int, search: Callable[[int, int], Hits]) -> Hits:
        """Return what a search finds in so many rows, in no order: of many, by all threads, a range of rows each."""
        threads = self.threads
        if threads is None or count < SHARED_PIECES:
            return search(0, count)
        cuts = [count * number // threads.count for number in range(threads.count + 1)]
        keys, rows = zip(*threads.run(search, cuts[:-1], cuts[1:]), strict=True)
        return np.concatenate(keys), np.concatenate(rows)

    def kernel(self, name: str, kind: Kind) -> Kernel | None:
        """Return a compiled kernel, or ``None`` where it is not ready, which is told."""
        kernel = self.kernels.get(kind, {}).get(name)
        if kernel is None:
            self.missed()
        return kernel


_engine = _Engine()


def use(kernels: Mapping[Kind, Mapping[str, Kernel]]) -> None:
    """Search with these kernels from now on; with none, by numpy alone."""
    # A new mapping each time: a search in another thread sees this one or the one before.
    _engine.kernels = {kind: by_name for kind, by_name in kernels.items() if by_name}


def add(kernels: Mapping[Kind, Mapping[str, Kernel]]) -> None:
    """Search with these kernels, too, from now on."""
    use({**_engine.kernels, **kernels})


def on_missed(tell: Callable[[], None]) -> None:
    """Have a function called by each search, in its thread, for which no kernel is ready."""
    _engine.missed = tell


def share(threads: SearchThreads | None) -> None:
    """Search segments of `SHARED_PIECES` and more by these threads from now on; with ``None`` by the caller's alone."""
    _engine.threads = threads


def is_ready(*kinds: Kind) -> bool:
    """Return whether kernels are compiled for these kinds."""
    return _engine.kernels.keys() >= set(kinds)


def nearest(query: KernelQuery, postings: Postings, frequent: FrequentTerms, norms: Norms, choice: Choice) -> Hits:
    """Return the nearest pieces of a segment; see `exact.nearest`."""
    sums_type = query.values.dtype
    # Shared terms are counted without their weights: one kind of kernel serves weights of 8 and of 16 bits.
    if sums_type == np.uint8:
        postings = postings.unweighted
    kernel = None
    # Integers past 32 bits come as reals, and numpy alone counts those: of real sums only `best` has kernels.
    if sums_type != np.float64:
        kernel = _engine.kernel("nearest", (sums_type.char, postings.weights.dtype.char))
    if kernel is None:
        return exact.nearest(query, postings, norms, choice)
    run = kernel.quickly if len(choice.mask) <= QUICK_PIECES else kernel

    def search(first: int, last: int) -> Hits:
        keys, rows = np.empty((2, choice.take), dtype=np.int64)
        sums = np.empty(min(BLOCK, last - first), dtype=sums_type)
        cursors = np.empty(len(query.terms), dtype=np.int64)
        run(query, postings, frequent, norms, choice, first, last, sums, cursors, keys, rows)
        return keys, rows

    return in_order(*_engine.over_rows(len(choice.mask), search), choice)


def best(
    taste: Taste,
    blending: BlendFactors,
    postings: Postings,
    figures: PieceFeatures,
    choice: Choice,
    dots: ProfileDots | None = None,
) -> Hits:
    """Return the best recommendations of a segment; see `exact.best`. ``dots`` of the taste may be known after it."""
    kernel = _engine.kernel("best", ("d", postings.weights.dtype.char))
    if kernel is None:
        return exact.best(taste, blending, postings, figures, choice)
    are_known = dots is not None and dots.are_known
    run = kernel.quickly if are_known and len(choice.mask) <= QUICK_PIECES else kernel

    def search(first: int, last: int) -> Hits:
        keys, rows = np.empty((2, choice.take), dtype=np.int64)
        liked, cursors = np.empty(min(REAL_BLOCK, last - first)), np.empty(len(taste.terms), dtype=np.int64)
        sums = np.empty(len(liked)) if dots is None else dots.values
        run(taste, blending, postings, figures, choice, first, last, sums, int(are_known), liked, cursors, keys, rows)
        return keys, rows

    found = in_order(*_engine.over_rows(len(choice.mask), search), choice)
    if dots is not None:
        dots.are_known = True
    return found


def best_of_many(
    people: GroupPeople, pieces: GroupPieces, weights: ItemItemMatrix, blends: PersonBlends, found: Hits
) -> BoolArray:
    """Fill keys and rows (u, take), so far the limit and nowhere, in order; return whose lists are not found.

    They are those of `best` for each; without a kernel nobody's is found.
    """
    keys, rows = found
    kernel = _engine.kernel("best_of_many", ("lists", pieces.terms.weights.dtype.char))
    left = np.full(len(keys), kernel is None, dtype=np.uint8)
    if kernel is not None:
        room = _engine.group_room(len(pieces.terms.rarities), len(pieces.mask), len(weights.evidence))
        kernel(people, pieces, weights, blends, room, keys, rows, left)
        _engine.group_rooms.append(room)
    return left > 0


def are_few(rows: IntArray, count: int) -> bool:
    """Return whether some of so many pieces are scored one by one quicker than all are searched."""
    return len(rows) * MANY_PIECES <= count


def scores(
    taste: Taste,
    blending: BlendFactors,
    postings: Postings,
    entries: PieceEntries,
    figures: PieceFeatures,
    rows: IntArray,
) -> Keys:
    """Return minus the scores of some pieces of a segment; see `exact.scores`."""
    kernel = _engine.kernel("dots", ("d", entries.weights.dtype.char))
    if kernel is None or not are_few(rows, len(figures.roots)):
        return exact.scores(taste, blending, postings, figures, rows)
    values, dots = np.zeros(len(postings.starts) - 1), np.empty(len(rows))
    values[taste.terms] = taste.values
    run = kernel.quickly if len(rows) <= QUICK_PIECES else kernel
    run(values, taste.table, entries, rows, dots)
    return exact.scored(dots, taste, blending, figures, rows)


def find(
    starts: IntArray, text: Text, wanted_starts: IntArray, wanted_text: Text, numbers: IntArray
) -> IntArray | None:
    """Return by string of one table its number in another, ascending one, -1 if missing; ``None``: not ready."""
    kernel = _engine.kernel("find", FINDING)
    if kernel is None:
        return None
    found = np.empty(len(numbers), dtype=np.int64)
    run = kernel.quickly if len(numbers) <= QUICK_ROWS else kernel
    run(starts, text, wanted_starts, wanted_text, numbers, found)
    return found


def transpose(
    starts: IntArray, columns: Numbers, values: NDArray[np.uint16], places: IntArray
) -> tuple[Numbers, NDArray[np.uint16]]:
    """Return the row and value of entries in the order of their columns, those of one column in the order of rows.

    ``starts`` cuts the entries into rows, ``places`` what is returned into columns.
    """
    kernel = _engine.kernel("transpose", FINDING)
    if kernel is None:
        order = np.argsort(columns, kind="stable")
        return np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))[order], values[order]
    rows, moved = np.empty(len(columns), dtype=np.uint32), np.empty(len(columns), dtype=np.uint16)
    kernel(starts, columns, values, places.copy(), rows, moved)
    return rows, moved


def ridge_rows(
    likes: LikeMatrix, squares: IntArray, k: int, block: int, *, threads: int = 1
) -> tuple[IntArray, NDArray[np.int32], NDArray[np.uint8]]:
    """Return by piece its neighbours, ascending, -1 for none, their weights, and how many people like both.

    Shapes (n_pieces, k). ``squares`` is G_ii; kernels hold what they need of so many pieces as ``block`` at once, and
    run in so many ``threads``.
    """
    count = len(squares)
    near, overlaps = np.full((count, k), -1, dtype=np.int64), np.zeros((count, k), dtype=np.int64)
    people, counts = np.zeros((count, k), dtype=np.uint8), np.zeros(count, dtype=np.int64)
    weights = np.zeros((count, k), dtype=np.int32)
    if not is_ready(RIDGE):
        matrix, both = ridge_exact.overlap_matrix(likes)
        for piece in np.flatnonzero(squares).tolist():
            found = ridge_exact.nearest_pieces(matrix, piece, k)
            near[piece, : len(found)] = found
            weights[piece, : len(found)] = ridge_exact.ridge_weights(matrix, found, piece)
            people[piece, : len(found)] = np.minimum(both[piece, found], ridge_exact.MOST_PEOPLE)
        return near, weights, people
    ranked, ids = _by_liking(likes, squares)
    squares = squares[ids]
    inverses = 1 / np.maximum(squares, 1)

    def meet(turn: slice) -> None:
        rows = (near, overlaps, people, counts, *_room(count), np.empty(k, dtype=np.int64))
        _engine.kernels[RIDGE]["neighbours"](ranked, squares, inverses, ids, turn.start, threads, *rows)

    over_ranges(threads, threads, meet)
    for first in range(0, count, block):
        cut = slice(first, first + block)
        _solve_block(ranked, near[cut], overlaps[cut], counts[cut], weights[cut], threads)
    pieces = np.empty(count, dtype=np.int64)
    pieces[ids] = np.arange(count)
    return np.where(near < 0, -1, ids[near])[pieces], weights[pieces], people[pieces]


def _by_liking(likes: LikeMatrix, squares: IntArray) -> tuple[LikeMatrix, IntArray]:
    """Return likes whose pieces are numbered by G_ii, the greatest first, and the piece of each number."""
    ids = np.argsort(-squares, kind="stable")
    counts = np.diff(likes.piece_starts)[ids]
    starts = starts_of(counts)
    entries = run_places(likes.piece_starts[ids], counts)
    people, grades = likes.people[entries], likes.piece_grades[entries]
    pieces, own_grades = transpose(starts, people, grades.astype(np.uint16), likes.person_starts[:-1])
    # Their order is of no account here, and stays as it was.
    return (
        likes._replace(
            pieces=pieces, grades=own_grades.astype(np.uint8), piece_starts=starts, people=people, piece_grades=grades
        ),
        ids,
    )


def _solve_block(
    likes: LikeMatrix,
    near: IntArray,
    overlaps: IntArray,
    counts: IntArray,
    weights: NDArray[np.int32],
    threads: int,
) -> None:
    """Fill the weights of a block of pieces, whose neighbours are known."""
    triangles, solve = (_engine.kernels[RIDGE][name] for name in ("triangles", "solve"))
    count, k = len(likes.piece_starts) - 1, near.shape[1]
    entries = near.reshape(-1)
    # The entries of the block by the piece they hold, those of -1 cut off; piece p owns starts[p] to starts[p + 1].
    order = np.argsort(entries, kind="stable")[np.count_nonzero(entries < 0) :]
    starts = np.searchsorted(entries[order], np.arange(count + 1))
    found = np.empty((len(near), k * (k + 1) // 2), dtype=np.uint32)

    def fill(turn: slice) -> None:
        triangles(likes, near, starts, order, turn.start, threads, found, *_room(count))

    def weigh(cut: slice) -> None:
        solve(found[cut], overlaps[cut], counts[cut], weights[cut], np.empty((k, k)), np.empty(k))

    over_ranges(threads, threads, fill)
    over_ranges(len(near), threads, weigh)


def _room(count: int) -> tuple[IntArray, IntArray]:
    """Return ``sums`` and ``met`` for so many pieces or terms."""
    return np.zeros(count, dtype=np.int64), np.empty(count, dtype=np.int64)


def can_fit_item_item(piece_count: int) -> bool:
    """Return whether weights of so many pieces can be made: numpy, which takes their square, is for small sources."""
    return piece_count <= MAX_DENSE or _engine.kernel("neighbours", RIDGE) is not None


def stand_ins(
    terms: SparseRows, postings: SparseRows, norms: LikenessNorms, pieces: IntArray, most: int, *, threads: int = 1
) -> tuple[IntArray, FloatArray]:
    """Return the likest liked pieces of each of some pieces, and how alike they are; see `ridge_exact.stand_ins`."""
    kernel = _engine.kernel("stand_ins", RIDGE)
    if kernel is None:
        return ridge_exact.stand_ins(terms, postings, norms, pieces, most)
    found, likenesses = np.full((len(pieces), most), -1, dtype=np.int64), np.zeros((len(pieces), most))
    # A catalogue without any keyword has pieces of no length, of which no sum is above 0.
    with np.errstate(divide="ignore"):
        inverses = 1 / (norms.roots + norms.mean / 2)

    def fill(cut: slice) -> None:
        rows = (pieces[cut], found[cut], likenesses[cut], np.zeros(len(inverses)), np.empty(most, dtype=np.int64))
        kernel(terms, postings, norms, inverses, *rows)

    over_ranges(len(pieces), threads, fill)
    return found, likenesses


def likeness_squares(
    likes: LikeMatrix,
    starts: IntArray,
    terms: NDArray[np.uint32],
    units: IntArray,
    term_count: int,
    *,
    threads: int = 1,
) -> IntArray:
    """Return by person the square of the sum of the vectors of all likes; see `ridge_exact.likeness_squares`."""
    kernel = _engine.kernel("likeness_squares", RIDGE)
    if kernel is None:
        return ridge_exact.likeness_squares(likes, starts, terms, units, term_count)
    found = np.zeros(len(likes.person_starts) - 1, dtype=np.int64)

    def fill(cut: slice) -> None:
        own = likes._replace(person_starts=likes.person_starts[cut.start : cut.stop + 1])
        kernel(own, starts, terms, units, found[cut], *_room(term_count))

    over_ranges(len(found), threads, fill)
    return found


def successors(
    likes: LikeMatrix, k: int, *, threads: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8], IntArray]:
    """Return by piece those liked soon after it, ascending, T, and how many people like one after the other.

    Shapes (n_pieces, k); entries of T of 0 are none. And by piece (n_pieces, 5) the sums that `order.direction_of`
    takes.
    """
    count = len(likes.piece_starts) - 1
    near, values = np.zeros((count, k), dtype=np.uint32), np.zeros((count, k), dtype=np.int32)
    people, totals = np.zeros((count, k), dtype=np.uint8), np.zeros((count, 5), dtype=np.int64)
    kernel = _engine.kernel("successors", RIDGE)
    if kernel is None:
        ridge_exact.successors(likes, near, values, people, totals)
        return near, values, people, totals
    sequences = _sequences(likes)

    def fill(turn: slice) -> None:
        room = (*_room(count), np.zeros(count, dtype=np.int64), np.empty(k, dtype=np.int64))
        kernel(sequences, np.asarray(CLOSENESS), turn.start, threads, near, values, people, totals, *room)

    over_ranges(threads, threads, fill)
    return near, values, people, totals


def _sequences(likes: LikeMatrix) -> LikeSequences:
    """Return likes by person, the latest first."""
    count, own = len(likes.pieces), np.diff(likes.person_starts)
    # The place of each like's moment: that of its rank among the likes of its person.
    begins = np.repeat(likes.person_starts[:-1], own) + likes.ranks
    order, ranks = transpose(np.arange(count + 1), begins.astype(np.uint32), likes.ranks, np.arange(count))
    sizes = np.bincount(begins, minlength=count)
    _, piece_ranks = transpose(likes.person_starts, likes.pieces, likes.ranks, likes.piece_starts[:-1])
    return LikeSequences(
        person_starts=likes.person_starts,
        pieces=likes.pieces[order],
        grades=likes.grades[order],
        ranks=ranks,
        ends=(ranks + sizes[begins[order]]).astype(np.uint16),
        piece_starts=likes.piece_starts,
        people=likes.people,
        piece_grades=likes.piece_grades,
        piece_ranks=piece_ranks,
    )


def shares(weights: ItemItemMatrix, seeds: LikeSeeds, loan: float) -> SparseShares:
    """Return part a of the pieces that have any for a person's likes; see `ridge_exact.shares`."""
    kernel = _engine.kernel("shares", RIDGE)
    if kernel is None:
        return SparseShares.of(ridge_exact.shares(weights, seeds, loan))
    count = len(weights.evidence)
    room = _engine.share_room(max(1, min(SHARE_BLOCK, count)), count, len(seeds.rows))
    # Memory that is not written to takes none.
    found, values, sizes = np.empty(count, dtype=np.int64), np.empty(count), np.empty(1, dtype=np.int64)
    run = kernel.quickly if count <= QUICK_PIECES and len(seeds.rows) <= QUICK_LIKES else kernel
    run(weights, seeds, loan, room, found, values, sizes)
    _engine.share_rooms.append(room)
    return SparseShares(found[: int(sizes[0])], values[: int(sizes[0])])


def facts(
    events: PersonEvents, length: int, tables: CodeTables, today: int, exists: BoolArray, most: int
) -> PieceFacts | None:
    """Return what a person did with pieces, given by whether they exist; so many interactions make the taste.

    ``None`` where the kernel is not ready, does not hold a sum exactly, or finds more than ``most`` likes.
    """
    kernel = _engine.kernel("facts", FINDING)
    if kernel is None:
        return None
    count = len(exists)
    (grades, ranks), (values, lows) = np.zeros((2, count), dtype=np.int64), np.zeros((2, count))
    ratings, ranked = np.zeros((2, count), dtype=np.uint8)
    found = PieceFacts(grades, ranks, values, np.zeros(count, dtype=np.bool_))
    sizes = np.empty(1, dtype=np.int64)
    run = kernel.quickly if len(events.numbers) <= QUICK_EVENTS else kernel
    run(events, length, tables, today, exists, found, FactsBuffers(lows, ratings, ranked), sizes)
    return found if 0 <= int(sizes[0]) <= most else None


def taste(pairs: PersonPairs, terms: PieceTerms) -> tuple[IntArray, FloatArray, float] | None:
    """Return one person's terms, ascending, with f x P x category weight, and the norm of f x P.

    ``None`` where the kernel is not ready, or where it does not hold a sum exactly.
    """
    kernel = _engine.kernel("taste", ("d", terms.weights.dtype.char))
    if kernel is None:
        return None
    room = _engine.taste_room(len(terms.rarities))
    norms, sizes = np.empty(1), np.empty(1, dtype=np.int64)
    run = kernel.quickly if len(pairs.rows) <= QUICK_ROWS else kernel
    run(pairs, terms, room, norms, sizes)
    count = int(sizes[0])
    made = None if count < 0 else (room.numbers[:count].copy(), room.scores[:count].copy(), float(norms[0]))
    _engine.taste_rooms.append(room)
    return made


def tastes(
    pairs: PersonPairs, terms: PieceTerms, amounts: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray] | None:
    """Return the dot products of people's tastes with a piece, their norms, and whose have to be found in another way.

    ``amounts`` are the roots of the piece's weights by term. ``None`` where the kernel is not ready.
    """
    kernel = _engine.kernel("tastes", ("d", terms.weights.dtype.char))
    if kernel is None:
        return None
    count = len(pairs.starts) - 1
    dots, norms, inexact = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.uint8)
    kernel(pairs, terms, amounts, ProfileBuffers.of(len(amounts)), dots, norms, inexact)
    return dots, norms, inexact > 0

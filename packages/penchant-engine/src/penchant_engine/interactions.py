"""Interactions: what people did with pieces, as columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant_engine.checking import id_of, ids_in, number_in
from penchant_engine.errors import InvalidInput
from penchant_engine.frames import column_of, ids_of, is_missing, moments_of, numbered
from penchant_engine.index import Likes
from penchant_engine.index.layout import IntArray
from penchant_engine.index.people.likes import PAIR_SHIFT, PERSON_SHIFT, LatestEvents, build_likes, latest_of
from penchant_engine.model import WHOLE, InteractionType, StoredInteraction, event_code

DEFAULT_KIND = "Watch"
"""What an interaction is where nothing says so: one that makes a piece known to the person."""
_COLUMNS = ("person_of", "piece_of", "codes", "moments")
_KINDS = {kind.lower(): kind for kind in InteractionType}


class Interactions:
    """What people did with pieces: ``n`` interactions in the order in which they were recorded.

    ``people`` (u) and ``pieces`` (p) are the distinct ids, ascending; ``person_of`` and ``piece_of`` (n,) number them.
    ``codes`` (n,) are those of `model.event_code`, ``moments`` (n,) milliseconds since 1970 UTC.
    """

    def __init__(
        self, people: Sequence[str], pieces: Sequence[str], codes: IntArray | int, moments: IntArray | int = 0
    ) -> None:
        """Gather ids of people and of pieces side by side, with what each did, and when."""
        sizes = {np.size(each) for each in (codes, moments) if np.ndim(each)} | {len(people)}
        if len(sizes) > 1:
            raise InvalidInput(f"Columns have different lengths: {', '.join(map(str, sorted(sizes)))}.")
        if len(people) != len(pieces):
            raise InvalidInput(f"There are {len(people)} people and {len(pieces)} pieces; one of each makes a pair.")
        self.people, self.person_of = numbered(people)
        self.pieces, self.piece_of = numbered(pieces)
        self.codes = np.broadcast_to(np.asarray(codes, dtype=np.int64), len(people))
        self.moments = np.broadcast_to(np.asarray(moments, dtype=np.int64), len(people))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        person: str = "person",
        piece: str = "piece",
        type: str | None = None,  # noqa: A002  # what the column is mostly called
        time: str | None = None,
        portion: str | None = None,
        kind: str = DEFAULT_KIND,
    ) -> "Interactions":
        """Return the interactions of a frame of pandas, polars or pyarrow, or of a dictionary of columns, one a row.

        All are of one ``kind`` (`Click`, `Play`, `Watch`, `Bookmark`, `Preview`, `Purchase`, `RateLike` or
        `RateDislike`), unless a column ``type`` says which. ``time`` names a column of moments: times, texts, or
        seconds or milliseconds since 1970; without one all are of the same moment. ``portion`` names one of which part
        of the piece was watched or read, from 0 to 1.

        Raises:
            InvalidInput: a column is missing, or a cell is not acceptable.
        """
        people, pieces = (ids_of(column_of(frame, name), name) for name in (person, piece))
        kinds = [kind] * len(people) if type is None else column_of(frame, type).tolist()
        codes = _codes_of(kinds, None if portion is None else column_of(frame, portion))
        moments: IntArray | int = 0
        if time is not None:
            moments = moments_of(column_of(frame, time))
            if len(missing := np.flatnonzero(moments < 0)):
                raise InvalidInput(f"Row {missing[0]} has no moment from 1970 on in {time!r}.")
        return cls(people, pieces, codes, moments)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], *, kind: str = DEFAULT_KIND) -> "Interactions":
        """Return interactions of one kind, given as pairs of a person's and a piece's id; raises as `from_frame`."""
        given = [*pairs]
        if not all(isinstance(each, tuple | list) and len(each) == 2 for each in given):
            raise InvalidInput("Pairs are of a person's id and a piece's id.")
        people, pieces = ([id_of(each[place]) for each in given] for place in (0, 1))
        return cls(people, pieces, _codes_of([kind] * len(people), None))

    @classmethod
    def from_matrix(
        cls, matrix: Any, people: Sequence[str], pieces: Sequence[str], *, kind: str = DEFAULT_KIND
    ) -> "Interactions":
        """Return one interaction for each entry, other than 0, of a sparse matrix of scipy (people, pieces).

        Raises:
            InvalidInput: its shape is not that of the ids, an entry is NaN, or there is no such kind.
        """
        # A list, since a column of pandas goes by its labels.
        people, pieces = ids_in(people, "people"), ids_in(pieces, "pieces")
        if matrix.shape != (len(people), len(pieces)):
            raise InvalidInput(
                f"The matrix is {matrix.shape}; there are {len(people)} people and {len(pieces)} pieces."
            )
        if np.isnan(matrix.tocoo().data if hasattr(matrix, "tocoo") else matrix).any():
            raise InvalidInput("Entries of the matrix are NaN: leave them out, or write 0 for what was not met.")
        rows, columns = matrix.nonzero()
        who, what = [people[row] for row in rows.tolist()], [pieces[column] for column in columns.tolist()]
        return cls(who, what, _codes_of([kind] * len(who), None))

    def to_matrix(self) -> Any:
        """Return how often each person met each piece, as a sparse matrix of scipy (u, p)."""
        from scipy import sparse  # noqa: PLC0415  # only whoever has it wants its matrices

        counts = np.ones(len(self), dtype=np.int64)
        return sparse.csr_array((counts, (self.person_of, self.piece_of)), shape=(len(self.people), len(self.pieces)))

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], people: Sequence[str], pieces: Sequence[str]
    ) -> "Interactions":
        """Return the interactions of these numbers, as `arrays` has them, and ids."""
        found = cls((), (), 0)
        vars(found).update({name: arrays[name] for name in _COLUMNS}, people=[*people], pieces=[*pieces])
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: np.ascontiguousarray(getattr(self, name)) for name in _COLUMNS}

    def __len__(self) -> int:
        return len(self.person_of)

    @property
    def latest(self) -> int:
        """The moment of the latest one, 0 for none."""
        return int(self.moments.max(initial=0))

    @property
    def earliest(self) -> int:
        """The moment of the earliest one, that of the latest for none."""
        return int(self.moments.min(initial=self.latest))

    @property
    def versions(self) -> IntArray:
        """Numbers that grow in the order in which they were recorded: of one moment the later one counts."""
        return np.arange(1, len(self) + 1)

    def likes(self, oldest_day: int) -> Likes:
        """Return all of them as likes are counted."""
        numbers = self.person_of << PERSON_SHIFT | self.piece_of << PAIR_SHIFT | self.codes
        events = latest_of([LatestEvents(numbers, self.moments, self.versions)])
        words = np.zeros((len(self.people), 2), dtype=np.uint64)
        words[:, 1] = np.arange(len(self.people))
        return build_likes(words, [each.encode() for each in self.pieces], events, kept_from=oldest_day)

    def of_person(self, person: int) -> list[StoredInteraction]:
        """Return what the person of a number did, newest first; one look at all interactions."""
        rows = np.flatnonzero(self.person_of == person)
        rows = rows[np.lexsort((-rows, -self.moments[rows]))]
        columns = (each[rows].tolist() for each in (self.codes, self.piece_of, self.moments))
        return [
            StoredInteraction.of_code(code, self.pieces[piece], moment)
            for code, piece, moment in zip(*columns, strict=True)
        ]


def _codes_of(kinds: Sequence[Any], portions: NDArray[Any] | None) -> IntArray:
    """Return the codes of types with portions, shape (n,)."""
    by_name = {name: kind_of(name) for name in set(kinds)}
    if portions is None:
        codes = {name: event_code(kind, WHOLE) for name, kind in by_name.items()}
        return np.fromiter(map(codes.__getitem__, kinds), np.int64, len(kinds))
    if portions.dtype.kind not in "iuf":
        given = portions.tolist()
        portions = np.asarray([np.nan if is_missing(each) else number_in(each, 0, 1, "A portion") for each in given])
    shares = portions.astype(np.float64)
    hundredths = np.rint(np.where(np.isnan(shares), 1.0, shares) * WHOLE)
    if not ((hundredths >= 0) & (hundredths <= WHOLE)).all():
        raise InvalidInput("A portion is from 0 to 1.")
    parts = zip(kinds, hundredths.astype(np.int64).tolist(), strict=True)
    return np.fromiter((event_code(by_name[name], part) for name, part in parts), np.int64, len(kinds))


def kind_of(name: Any) -> InteractionType:
    """Return the type of interaction of a name, in any case; raises `InvalidInput`."""
    kind = _KINDS.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        raise InvalidInput(f"There is no type of interaction {name!r}: {', '.join(InteractionType)} are accepted.")
    return kind

"""Catalogues: pieces with keywords, as data scientists have them, and the exact nearest of any of them."""

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from msgspec.structs import replace

from penchant_engine.attributes import Attribute, AttributeType, mark_of
from penchant_engine.attributes import numbered as numbered_attributes
from penchant_engine.checking import count_of, id_of, ids_in, member_of, number_in, require_known
from penchant_engine.compiling import use_kept
from penchant_engine.computed import computed
from penchant_engine.conditions import Condition, boosts_of, filter_of, value_of
from penchant_engine.errors import InvalidInput, UnknownPiece
from penchant_engine.frames import Library, column_of, frame_of, ids_of, keywords_of, library_of, moment_of, names_of
from penchant_engine.index import Snapshot, Strings
from penchant_engine.index.building import PieceColumns, gather_columns, segment_of, term_of, term_table
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.lists.standing import stand
from penchant_engine.model import (
    MAX_WEIGHT,
    Algorithm,
    IndexedPiece,
    PieceFilters,
    RankingSettings,
    Term,
    by_category,
    effective_weights,
)
from penchant_engine.records import ListedPiece, Obstacle, PieceList, PieceRank
from penchant_engine.views import CatalogueView


class ListOptions(TypedDict, total=False):
    """What any list can be asked for.

    ``filter`` is a condition that every piece must meet, ``boosts`` are conditions with factors: what meets one counts
    more (above 1) or less. ``catalogs`` keeps to pieces of one of these, ``exclude`` leaves pieces out. ``at`` is the
    moment whose availability counts, that of the catalogue by default. ``diversity``, from 0 to 1, is how much pieces
    are to be unlike each other.
    """

    filter: Condition | None
    boosts: Sequence[tuple[Condition, float]]
    catalogs: Iterable[str] | None
    exclude: Iterable[str]
    at: Any
    diversity: float


class PersonalOptions(ListOptions, total=False):
    """What a list for a person can be asked for beside `ListOptions`.

    ``include_seen`` lists what the person knows, too, ``fill`` fills up with what nothing speaks for, in the order of
    the day. ``calibration``, from 0 to 1, keeps the shares that keywords of the ``calibration_category`` have of what
    the person likes. With an ``algorithm``, `cosine` or `jaccard`, keywords alone count.
    """

    include_seen: bool | None
    fill: bool
    calibration: float
    calibration_category: str
    algorithm: str | None


class Catalogue:
    """Pieces with weighted keywords in categories; immutable: changes give another one.

    A piece is a dictionary: ``id``, ``categories`` (by name keywords, or weights from 1 to 10,000 by keyword), and
    optionally ``attributes`` (values by name), ``catalogs``, ``available_from`` and ``available_until`` (moments).
    ``category_weights`` from 0 to 100 say how much categories count, 1 where none is named. ``attributes`` names what
    can be filtered by, with the type of its values: keyword, keywords, integer, number, boolean or time.
    ``whitelist`` raises pieces, ``blacklist`` hides them. Building takes about 4 µs for each keyword, of a matrix a
    tenth of that, and 20 to 30 bytes of memory.
    """

    def __init__(
        self,
        pieces: Iterable[Mapping[str, Any] | IndexedPiece] = (),
        *,
        category_weights: Mapping[str, float] | None = None,
        attributes: Mapping[str, str] | None = None,
        whitelist: Sequence[str] = (),
        blacklist: Iterable[str] = (),
    ) -> None:
        """Build it; of one id the last piece counts.

        Raises:
            InvalidInput: a piece or a setting is not acceptable; the message says which and why.
        """
        use_kept()
        names = attributes or {}
        self.attributes = {name: Attribute(_type_of(kind, name), f"/{name}") for name, kind in names.items()}
        if isinstance(pieces, Mapping | str) or hasattr(pieces, "columns") or not isinstance(pieces, Iterable):
            raise InvalidInput(
                "Pieces are a list of dictionaries; of a frame or columns make a catalogue by from_frame."
            )
        terms, columns = gather_columns(map(self._read, pieces))
        hidden = tuple(sorted(set(ids_in(blacklist, "blacklist"))))
        self.view = CatalogueView(
            snapshot=_snapshot_of(terms, columns, self._marked),
            settings=RankingSettings(category_weights=checked_weights(category_weights or {})),
            whitelist=tuple(ids_in(whitelist, "whitelist")),
            blacklist=hidden,
            blacklisted=frozenset(hidden),
        )
        self._library: Library | None = None

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        id: str = "id",  # noqa: A002  # what the column is mostly called
        categories: Sequence[str],
        separator: str | None = None,
        **settings: Any,
    ) -> "Catalogue":
        """Return a catalogue of a frame of pandas, polars or pyarrow, or of a dictionary of columns, a piece a row.

        Cells of the columns of ``categories`` hold keywords as `frames.keywords_of` reads them: a list, a dictionary
        of weights, or a text, cut at the ``separator`` if one is given. The attributes that the settings name,
        ``catalogs``, ``available_from`` and ``available_until`` are read from columns of these names, where there are
        any. ``settings`` are those of `Catalogue`.

        Raises:
            InvalidInput: a column is missing, or a cell is not acceptable.
        """
        ids_in(categories, "categories")
        ids = ids_of(column_of(frame, id), id)
        terms = {name: [*column_of(frame, name)] for name in categories}
        named = {name: column_of(frame, name).tolist() for name in settings.get("attributes") or {}}
        others = {name: column_of(frame, name).tolist() for name in _MOMENTS if name in names_of(frame)}
        catalogs = column_of(frame, "catalogs").tolist() if "catalogs" in names_of(frame) else None
        for name, cells in {**terms, **named, **others, "catalogs": catalogs or ids}.items():
            if len(cells) != len(ids):
                raise InvalidInput(f"The column {name!r} has {len(cells)} rows, and that of ids {len(ids)}.")
        found = cls(
            (
                {
                    "id": piece_id,
                    "categories": {
                        name: [*keywords_of(cells[row], separator).items()] for name, cells in terms.items()
                    },
                    "attributes": {name: cells[row] for name, cells in named.items()},
                    "catalogs": () if catalogs is None else [*keywords_of(catalogs[row], separator)],
                    **{name: cells[row] for name, cells in others.items()},
                }
                for row, piece_id in enumerate(ids)
            ),
            **settings,
        )
        return found._with(found.view, library_of(frame))

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        ids: Sequence[str],
        keywords: Sequence[str | Term] | None = None,
        *,
        category: str = "keywords",
        **settings: Any,
    ) -> "Catalogue":
        """Return a catalogue of a sparse matrix of scipy (pieces, keywords): weights, whole numbers from 1 to 10,000.

        Where all entries are 1, keywords have no weights; what is stored as 0 is none. ``keywords`` are those of the
        columns, texts of the ``category`` or terms as `to_matrix` has them, their numbers where none are named. Of one
        id the last row counts; it takes no dictionaries, so it is the quickest way for many.

        Raises:
            InvalidInput: shapes do not fit each other, a keyword is named twice, or an id or entry is none.
        """
        rows, texts = matrix.tocsr(), [*map(str, ids_in(ids, "ids"))]
        columns_of = range(rows.shape[1]) if keywords is None else keywords
        terms = [Term(*each) if isinstance(each, tuple) else Term(category, str(each)) for each in columns_of]
        if rows.shape != (len(texts), len(terms)):
            raise InvalidInput(f"The matrix is {rows.shape}, and there are {len(texts)} ids and {len(terms)} keywords.")
        if len(set(terms)) < len(terms):
            raise InvalidInput("A keyword is named twice: add up its columns.")
        if not (rows.has_canonical_format and np.all(rows.data)):
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
        values = np.asarray(rows.data)
        if not ((values == np.rint(values)) & (values >= 1) & (values <= MAX_WEIGHT)).all():
            raise InvalidInput(f"Entries are weights, whole numbers from 1 to {MAX_WEIGHT}: scale and round yours.")
        counts = np.diff(rows.indptr).astype(np.int64)
        columns = PieceColumns(
            ids=texts,
            counts=counts,
            piece_terms=rows.indices.astype(np.uint32),
            piece_weights=values.astype(np.uint16),
            weighted=((counts > 0) & bool((values > 1).any())).astype(np.uint8),
            available_from=np.zeros(len(texts), dtype=np.int64),
            filters=[PieceFilters(frozenset(), None, None)],
            filters_of=np.zeros(len(texts), dtype=np.int64),
            marks=(),
        )
        found = cls(**settings)
        snapshot = _snapshot_of(term_table(terms), columns, found._marked)
        return found._with(replace(found.view, snapshot=snapshot))

    @classmethod
    def of_view(cls, view: CatalogueView, attributes: Mapping[str, Attribute]) -> "Catalogue":
        """Return the catalogue of a view of the engine, whose marks are of these attributes."""
        found = cls()
        found.attributes = dict(attributes)
        return found._with(view)

    def to_matrix(self) -> tuple[Any, list[str], list[Term]]:
        """Return the weights as a sparse matrix of scipy (pieces, keywords), with the ids and terms that it is of."""
        from scipy import sparse  # noqa: PLC0415  # only whoever has it wants its matrices

        segment = self.view.snapshot.merged()
        table = (segment.piece_weights, segment.piece_terms, segment.starts)
        terms = [*map(term_of, segment.terms)]
        return sparse.csr_array(table, shape=(len(segment), len(terms))), [*segment.ids], terms

    def changed(
        self, stored: Iterable[Mapping[str, Any] | IndexedPiece] = (), removed: Iterable[str] = ()
    ) -> "Catalogue":
        """Return the catalogue with some pieces stored and others removed: costs about as much as what changes."""
        changes: dict[str, IndexedPiece | None] = dict.fromkeys(ids_in(removed, "removed"))
        changes |= {each.id: each for each in map(self._read, stored)}
        return self._with(replace(self.view, snapshot=self.view.snapshot.apply(changes, attributes=self._marked)))

    def weighted(self, category_weights: Mapping[str, float]) -> "Catalogue":
        """Return the same pieces under other weights of categories, to compare lists; nothing is built anew."""
        weights = checked_weights(category_weights)
        return self._with(
            replace(self.view, settings=dataclasses.replace(self.view.settings, category_weights=weights))
        )

    def __len__(self) -> int:
        return self.view.snapshot.piece_count

    def __contains__(self, piece_id: object) -> bool:
        return isinstance(piece_id, str) and piece_id in self.view.snapshot

    @computed
    def ids(self) -> list[str]:
        """The ids of all pieces, ascending."""
        return [*self.view.snapshot.merged().ids]

    def __repr__(self) -> str:
        return f"<Catalogue of {len(self)} pieces>"

    def categories(self, piece_id: str | int) -> dict[str, dict[str, int]]:
        """Return the keywords of a piece by category, with what each counts for.

        Raises:
            UnknownPiece: there is no such piece.
        """
        terms = self.view.snapshot.terms_of(id_of(piece_id))
        if terms is None:
            raise UnknownPiece(f"The catalogue has no piece {piece_id!r}.")
        return by_category(terms)

    def similar(
        self,
        piece: str | int | Mapping[str, Any],
        k: int = 10,
        *,
        algorithm: str | None = None,
        explain: bool = False,
        **options: Unpack[ListOptions],
    ) -> PieceList:
        """Return the ``k`` nearest pieces by keywords, exactly; scores are distances, 0 to 1.

        ``piece`` is an id, or a piece that is not in the catalogue. The ``algorithm`` is cosine where the piece has
        weights and Jaccard otherwise (Salton and McGill 1983, 6.1), unless one is named. ``explain`` adds the reasons,
        whose shares add up to 1 - score. Takes some 20 µs for 10,000 pieces, 1 ms for a million.

        Raises:
            UnknownPiece: there is no such piece.
            TooFewPieces: it is the only one.
            InvalidInput: an option is not acceptable.
        """
        return listed(self._similar(piece, algorithm, options), k, explain=explain)

    def similar_frame(
        self, pieces: Iterable[str | int] | None = None, k: int = 10, *, library: Library | None = None
    ) -> Any:
        """Return the nearest of each of some pieces, of all by default, as a frame, a row for each neighbour.

        Its columns are ``piece``, ``rank`` from 1, ``neighbour`` and ``distance``. It is of the named ``library``, else
        of that which the catalogue came from.

        Raises:
            UnknownPiece, TooFewPieces: as `similar`.
        """
        columns: dict[str, list[Any]] = {"piece": [], "rank": [], "neighbour": [], "distance": []}
        for piece_id in self.ids if pieces is None else ids_in(pieces, "pieces"):
            for place, each in enumerate(self.similar(piece_id, k), start=1):
                for name, value in zip(columns, (piece_id, place, each.id, each.score), strict=True):
                    columns[name].append(value)
        return frame_of(columns, library or self._library)

    def standing(
        self, piece: str | int, other: str | int, *, algorithm: str | None = None, **options: Unpack[ListOptions]
    ) -> PieceRank:
        """Return where another piece stands among those near a piece, and why, or what keeps it out; as `similar`."""
        return standing(self._similar(piece, algorithm, options), other)

    def requested(self, options: ListOptions) -> dict[str, Any]:
        """Return options as members of the engine's requests; raises `InvalidInput`."""
        require_known(options, PersonalOptions)
        catalogs = options.get("catalogs")
        moment = moment_of(options.get("at"))
        diversity = number_in(options.get("diversity", 0.0), 0, 1, "diversity")
        return {
            "matching": filter_of(options.get("filter"), self.attributes),
            "boosts": boosts_of(options.get("boosts", ()), self.attributes),
            "catalogs": None if catalogs is None else frozenset(ids_in(catalogs, "catalogs")),
            "exclude": frozenset(ids_in(options.get("exclude", ()), "exclude")),
            "diversity": diversity,
            "at": moment,
        }

    @computed
    def moment(self) -> int:
        """The moment of lists that ask for none: when the last piece became available (ms since 1970 UTC)."""
        return max((int(part.segment.available_from.max(initial=0)) for part in self.view.snapshot.parts), default=0)

    def _similar(
        self, piece: str | int | Mapping[str, Any], algorithm: str | None, options: ListOptions
    ) -> SimilarRanking:
        unstored = self._read({"id": "", **piece}) if isinstance(piece, Mapping) else None
        request = ListRequest(
            piece_id=id_of(piece) if unstored is None else unstored.id,
            algorithm=algorithm_of(algorithm),
            **self.requested(options),
        )
        ranking = SimilarRanking(self.view, request, self.moment, unstored=unstored)
        ranking.require()
        return ranking

    def _with(self, view: CatalogueView, library: Library | None = None) -> "Catalogue":
        other = copy.copy(self)
        vars(other).update(view=view, _library=library or self._library)
        # It is of the pieces of before.
        for name in ("ids", "moment"):
            vars(other).pop(name, None)
        return other

    @property
    def _marked(self) -> Strings:
        return Strings.of(map(str, numbered_attributes(self.attributes.values())))

    def _read(self, piece: Mapping[str, Any] | IndexedPiece) -> IndexedPiece:
        """Return a piece as the index has it."""
        if isinstance(piece, IndexedPiece):
            return piece
        if not isinstance(piece, Mapping):
            raise InvalidInput(f"{piece!r} is no piece: a dictionary is accepted.")
        if unknown := sorted(piece.keys() - _MEMBERS):
            raise InvalidInput(f"A piece has no {unknown[0]!r}; it has {', '.join(sorted(_MEMBERS))}.")
        piece_id, given = piece.get("id"), dict[Term, int | None]()
        if not isinstance(piece_id, str):
            raise InvalidInput(f"A piece needs an id, a text; found {piece_id!r}.")
        categories = piece.get("categories") or {}
        if not isinstance(categories, Mapping):
            raise InvalidInput(f"{piece_id}: categories are {categories!r}; keywords by category are accepted.")
        for category, cell in categories.items():
            for keyword, weight in keywords_of(cell).items():
                if weight is not None and not 1 <= weight <= MAX_WEIGHT:
                    raise InvalidInput(f"{piece_id}: the weight {weight} of {keyword!r} is not from 1 to {MAX_WEIGHT}.")
                given[Term(category, keyword)] = weight
        weights, weighted = effective_weights(given)
        return IndexedPiece(
            id=piece_id,
            weights=weights,
            weighted=weighted,
            catalogs=frozenset(ids_in(piece.get("catalogs") or (), "catalogs")),
            available_from=moment_of(piece.get("available_from")) or 0,
            available_until=moment_of(piece.get("available_until")),
            marks=tuple(sorted(self._marks_of(piece.get("attributes") or {}))),
        )

    def _marks_of(self, values: Mapping[str, Any]) -> Iterable[str]:
        numbers = {each: number for number, each in enumerate(numbered_attributes(self.attributes.values()))}
        for name, value in values.items():
            attribute = self.attributes.get(name)
            if attribute is None:
                raise InvalidInput(f"The catalogue has no attribute {name!r}: name it as one of its `attributes`.")
            several = keywords_of(value) if attribute.type is AttributeType.KEYWORDS else [value]
            for each in several:
                # What is missing is none; NaN equals nothing, itself included.
                if each is not None and each == each:  # noqa: PLR0124  # as said above
                    yield mark_of(numbers[attribute], value_of(each, attribute.type, name))


_MOMENTS = ("available_from", "available_until")
_MEMBERS = frozenset({"id", "categories", "attributes", "catalogs", *_MOMENTS})


def _snapshot_of(terms: Strings, columns: PieceColumns, attributes: Strings) -> Snapshot:
    """Return the snapshot of columns of pieces, of which the last of an id counts."""
    segment = segment_of(terms, [columns.distinct()], attributes)
    return Snapshot.of_segment(segment) if len(segment) else Snapshot.empty()


def _type_of(kind: str, name: str) -> AttributeType:
    return member_of(AttributeType, kind, f"The attribute {name!r} is of no type {kind!r}")


def algorithm_of(name: str | None) -> Algorithm | None:
    """Return an algorithm by its name.

    Raises:
        InvalidInput: there is none of this name.
    """
    return None if name is None else member_of(Algorithm, name, f"There is no algorithm {name!r}")


def checked_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return weights of categories.

    Raises:
        InvalidInput: one is not from 0 to 100, or has more than two decimals.
    """
    if not isinstance(weights, Mapping):
        raise InvalidInput(f"category_weights are {weights!r}: weights by category are accepted.")
    for name, weight in weights.items():
        number_in(weight, 0, 100, f"The weight of {name!r}")
        if abs(round(weight * 100) - weight * 100) > 1e-6:
            raise InvalidInput(f"The weight {weight} of {name!r} is not accepted: 0 to 100, two decimals at most.")
    return dict(weights)


def listed(ranking: ListRanking, k: int, *, explain: bool = False) -> PieceList:
    """Return the first ``k`` of a ranking, of one that is more than the best in order up to 300.

    Raises:
        InvalidInput: k is less than 1.
    """
    # More than there are take as much memory, and give no more.
    pieces = ranking.first(min(count_of(k), max(1, ranking.view.snapshot.piece_count)))
    scores = ranking.scores_of([each.units for each in pieces])
    return PieceList(
        ListedPiece(each.id, score, ranking.why(each.id, listed=True) if explain else None)
        for each, score in zip(pieces, scores, strict=True)
    )


def standing(ranking: ListRanking, piece_id: str | int) -> PieceRank:
    """Return where a piece stands in a ranking.

    Raises:
        UnknownPiece: there is no such piece.
    """
    found = stand(ranking, id_of(piece_id))
    obstacles = tuple(Obstacle(each.code, each.detail) for each in found.exclusions)
    return PieceRank(found.position, found.score, found.why, obstacles)

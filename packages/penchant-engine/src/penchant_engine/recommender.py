"""Recommender: what people may like, learned from what they did with the pieces of a catalogue."""

import copy
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from msgspec.structs import replace

from penchant_engine.catalogue import (
    Catalogue,
    ListOptions,
    PersonalOptions,
    algorithm_of,
    checked_weights,
    listed,
    standing,
)
from penchant_engine.checking import id_of, ids_in, member_of, number_in
from penchant_engine.compiling import ready_kernels
from penchant_engine.errors import InvalidInput
from penchant_engine.frames import Library, frame_of, moment_of
from penchant_engine.index import (
    Audience,
    FloatArray,
    InteractionArrays,
    PieceCounts,
    Snapshot,
    Strings,
    Tally,
    UserFeatures,
)
from penchant_engine.index.compiled.engine import can_fit_item_item
from penchant_engine.index.compiled.samples import LISTS
from penchant_engine.index.people.item_item import fit_item_item
from penchant_engine.index.people.person import profile_of_person, user_features
from penchant_engine.index.people.table import PeopleEvents, PeopleTable, people_table
from penchant_engine.interactions import Interactions, kind_of
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.plain import NewRanking, PopularRanking
from penchant_engine.lists.plain_lists import PlainLists
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.reranking import CandidateRanking
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.model import (
    DAY_MS,
    NO_PREFERENCES,
    WHOLE,
    Basis,
    Blend,
    InteractionType,
    OrderUse,
    Preferences,
    RankingSettings,
    by_category,
    event_code,
)
from penchant_engine.ranking import SCORE_SCALE
from penchant_engine.records import ListedPiece, PieceList, PieceRank
from penchant_engine.saving import (
    FittedModel,
    SavedModel,
    describe_model,
    members_of,
    read_model,
    settings_of,
    write_model,
)
from penchant_engine.views import CatalogueView

LEAST_TOGETHER = 100
"""People from which lists are made together: before that happens first, its kernel is compiled for some seconds."""
TOGETHER = 10_000
"""People whose lists are in memory at once as objects."""
_ID, _SCORE = attrgetter("id"), attrgetter("score")
_NO_EVENTS = InteractionArrays.of(())


class Recommender:
    """Recommends pieces to people by what they did, what all people like, and keywords, and says why.

    The blend of parts, their decay and the order of likes are those of the service (scoring, in the documents); the
    parameters are the settings of a source under the names of `model.RankingSettings`. Of these ``retention_days`` is
    by default as long as there are interactions.
    """

    def __init__(self, *, blend: Blend | Mapping[str, float] | None = None, **settings: Any) -> None:
        """Take the settings; `fit` learns.

        Raises:
            InvalidInput: there is no such setting, or a value is not acceptable.
        """
        self.settings = _settings_of(RankingSettings(), settings | ({} if blend is None else {"blend": blend}))
        self._keeps_all = "retention_days" not in settings
        self._has_weights = "category_weights" in settings
        self._fitted: FittedModel | None = None
        self._catalogue: Catalogue | None = None

    def fit(
        self,
        catalogue: Catalogue,
        interactions: Interactions,
        *,
        moment: Any = None,
        preferences: Mapping[str, Preferences] | Mapping[int, Preferences] | None = None,
        threads: int | None = None,
    ) -> Self:
        """Learn from interactions with a catalogue, as of a moment, by default that of the latest one.

        ``preferences`` are what people have said, by their ids. It takes 1 to 3 s for 10,000 pieces and half a million
        interactions, in any number of ``threads`` (by default one for each core) with the same result, and 10 to 20 s
        once for each user of a machine to compile.

        Raises:
            InvalidInput: the moment is none.
        """
        if not isinstance(catalogue, Catalogue) or not isinstance(interactions, Interactions):
            raise InvalidInput("fit takes a Catalogue and then Interactions; frames become these by their from_frame.")
        threads = threads or os.cpu_count() or 1
        now = moment_of(moment)
        now = max(interactions.latest, catalogue.moment) if now is None else now
        settings = self.settings
        if not self._has_weights:
            settings = dataclasses.replace(settings, category_weights=catalogue.view.settings.category_weights)
        if self._keeps_all:
            settings = dataclasses.replace(settings, retention_days=max(1, (now - interactions.earliest) // DAY_MS + 1))
        segment = catalogue.view.snapshot.merged()
        view = replace(catalogue.view, snapshot=Snapshot.of_segment(segment), settings=settings)
        view.snapshot.prepare(settings.category_factors)
        if not can_fit_item_item(len(segment)):
            ready_kernels()
        self.settings, self._catalogue = settings, catalogue
        audience, liking = _audience_of(interactions, view, now // DAY_MS, threads)
        self._fitted = FittedModel(
            view=view,
            audience=audience,
            liking=liking,
            people=_people_of(interactions, view, now // DAY_MS),
            interactions=interactions,
            moment=now,
            preferences={id_of(person, "person"): said for person, said in (preferences or {}).items()},
        )
        return self

    def under(self, **settings: Any) -> "Recommender":
        """Return the same under other settings, to see what they would change; what was learned stays where it can.

        It is learned anew where the settings change what likes say: weights of categories and interactions, retention.

        Raises:
            InvalidInput: as `Recommender`.
        """
        source, changed = self._source, _settings_of(self.settings, settings)
        if _RELEARNED & settings.keys():
            members = {each.name: getattr(changed, each.name) for each in fields(RankingSettings)}
            model = Recommender(**members)
            return model.fit(self._pieces, source.interactions, moment=source.moment, preferences=source.preferences)
        other = copy.copy(self)
        view = replace(source.view, settings=changed)
        vars(other).update(settings=changed, _fitted=dataclasses.replace(source, view=view))
        return other

    @property
    def people(self) -> list[str]:
        """The ids of all who did something, ascending."""
        return self._source.interactions.people

    @property
    def moment(self) -> int:
        """The moment as of which it was learned (ms since 1970 UTC)."""
        return self._source.moment

    def recommend(
        self,
        person: str | int | Interactions | None = None,
        k: int = 10,
        *,
        explain: bool = False,
        **options: Unpack[PersonalOptions],
    ) -> PieceList:
        """Return the ``k`` pieces that a person may like best; of nobody, or one who did nothing, what many like.

        A person is an id, or the interactions of one who need not be among those of `fit`, at moments beside theirs.
        Scores are 0 for the best thinkable to 1, where nothing speaks for a piece. ``explain`` adds the parts of each.

        Raises:
            InvalidInput: an option is not acceptable.
        """
        return listed(self._personal(person, options), k, explain=explain)

    def recommend_for(
        self,
        liked: Iterable[str] = (),
        disliked: Iterable[str] = (),
        k: int = 10,
        *,
        explain: bool = False,
        **options: Unpack[PersonalOptions],
    ) -> PieceList:
        """Return what somebody may like of whom some likes and dislikes alone are known; as `recommend`."""
        rated = dict.fromkeys(ids_in(disliked, "disliked"), InteractionType.RATE_DISLIKE)
        rated |= dict.fromkeys(ids_in(liked, "liked"), InteractionType.RATE_LIKE)
        codes = np.asarray([event_code(kind, WHOLE) for kind in rated.values()], dtype=np.int64)
        given = Interactions([""] * len(rated), [*rated], codes, self._source.moment)
        return self.recommend(given, k, explain=explain, **options)

    def score(self, person: str | int | Interactions | None, pieces: Iterable[str | int] | None = None) -> FloatArray:
        """Return how well each of some pieces suits a person, as `recommend` has it: 1 - score, higher is better.

        Without ``pieces`` it is all of the catalogue, in the order of `Catalogue.ids`. Shape (n,), float64, NaN for
        pieces that the catalogue has not. Below 0 are those that what the person dislikes speaks against, which lists
        show as a score of 1. What is hidden or known counts as the others do. Costs some 0.3 ms for each thousand.
        """
        query = self._personal(person, {}).query
        (part,) = self._source.view.snapshot.parts
        places, is_asked = None, np.ones(len(part.segment), dtype=np.bool_)
        if pieces is not None:
            places, is_asked = part.segment.ids.find_all(Strings.of(ids_in(pieces, "pieces"))), ~is_asked
            is_asked[places[places >= 0]] = True
        keys, rows = query.scan(part, np.flatnonzero(is_asked))
        # One more, for the place -1 of what is missing.
        found = np.where(np.append(is_asked, False), 0.0, np.nan)
        found[rows] = -keys / SCORE_SCALE
        return found[:-1] if places is None else found[places]

    def recommend_frame(
        self,
        people: Iterable[str] | None = None,
        k: int = 10,
        *,
        library: Library | None = None,
        threads: int | None = None,
        **options: Unpack[PersonalOptions],
    ) -> Any:
        """Return the lists of some people, of all by default, as a frame, a row for each entry.

        Its columns are ``person``, ``rank`` from 1, ``piece`` and ``score``; options are those of `recommend`. Without
        any, lists are made together, some 5,000 people a second and core for 10,000 pieces, by so many ``threads``, one
        for each core by default.

        Raises:
            InvalidInput: as `recommend`.
        """
        asked = self.people if people is None else ids_in(people, "people")
        columns: dict[str, list[Any]] = {"person": [], "rank": [], "piece": [], "score": []}
        for person, content in zip(asked, self._together(asked, k, options, threads), strict=True):
            found = self.recommend(person, k, **options) if content is None else content
            columns["person"] += [person] * len(found)
            columns["rank"] += range(1, len(found) + 1)
            columns["piece"] += map(_ID, found)
            columns["score"] += map(_SCORE, found)
        return frame_of(columns, library)

    def _together(
        self, people: Sequence[str], k: int, options: PersonalOptions, threads: int | None
    ) -> Iterator[Sequence[ListedPiece] | None]:
        """Yield lists that are made together, ``None`` for each that has to be made alone."""
        source = self._source
        if options or len(people) < LEAST_TOGETHER or k < 1 or not len(self._numbers):
            yield from [None] * len(people)
            return
        ready_kernels(*LISTS)
        numbers = self._numbers.find_all(Strings.of(people))
        without = {number for person in source.preferences if (number := self._numbers.find(person)) is not None}
        lists = PlainLists(source.view, source.people, source.audience, source.moment, ListedPiece)
        for begin in range(0, len(people), TOGETHER):
            some = numbers[begin : begin + TOGETHER]
            # Of those who are not known somebody else's list is found for nothing.
            contents = lists.contents(np.maximum(some, 0), k, without, threads=threads or os.cpu_count() or 1)
            for number, content in zip(some.tolist(), contents, strict=True):
                yield None if number < 0 else content

    def rank(
        self,
        person: str | int | Interactions | None,
        pieces: Sequence[str],
        weight: float = 1.0,
        *,
        explain: bool = False,
    ) -> PieceList:
        """Return given pieces as they suit a person: ``weight`` from 0 to 1 tells how much that counts for the order.

        What is hidden from the person, unknown, or known already is left out.

        Raises:
            InvalidInput: the weight is not from 0 to 1.
        """
        weight = number_in(weight, 0, 1, "weight")
        request = ListRequest(
            user_id=_id_of(person), content=tuple(dict.fromkeys(ids_in(pieces, "pieces"))), weight=weight
        )
        source, figures = self._source, self._figures(person)
        ranking = CandidateRanking(
            source.view, request, source.moment, figures, source.audience, is_known=person is not None
        )
        return listed(ranking, max(1, len(request.content)), explain=explain)

    def similar(
        self,
        piece: str | int,
        k: int = 10,
        *,
        by: str = "content",
        explain: bool = False,
        **options: Unpack[ListOptions],
    ) -> PieceList:
        """Return the ``k`` pieces nearest to one, ``by`` its content, its audience, or both; as `Catalogue.similar`."""
        return listed(self._similar(piece, by, options), k, explain=explain)

    def popular(self, k: int = 10, **options: Unpack[ListOptions]) -> PieceList:
        """Return what most people like, each of them counting half after the half-life of popularity."""
        source, request = self._source, ListRequest(**self._pieces.requested(options))
        return listed(PopularRanking(source.view, request, source.moment, source.audience, source.audience.counts), k)

    def newest(self, k: int = 10, **options: Unpack[ListOptions]) -> PieceList:
        """Return what became available last."""
        source, request = self._source, ListRequest(**self._pieces.requested(options))
        return listed(NewRanking(source.view, request, source.moment), k)

    def standing(
        self, person: str | int | Interactions | None, piece: str | int, **options: Unpack[PersonalOptions]
    ) -> PieceRank:
        """Return where a piece stands for a person, and why, or what keeps it out of the list.

        Raises:
            UnknownPiece: there is no such piece.
        """
        return standing(self._personal(person, options), piece)

    def profile(self, person: str | int) -> dict[str, dict[str, int]]:
        """Return a person's taste: by category the scores of keywords, -1,000 to 1,000; empty where nothing counts."""
        person = id_of(person, "person")
        source, number = self._source, self._numbers.find(person)
        done = [] if number is None else source.interactions.of_person(number)
        terms = profile_of_person(
            InteractionArrays.of(done),
            source.view.snapshot,
            source.view.settings,
            source.moment // DAY_MS,
            source.preferences.get(person, NO_PREFERENCES),
        )
        return by_category(terms)

    def save(self, folder: str | Path) -> None:
        """Write what was learned to a folder, which is made where it is missing: arrays of numpy, and JSON.

        Raises:
            OSError: it cannot be written.
        """
        write_model(Path(folder), describe_model(self._source, self._pieces.attributes))

    @classmethod
    def load(cls, folder: str | Path) -> "Recommender":
        """Return what `save` has written.

        Raises:
            InvalidInput: the folder has none of this release's format.
            OSError: it cannot be read.
        """
        found = cls()
        found._learned(read_model(Path(folder)))
        return found

    def __getstate__(self) -> dict[str, Any]:
        learned = None if self._fitted is None else describe_model(self._fitted, self._pieces.attributes)
        own = {name: value for name, value in vars(self).items() if name not in {"settings", "_fitted", "_catalogue"}}
        return {**own, "settings": members_of(self.settings), "learned": learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("learned")
        vars(self).update(state, settings=settings_of(state["settings"]), _fitted=None, _catalogue=None)
        if learned is not None:
            self._learned(learned)

    def _learned(self, saved: SavedModel) -> None:
        """Take over what was learned before."""
        source, attributes = saved.restore()
        self.settings, self._fitted = source.view.settings, source
        self._catalogue = Catalogue.of_view(source.view, attributes)

    @property
    def nbytes(self) -> int:
        """How much memory the arrays of what was learned take."""
        source = self._source
        records = (source.audience.weights, source.people, source.view.snapshot.parts[0].segment)
        return sum(array.nbytes for each in records for array in each.arrays().values())

    @property
    def _source(self) -> FittedModel:
        if self._fitted is None:
            raise InvalidInput("Nothing was learned yet: call fit first.")
        return self._fitted

    @property
    def _pieces(self) -> Catalogue:
        if self._catalogue is None:
            raise InvalidInput("Nothing was learned yet: call fit first.")
        return self._catalogue

    @property
    def _numbers(self) -> Strings:
        return self._source.people.ids

    def _figures(self, person: str | int | Interactions | None) -> UserFeatures:
        source = self._source
        if isinstance(person, Interactions):
            if len(person.people) > 1:
                raise InvalidInput(f"These are interactions of {len(person.people)} people; those of one are accepted.")
            settings, today = source.view.settings, source.moment // DAY_MS
            oldest = settings.oldest_day(today) * DAY_MS
            done = person.of_person(0)
            if not person.latest:
                # Without moments they are of now.
                done = [each._replace(occurred_at=source.moment) for each in done]
            kept = InteractionArrays.of([each for each in done if each.occurred_at >= oldest])
            return user_features(kept, source.view.snapshot, settings, today)
        said = source.preferences.get(_id_of(person), NO_PREFERENCES)
        number = None if person is None else self._numbers.find(_id_of(person))
        if number is not None:
            return source.people.figures(number, source.view.snapshot, source.view.settings, said)
        return user_features(_NO_EVENTS, source.view.snapshot, source.view.settings, source.moment // DAY_MS, said)

    def _personal(self, person: str | int | Interactions | None, options: PersonalOptions) -> PersonalRanking:
        source, request = self._source, self._request(_id_of(person), options)
        return PersonalRanking(
            source.view, request, source.moment, self._figures(person), source.audience, is_known=person is not None
        )

    def _request(self, person: str, options: PersonalOptions) -> ListRequest:
        calibration = number_in(options.get("calibration", 0.0), 0, 1, "calibration")
        category = options.get("calibration_category", "")
        if calibration and not category:
            raise InvalidInput("The calibration is from 0 to 1, and needs a calibration_category.")
        return ListRequest(
            user_id=person,
            include_seen=options.get("include_seen"),
            fill=options.get("fill", True),
            calibration=calibration,
            calibration_category=category,
            algorithm=algorithm_of(options.get("algorithm")),
            **self._pieces.requested(options),
        )

    def _similar(self, piece: str | int, by: str, options: ListOptions) -> SimilarRanking:
        source, basis = self._source, member_of(Basis, by, f"by is {by!r}")
        request = ListRequest(piece_id=id_of(piece), by=basis, **self._pieces.requested(options))
        audience = None if basis is Basis.CONTENT else source.audience
        ranking = SimilarRanking(source.view, request, source.moment, audience)
        ranking.require()
        return ranking


def _id_of(person: str | int | Interactions | None) -> str:
    return "" if person is None or isinstance(person, Interactions) else id_of(person, "person")


def _audience_of(
    interactions: Interactions, view: CatalogueView, today: int, threads: int
) -> tuple[Audience, FloatArray]:
    """Return what all people like on a UTC day, counted and weighed as the service does it, and how many like each."""
    settings, segment = view.settings, view.snapshot.parts[0].segment
    oldest_day = settings.oldest_day(today)
    likes = interactions.likes(oldest_day)
    matrix = likes.matrix(segment.ids, settings, oldest_day, threads=threads)
    weights = fit_item_item(matrix, segment, settings.category_factors, threads=threads)
    counts = Tally(likes).popularity(settings, today)
    (liking,) = counts.by_part(view.snapshot.parts, weights.source_statistics.grades)
    return Audience(PieceCounts.of_rows(segment, liking), weights, 1), liking


def _people_of(interactions: Interactions, view: CatalogueView, today: int) -> PeopleTable:
    segment = view.snapshot.parts[0].segment
    rows = segment.ids.find_all(Strings.of(interactions.pieces))
    events = PeopleEvents(
        people=interactions.person_of,
        rows=rows[interactions.piece_of],
        codes=interactions.codes,
        moments=interactions.moments,
        versions=interactions.versions,
    )
    events = events.take(events.moments >= view.settings.oldest_day(today) * DAY_MS)
    return people_table(Strings.of(interactions.people), events, segment, view.settings, today)


def _settings_of(settings: RankingSettings, changes: Mapping[str, Any]) -> RankingSettings:
    """Return settings with some members changed; raises `InvalidInput`."""
    read = {}
    for name, value in changes.items():
        if name not in _READERS:
            raise InvalidInput(f"There is no setting {name!r}: {', '.join(sorted(_READERS))} are accepted.")
        read[name] = _READERS[name](value)
    if "interaction_weights" in read:
        read["interaction_weights"] = {**settings.interaction_weights, **read["interaction_weights"]}
    return dataclasses.replace(settings, **read)


def _limits_of(value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping) or not all(isinstance(each, int) and each >= 1 for each in value.values()):
        raise InvalidInput(f"max_per_value is {value!r}: whole numbers from 1 on by category are accepted.")
    return dict(value)


def _switch_of(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"exclude_seen is {value!r}: True or False is accepted.")
    return value


def _weights_of(value: Any) -> Mapping[InteractionType, float]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"interaction_weights are {value!r}: weights by type are accepted.")
    return {kind_of(name): number_in(each, -100, 100, f"The weight of {name}") for name, each in value.items()}


def _blend_of(value: Any) -> Blend:
    names = {each.name for each in fields(Blend)}
    parts = asdict(value) if isinstance(value, Blend) else value
    if not isinstance(parts, Mapping) or not parts.keys() <= names:
        raise InvalidInput(f"A blend has {', '.join(sorted(names))}; found {value!r}.")
    shares = {name: number_in(parts.get(name, 0.0), 0, 100, "A part of the blend") for name in names}
    if not any(shares.values()):
        raise InvalidInput("A blend needs a part that is above 0.")
    return Blend(**shares)


def _number_between(name: str, least: float, most: float) -> Callable[[Any], float]:
    return lambda value: number_in(value, least, most, name)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "category_weights": checked_weights,
    "interaction_weights": _weights_of,
    "half_life_days": _number_between("half_life_days", 1, 3650),
    "retention_days": _number_between("retention_days", 1, 36_500),
    "exclude_seen": _switch_of,
    "blend": _blend_of,
    "new_piece_half_life_days": _number_between("new_piece_half_life_days", 0, 365),
    "order": lambda value: member_of(OrderUse, value, f"order is {value!r}"),
    "max_per_value": _limits_of,
}
"""The settings, and what checks each."""
_RELEARNED = {"category_weights", "interaction_weights", "retention_days", "half_life_days"}
"""Settings that change what likes say, or the taste of people."""

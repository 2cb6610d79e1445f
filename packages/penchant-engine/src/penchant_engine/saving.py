"""Saving: what a recommender has learned, in a folder, as arrays of numpy and JSON; reading it runs no code."""

import json
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant_engine.attributes import Attribute, AttributeType
from penchant_engine.errors import InvalidInput
from penchant_engine.index import Audience, PieceCounts, Segment, Snapshot, Strings
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.table import PeopleTable
from penchant_engine.interactions import Interactions
from penchant_engine.model import Blend, InteractionType, OrderUse, Preferences, RankingSettings, Term
from penchant_engine.views import CatalogueView

FORMAT = 1
_MODEL = "model.json"
_SEGMENT, _WEIGHTS, _PEOPLE, _EVENTS = "catalogue.npz", "weights.npz", "people.npz", "interactions.npz"
_FILES = (_SEGMENT, _WEIGHTS, _PEOPLE, _EVENTS)
_LIKING = "liking"
_MARK = "mark"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FittedModel:
    """What is learned: the catalogue as one segment, what all people like, and what each did, by number.

    ``liking`` (n,) has for each piece of the segment how many people like it.
    """

    view: CatalogueView
    audience: Audience
    people: PeopleTable
    interactions: Interactions
    moment: int
    preferences: Mapping[str, Preferences]
    liking: NDArray[Any]


class SavedModel(NamedTuple):
    """A model as it is kept: arrays by the names of their files, and a description in what JSON has."""

    arrays: dict[str, dict[str, NDArray[Any]]]
    description: dict[str, Any]

    def restore(self) -> tuple[FittedModel, dict[str, Attribute]]:
        """Return what was learned, and the attributes that pieces can be filtered by."""
        description, events = self.description, self.arrays[_EVENTS]
        segment = Segment.of_arrays(self.arrays[_SEGMENT])
        weights = dict(self.arrays[_WEIGHTS])
        liking = weights.pop(_LIKING)
        view = CatalogueView(
            snapshot=Snapshot.of_segment(segment),
            settings=settings_of(description["settings"]),
            whitelist=tuple(description["whitelist"]),
            blacklist=tuple(description["blacklist"]),
            blacklisted=frozenset(description["blacklist"]),
        )
        view.snapshot.prepare(view.settings.category_factors)
        source = FittedModel(
            view=view,
            audience=Audience(PieceCounts.of_rows(segment, liking), ItemItemModel.of_arrays(weights), 1),
            people=PeopleTable.of_arrays(self.arrays[_PEOPLE]),
            interactions=Interactions.of_arrays(events, _text_of("people", events), _text_of("pieces", events)),
            moment=description["moment"],
            preferences={person: _preferences_of(each) for person, each in description["preferences"].items()},
            liking=liking,
        )
        names = description["attributes"]
        return source, {name: Attribute(AttributeType(kind), f"/{name}") for name, kind in names.items()}


def describe_model(source: FittedModel, attributes: Mapping[str, Attribute]) -> SavedModel:
    """Return what is to be kept of what was learned."""
    events = source.interactions
    arrays = {
        _SEGMENT: source.view.snapshot.parts[0].segment.arrays(),
        _WEIGHTS: {**source.audience.weights.arrays(), _LIKING: source.liking},
        _PEOPLE: source.people.arrays(),
        _EVENTS: {**events.arrays(), **_texts("people", events.people), **_texts("pieces", events.pieces)},
    }
    description = {
        "format": FORMAT,
        "moment": source.moment,
        "settings": members_of(source.view.settings),
        "whitelist": source.view.whitelist,
        "blacklist": source.view.blacklist,
        "attributes": {name: each.type for name, each in attributes.items()},
        "preferences": {
            person: {**members_of(each), "stated": [[*term, weight] for term, weight in each.stated.items()]}
            for person, each in source.preferences.items()
        },
    }
    return SavedModel(arrays, description)


def write_model(folder: Path, model: SavedModel) -> None:
    """Write a model to a folder, whose description comes last: without it there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MODEL).unlink(missing_ok=True)
    # All files of one model have the same mark: a folder that was written half-way, or by two, is none.
    mark = np.frombuffer(secrets.token_bytes(16), dtype=np.uint8)
    for name, arrays in model.arrays.items():
        _write(folder / name, {**arrays, _MARK: mark})
    description = {**model.description, _MARK: mark.tobytes().hex()}
    (folder / _MODEL).write_text(json.dumps(description, ensure_ascii=False, indent=1), encoding="utf-8")


def read_model(folder: Path) -> SavedModel:
    """Return the model in a folder.

    Raises:
        InvalidInput: there is none, it is of another format, or its files are damaged or of several models.
    """
    if not (folder / _MODEL).is_file():
        raise InvalidInput(f"There is no model in {folder}.")
    try:
        description = json.loads((folder / _MODEL).read_text(encoding="utf-8"))
        found = description["format"] if isinstance(description, dict) else None
        if found != FORMAT:
            raise InvalidInput(f"The model in {folder} is of the format {found}; {FORMAT} is read here.")
        files = {name: _read(folder / name) for name in _FILES}
        marks = {arrays.pop(_MARK).tobytes().hex() for arrays in files.values()} | {description.pop(_MARK)}
    except (KeyError, ValueError, EOFError, FileNotFoundError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"The model in {folder} is damaged: save it again.") from error
    if len(marks) > 1:
        raise InvalidInput(f"The files in {folder} are of several models: save one again.")
    return SavedModel(files, description)


def members_of(record: Any) -> dict[str, Any]:
    """Return the members of a record as JSON can hold them; the enumerations among them are texts."""
    members = {each.name: getattr(record, each.name) for each in fields(record)}
    plain = {name: dict(value) for name, value in members.items() if isinstance(value, Mapping)}
    return members | plain | {name: asdict(value) for name, value in members.items() if isinstance(value, Blend)}


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _texts(name: str, texts: list[str]) -> dict[str, NDArray[Any]]:
    table = Strings.of(texts)
    return {f"{name}.starts": table.starts, f"{name}.text": table.text}


def _text_of(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    return [*Strings(arrays[f"{name}.starts"], arrays[f"{name}.text"])]


def settings_of(members: Mapping[str, Any]) -> RankingSettings:
    """Return settings of the members that `members_of` gave."""
    weights = {InteractionType(name): weight for name, weight in members["interaction_weights"].items()}
    changed = {"interaction_weights": weights, "blend": Blend(**members["blend"]), "order": OrderUse(members["order"])}
    return RankingSettings(**{**members, **changed})


def _preferences_of(members: dict[str, Any]) -> Preferences:
    stated = {Term(category, keyword): weight for category, keyword, weight in members["stated"]}
    several = {name: tuple(members[name]) for name in ("hidden", "unused_categories")}
    return Preferences(stated=stated, personal=members["personal"], **several)

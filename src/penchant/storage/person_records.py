"""Records of people that reads return."""

from typing import NamedTuple

from penchant.model import StoredInteraction
from penchant.storage.records import InteractionChange


class StoredPerson(NamedTuple):
    """What is stored of a person: interactions, newest first, and preferences as stored JSON, empty for none."""

    interactions: list[StoredInteraction]
    preferences: bytes


class RecordedChanges(NamedTuple):
    """What became of people between two versions of the interactions.

    ``interactions`` ascend by version, and are those of ``user_ids``; ``stated`` are the keys of people whose
    preferences were replaced. Without ``is_whole`` a version is missing: what had it is gone, and whose it was nothing
    tells.
    """

    interactions: list[InteractionChange]
    user_ids: frozenset[str]
    stated: list[bytes]
    is_whole: bool

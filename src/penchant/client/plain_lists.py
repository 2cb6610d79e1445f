"""Requests for lists that are about no person, and for those of many people."""

from collections.abc import Iterable
from typing import Unpack

from penchant.client.batches import batches
from penchant.client.people import ListOptions, PersonalOptions
from penchant.client.requests import Flow, Request, asking, reading, several
from penchant.wire.explained import AnonymousPieces, PersonalPieces

MAX_PEOPLE = 1_000
"""People whose lists one request asks for."""


class PlainOptions(ListOptions, total=False):
    """As in `ListOptions`; ``half_life_days`` is after how long a person counts half towards what is popular.

    0 is never. It is also the age at which what is new has a score of one half.
    """

    half_life_days: int | None


class PopularOptions(PlainOptions, total=False):
    """As above; ``min_audience_version`` waits until what people like is known up to this version."""

    min_audience_version: int | None


def popular_content(source: str, **options: Unpack[PopularOptions]) -> Request[AnonymousPieces]:
    """Read what most people like, the most popular first."""
    return reading("/{source}/popular", AnonymousPieces, {"source": source}, options)


def new_content(source: str, **options: Unpack[PlainOptions]) -> Request[AnonymousPieces]:
    """Read what became available last, the newest first."""
    return reading("/{source}/new", AnonymousPieces, {"source": source}, options)


def recommend_to_each(
    source: str, user_ids: Iterable[str], **options: Unpack[PersonalOptions]
) -> Flow[list[PersonalPieces]]:
    """Read what each of several people may like, 1,000 of them at a time, in the order of their ids."""
    found: list[PersonalPieces] = []
    for batch in batches(several(user_ids), MAX_PEOPLE):
        found += yield asking("/{source}/recommendations", list[PersonalPieces], source, batch.body(), options)
    return found

"""Requests for lists that are about no person, and for those of many people."""

from collections.abc import Iterable
from datetime import date
from typing import TypedDict, Unpack

from penchant.client.batches import batches
from penchant.client.people import ListOptions, PersonalOptions
from penchant.client.requests import Flow, Request, asking, reading, several
from penchant.wire.answers import ProspectList
from penchant.wire.explanations import AnonymousPieces, PersonalPieces

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


class AudienceOptions(TypedDict, total=False):
    """How many people, of those at the end of a day; with those who know the piece, without those whom nothing suits.

    ``min_audience_version`` waits until what people like is known up to this version.
    """

    limit: int | None
    at: date | str | None
    include_seen: bool | None
    fill: bool | None
    min_audience_version: int | None


def content_audience(source: str, content_id: str, **options: Unpack[AudienceOptions]) -> Request[ProspectList]:
    """Read which people would like a piece most, best first."""
    places = {"source": source, "contentID": content_id}
    return reading("/{source}/content/{contentID}/audience", ProspectList, places, options)


def recommend_to_each(
    source: str, user_ids: Iterable[str], **options: Unpack[PersonalOptions]
) -> Flow[list[PersonalPieces]]:
    """Read what each of several people may like, 1,000 of them at a time, in the order of their ids."""
    found: list[PersonalPieces] = []
    for batch in batches(several(user_ids), MAX_PEOPLE):
        found += yield asking("/{source}/recommendations", list[PersonalPieces], source, batch.body(), options)
    return found

"""Requests for reasons and previews: why a piece is in a list or not, and what lists would be. Nothing is stored."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from penchant.client.batches import batches
from penchant.client.content import BasisOptions, ExplainedOptions, SimilarOptions
from penchant.client.people import PersonalOptions, RecommendOptions
from penchant.client.requests import Flow, Request, asking, encode, reading, several
from penchant.wire import SettingsPreview
from penchant.wire.explanations import AnonymousPieces, DraftNeighbours, NeighboursOfOne, PersonalPlace, SimilarPlace
from penchant.wire.pieces import Piece
from penchant.wire.preferences import Likings
from penchant.wire.settings import Settings

MAX_ASKED = 100
"""Pieces whose neighbours one request asks for."""


class PreviewOptions(TypedDict, total=False):
    """What would be changed, and whose lists are wanted: of up to 20 pieces and users together."""

    settings: Settings | Mapping[str, object] | None
    whitelist: Iterable[str] | None
    blacklist: Iterable[str] | None
    pieces: Iterable[str] | None
    users: Iterable[str] | None
    take: int | None


def why_similar(source: str, content_id: str, other: str, **options: Unpack[BasisOptions]) -> Request[SimilarPlace]:
    """Read where the other piece stands among those similar to a piece, and why, or why not."""
    places = {"source": source, "contentID": content_id, "other": other}
    return reading("/{source}/content/{contentID}/why/{other}", SimilarPlace, places, options)


def why_recommended(
    source: str, user_id: str, content_id: str, **options: Unpack[PersonalOptions]
) -> Request[PersonalPlace]:
    """Read where a piece stands among those recommended to a person, and why, or why not."""
    places = {"source": source, "userID": user_id, "contentID": content_id}
    return reading("/{source}/users/{userID}/why/{contentID}", PersonalPlace, places, options)


def preview_similar(
    source: str, piece: Piece | Mapping[str, object], **options: Unpack[SimilarOptions]
) -> Request[DraftNeighbours]:
    """Read the neighbours that a piece would have, with reasons; a mapping needs no id."""
    return asking("/{source}/preview/similar", DraftNeighbours, source, encode(piece), options)


def preview_recommendation(
    source: str, likings: Likings | Mapping[str, object], **options: Unpack[RecommendOptions]
) -> Request[AnonymousPieces]:
    """Read what a person may like of whom nothing is stored."""
    return asking("/{source}/preview/recommendation", AnonymousPieces, source, encode(likings), options)


def preview_settings(source: str, **wanted: Unpack[PreviewOptions]) -> Request[SettingsPreview]:
    """Read lists as they are and as they would be; members left out of the settings stay as they are."""
    given: Mapping[str, Any] = wanted
    body = {
        name: value if name in {"settings", "take"} else list(several(value))
        for name, value in given.items()
        if value is not None
    }
    return asking("/{source}/preview/settings", SettingsPreview, source, encode(body))


def similar_to_each(
    source: str, ids: Iterable[str], **options: Unpack[ExplainedOptions]
) -> Flow[list[NeighboursOfOne]]:
    """Read the nearest pieces of each of several pieces, 100 of them at a time, in the order of their ids."""
    found: list[NeighboursOfOne] = []
    for batch in batches(several(ids), MAX_ASKED):
        found += yield asking("/{source}/similar", list[NeighboursOfOne], source, batch.body(), options)
    return found

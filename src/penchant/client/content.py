"""Requests about a source and its pieces."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from types import NoneType
from typing import TypedDict, Unpack

import msgspec

from penchant.client.batches import Batch, batches, send_all
from penchant.client.errors import moved
from penchant.client.requests import Algorithm, Basis, Flow, ListingRequest, Request, query_of, reading, several
from penchant.wire import ChangeLine, Receipt, SourceStatus
from penchant.wire.explanations import SimilarPieces
from penchant.wire.pieces import ContentList, IdList, Piece

MAX_PIECES = 2_000
"""Pieces in one request; ids to delete, too."""
MAX_IGNORED = 100
"""Pointers that a receipt lists at most."""


class PageOptions(TypedDict, total=False):
    """Which part of a list is wanted: how many entries are skipped, and how many follow."""

    skip: int | None
    limit: int | None


class SimilarOptions(TypedDict, total=False):
    """What narrows a list of similar pieces; ``at`` is the day as of which availability counts.

    ``filter`` is a condition on attributes or a group of them, as the interface has them, ``boost`` one with a factor,
    or several; ``exclude`` leaves out pieces with these ids.
    """

    limit: int | None
    catalogs: Iterable[str] | None
    filter: Mapping[str, object] | str | None
    boost: Mapping[str, object] | Sequence[Mapping[str, object]] | str | None
    algo: Algorithm | None
    at: date | str | None
    exclude: Iterable[str] | None


class BasisOptions(SimilarOptions, total=False):
    """As above; ``by`` tells whether similarity goes by content, by people who like both, or by the mean of these.

    ``min_audience_version`` waits until what people like is known up to this version of the interactions.
    """

    by: Basis | None
    min_audience_version: int | None


class ExplainedOptions(BasisOptions, total=False):
    """As above; ``explain`` adds to each entry why it is there."""

    explain: bool | None


def submit_content(source: str, pieces: Iterable[Piece | Mapping[str, object]], *, wait: bool = False) -> Flow[Receipt]:
    """Submit any number of pieces, 2,000 at a time; the first submission makes the source.

    Each 2,000 are stored all or none; an error's ``stored`` tells what was stored before. The receipts are added up.
    ``wait`` returns only when the service answers from them.
    """
    total = yield from send_all(batches(pieces, MAX_PIECES), lambda batch: _submission(source, batch), _add)
    if wait:
        yield get_source(source, at_least=total.version)
    return total


def _submission(source: str, batch: Batch) -> Request[Receipt]:
    # Repeatable: pieces go by their id, so that a batch that arrives twice leaves what it left the first time.
    return Request(
        method="POST",
        template="/{source}/content",
        places={"source": source},
        body=batch.body(),
        answer=Receipt,
        repeatable=True,
    )


def _add(total: Receipt | None, receipt: Receipt, place: int) -> Receipt:
    """Return the receipt of a call so far, with that of its next batch added."""
    if total is None:
        return receipt
    # Pointers count from the first piece of the call; the version is that of the latest receipt.
    ignored = (*total.ignored, *(moved(pointer, place) for pointer in receipt.ignored))
    return msgspec.structs.replace(
        receipt,
        accepted=total.accepted + receipt.accepted,
        created=total.created + receipt.created,
        replaced=total.replaced + receipt.replaced,
        superseded=total.superseded + receipt.superseded,
        ignored=ignored[:MAX_IGNORED],
    )


def list_content(source: str, **options: Unpack[PageOptions]) -> Request[ContentList]:
    """Read the pieces, ascending by id, or a part of them; `iterate_content` reads any number."""
    return reading("/{source}/content", ContentList, {"source": source}, options)


def list_ids(source: str, **options: Unpack[PageOptions]) -> Request[IdList]:
    """Read the ids, ascending, or a part of them; `iterate_ids` reads any number."""
    return reading("/{source}/ids", IdList, {"source": source}, options)


def iterate_content(source: str, **options: Unpack[PageOptions]) -> ListingRequest[Piece]:
    """Iterate over the pieces, ascending by id, while they arrive: all as of one moment, one in memory at a time."""
    return ListingRequest(list_content(source, **options), Piece)


def iterate_ids(source: str, **options: Unpack[PageOptions]) -> ListingRequest[str]:
    """Iterate over the ids, ascending, while they arrive: all as of one moment, one in memory at a time."""
    return ListingRequest(list_ids(source, **options), str)


class ChangeOptions(TypedDict, total=False):
    """What a follower has: the version ``since`` which it follows and the ``history`` of that; ``wait`` in seconds."""

    since: int | None
    history: str | None
    wait: int | None


def list_changes(source: str, **options: Unpack[ChangeOptions]) -> Request[list[ChangeLine]]:
    """Read what became of the pieces after a version: a line where it begins, each change, and one where it ends."""
    return replace(reading("/{source}/changes", list[ChangeLine], {"source": source}, options), lines=True)


def get_content(source: str, content_id: str) -> Request[Piece]:
    """Read one piece."""
    return reading("/{source}/content/{contentID}", Piece, {"source": source, "contentID": content_id})


def similar_content(source: str, content_id: str, **options: Unpack[ExplainedOptions]) -> Request[SimilarPieces]:
    """Read the pieces nearest to a piece, nearest first."""
    places = {"source": source, "contentID": content_id}
    return reading("/{source}/content/{contentID}/similar", SimilarPieces, places, options)


def delete_content(source: str, ids: Iterable[str]) -> Flow[None]:
    """Delete the pieces with these ids, 2,000 at a time; unknown ones are no error, and no ids delete nothing."""
    for batch in batches(several(ids), MAX_PIECES):
        yield _deletion("/{source}/content", {"source": source}, body=batch.body(), repeatable=True)


def clear_content(source: str) -> Request[None]:
    """Delete all pieces of a source."""
    return _deletion("/{source}/content", {"source": source})


def delete_one_content(source: str, content_id: str) -> Request[None]:
    """Delete one piece; an unknown one is no error."""
    places = {"source": source, "contentID": content_id}
    return _deletion("/{source}/content/{contentID}", places, repeatable=True)


def get_source(source: str, *, at_least: int = 0) -> Request[SourceStatus[datetime]]:
    """Read where a source stands, once it has reached the version ``at_least``."""
    return reading("/{source}", SourceStatus[datetime], {"source": source}, at_least=at_least)


def delete_source(source: str, *, confirm: str) -> Request[None]:
    """Delete a source with everything in it; ``confirm`` is its name once more."""
    return _deletion("/{source}", {"source": source}, query=query_of({"confirm": confirm}))


def _deletion(
    template: str,
    places: Mapping[str, str],
    *,
    query: tuple[tuple[str, str], ...] = (),
    body: bytes | None = None,
    repeatable: bool = False,
) -> Request[None]:
    """Return a deletion; one of everything is not repeated, since what came in after it would go as well."""
    return Request(
        method="DELETE",
        template=template,
        places=places,
        query=query,
        body=body,
        answer=NoneType,
        repeatable=repeatable,
    )

"""Requests about what people saw, and what came of it."""

from collections.abc import Iterable, Mapping
from datetime import date

from penchant.client.batches import Batch, batches, send_all
from penchant.client.people import add_receipt
from penchant.client.requests import Flow, Request, query_of
from penchant.wire import BulkReceipt, InteractionType, PlacementResults
from penchant.wire.recording import SeenList

MAX_LISTS = 1_000
"""Lists in one request: with up to ten pieces each they are as many as it takes."""


def record_impressions(source: str, lists: Iterable[SeenList | Mapping[str, object]]) -> Flow[BulkReceipt]:
    """Report what was seen of any number of lists, 1,000 of them at a time, each 1,000 all or none.

    It can be sent again without harm: a piece of a list counts once.
    """
    return (yield from send_all(batches(lists, MAX_LISTS), lambda batch: _bulk(source, batch), add_receipt))


def _bulk(source: str, batch: Batch) -> Request[BulkReceipt]:
    return Request(
        method="POST",
        template="/{source}/impressions",
        places={"source": source},
        body=batch.body(),
        answer=BulkReceipt,
        repeatable=True,
    )


def placement_results(
    source: str,
    name: str,
    *,
    since: date | str | None = None,
    until: date | str | None = None,
    type: InteractionType | str | None = None,  # noqa: A002  # the interface's word
    base: str | None = None,
) -> Request[PlacementResults]:
    """Read what the variants of a placement showed and what came of it, from one UTC day to another, both included.

    ``type`` is the interaction that counts as a success, any but a dislike without it; ``base`` is the variant from
    which the others differ. In the query the days are called ``from`` and ``to``, which Python keeps for itself.
    """
    options = {"from": since, "to": until, "type": type, "base": base}
    return Request(
        method="GET",
        template="/{source}/placements/{name}/results",
        places={"source": source, "name": name},
        query=query_of(options),
        answer=PlacementResults,
        repeatable=True,
    )

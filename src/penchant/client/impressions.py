"""Requests about what people saw."""

from collections.abc import Iterable, Mapping

from penchant.client.batches import Batch, batches, send_all
from penchant.client.people import add_receipt
from penchant.client.requests import Flow, Request
from penchant.wire import BulkReceipt
from penchant.wire.records import SeenList

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

"""Batches: any number of entries as requests of an accepted size, one batch at a time as the entries come."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penchant.client.errors import ClientError, ServiceError
from penchant.client.requests import Flow, Request, encode
from penchant.wire import BulkReceipt, Receipt

MAX_BODY_BYTES = 8 * 1024 * 1024
"""How large a body grows before another is begun: half of what the service takes by default."""

Counted = TypeVar("Counted", Receipt, BulkReceipt)


@dataclass(slots=True)
class Batch:
    """Entries of one request, as JSON; ``place`` is the first one's among all of the call."""

    place: int = 0
    entries: list[bytes] = field(default_factory=list)
    are_repeatable: bool = True

    def body(self) -> bytes:
        """Return the entries as a JSON array."""
        return b"[" + b",".join(self.entries) + b"]"


def batches(
    entries: Iterable[Any], most: int, is_repeatable: Callable[[Any], bool] = lambda _: True
) -> Iterator[Batch]:
    """Yield batches of up to ``most`` entries, reading no further than the one that is sent; at least one, empty."""
    batch, size = Batch(), 0
    for entry in entries:
        encoded = encode(entry)
        if len(batch.entries) == most or (batch.entries and size + len(encoded) > MAX_BODY_BYTES):
            yield batch
            batch, size = Batch(place=batch.place + len(batch.entries)), 0
        batch.entries.append(encoded)
        batch.are_repeatable = batch.are_repeatable and is_repeatable(entry)
        size += len(encoded) + 1
    # Nothing at all is one empty batch, so that there is an answer to return.
    if batch.entries or not batch.place:
        yield batch


def send_all(
    parts: Iterable[Batch],
    request_of: Callable[[Batch], Request[Counted]],
    add: Callable[[Counted | None, Counted, int], Counted],
) -> Flow[Counted]:
    """Send batch after batch and return the sum of what was answered.

    An error tells what was stored before it, and its pointers count from the first batch.
    """
    total: Counted | None = None
    for batch in parts:
        try:
            answer = yield request_of(batch)
        except ClientError as error:
            # What was stored before is not taken back: the caller learns how far it came.
            error.stored = total
            if isinstance(error, ServiceError):
                error.move(batch.place)
            raise
        total = add(total, answer, batch.place)
    if total is None:
        raise ValueError("there was no batch")
    return total

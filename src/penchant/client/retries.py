"""Retries: when a failed request is sent again. Only where it cannot do anything twice, and clients not all at once."""

import random
from dataclasses import dataclass
from typing import Any

from penchant.client.errors import ClientError, ConnectionLost, ServiceError, TooManyRequests, Unavailable
from penchant.client.problems import IndexNotReady, NotYetVisible, Overloaded
from penchant.client.requests import Request

_NOTHING_DONE = (TooManyRequests, Overloaded, NotYetVisible, IndexNotReady)
"""With these the service says that it did nothing of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a request is tried in all, and how long the pauses between grow; ``attempts=1`` never repeats.

    The pauses double from the first to the longest, each shortened at random by up to a half. A ``Retry-After`` of
    the service is waited for, unless it is longer than the longest pause: then the error is raised at once.
    """

    attempts: int = 5
    first_pause_s: float = 0.25
    longest_pause_s: float = 20.0

    def pause_s(self, error: ClientError, request: Request[Any], attempt: int) -> float | None:
        """Return how long to wait before a request is sent again after its n-th attempt, or `None` to give up."""
        if attempt >= self.attempts or not _may_repeat(error, request):
            return None
        # Doubled each time: 0.25, 0.5, 1 s and so on, unless the service itself says how long.
        step = min(self.longest_pause_s, self.first_pause_s * 2.0 ** (attempt - 1))
        retry_after_s = error.retry_after_s if isinstance(error, ServiceError) else None
        if retry_after_s is None:
            return random.uniform(step / 2, step)  # noqa: S311  # spreads clients, guards nothing
        if retry_after_s > self.longest_pause_s:
            return None
        return retry_after_s + random.uniform(0, step)  # noqa: S311  # as above


def _may_repeat(error: ClientError, request: Request[Any]) -> bool:
    if isinstance(error, ConnectionLost):
        return request.repeatable or not error.sent
    # With any other 503, that of an unreachable database for one, a change may have been stored all the same.
    return isinstance(error, _NOTHING_DONE) or (isinstance(error, Unavailable) and request.repeatable)

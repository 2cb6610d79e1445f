"""Pace of a client that reads a streamed answer: whether it takes in enough in the time that it is waited for."""

WINDOW_S = 30.0
"""The time over which the pace is averaged: a network that falters for some seconds costs nobody an answer."""


class ReadingPace:
    """Measures a client window by window; only time in which the service waits for it counts."""

    def __init__(self, least_bytes_per_s: float) -> None:
        self._least = least_bytes_per_s
        self._size = 0
        self._waited_s = 0.0

    def patience_s(self, size: int, most_s: float) -> float:
        """Return how long to wait for a part of so many bytes to be taken in, at most ``most_s``."""
        # A part so large that even the least pace needs longer than a window gets the time that it needs.
        return min(most_s, max(WINDOW_S, size / self._least)) if self._least else most_s

    def is_too_slow(self, size: int, waited_s: float) -> bool:
        """Count a part that was taken in, and return whether the window that ends with it was below the least pace."""
        self._size += size
        self._waited_s += waited_s
        if self._waited_s < WINDOW_S:
            return False
        is_slow = self._size < self._least * self._waited_s
        # A new window: who was quick once has no credit for later.
        self._size, self._waited_s = 0, 0.0
        return is_slow

"""Dispatcher: gives a crew ranges of which the caller comes to know only by what others have become."""

from collections import deque
from collections.abc import Iterable, Sequence

from penchant.cluster.crew import Crew


class Dispatcher:
    """Keeps a crew busy: with what is needed now, and behind it with what is likely to be needed next."""

    def __init__(self, crew: Crew) -> None:
        self._waiting = deque[int]()
        self._asked = set[int]()
        self._found = dict[int, bytes]()
        self._parts = crew.run(self._waiting)

    def gather(self, needed: Sequence[int], likely: Iterable[int]) -> list[bytes]:
        """Return what ranges have become, in their order; what else is under way goes on.

        ``likely`` takes the place of what was likely before and is not begun. What is returned is forgotten.

        Raises:
            Refused: a range cannot be done.
        """
        self._asked.difference_update(self._waiting)
        self._waiting.clear()
        for number in (*needed, *likely):
            if number not in self._asked:
                self._asked.add(number)
                self._waiting.append(number)
        while any(number not in self._found for number in needed):
            part = next(self._parts)
            self._found[part.number] = part.content
        self._asked.difference_update(needed)
        return [self._found.pop(number) for number in needed]

    def close(self) -> None:
        """End the crew."""
        self._parts.close()

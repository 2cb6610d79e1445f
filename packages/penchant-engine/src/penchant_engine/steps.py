"""Steps: what a program that traces enters around each step of making a list; nothing is entered otherwise."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

Begin = Callable[[str], AbstractContextManager[Any]]
"""Returns what is entered for a step of this name."""
_NOTHING = nullcontext()


class Steps:
    """The steps of this process, begun by ``begin``."""

    def __init__(self) -> None:
        self.begin: Begin = begin_nothing


def begin_nothing(_name: str) -> AbstractContextManager[Any]:
    """Return what is entered where nobody traces."""
    return _NOTHING


steps = Steps()

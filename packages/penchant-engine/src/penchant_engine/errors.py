"""Errors of the engine: what was wrong with what was asked of it, and what to do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of what was given: where it is (a JSON pointer or a parameter's name), and what is accepted there."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class PenchantError(Exception):
    """An error that a caller may meet; the message says what was wrong and what to do."""

    code: ClassVar[str] = "internal"

    def __init_subclass__(cls) -> None:
        """Give a kind of error its code, its name: `UnknownPiece` is ``unknown-piece``; its own kinds share it."""
        if PenchantError in cls.__bases__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, detail: str, *, faults: Sequence[Fault] = (), retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.faults = tuple(faults)
        self.retry_after_s = retry_after_s


class UnknownPiece(PenchantError):
    """The source has no piece with this id."""


class TooFewPieces(PenchantError):
    """Similar content needs at least two pieces in the source."""


class InvalidInput(PenchantError):
    """The request can be read, but a value in it is not acceptable."""


class InvalidSyntax(PenchantError):
    """The body is not what its content type says, JSON for one."""


class Refused(PenchantError):
    """A command would lose something, or disturb a process that runs; the message says how to go on."""

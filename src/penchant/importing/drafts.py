"""Drafts: what rows of foreign files become, as it would be sent in a request, not yet checked."""

import enum
from typing import NamedTuple


class DraftKind(enum.Enum):
    """The kind of thing that a draft becomes."""

    PIECE = "piece"
    INTERACTION = "interaction"
    WHITELIST = "whitelist"
    BLACKLIST = "blacklist"
    SETTINGS = "settings"
    PLACEMENT = "placement"
    PREFERENCES = "preferences"


class RowProblem(NamedTuple):
    """Why a row becomes nothing: where in it (a JSON pointer or a column), and what is accepted."""

    pointer: str
    detail: str


class Draft(NamedTuple):
    """What one row becomes, as the JSON of a request; or the problem that it has instead."""

    kind: DraftKind
    file: str
    line: int
    body: bytes
    problem: RowProblem | None = None

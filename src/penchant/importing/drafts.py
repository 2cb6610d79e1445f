"""What does a row of a foreign file become? A draft: what would be sent in a request, not yet checked."""

import enum
from typing import NamedTuple


class Kind(enum.Enum):
    """What a draft is of."""

    PIECE = "piece"
    INTERACTION = "interaction"
    WHITELIST = "whitelist"
    BLACKLIST = "blacklist"
    SETTINGS = "settings"


class Problem(NamedTuple):
    """Why a row becomes nothing: where in it (a JSON pointer or a column), and what is accepted."""

    pointer: str
    detail: str


class Draft(NamedTuple):
    """What one row becomes, as the JSON of a request; or the problem that it has instead."""

    kind: Kind
    file: str
    line: int
    body: bytes
    problem: Problem | None = None

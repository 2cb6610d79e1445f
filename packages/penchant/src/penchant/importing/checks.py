"""Checks: what rows of files become, by the very checks of requests, and settings with a vocabulary added to theirs."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from penchant.enrichment import enrichments, exported_rules
from penchant.errors import InvalidInput
from penchant.importing.kinds import LINE, line_kinds, split_line
from penchant.model import PieceLimits
from penchant.wire import decode_list, decode_submission, encode_settings
from penchant.wire.lines import decode_stated_preferences
from penchant.wire.pieces import DEFAULT_LIMITS
from penchant.wire.recording import decode_interactions
from penchant.wire.settings import decode_imported_settings, read_settings, unread_of, with_vocabulary
from penchant.wire.syntax import pointer
from penchant.wire.vocabulary import read_vocabulary

_SINGLE: dict[str, Callable[[bytes], Any]] = {
    "whitelist": decode_list,
    "blacklist": decode_list,
    "settings": decode_imported_settings,
    "preferences": decode_stated_preferences,
}
"""What requests have one of, and how it is read; pieces and interactions come in arrays."""


def single_kinds() -> Mapping[str, Callable[[bytes], Any]]:
    """Return how each kind of what is alone in a line is read."""
    return _SINGLE | {name: kind.read for name, kind in line_kinds().items()}


class ReadBody(NamedTuple):
    """What is in the body of a request, and pointers of what is no member of it; of settings what no package knows."""

    items: Sequence[Any]
    ignored: Sequence[str] = ()


class BodyChecks:
    """The checks of bodies of requests, with a service's limits of pieces."""

    def __init__(self, limits: PieceLimits = DEFAULT_LIMITS) -> None:
        self._decode = functools.partial(decode_submission, limits=limits)

    @property
    def word_rule(self) -> Any:
        """By which rule words of texts are made, as exports state it; ``None`` where no package makes them."""
        return exported_rules(enrichments()).get("wordRule")

    def read(self, kind: str, body: bytes, now: int) -> ReadBody:
        """Return what is in a body: an array of pieces or of interactions, else the one that it is, as it stands.

        Raises:
            PenchantError: it may not be stored; faults have their pointers.
        """
        if kind == "piece":
            submission = self._decode(body)
            return ReadBody(submission.pieces, submission.ignored)
        if kind == "interaction":
            return ReadBody(decode_interactions(body, now))
        if kind == LINE:
            line, value = split_line(body)
            line.read(value)
            return ReadBody([body])
        if kind == "settings":
            return ReadBody([body], [pointer(name) for name in decode_imported_settings(body).unread])
        read = single_kinds().get(kind)
        if read is None:
            raise InvalidInput(f"The package that a {kind} is of is not installed.")
        read(body)
        return ReadBody([body])


def join_vocabulary(settings: Mapping[str, Any], words: Mapping[str, Any], *, replaces: bool) -> Mapping[str, Any]:
    """Return settings, as requests have them, with a vocabulary added to theirs, or in its place.

    Raises:
        InvalidInput: it contradicts itself, or both together name more keywords than are accepted.
    """
    added, before = read_vocabulary(words), read_settings(settings, unread_of(settings))
    after = with_vocabulary(before, added if replaces else before.vocabulary.joined(added))
    members: Mapping[str, Any] = msgspec.json.decode(encode_settings(after))
    return members

"""Errors of rows and drafts."""

from penchant.errors import PenchantError


class UnknownPlacement(PenchantError):
    """The source has no placement of this name, or no such version of it."""


class KindNotInstalled(PenchantError):
    """The placement shows a kind of list of a package that is not installed."""


class TooManyPlacements(PenchantError):
    """The source has as many placements as one may have."""


class PlacementChanged(PenchantError):
    """Others changed the placement at the same moment."""


class UnknownDraft(PenchantError):
    """The source has no draft of this name."""


class TooManyDrafts(PenchantError):
    """The source has as many open drafts as one may have."""


class DraftChanged(PenchantError):
    """The draft is another revision than the one looked at, or what it edits was changed at the same moment."""


class OutdatedDraft(PenchantError):
    """What the draft edits has changed since: since its last edit, or to be undone since its publication."""


class WrongDraftState(PenchantError):
    """The draft is not in a state in which this can be done, such as undoing what is not published."""


class FourEyes(PenchantError):
    """Nobody may do this alone: the source asks for a draft, and for another person who publishes it."""

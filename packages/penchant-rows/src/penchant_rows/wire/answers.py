"""What was seen, in the export of a person."""

from typing import Generic

from penchant.wire.answers import Moment
from penchant.wire.fields import Record


class ExportedImpression(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A piece that a person was shown in a list of a placement, and the types of interaction that it led to.

    ``made_at`` is when the list was made.
    """

    placement: str
    variant: str
    content_id: str
    position: int | None = None
    made_at: Moment
    timestamp: Moment
    led_to: tuple[str, ...] = ()


class PersonImpressions(Record, Generic[Moment], frozen=True, kw_only=True, omit_defaults=True):
    """What a person was shown, newest first."""

    impressions: tuple[ExportedImpression[Moment], ...] = ()

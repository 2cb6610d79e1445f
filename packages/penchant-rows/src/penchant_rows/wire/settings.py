"""Settings of a source that rows bring."""

from typing import Annotated

from penchant.wire.fields import BOOLEAN, Description, Example, Label, Record, integer
from penchant_rows.model import IMPRESSION_DAYS

MAX_ATTRIBUTION_HOURS = 24 * IMPRESSION_DAYS
"""A bound of the interface, section 7."""


class RowSettings(Record, frozen=True, kw_only=True, rename="camel"):
    """What a source settles for its rows and drafts.

    For ``attribution_window_hours`` an interaction that names no list is attributed to the last one that showed its
    piece. ``public_cards`` lets pages read the cards of rows. With ``four_eyes`` who wrote a draft does not publish it.
    """

    attribution_window_hours: Annotated[int, integer(1, MAX_ATTRIBUTION_HOURS)] = 24
    public_cards: Annotated[bool, BOOLEAN, Example(True), Label("Anybody may read the cards of rows")] = False
    four_eyes: Annotated[
        bool,
        BOOLEAN,
        Description("Whether who wrote a draft is kept from publishing it."),
        Label("Who wrote a draft may not publish it"),
        Example(False),  # a sample's value
    ] = False

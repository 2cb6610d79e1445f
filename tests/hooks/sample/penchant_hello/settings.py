"""A setting of sources."""

from typing import Annotated

from penchant.wire.fields import NAME_SCHEMA, Description, Example, Record, text
from penchant.wire.text import name_problem


class HelloSettings(Record, frozen=True, kw_only=True):
    """How a source is greeted."""

    greeting: Annotated[
        str, text(name_problem, "a name", NAME_SCHEMA), Description("The word of the greeting."), Example("Moin")
    ] = "hello"

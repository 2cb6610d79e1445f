"""Keywords of pieces: the first letter of their ids."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from penchant.enrichment import Enrichment
from penchant.model import SourceSettings
from penchant_hello.settings import HelloSettings


class Initials(Enrichment):
    """Makes a keyword of a piece's id, in sources that are greeted in words of their own."""

    category: ClassVar = "hello"
    settings: ClassVar = HelloSettings
    included: ClassVar = "the first letters of their ids"

    def rule(self, settings: SourceSettings) -> bytes:
        """Return that there are such keywords, in sources with a greeting."""
        return b"" if settings.of(HelloSettings) == HelloSettings() else b'{"number":1}'

    def keywords(self, body: bytes, rule: bytes) -> Sequence[str]:
        """Return the first letter of the id."""
        del rule
        return (msgspec.json.decode(body)["id"][0],)

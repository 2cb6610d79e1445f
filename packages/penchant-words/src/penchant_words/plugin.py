"""What the package brings to the service."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penchant.hooks import implementation

if TYPE_CHECKING:
    from penchant.enrichment import Enrichment
    from penchant.web.operations import Operation
    from penchant.wire.fields import Record


@implementation
def enrich() -> Iterable["Enrichment"]:
    """Return what makes keywords of the words in pieces' texts."""
    from penchant_words.keywords import TextWords  # noqa: PLC0415  # only what looks at pieces needs it

    return (TextWords(),)


@implementation
def source_settings() -> Iterable[type["Record"]]:
    """Return the setting by which pieces have words."""
    from penchant_words.settings import TextSettings  # noqa: PLC0415  # as above

    return (TextSettings,)


@implementation
def operations() -> Iterable["Operation"]:
    """Return the preview of words."""
    from penchant_words.web import WORDS  # noqa: PLC0415  # as above

    return WORDS

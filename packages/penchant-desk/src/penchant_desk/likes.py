"""What a full like is in a source, in a sentence, for pages that count in likes."""

from penchant_client import operations
from penchant_client.records import InteractionType
from penchant_desk.site import PageVisit

LIKE_NOUNS = {
    InteractionType.PURCHASE: "purchases",
    InteractionType.RATE_LIKE: "good ratings",
    InteractionType.WATCH: "watches",
    InteractionType.BOOKMARK: "bookmarks",
    InteractionType.PLAY: "plays",
    InteractionType.CLICK: "clicks",
    InteractionType.PREVIEW: "previews",
    InteractionType.RATE_DISLIKE: "bad ratings",
}
"""What several interactions of a type are called."""


async def what_a_like_is(visit: PageVisit) -> str:
    """Return in a sentence what a full like is in a source, "" where that is still being found out."""
    return (await visit.client.send(operations.source_health(visit.source, wait=False))).likes.full_like

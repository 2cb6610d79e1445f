"""Two pairs of eyes: with the setting ``fourEyes`` editors change what steers a source by drafts of somebody else.

That is its lists, settings and placements, by whichever route or page; pieces, and what people do, are not meant. Nor
are keys without limits, which programs have: they go by the routes as ever, and could turn the setting off. A draft
itself is held by its transaction (`storage.drafts`), whoever wrote it, by the setting in force there.
"""

from penchant.errors import FourEyes
from penchant.live.database import AsyncStorage
from penchant.model import Scope, SourceSettings
from penchant.service.access import Access
from penchant.service.grants import PERSON
from penchant.storage import source_id
from penchant.wire import decode_stored_settings


async def settings_now(database: AsyncStorage, account_id: int, source: str) -> SourceSettings:
    """Return the settings of a source as they are stored, the defaults where there is none; without its index."""
    stored = await database.promptly(database.storage.sources.read_settings, source_id(account_id, source))
    return decode_stored_settings(stored)


async def require_one_pair(
    database: AsyncStorage, access: Access, source: str, *, wanted: SourceSettings | None = None
) -> None:
    """Check that whoever asks may change a source alone; ``wanted`` are settings, which may be those in force.

    Raises:
        FourEyes: somebody else has to publish the change.
    """
    if access.scopes == frozenset(Scope) and not access.key_id.startswith(PERSON):
        return
    settings = await settings_now(database, access.account_id, source)
    # What is as it was changes nothing: settings that were read can be put back.
    if settings.four_eyes and wanted != settings:
        raise FourEyes(
            "The source has the setting fourEyes: keep the change in a draft (PUT /{source}/drafts/{name}), which "
            "somebody else publishes."
        )

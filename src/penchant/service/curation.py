"""Curation: the whitelist, the blacklist and the settings with which editors steer a source."""

from collections.abc import Sequence

from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import ListKind, SourceSettings
from penchant.service.access import Access
from penchant.storage import Outcome, ReplaceList, ReplaceSettings
from penchant.wire import encode_settings


class Curation:
    """The lists and settings of sources."""

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database

    @staticmethod
    def listed(view: View, kind: ListKind) -> list[str]:
        """Return the ids on a list, in its order."""
        return list(view.whitelist if kind is ListKind.WHITELIST else view.blacklist)

    async def replace_list(self, access: Access, source: str, kind: ListKind, ids: Sequence[str]) -> Outcome:
        """Replace a list; the order of ids is kept."""
        return await self._database.change(
            ReplaceList(account_id=access.account_id, source=source, actor=access.key_id, kind=kind, ids=ids)
        )

    async def replace_settings(self, access: Access, source: str, settings: SourceSettings) -> Outcome:
        """Replace the settings of a source."""
        return await self._database.change(
            ReplaceSettings(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                settings=encode_settings(settings),
            )
        )

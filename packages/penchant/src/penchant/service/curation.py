"""Curation: the whitelist, the blacklist and the settings with which editors steer a source."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from penchant.live.database import AsyncStorage
from penchant.live.keyword_writer import KeywordTasks, replace_settings
from penchant.live.views import View, Views
from penchant.model import ListKind, SourceSettings
from penchant.service import Services
from penchant.service.access import Access
from penchant.storage import EditList, ReplaceList, SettingsChange, SourceChange, source_id
from penchant.wire import decode_stored_settings

KEYWORDS_TIMEOUT_S = 10.0
"""How long an answer waits for the words of all pieces: those of some ten thousand are worked out by then."""


async def _stored_settings(database: AsyncStorage, account_id: int, source: str) -> bytes:
    return await database.promptly(database.storage.sources.read_settings, source_id(account_id, source))


async def settings_now(database: AsyncStorage, account_id: int, source: str) -> SourceSettings:
    """Return the settings of a source as they are stored, the defaults where there is none; without its index."""
    return decode_stored_settings(await _stored_settings(database, account_id, source))


class Curation:
    """The lists and settings of sources."""

    def __init__(self, database: AsyncStorage, views: Views, words: KeywordTasks) -> None:
        self._database = database
        self._views = views
        self._words = words

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what curates sources over the service."""
        return cls(services.database, services.views, services.content.words)

    @staticmethod
    def listed(view: View, kind: ListKind) -> list[str]:
        """Return the ids on a list, in its order."""
        return list(view.whitelist if kind is ListKind.WHITELIST else view.blacklist)

    async def replace_list(self, access: Access, source: str, kind: ListKind, ids: Sequence[str]) -> SourceChange:
        """Replace a list; the order of ids is kept.

        Raises:
            FourEyes: the source asks for two pairs of eyes.
        """
        return await self._database.change(ReplaceList(**access.command_of(source), kind=kind, ids=ids))

    async def edit_list(
        self, access: Access, source: str, kind: ListKind, piece_ids: Sequence[str], *, is_listed: bool
    ) -> SourceChange:
        """Put pieces at the end of a list, or take them off; what others change in it meanwhile stays.

        Raises:
            TooManyEntries: the list would be longer than it may be.
            FourEyes: as `replace_list`.
        """
        command = EditList(**access.command_of(source), kind=kind, piece_ids=piece_ids, is_listed=is_listed)
        return await self._database.change(command)

    async def replace_settings(self, access: Access, source: str, settings: SourceSettings) -> SettingsChange:
        """Replace the settings of a source.

        Where pieces get other words, that is waited for, some seconds: lists have them from the returned version on,
        and of a large source later, all at once.

        Raises:
            FourEyes: as `replace_list`, unless they are the settings in force.
        """
        command = replace_settings(**access.command_of(source), settings=settings)
        if not access.bypasses_review:
            stored = await _stored_settings(self._database, access.account_id, source)
            if decode_stored_settings(stored) == settings:
                # Whatever release wrote them: so it is seen in the transaction, too, that nothing changes.
                command = replace(command, settings=stored)
        outcome = await self._database.change(command)
        if not outcome.pending or not await self._words.settle((access.account_id, source), KEYWORDS_TIMEOUT_S):
            return outcome
        head = await self._views.head(access.account_id, source, min_version=outcome.version)
        return outcome._replace(version=head.version)

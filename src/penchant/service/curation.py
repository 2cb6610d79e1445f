"""Curation: the whitelist, the blacklist and the settings with which editors steer a source."""

from collections.abc import Sequence
from dataclasses import replace

from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.live.word_writer import WordTasks, replace_settings
from penchant.model import ListKind, SourceSettings
from penchant.service.access import Access
from penchant.storage import Outcome, ReplaceList

WORDS_TIMEOUT_S = 10.0
"""How long an answer waits for the words of all pieces: those of some ten thousand are worked out by then."""


class Curation:
    """The lists and settings of sources."""

    def __init__(self, database: AsyncStorage, views: Views, words: WordTasks) -> None:
        self._database = database
        self._views = views
        self._words = words

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
        """Replace the settings of a source.

        Where pieces get other words, that is waited for, some seconds: lists have them from the returned version on,
        and of a large source later, all at once.
        """
        outcome = await self._database.change(
            replace_settings(account_id=access.account_id, source=source, actor=access.key_id, settings=settings)
        )
        if not outcome.pending or not await self._words.settle((access.account_id, source), WORDS_TIMEOUT_S):
            return outcome
        head = await self._views.head(access.account_id, source, min_version=outcome.version)
        return replace(outcome, version=head.version)

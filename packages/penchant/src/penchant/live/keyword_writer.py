"""Keyword writer: what packages make keywords of, for pieces as they are submitted, and for all under a new rule.

    settings say another rule   it is *wanted*; words by the old one stay *in force*, submissions bring both along
    working out                 piece by piece, stored beside the old ones; a restart goes on, since those are kept
    the last piece has them     the new rule is in force, as one version of the source; the old words are passed over

Which rules a source has is remembered, and checked by the transaction that stores a submission: where others did it
differently meanwhile, it says by which, and the words are worked out once more.
"""

import asyncio
import contextlib
import dataclasses
import threading
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from penchant.enrichment import absent_of, encode_keywords, is_outdated, rule_of
from penchant.errors import Overloaded, PenchantError
from penchant.live.database import AsyncStorage
from penchant.live.heads import SourceName
from penchant.model import SourceSettings
from penchant.storage import (
    NO_KEYWORDS,
    KeywordRules,
    KeywordRulesChanged,
    PieceSubmission,
    ReplaceSettings,
    Storage,
    StoreKeywords,
    SubmitPieces,
)
from penchant.storage.transaction import Result, SourceCommand
from penchant.wire import decode_stored_settings, encode_settings
from penchant_engine.bounded_cache import BoundedCache

PiecesCommand = TypeVar("PiecesCommand", bound=SourceCommand[Any])
"""A command that stores ``pieces``, which have words by ``rules``."""
REMEMBERED = 4_096
"""Sources whose rules are remembered; of those without words there is nothing to remember."""
ATTEMPTS = 5
"""How often a submission is tried whose source gets other rules meanwhile."""
BATCH_PIECES = 200
"""Pieces whose words are worked out and stored at once: some tens of milliseconds."""


def replace_settings(
    *, account_id: int, source: str, actor: str, settings: SourceSettings, bypasses_review: bool = False
) -> ReplaceSettings:
    """Return the command that replaces the settings of a source, the rule by which its pieces have words with them."""
    return ReplaceSettings(
        account_id=account_id,
        source=source,
        actor=actor,
        bypasses_review=bypasses_review,
        settings=encode_settings(settings),
        defaults=encode_settings(SourceSettings()),
        words=rule_of(settings),
    )


class KeywordCursor(msgspec.Struct):
    """How far the pieces of a source have been gone through, by which rule."""

    wanted: bytes = b""
    last: str = ""


class KeywordWriter:
    """Works out words of pieces; safe for threads."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._rules: BoundedCache[tuple[int, str], KeywordRules] = BoundedCache(REMEMBERED)
        self._guard = threading.Lock()

    def needs_keywords(self, command: SourceCommand[Any]) -> bool:
        """Return whether there are words to be worked out before pieces are submitted, as far as is known."""
        return (self._known(command) or _rules_of_new(command)) != NO_KEYWORDS

    def prepared(self, command: PiecesCommand) -> PiecesCommand:
        """Return a submission whose pieces have words by the rules of their source, as far as these are known."""
        known = self._known(command)
        rules = _rules_of_new(command) if known is None else known
        storing: Any = command
        changed: Any = {"rules": rules}
        if rules != NO_KEYWORDS:
            changed["pieces"] = [replace(each, words=encode_keywords(each.body, rules)) for each in storing.pieces]
        prepared: PiecesCommand = dataclasses.replace(storing, **changed)
        return prepared

    def learn(self, command: SourceCommand[Any], changed: KeywordRulesChanged) -> None:
        """Remember by which rules a submission should have brought words along."""
        with self._guard:
            self._rules.put((command.account_id, command.source), changed.rules)

    def submit(self, command: SubmitPieces) -> PieceSubmission:
        """Carry out a submission with its words, and return after the commit; as `Storage.submit`."""
        for _ in range(ATTEMPTS):
            try:
                return self._storage.submit(self.prepared(command)).result()
            except KeywordRulesChanged as changed:
                self.learn(command, changed)
        raise too_many_changes()

    def work_out(self, account_id: int, source: str) -> None:
        """Work out the words of all pieces by the rule that a source's settings want, and put it in force."""
        cursor = KeywordCursor()
        while (command := self.next_keywords(account_id, source, cursor)) is not None:
            self._storage.submit(command).result()

    def next_keywords(self, account_id: int, source: str, cursor: KeywordCursor) -> StoreKeywords | None:
        """Return the words of some pieces past a cursor, to be stored, and move it; ``None`` where all is in force."""
        read = self._storage.pieces.read_texts
        rules, texts = read(account_id, source, cursor.last, BATCH_PIECES)
        if not rules.are_different or absent_of(rules.wanted):
            return None
        if rules.wanted != cursor.wanted:
            # Others have changed the settings: pieces before the cursor have no words by this rule.
            cursor.wanted, cursor.last = rules.wanted, ""
            _, texts = read(account_id, source, "", BATCH_PIECES)
        words = [(each.id, each.version, encode_keywords(each.body, rules, each.words)) for each in texts]
        changed = [each for each, text in zip(words, texts, strict=True) if each[2] != text.words]
        cursor.last = texts[-1].id if texts else cursor.last
        return StoreKeywords(
            account_id=account_id,
            source=source,
            wanted=rules.wanted,
            words=changed,
            adopts=len(texts) < BATCH_PIECES,
        )

    def renew(self) -> list[SourceName]:
        """Have words of older releases' rules worked out anew, and return the sources where some are to be."""
        different = []
        for state in self._storage.sources.list_enriched():
            wanted = rule_of(decode_stored_settings(state.settings))
            is_old = is_outdated(state.rules.wanted, wanted)
            if is_old:
                command = ReplaceSettings(
                    account_id=state.account_id,
                    source=state.source,
                    settings=state.settings,
                    words=wanted,
                    expected=state.settings,
                    bypasses_review=True,
                )
                self._storage.submit(command).result()
            if is_old or state.rules.are_different:
                different.append((state.account_id, state.source))
        return different

    def _known(self, command: SourceCommand[Any]) -> KeywordRules | None:
        with self._guard:
            return self._rules.get((command.account_id, command.source))


def _rules_of_new(command: SourceCommand[Any]) -> KeywordRules:
    """Return the rules of the source that a submission may make."""
    return KeywordRules(command.words, command.words) if isinstance(command, SubmitPieces) else NO_KEYWORDS


def too_many_changes() -> Overloaded:
    """Return the error of a submission whose source got other rules again and again while it was worked out."""
    return Overloaded("The settings of the source change all the time; send it again.", retry_after_s=1)


class KeywordTasks:
    """Works out words beside requests, some pieces at a time, in one task for each source."""

    def __init__(self, database: AsyncStorage, writer: KeywordWriter) -> None:
        self._database = database
        self._writer = writer
        self._tasks: dict[SourceName, asyncio.Task[None]] = {}

    async def submit(self, command: SourceCommand[Result]) -> Result:
        """Carry out a command that stores ``pieces`` with their words; as `AsyncStorage.change`."""
        for _ in range(ATTEMPTS):
            needs_keywords = self._writer.needs_keywords(command)
            prepared = await self._database.in_thread(self._writer.prepared, command) if needs_keywords else command
            try:
                return await self._database.change(prepared)
            except KeywordRulesChanged as changed:
                self._writer.learn(command, changed)
        raise too_many_changes()

    async def settle(self, name: SourceName, timeout_s: float) -> bool:
        """Work out the words of a source, and wait for that, for so long; return whether all is in force."""
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = asyncio.create_task(self._work_out(name))
            task.add_done_callback(lambda _: self._tasks.pop(name, None))
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
        return bool(done)

    async def look(self) -> None:
        """Begin to work out words where that is still to be done, of a process that ended or an older release too."""
        for name in await self._database.in_thread(self._writer.renew):
            await self.settle(name, 0)

    async def close(self) -> None:
        """End all tasks, each after what it stores now; what is left is gone on with by the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work_out(self, name: SourceName) -> None:
        cursor = KeywordCursor()
        # What fails is tried again by the next look.
        with contextlib.suppress(PenchantError):
            while (command := await self._database.in_thread(self._writer.next_keywords, *name, cursor)) is not None:
                await self._database.change_at_last(command)

"""Target: a source of the database as where an import goes, by the same commands that requests become.

Settings are as requests have them; all else but pieces and interactions is the JSON that was checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from penchant.enrichment import rule_of
from penchant.errors import UnknownSource
from penchant.importing.kinds import LINE, LineKind, line_kinds, split_line
from penchant.live.keyword_writer import KeywordWriter, replace_settings
from penchant.model import EncodedPiece, ListKind, NewInteraction, SourceSettings
from penchant.storage import (
    Command,
    RecordInteractions,
    ReplaceList,
    ReplacePreferences,
    Result,
    Storage,
    SubmitPieces,
)
from penchant.wire import (
    decode_list,
    decode_stored_settings,
    encode_settings,
    format_timestamp,
)
from penchant.wire.lines import StatedPreferences, decode_stated_preferences
from penchant.wire.preferences import encode_preferences
from penchant.wire.settings import decode_imported_settings, read_settings, unread_of


class StoredBatch(NamedTuple):
    """What became of a batch that was stored."""

    created: int = 0
    replaced: int = 0
    duplicates: int = 0
    unstored: int = 0


class StoredTarget:
    """A source of an open database."""

    def __init__(self, storage: Storage, *, account: str, source: str, actor: str, address: str = "") -> None:
        self._storage = storage
        self._account_id = storage.accounts.ensure(account)
        self._source = source
        # Who can open the database needs nobody's leave.
        self._whose: dict[str, Any] = {
            "account_id": self._account_id,
            "source": source,
            "actor": actor,
            "bypasses_review": True,
        }
        self._writer = KeywordWriter(storage)
        self.address = f"{address} {account}/{source}"

    def created_at(self) -> str:
        """Return when the source was made; empty where there is none."""
        head = self._storage.sources.read_head(self._account_id, self._source)
        return "" if head is None else format_timestamp(head.created_at)

    def settings(self) -> Mapping[str, Any]:
        """Return the source's settings, the defaults where there is none."""
        try:
            _, curation = self._storage.sources.read_curation(self._account_id, self._source)
        except UnknownSource:
            curation = None
        stored = SourceSettings() if curation is None else decode_stored_settings(curation.settings)
        members: Mapping[str, Any] = msgspec.json.decode(encode_settings(stored))
        return members

    def create(self, settings: Mapping[str, Any]) -> None:
        """Make the source, with these settings, in one transaction, unless somebody else has made it.

        Those of packages that are not installed are left out.
        """
        made = replace(read_settings(settings, unread_of(settings)), unread={})
        stored, words = encode_settings(made), rule_of(made)
        self._writer.submit(SubmitPieces(**self._whose, pieces=(), settings=stored, words=words))

    def submit(self, pieces: Sequence[EncodedPiece]) -> StoredBatch:
        """Store pieces in one transaction."""
        # Those that waited in a file have come back as pairs.
        pieces = [each if type(each) is EncodedPiece else EncodedPiece(id=each.id, body=each.body) for each in pieces]
        outcome = self._writer.submit(SubmitPieces(**self._whose, pieces=pieces))
        return StoredBatch(created=outcome.created, replaced=outcome.replaced)

    def record(self, interactions: Sequence[NewInteraction]) -> StoredBatch:
        """Store interactions in one transaction."""
        outcome = self._carry_out(RecordInteractions(**self._whose, interactions=interactions))
        return StoredBatch(duplicates=outcome.duplicates, unstored=outcome.unstored)

    def put(self, kind: str, bodies: Sequence[bytes]) -> None:
        """Replace a list or the settings, replace people's preferences, or store what is a package's."""
        match kind:
            case "settings":
                self._replace_settings(decode_imported_settings(bodies[0], unread_of(self.settings())))
            case "preferences":
                self._replace_preferences([decode_stated_preferences(body) for body in bodies])
            case _ if kind == LINE:
                for line in bodies:
                    line_kind, value = split_line(line)
                    self._store(line_kind, [value])
            case _ if kind in line_kinds():
                self._store(line_kinds()[kind], bodies)
            case _:
                self._carry_out(ReplaceList(**self._whose, kind=ListKind(kind), ids=decode_list(bodies[0])))

    def _replace_settings(self, settings: SourceSettings) -> None:
        """Replace the source's settings."""
        if self._carry_out(replace_settings(**self._whose, settings=settings)).pending:
            self._writer.work_out(self._account_id, self._source)

    def _store(self, kind: LineKind, bodies: Sequence[bytes]) -> None:
        """Store what lines of a package have."""
        for body in bodies:
            command = kind.command(self._storage, self._whose, kind.read(body))
            if command is not None:
                self._carry_out(command)

    def _replace_preferences(self, stated: Sequence[StatedPreferences]) -> None:
        """Replace the preferences of these people."""
        commands = [
            ReplacePreferences(
                **self._whose,
                user_id=each.user_id,
                preferences=encode_preferences(each.preferences),
                is_personal=each.preferences.personal,
            )
            for each in stated
        ]
        # The first makes the source where it is missing; those that wait behind it share commits.
        self._carry_out(commands[0])
        for pending in [self._storage.submit(command) for command in commands[1:]]:
            pending.result()

    def _carry_out(self, command: Command[Result]) -> Result:
        try:
            return self._storage.submit(command).result()
        except UnknownSource:
            # Only a submission makes a source, if need be one without pieces.
            self.submit(())
            return self._storage.submit(command).result()

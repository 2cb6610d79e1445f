"""Settings before tuning: what was in force, in a file of the data folder for each source, the latest last."""

import os
import time
from pathlib import Path

import msgspec

from penchant.cli.options import COMMAND_LINE
from penchant.errors import Refused, UnknownSource
from penchant.evaluation.tuning import TuningResult
from penchant.live.word_writer import replace_settings
from penchant.model import SourceSettings
from penchant.storage import SourceHead, Storage
from penchant.wire import decode_settings, encode_settings, format_timestamp

FOLDER = "tuned"
MOST = 20
"""Changes of a source that are kept. Why in files: D68 of docs/decisions.md."""


class AppliedTuning(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of settings that was applied, and can be taken back."""

    applied_at: str
    account: str
    source: str
    before: msgspec.Raw
    after: msgspec.Raw


class TunedSource:
    """A source whose settings are changed by tuning, with what they were."""

    def __init__(self, storage: Storage, data: Path, account: str, source: str) -> None:
        """Find the source.

        Raises:
            UnknownSource: there is none of this name.
        """
        self._storage = storage
        self._account, self._source = account, source
        account_id = storage.accounts.find(account)
        head = None if account_id is None else storage.sources.read_head(account_id, source)
        if head is None:
            raise UnknownSource(f"The account {account!r} has no source {source!r}.")
        self._head: SourceHead = head
        self._path = data / FOLDER / f"{head.source_id}.json"

    def settings(self) -> SourceSettings:
        """Return the settings in force."""
        _, curation = self._storage.sources.read_curation(self._head.account_id, self._source)
        return decode_settings(curation.settings) if curation.settings else SourceSettings()

    def apply(self, tuned: TuningResult) -> None:
        """Put the settings of a result in force, once what they replace is written down and synced.

        Raises:
            Refused: there are objections to them, or others than those before are in force by now.
        """
        if tuned.objections:
            raise Refused(" ".join(("Nothing is put in force.", *tuned.objections)))
        if self.settings() != tuned.before:
            raise Refused("The settings have changed meanwhile; tune again.")
        moment = format_timestamp(time.time_ns() // 1_000_000)
        change = AppliedTuning(
            applied_at=moment,
            account=self._account,
            source=self._source,
            before=msgspec.Raw(encode_settings(tuned.before)),
            after=msgspec.Raw(encode_settings(tuned.settings)),
        )
        # Written down first: after a crash in between, the worst is a note of settings that were never put in force.
        kept = self._read()
        self._write([*kept, change][-MOST:])
        try:
            self._replace(tuned.settings)
        except BaseException:
            self._write(kept)
            raise

    def roll_back(self, *, force: bool) -> AppliedTuning:
        """Put in force what was before the latest change; return that change.

        Raises:
            Refused: there is none, or the settings were changed since.
        """
        kept = self._read()
        if not kept:
            raise Refused(f"No tuned settings of {self._source!r} were applied from this data folder.")
        last = kept[-1]
        if not force and self.settings() != decode_settings(bytes(last.after)):
            raise Refused("The settings were changed since they were tuned; --force gives that up.")
        self._replace(decode_settings(bytes(last.before)))
        self._write(kept[:-1])
        return last

    def _replace(self, settings: SourceSettings) -> None:
        command = replace_settings(
            account_id=self._head.account_id, source=self._source, actor=COMMAND_LINE, settings=settings
        )
        self._storage.submit(command).result()

    def _read(self) -> list[AppliedTuning]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[AppliedTuning])
        except FileNotFoundError:
            return []
        except msgspec.DecodeError as error:
            raise Refused(f"{self._path} cannot be read ({error}); move it away.") from error

    def _write(self, changes: list[AppliedTuning]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Under another name and renamed, so that a crash leaves the former file or the new one, and no half.
        written = self._path.with_suffix(".new")
        with written.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(changes)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        written.replace(self._path)

"""Checkpoints: how far an import is, in a small file that is written after each committed batch, never before."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from penchant_engine.errors import Refused
from penchant_engine.owned_folders import own_folder
from penchant_import.files import InputFile
from penchant_import.report import ImportTally
from penchant_import.rules import encode


class Checkpoint(msgspec.Struct, kw_only=True):
    """How far an import is: of which files with which options, into which source as it was made at which moment."""

    fingerprint: str
    created_at: str
    shift_ms: int
    tally: ImportTally


class CheckpointFile:
    """The file of one import's checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, fingerprint: str) -> Checkpoint | None:
        """Return the checkpoint if it is there, whole, and of this import.

        Raises:
            Refused: others can write the folder in which it lies.
        """
        self._require_own()
        try:
            checkpoint = msgspec.json.decode(self.path.read_bytes(), type=Checkpoint)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return checkpoint if checkpoint.fingerprint == fingerprint else None

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the checkpoint in place of the one before."""
        self._require_own()
        # Not synced: after a power failure an older one is found, or none that can be read; both only repeat work.
        written = self.path.with_suffix(".new")
        try:
            written.write_bytes(msgspec.json.encode(checkpoint))
            written.replace(self.path)
        except OSError as error:
            raise Refused(f"The checkpoint {self.path} cannot be written: {error.strerror}.") from error

    def _require_own(self) -> None:
        try:
            own_folder(self.path.parent)
        except OSError as error:
            raise Refused(f"The checkpoint {self.path} cannot be kept: {error.strerror or error}.") from error

    def remove(self) -> None:
        """Forget the import: it is complete."""
        self.path.unlink(missing_ok=True)


def fingerprint(files: Sequence[InputFile], *chosen: object) -> str:
    """Return a hash that changes when a file does, or anything that decides what its rows become."""
    # By size and time of change, not by what they hold: files may have gigabytes.
    statuses = [(file.path.stat(), file) for file in files]
    parts = [
        # Standard input lies in a file of its own each time: there what it holds tells it.
        [file.label, hashlib.blake2b(file.path.read_bytes()).hexdigest()]
        if file.label
        else [repr(str(file.path.resolve())), file.member, status.st_size, status.st_mtime_ns]
        for status, file in statuses
    ]
    content = encode([parts, [repr(item) for item in chosen]])
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def checkpoint_name(files: Sequence[InputFile], *chosen: object) -> str:
    """Return the name of the file for an import of these files, whatever is in them."""
    paths = [file.label or repr(str(file.path.resolve())) + (file.member or "") for file in files]
    content = encode([paths, [repr(item) for item in chosen]])
    return f"import-{hashlib.blake2b(content, digest_size=8).hexdigest()}.json"

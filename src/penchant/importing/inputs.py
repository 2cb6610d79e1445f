"""Input files: which files an import reads, those in folders, archives and standard input among them."""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from penchant.errors import Refused
from penchant.importing.drafts import DraftKind

STANDARD_INPUT = "standard input"


class UnreadableFile(Refused):
    """A file is not what its format says."""


class InputFile(NamedTuple):
    """A file to import.

    ``role`` is what its rows are, where the caller has said so; ``member`` the file's name in the archive at
    ``path``; ``label`` what it is called instead of its path. ``is_named`` is false for files that were found in a
    folder or an archive: a format takes only those of them that it knows.
    """

    path: Path
    role: DraftKind | None = None
    member: str | None = None
    label: str | None = None
    is_named: bool = True

    @property
    def name(self) -> str:
        """The file's name without ``.gz``; bytes of it that are no UTF-8 are shown as ``?``."""
        name = self.label or (PurePosixPath(self.member).name if self.member else self.path.name)
        return name.encode("utf-8", "replace").decode().removesuffix(".gz")

    @property
    def ending(self) -> str:
        """The last part of its name behind a dot, in small letters."""
        return self.name.lower().rpartition(".")[2]

    def __str__(self) -> str:
        """Return what messages call it."""
        return self.label or (f"{self.path}:{self.member}" if self.member else str(self.path))


def gather(paths: Sequence[Path]) -> list[InputFile]:
    """Return the files of these paths; of folders and ``.zip`` archives those inside, by name, without hidden ones.

    Raises:
        Refused: there is none.
    """
    found: list[InputFile] = []
    for path in paths:
        if path.is_dir():
            for inner in sorted(path.iterdir()):
                if inner.is_file() and not inner.name.startswith("."):
                    found += _unpacked(InputFile(inner, is_named=False))
        else:
            found += _unpacked(InputFile(path))
    if not found:
        raise Refused("There is no file to import.")
    return found


def save_standard_input(stream: BinaryIO, folder: Path) -> InputFile:
    """Write what standard input holds to a file in a folder, since formats read their files more than once."""
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return InputFile(path, label=STANDARD_INPUT)


def _unpacked(file: InputFile) -> Iterator[InputFile]:
    """Yield a file, or the members of an archive."""
    if file.path.suffix.lower() != ".zip":
        yield file
        return
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFile(f"{file} cannot be read: {error}.") from error
    for name in names:
        parts = PurePosixPath(name).parts
        # Hidden files, and the folder that macOS adds to archives, are not imported.
        if not any(part.startswith((".", "__MACOSX")) for part in parts):
            yield InputFile(file.path, member=name, is_named=False)

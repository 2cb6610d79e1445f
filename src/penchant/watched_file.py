"""Watched file: a small file that one process replaces now and then, and that others look at for what is new."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: whoever reads meanwhile gets the old one or the new one, never a part.

    Raises:
        OSError: its folder cannot be written.
    """
    written = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    written.replace(path)


class WatchedFile:
    """A file that `replace_file` writes, as one of its readers sees it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def newer(self) -> bytes | None:
        """Return what was written since the last look, if anything was; in some microseconds.

        Raises:
            OSError: it is there and cannot be read, which is told once.
        """
        try:
            status = self._path.stat()
            # Of two files one after the other the number may be the same, the time of the change is not.
            seen = status.st_ino, status.st_mtime_ns
            if seen == self._seen:
                return None
            self._seen = seen
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

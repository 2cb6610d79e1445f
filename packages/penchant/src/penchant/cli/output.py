"""Output of commands: why it cannot be written, and files that are whole or stay as they were."""

import contextlib
import errno
import io
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import click

STANDARD_OUTPUT = "standard output"
STANDARD_OUTPUT_PATH = Path("/dev/stdout")
DEVICES = ("/dev/fd/", "/dev/std", "/proc/")
"""How paths begin that are other names of what is open already; what else is no file, its kind tells."""


class OutputFailed(Exception):
    """What a command has to say cannot be written; no `OSError`, which readers and the database have too."""

    def __init__(self, name: str, error: OSError) -> None:
        super().__init__(f"{name[0].upper()}{name[1:]} could not be written: {error.strerror}.")
        self.is_closed = error.errno == errno.EPIPE


class _Output(io.FileIO):
    """A file whose errors say that it is output, and which."""

    name_told = STANDARD_OUTPUT

    def write(self, data: Any, /) -> int:
        """Write some of the data."""
        try:
            return super().write(data)
        except OSError as error:
            raise OutputFailed(self.name_told, error) from error


def guard_standard_output() -> None:
    """Let standard output raise `OutputFailed`, if it is a file at all."""
    given = sys.stdout
    if given is None:
        # Closed by whoever has started this: no other file may get its number, and to write to it fails.
        os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 1)
        given = io.TextIOWrapper(io.FileIO(1, "rb", closefd=False), encoding="utf-8")
    try:
        raw = _Output(given.fileno(), "wb", closefd=False)
    except (AttributeError, OSError):
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=given.encoding,
        errors=given.errors,
        line_buffering=bool(given.line_buffering),
        write_through=getattr(given, "write_through", False),
    )


def end_without_output(error: OutputFailed) -> NoReturn:
    """End the process: as others do where nobody reads on, with 128 and the signal's number, or else with 1 and why."""
    # What waits to be written would fail once more at the very end.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 1)
    if error.is_closed:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    click.echo(f"penchant: {error}", err=True)
    sys.exit(1)


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that becomes ``path`` at the end; where that fails, ``path`` stays what it was.

    Until then it lies beside. A link stays a link, a file keeps its owner and mode. Pipes and devices, and files in
    a folder that cannot be written, are written themselves.

    Raises:
        OutputFailed: it cannot be written.
    """
    if path == STANDARD_OUTPUT_PATH:
        # Opened by that name a file would be emptied, or written from its beginning.
        yield sys.stdout.buffer
        return
    with _told(path):
        before = path.stat() if path.exists() else None
        target = path.resolve()
    is_special = str(path.absolute()).startswith(DEVICES) or (before is not None and not stat.S_ISREG(before.st_mode))
    if is_special or (before is not None and not os.access(target.parent, os.W_OK)):
        with _told(path):
            opened = _Output(path, "wb")
        with _writing(opened, path) as file:
            yield file
        return
    beside = target.with_name(f"{target.name}.{os.getpid()}.new")
    with _told(path):
        opened = _Output(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb")
    try:
        with _writing(opened, path) as file:
            yield file
            with _told(path):
                file.flush()
                if before is not None:
                    with contextlib.suppress(PermissionError):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
                os.fsync(file.fileno())
        with _told(path):
            beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _writing(opened: _Output, path: Path) -> Iterator[BinaryIO]:
    opened.name_told = str(path)
    file = io.BufferedWriter(opened)
    try:
        yield file
        file.flush()
    finally:
        # What is left in the buffer could not be written, which is told already.
        with contextlib.suppress(OutputFailed, OSError):
            file.close()


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputFailed(str(path), error) from error


def amount(count: int, things: str) -> str:
    """Return a count with what is counted, given in the plural: `1 key`, `2 keys`."""
    one = "person" if things == "people" else things.removesuffix("s")
    return f"{count} {one if count == 1 else things}"

"""Work folder: files, finished parts and the plan of work under way, beside the output that it will become.

OUT.work/plan.json     written last of what the work needs: where it is, the folder can be gone on from
/<files>       what the plan's function reads
/parts/7-<digest>
OUT, OUT.manifest.json once all parts are there, both under temporary names before; then the folder goes
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from penchant.errors import Refused
from penchant_batch.executor import Executor, WorkPlan
from penchant_engine.owned_folders import own_folder, whole_file, write_whole

SUFFIX, MANIFEST_SUFFIX = ".work", ".manifest.json"
PLAN, PARTS, LOCK = "plan.json", "parts", "lock"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an output is: what was asked for and what it was made from."""

    about: dict[str, Any]
    count: int
    bytes: int
    sha256: str


class StoredPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan in a folder: ``request`` tells one work from another, ``about`` is for the manifest."""

    request: dict[str, Any]
    about: dict[str, Any]
    plan: WorkPlan


class WorkFolder:
    """The folder of one output; of one process at a time."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out.with_name(out.name + SUFFIX)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes away meanwhile.

        Raises:
            Refused: another one is at it, or the folder cannot be written, or others can write it.
        """
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self.path = own_folder(self.path)
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(f"{self.path} cannot be used ({error.strerror or error}).") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise Refused(f"Another process is making {self.out}.") from None
        except OSError as error:
            # To write names no file: where a disk is full, its folder is worth telling.
            error.filename = error.filename or str(self.path)
            raise
        finally:
            os.close(descriptor)

    def resumable(self, request: dict[str, Any]) -> StoredPlan | None:
        """Return the plan of the same request, if its work was begun and not ended."""
        try:
            stored = msgspec.json.decode((self.path / PLAN).read_bytes(), type=StoredPlan)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return stored if stored.request == request and stored.plan.is_sound else None

    def clear(self) -> None:
        """Remove all that an earlier work has left."""
        shutil.rmtree(self.path / PARTS, ignore_errors=True)
        for entry in list(self.path.iterdir()):
            if entry.name != LOCK:
                entry.unlink()

    def begin(self, stored: StoredPlan) -> None:
        """Note a plan whose files are here."""
        (self.path / PARTS).mkdir(mode=0o700, exist_ok=True)
        write_whole(self.path / PLAN, msgspec.json.encode(stored))

    def finished(self) -> dict[int, Path]:
        """Return the parts that are there, by number."""
        paths = (path for path in (self.path / PARTS).iterdir() if not path.name.endswith(".new"))
        return {int(path.name.partition("-")[0]): path for path in paths}

    def put(self, number: int, content: bytes) -> None:
        """Keep a part: whole, or not at all."""
        write_whole(self.path / PARTS / f"{number}-{hashlib.sha256(content).hexdigest()}", content)

    def fill(self, plan: WorkPlan, executor: Executor, tell: Callable[[int, int], None]) -> None:
        """Have the parts made that are not there; ``tell`` hears how many items of how many are done."""
        finished = self.finished()
        done = sum(end - begin for begin, end in map(plan.bounds, finished))
        for number, content in executor.run(number for number in range(plan.range_count) if number not in finished):
            self.put(number, content)
            begin, end = plan.bounds(number)
            done += end - begin
            tell(done, plan.count)

    def finish(self, stored: StoredPlan, write: Callable[[Iterator[bytes], BinaryIO], None]) -> Manifest:
        """Make the output of all parts, in order, with its manifest, and remove the folder.

        Raises:
            Refused: a part is damaged; it is removed, and made again the next time.
        """
        described = self.out.with_name(self.out.name + MANIFEST_SUFFIX)
        with whole_file(self.out) as file:
            write(self.contents(stored.plan), file)
            # Whoever finds a manifest finds the output that it describes.
            described.unlink(missing_ok=True)
        with self.out.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size, count = self.out.stat().st_size, stored.plan.count
        manifest = Manifest(about=stored.about, count=count, bytes=size, sha256=digest)
        write_whole(described, msgspec.json.format(msgspec.json.encode(manifest), indent=2))
        self.remove()
        return manifest

    def remove(self) -> None:
        """Remove the folder: its work is done."""
        shutil.rmtree(self.path)

    def contents(self, plan: WorkPlan) -> Iterator[bytes]:
        """Yield the parts in order.

        Raises:
            Refused: as `finish`.
        """
        paths = self.finished()
        for number in range(plan.range_count):
            content = paths[number].read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            if paths[number].name != f"{number}-{digest}":
                paths[number].unlink()
                raise Refused(f"A part of {self.out} was damaged on the disk. Run the command again: it makes it anew.")
            yield content

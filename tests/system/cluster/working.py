"""Work for tests: each item is a byte of a text; some ranges kill who does them, once or always."""

import os
import signal
import time
from pathlib import Path

from penchant_batch.executor import Files, Work, WorkPlan

PLAN = WorkPlan(work="cluster.working:prepare", files=("text", "deadly", "marks"), count=95, size=10)
TEXT = bytes(range(95))
LARGE = WorkPlan(work="cluster.working:prepare_large", files=("text",), count=95, size=5)
LARGE_BYTES = 300_000
"""What an item of it becomes: larger than what Ray sends without its shared memory."""


def folder_with(path: Path, *, deadly: str = "", takes_s: float = 0.0) -> Path:
    """Return a folder with the plan's files; ``deadly`` names ranges by their beginnings.

    With ! they kill whoever does them each time, with ~ they never end. All others take as long as ``takes_s`` says.
    """
    path.mkdir()
    (path / "text").write_bytes(TEXT)
    (path / "deadly").write_text(f"{takes_s} {deadly}")
    (path / "marks").write_text(str(path))
    return path


def times_begun(folder: Path) -> dict[int, int]:
    """Return how often each range was begun, by its beginning."""
    return {int(mark.name.removeprefix("begun-")): mark.stat().st_size for mark in folder.glob("begun-*")}


def prepare(files: Files) -> Work:
    text, (takes_s, *deadly) = bytes(files["text"]), bytes(files["deadly"]).decode().split()
    marks = Path(bytes(files["marks"]).decode())

    def work(begin: int, end: int) -> bytes:
        with (marks / f"begun-{begin}").open("ab") as mark:
            mark.write(b".")
        if f"{begin}!" in deadly or (str(begin) in deadly and times_begun(marks)[begin] == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(1_000 if f"{begin}~" in deadly else float(takes_s))
        return text[begin:end]

    return work


def prepare_large(files: Files) -> Work:
    """Return what makes as many bytes of each item, a range in half a second."""
    text = bytes(files["text"])

    def work(begin: int, end: int) -> bytes:
        time.sleep(0.5)
        return b"".join(bytes([each]) * LARGE_BYTES for each in text[begin:end])

    return work

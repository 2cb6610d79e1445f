"""Work for tests: each item is a byte of a text; some ranges kill who does them, once or always."""

import os
import signal
from pathlib import Path

from penchant.cluster import Files, Work, WorkPlan

PLAN = WorkPlan(work="cluster.working:prepare", files=("text", "deadly", "marks"), count=95, size=10)
TEXT = bytes(range(95))


def folder_with(path: Path, *, deadly: str = "") -> Path:
    """Return a folder with the plan's files; ``deadly`` names ranges by their beginnings, with ! those always so."""
    path.mkdir()
    (path / "text").write_bytes(TEXT)
    (path / "deadly").write_text(f"0 {deadly}")
    (path / "marks").write_text(str(path))
    return path


def prepare(files: Files) -> Work:
    text, deadly = bytes(files["text"]), bytes(files["deadly"]).decode().split()[1:]
    marks = Path(bytes(files["marks"]).decode())

    def work(begin: int, end: int) -> bytes:
        mark = marks / f"killed-{begin}"
        if f"{begin}!" in deadly or (str(begin) in deadly and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return text[begin:end]

    return work

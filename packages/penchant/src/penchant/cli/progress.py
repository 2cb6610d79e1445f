"""Progress on standard error: a bar for a person who waits at a terminal, elsewhere a line now and then.

Apart from `penchant.cli.options`, so that a server does without rich.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Move = Callable[[str, int, int, str], None]
"""Tells what is under way, how much of it is done, how much there is, and a remark."""
LINE_EVERY_S = 5.0
"""How often progress is told where there is no terminal."""


@contextmanager
def progress_bar(console: Console, description: str) -> Iterator[Move]:
    """Give the function that moves a bar, which goes away at the end; without a terminal, one that prints lines."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[remark]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None, remark="")

        def move(what: str, done: int, total: int, remark: str) -> None:
            bar.update(task, description=what, completed=done, total=total, remark=remark)

        yield move


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give the function that tells progress by what is done and how much of how much."""
    with progress_bar(Console(stderr=True), "reading") as move:
        yield lambda what, done, total: move(what, done, total, f"{done}/{total}")


def _lines(console: Console) -> Move:
    """Return the function that prints a line now and then, never before the first interval has passed."""
    printed_at = time.monotonic()

    def move(what: str, done: int, total: int, remark: str) -> None:
        nonlocal printed_at
        now = time.monotonic()
        if now - printed_at >= LINE_EVERY_S:
            printed_at = now
            line = f"{what}: {100 * done // total if total else 100} %, {remark}"
            console.print("".join(filter(str.isprintable, line)), highlight=False, markup=False, soft_wrap=True)

    return move

"""Progress bars: how far a command is, on standard error, for a person who waits at a terminal.

Apart from `penchant.cli.options`, so that a server does without rich.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Move = Callable[[str, int, int, str], None]
"""Moves a bar: what is under way, how much of it is done, how much there is, and a remark behind the bar."""


@contextmanager
def progress_bar(console: Console, description: str, *, otherwise: Move) -> Iterator[Move]:
    """Give the function that moves a bar, which goes away at the end; without a terminal give ``otherwise``."""
    if not console.is_terminal:
        yield otherwise
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[remark]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None, remark="")

        def move(what: str, done: int, total: int, remark: str) -> None:
            bar.update(task, description=what, completed=done, total=total, remark=remark)

        yield move


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give the function that moves a bar on a terminal, by what is done and how much of how much."""
    with progress_bar(Console(stderr=True), "reading", otherwise=lambda *_: None) as move:
        yield lambda what, done, total: move(what, done, total, f"{done}/{total}")

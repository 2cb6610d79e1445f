"""Watching the event loop: a service that is started with this folder on ``PYTHONPATH`` writes down who holds it.

Python imports this module by its name when it starts. Each worker appends lines to the file that ``HOLDS`` names with
its process id: ``step`` (a request held the loop between two waits), ``turn`` (the loop was late) or ``collection`` (of
garbage, in whichever thread), the monotonic
moment of its end in s, the loop's own processor time and the whole time in ms, and what was asked for.
"""

import gc
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import uvloop

LEAST_MS = float(os.environ.get("LEAST", "1.0"))
TICK_S = 0.002
_new_event_loop = uvloop.new_event_loop


class _Steps:
    """Awaits something, and times each of its steps."""

    def __init__(self, awaited: Any, asked: str, note: Any) -> None:
        self._steps = awaited.__await__()
        self._asked = asked
        self._note = note

    def __await__(self) -> Generator[Any, Any, Any]:
        """Go on step by step."""
        value, error = None, None
        while True:
            own, whole = time.thread_time(), time.monotonic()
            try:
                waits_for = self._steps.send(value) if error is None else self._steps.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self._note("step", time.thread_time() - own, time.monotonic() - whole, self._asked)
            value, error = None, None
            try:
                value = yield waits_for
            except BaseException as raised:  # noqa: BLE001  # handed on to what waits
                error = raised


def _watched_loop() -> Any:
    """Return a loop that is watched, and have the steps of the application in it timed."""
    loop = _new_event_loop()
    lines = Path(f"{os.environ['HOLDS']}-{os.getpid()}").open("a", buffering=1)  # noqa: SIM115  # as long as the process

    def note(kind: str, own_s: float, whole_s: float, asked: str) -> None:
        if whole_s * 1000 >= LEAST_MS:
            lines.write(f"{kind} {time.monotonic():.4f} {own_s * 1000:.2f} {whole_s * 1000:.2f} {asked}\n")

    def tick(own_s: float, at: float) -> None:
        own, now = time.thread_time(), time.monotonic()
        note("turn", own - own_s, now - at - TICK_S, "-")
        loop.call_later(TICK_S, tick, own, now)

    began = [0.0, 0.0]

    def collecting(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            began[:] = time.thread_time(), time.monotonic()
        else:
            asked = f"generation-{info['generation']}"
            note("collection", time.thread_time() - began[0], time.monotonic() - began[1], asked)

    gc.callbacks.append(collecting)
    application = sys.modules["penchant.web.application"].Application
    serve = application.__call__

    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            tick(time.thread_time(), time.monotonic())
        asked = f"{scope.get('method', '')}:{scope.get('path', 'lifespan')}".replace(" ", "+")
        await _Steps(serve(self, scope, receive, send), asked, note)

    application.__call__ = call
    return loop


if "HOLDS" in os.environ:
    uvloop.new_event_loop = _watched_loop

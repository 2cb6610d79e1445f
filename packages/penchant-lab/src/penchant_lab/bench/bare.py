"""Bare server: a fixed answer by the server program of the service, with its settings: what a service could reach."""

import contextlib
import multiprocessing
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penchant.cli.serve import server_of
from penchant.settings import NodeSettings
from penchant_lab.bench.server import STARTING_S, STOPPING_S, BenchFailed, BenchTarget, free_port, is_answering

_OWN_HEADERS = {"date", "server"}
"""What the server program adds by itself."""


class FixedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it goes to the server program."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, answer: Any) -> "FixedAnswer":
        """Return one like an answer of `http.client`."""
        headers = [(name.lower(), value) for name, value in answer.getheaders()]
        kept = [(name.encode(), value.encode()) for name, value in headers if name not in _OWN_HEADERS]
        return cls(status=answer.status, headers=kept, body=answer.read())


@contextlib.contextmanager
def serving(answer: FixedAnswer, beside: BenchTarget) -> Iterator[int]:
    """Have an answer given to whatever is asked, by as many workers as a service has; give the port.

    Raises:
        BenchFailed: the server does not start.
    """
    file, port = beside.folder.parent / "answer.msgpack", free_port()
    file.write_bytes(msgspec.msgpack.encode(answer))
    options = [str(file), str(port), str(beside.workers)]
    process = subprocess.Popen([beside.python, "-m", __name__, *options])  # noqa: S603  # our own
    try:
        deadline = time.monotonic() + STARTING_S
        while not is_answering(port, "/"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchFailed("The server of the fixed answer did not start.")
            time.sleep(0.02)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOPPING_S)
        file.unlink()


def application(answer: FixedAnswer) -> Any:
    """Return the application that takes in what is sent, and gives the answer."""
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    body = {"type": "http.response.body", "body": answer.body}

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "POST":
            while (await receive()).get("more_body"):
                pass
        await send(start)
        await send(body)

    return answered


if __name__ == "__main__":
    multiprocessing.set_start_method("fork", force=True)
    file, port, workers = sys.argv[1:]
    given = application(msgspec.msgpack.decode(Path(file).read_bytes(), type=FixedAnswer))
    server_of(NodeSettings(port=int(port), workers=int(workers))).serve(target_loader=lambda: given, wrap_loader=False)

"""A TCP proxy in a process of its own, that can stop forwarding without closing, close, and lead elsewhere.

As a program it takes the port to listen on and the target, a socket file or ``host:port``, and then commands, one a
line: ``pass``, ``hold``, ``close``, ``to FILE``; each is answered by ``ok``.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from acceptance.servers import free_port

CHUNK = 65_536
LISTENING_S = 60.0


class Proxy:
    """The process, and the commands to it."""

    def __init__(self, target: str) -> None:
        self.port = free_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.proxy", str(self.port), target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        try:
            self._expect_ok()
        except BaseException:
            self.end()
            raise

    def tell(self, word: str) -> None:
        """Send a command and wait until it is in force."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        self._process.stdin.flush()
        self._expect_ok()

    def _expect_ok(self) -> None:
        assert self._process.stdout is not None
        deadline = time.monotonic() + LISTENING_S
        assert self._process.stdout.readline() == b"ok\n"
        assert time.monotonic() < deadline

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


class _Forwarding:
    """What the program does."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._passing = asyncio.Event()
        self._passing.set()
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection both ways until either end closes."""
        if self._refuses:
            writer.close()
            return
        self._writers.add(writer)
        other: asyncio.StreamWriter | None = None
        try:
            await self._passing.wait()
            back, other = await self._connect()
            self._writers.add(other)
            await asyncio.wait(
                [asyncio.create_task(self._copy(reader, other)), asyncio.create_task(self._copy(back, writer))],
                return_when=asyncio.FIRST_COMPLETED,
            )
        except OSError:
            pass
        finally:
            for each in (writer, other):
                if each is not None:
                    self._writers.discard(each)
                    each.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self._target.rpartition(":")
        is_port = host and port.isdecimal()
        return await (asyncio.open_connection(host, port) if is_port else asyncio.open_unix_connection(self._target))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._passing.wait()
                writer.write(data)
                await writer.drain()

    def obey(self, words: list[str]) -> None:
        """Carry out a command."""
        match words:
            case ["pass"]:
                self._refuses = False
                self._passing.set()
            case ["hold"]:
                self._passing.clear()
            case ["close"]:
                self._refuses = True
                for writer in self._writers:
                    writer.transport.abort()
            case ["to", target]:
                self._target = target


async def _main(port: int, target: str) -> None:
    forwarding = _Forwarding(target)
    commands = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(commands)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    async with await asyncio.start_server(forwarding.accept, "127.0.0.1", port):
        print("ok", flush=True)  # noqa: T201  # the answer to whoever started it
        while line := await commands.readline():
            forwarding.obey(line.decode().split())
            print("ok", flush=True)  # noqa: T201  # as above


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), sys.argv[2]))

"""The service on shards: each source in four segments, however small it is, scanned by ``penchant shard`` processes.

Processes are started once for a run, by the process of pytest that others belong to; these find them in the
environment. A builder of its own is asked before a service follows a source, so that nothing has to be waited for.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from acceptance.processes import wait_until
from acceptance.servers import free_port
from kernel_cache import KERNELS
from penchant.bootstrap import index_folder, shard_token
from penchant.bootstrap.folders import SHARD_TOKEN
from penchant.live import builder, segments, views
from penchant.live.array_files import PublishedFile
from penchant.live.following import Follower, View
from penchant.live.segment_files import SegmentFiles, ShardRule
from penchant.live.shard_messages import (
    LENGTH,
    MAGIC,
    NONCE_BYTES,
    FileName,
    StateAnswer,
    StateRequest,
    encode_message,
    proof,
)
from penchant.settings import NodeSettings
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics

VARIABLE = "PENCHANT_TEST_SHARDS"
COUNT = 4
SCANS = "scans.json"
MAPPING_S = 60.0


class ShardProcess:
    """``penchant shard`` on a data folder."""

    def __init__(self, data: Path) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._words = [sys.executable, "-m", "penchant", "shard", "--data", str(data), "--port", str(self.port)]
        self.log = data.parent / f"shard-{self.port}.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._words, stderr=log, env=os.environ | {"PENCHANT_KERNEL_FOLDER": str(KERNELS)}
            )

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=60)


class ShardRun:
    """The shard processes of a run, and what became of the scans that its tests asked for."""

    def __init__(self) -> None:
        self._running = ExitStack()
        folder = Path(self._running.enter_context(tempfile.TemporaryDirectory(prefix="penchant-shards-")))
        self._processes: list[ShardProcess] = []
        for _ in range(COUNT):
            process = ShardProcess(folder / "data")
            self._running.callback(process.end, signal.SIGKILL)
            self._processes.append(process)
        self._folder = folder
        addresses = [each.address for each in self._processes]
        # Each process is the first replica of one shard, and the second one of another.
        hosts = [f"{one}+{other}" for one, other in zip(addresses, addresses[1:] + addresses[:1], strict=True)]
        os.environ[VARIABLE] = json.dumps([str(folder), hosts])

    def scans(self) -> Counter[str]:
        """Return how many scans had which outcome, of services that have ended."""
        total: Counter[str] = Counter()
        for path in self._folder.glob(f"*-{SCANS}"):
            total.update(json.loads(path.read_bytes()))
        return total

    def has_travelled(self) -> bool:
        """Return whether shard processes have scanned, and nearly always."""
        scans = self.scans()
        return scans["answered"] + scans["hedged"] > 9 * (scans["node"] + scans["refused"])

    def end(self) -> None:
        """End the processes, and remove their folder."""
        self._running.close()
        del os.environ[VARIABLE]


class ShardedIndex:
    """The index of all services of a process of pytest, and the shard processes that search it."""

    def __init__(self) -> None:
        folder, self._hosts = json.loads(os.environ[VARIABLE])
        self._folder = Path(folder)
        self._settings = NodeSettings(data=str(self._folder / "data"))
        self.files = SegmentFiles(index_folder(self._settings), ShardRule(pieces=1, count=COUNT))
        self._connections: dict[str, _ShardConnection] = {}
        self._lock = threading.Lock()

    def applied(self, settings: NodeSettings) -> NodeSettings:
        """Return the settings of a service that asks these processes, which are to know it by their token.

        A test that names shard processes of its own keeps them.
        """
        if settings.shard_hosts:
            return settings
        data = Path(settings.data)
        data.mkdir(parents=True, exist_ok=True)
        (data / SHARD_TOKEN).write_bytes(shard_token(self._settings))
        return msgspec.structs.replace(settings, shard_pieces=1, shards=COUNT, shard_hosts=tuple(self._hosts))

    def follow_by_files(self, patch: pytest.MonkeyPatch) -> None:
        """Have services of this process begin with a file of each source, which processes have mapped by then."""
        index = self

        class FileFollower(Follower):
            """Has a file made before it follows, by the rules of the builder for large sources."""

            def __init__(self, storage: Storage, _: segments.Segments, metrics: Metrics) -> None:
                super().__init__(storage, segments.Segments(metrics, index.files), metrics)
                self._builder = builder.Builder(storage, index.files, metrics)

            def catch_up(self, view: View | None, head: SourceHead, **_: bool) -> View:
                published = index.files.newest(head)
                if head.piece_count and self._builder.is_due(head, published, rested=False):
                    self._builder.build(head, published)
                    index.wait_until_mapped(index.files.newest(head))
                return super().catch_up(view, head)

        patch.setattr(views, "Follower", FileFollower)
        patch.setattr(builder, "LEAST_CHANGES", 1)
        patch.setattr(segments, "ADOPTED_CHANGES", 1)

    def wait_until_mapped(self, published: PublishedFile | None) -> None:
        """Wait until each process has mapped the segments of a file that it is to search."""
        if published is None:
            return
        file = (*published.stamp, COUNT)
        with self._lock:
            for place, replicas in enumerate(self._hosts):
                for address in replicas.split("+"):
                    self._connection(address).wait_until_mapped(file, place)

    def _connection(self, address: str) -> "_ShardConnection":
        if address not in self._connections:
            self._connections[address] = _ShardConnection(address, shard_token(self._settings))
        return self._connections[address]

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()

    def note(self, scans: Counter[str]) -> None:
        """Note what became of the scans of this process."""
        (self._folder / f"{os.getpid()}-{SCANS}").write_text(json.dumps(scans))


class _ShardConnection:
    """A connection that asks a shard process whether it has mapped a segment."""

    def __init__(self, address: str, token: bytes) -> None:
        host, _, port = address.rpartition(":")
        wait_until(lambda: _listens(host, int(port)))
        self._socket = socket.create_connection((host, int(port)), timeout=MAPPING_S)
        self._file = self._socket.makefile("rb")
        self._socket.sendall(proof(token, self._file.read(len(MAGIC) + NONCE_BYTES)[len(MAGIC) :]))

    def wait_until_mapped(self, file: FileName, place: int) -> None:
        """Ask until the segment is among those that it holds."""
        deadline = time.monotonic() + MAPPING_S
        while (file, place) not in self._held(StateRequest(0, file, place)):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def _held(self, asked: StateRequest) -> list[tuple[FileName, int]]:
        self._socket.sendall(encode_message(asked))
        (length,) = LENGTH.unpack(self._file.read(LENGTH.size))
        answer = msgspec.msgpack.decode(self._file.read(length), type=StateAnswer)
        return [(each.file, each.place) for each in answer.held]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0

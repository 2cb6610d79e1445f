"""Shard serving: a shard server as a process runs it: `penchant shard`, or a replica that a cluster has placed."""

import asyncio
import ctypes
import errno
import hashlib
import os
import socket
import time
from pathlib import Path

from penchant.bootstrap.folders import SHARD_TOKEN, index_folder, kernel_folder, shard_token
from penchant.errors import Refused
from penchant.live.compiling import KernelCompiler
from penchant.live.shard_server import ShardServer
from penchant.settings import NodeSettings
from penchant.telemetry import logger, start_logging

FIRST_PORT, PORTS = 7_400, 100
"""Where a placed replica listens: at the first of so many ports that is free, so that a firewall can let them pass."""
LEASE_S = 15.0
"""How long a placed replica lives with nobody connected: its service has ended, or asks others now."""
LEASE_CHECK_S = 1.0
KEEPALIVE = {socket.TCP_KEEPIDLE: 5, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 2}
"""Seconds and tries until the connection of a machine that is gone has ended."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers that the C library gives to what it keeps of free memory, and from which size on it keeps nothing."""
KEPT_BYTES, LARGEST_KEPT_BYTES = 1 << 26, 1 << 25


def places_shards(settings: NodeSettings) -> bool:
    """Return whether a cluster is to run replicas of shards."""
    return bool(settings.cluster and settings.shard_pieces and settings.shard_replicas and not settings.shard_hosts)


def service_id(settings: NodeSettings) -> str:
    """Return what tells the service of a data folder from others: a digest of its shards' token."""
    return hashlib.sha256(b"service" + shard_token(settings)).hexdigest()[:16]


async def listen(settings: NodeSettings, host: str, port: int) -> tuple[ShardServer, asyncio.Server]:
    """Begin to serve the segments of a data folder.

    Raises:
        OSError: the address is taken, or none of this machine.
    """
    _keep_memory()
    server = ShardServer(index_folder(settings), shard_token(settings))
    return server, await server.listen(host, port)


def _keep_memory() -> None:
    """Have this process keep what a scan has freed: memory that is fetched anew is filled with zeros first.

    That takes as long as a scan by numpy. A worker has freed larger arrays, by which the C library has learned it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


class PlacedShard:
    """A replica where a cluster has placed it: in a process that does nothing else, and ends with it."""

    def __init__(self, settings: NodeSettings, service: str) -> None:
        """Look whether this machine has the data folder of a service.

        Raises:
            Refused: it has none, or another one.
        """
        if not (Path(settings.data) / SHARD_TOKEN).exists():
            raise Refused(f"The machine does not have the data folder {settings.data}, or not this user.")
        if service_id(settings) != service:
            raise Refused(f"The data folder {settings.data} of the machine is that of another service.")
        start_logging(settings.log_level, settings.log_format)
        # As in a worker: until they are compiled numpy searches, and says the same.
        self._compiling = KernelCompiler(kernel_folder(settings))
        self._settings = settings
        self._watching: asyncio.Task[None] | None = None

    async def start(self, host: str) -> str:
        """Listen, and return the address.

        Raises:
            Refused: no port is free.
            OSError: the host is none of this machine.
        """
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            try:
                server, listening = await listen(self._settings, host, port)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            # What is accepted has the options of what listens.
            for each in listening.sockets:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for option, value in KEEPALIVE.items():
                    each.setsockopt(socket.IPPROTO_TCP, option, value)
            self._watching = asyncio.create_task(_end_without(server))
            return f"{host}:{port}"
        raise Refused(f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free.")


async def _end_without(server: ShardServer) -> None:
    """End this process once nobody has been connected to a server for `LEASE_S`."""
    seen = time.monotonic()
    while time.monotonic() - seen < LEASE_S:
        await asyncio.sleep(LEASE_CHECK_S)
        if server.connected:
            seen = time.monotonic()
    logger.info("a replica of a shard ends: nobody is connected")
    os._exit(0)

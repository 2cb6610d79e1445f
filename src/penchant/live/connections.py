"""Connections by address: how many of a process's sockets one address may have open.

The server accepts whatever comes and counts only the sum, so one address could take every connection there is. This
looks at the process's own sockets, as the kernel lists them, and shuts down those that an address has above its
limit, the newest first, so that what is being answered goes on.
"""

import asyncio
import os
import socket
from collections import defaultdict
from collections.abc import Collection
from ipaddress import ip_address, ip_network
from pathlib import Path

from penchant.telemetry import Metrics, logger

_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if Path(path).is_dir()), None)


class ConnectionLimiter:
    """Shuts down connections to a port beyond ``limit`` for an address; 0 is no limit.

    Addresses of ``proxies`` (networks or single ones) have none: all clients come from there. A sweep costs a
    listing of the process's descriptors, and some 10 µs for each where there are more of them than the limit.
    """

    def __init__(self, port: int, limit: int, proxies: Collection[str], metrics: Metrics) -> None:
        self._port = port
        self._limit = limit
        self._proxies = [ip_network(proxy) for proxy in proxies]
        self._metrics = metrics
        self._sequence = 0
        self._opened: dict[int, int] = {}
        self._shut: set[int] = set()

    async def limit(self) -> None:
        """Sweep in a thread, where there may be something to do."""
        # Mostly there is nothing, which costs less to find out than a turn of a thread does.
        if self.has_work():
            await asyncio.to_thread(self.sweep)

    def has_work(self) -> bool:
        """Return whether a sweep may find something, or has something to forget; in some microseconds."""
        if not self._limit or _DESCRIPTORS is None:
            return False
        return bool(self._opened or self._shut) or len(os.listdir(_DESCRIPTORS)) > self._limit  # noqa: PTH208  # as below

    def sweep(self) -> int:
        """Shut down what is beyond the limit now; return how many connections that were."""
        if not self._limit or _DESCRIPTORS is None:
            return 0
        names = os.listdir(_DESCRIPTORS)  # noqa: PTH208  # names alone, at a tenth of the cost
        if len(names) <= self._limit:
            self._opened.clear()
            self._shut.clear()
            return 0
        by_address: dict[str, list[tuple[int, int]]] = defaultdict(list)
        opened: dict[int, int] = {}
        for descriptor in map(int, names):
            found = self._client_of(descriptor)
            # A socket that was shut down stays listed until the server has seen it.
            if found is not None and found[1] not in self._shut:
                address, inode = found
                self._sequence += 1
                # Numbers of descriptors are used again, inodes of sockets stay: they tell in which order they came.
                opened[inode] = self._opened.get(inode, self._sequence)
                by_address[address].append((opened[inode], descriptor))
        self._opened = opened
        closed = sum(self._close_newest(address, sockets) for address, sockets in by_address.items())
        if closed:
            self._metrics.connections_refused.inc(closed)
            logger.warning("%d connections were closed: an address had more than %d", closed, self._limit)
        return closed

    def _close_newest(self, address: str, sockets: list[tuple[int, int]]) -> int:
        """Shut down the newest connections of an address beyond its limit."""
        if len(sockets) <= self._limit or any(ip_address(address) in proxy for proxy in self._proxies):
            return 0
        closed = 0
        for _, descriptor in sorted(sockets)[self._limit :]:
            connection = _duplicate(descriptor)
            # The number may be another socket's by now; a duplicate stays what it is.
            if connection is not None:
                with connection:
                    if self._address(connection) == address and _shut_down(connection):
                        self._shut.add(os.fstat(connection.fileno()).st_ino)
                        closed += 1
        return closed

    def _client_of(self, descriptor: int) -> tuple[str, int] | None:
        """Return the address and the inode of a client's connection to our port; ``None`` for other descriptors."""
        connection = _duplicate(descriptor)
        if connection is None:
            return None
        with connection:
            address = self._address(connection)
            return None if address is None else (address, os.fstat(connection.fileno()).st_ino)

    def _address(self, connection: socket.socket) -> str | None:
        if connection.family not in {socket.AF_INET, socket.AF_INET6}:
            return None
        try:
            if connection.getsockname()[1] != self._port:
                return None
            return str(connection.getpeername()[0]).removeprefix("::ffff:")
        except OSError:
            return None


def _duplicate(descriptor: int) -> socket.socket | None:
    """Return a duplicate of a descriptor as a socket; ``None`` where it is none, or closed by now."""
    try:
        duplicate = os.dup(descriptor)
    except OSError:
        return None
    try:
        return socket.socket(fileno=duplicate)
    except OSError:
        os.close(duplicate)
        return None


def _shut_down(connection: socket.socket) -> bool:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False
    return True

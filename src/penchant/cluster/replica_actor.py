"""Replica actor: the process on a node of a Ray cluster that a server of a shard runs in."""

import asyncio
from importlib import import_module
from typing import Any

from penchant import __version__
from penchant.cluster.replicas import ReplicaPlan
from penchant.errors import Refused


class ReplicaActor:
    """Runs a server, which answers over connections of its own; Ray only starts it, and asks whether it is there."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._server: Any = None
        self._address = ""

    async def serve(self, release: str, plan: ReplicaPlan, host: str) -> str:
        """Return the address of the server, started when this is first asked.

        Raises:
            Refused: the node has another release, or cannot run the server.
        """
        if release != __version__:
            raise Refused(f"The node has penchant {__version__}, where the service has {release}.")
        async with self._lock:
            if not self._address:
                module, _, name = plan.server.partition(":")
                self._server = getattr(import_module(module), name)(plan.settings, plan.service)
                self._address = await self._server.start(host)
        return self._address

"""Shard watch: how the shard processes are that a worker may ask, found out when somebody wants to know.

Each is asked over the connection that scans use, so that what is found out is what lists see: one that does not answer
is passed by from then on, and one that is passed by is not asked. For the event loop only.
"""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

from penchant.live.shard_messages import ScannedFile, StateRequest
from penchant.live.shard_replica import CONNECT_S, SILENCE_S, ReplicaContact, ReplicaLost, ShardReplica
from penchant.live.shards import Shards

ANSWER_S = CONNECT_S + SILENCE_S
"""How long a process may take to be found and to answer: health waits for it."""
LIFE_S = 1.0
"""How old what was found out may be: health may be asked by anybody, as often as they like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """A shard process: how the contact is, when it answered last, and what it holds; ``None``: it has not said."""

    address: str
    contact: ReplicaContact | None
    answered_at: float | None
    held: Sequence[ScannedFile] | None

    @property
    def is_reachable(self) -> bool:
        """Whether lists are asked of it."""
        return self.contact is not None and not self.contact.is_lost


class ShardWatch:
    """Asks the replicas of all shards how they are, once for all who want to know within a second."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        # Below zero: scans count from zero on.
        self._numbers = itertools.count(-1, -1)
        self._asking: asyncio.Task[list[list[ReplicaState]]] | None = None
        self._asked_at = 0.0

    async def states(self) -> list[list[ReplicaState]]:
        """Return the state of each replica, by shard, as it was at most `LIFE_S` ago."""
        now = time.monotonic()
        if self._asking is None or now - self._asked_at > LIFE_S:
            self._asked_at = now
            self._asking = asyncio.create_task(self._ask_all())
        # Several wait for the same answers: one that leaves must not end it for the others.
        return await asyncio.shield(self._asking)

    async def _ask_all(self) -> list[list[ReplicaState]]:
        shards = [asyncio.gather(*map(self._ask, replicas)) for replicas in self._shards.replicas]
        return await asyncio.gather(*shards)

    async def _ask(self, replica: ShardReplica) -> ReplicaState:
        held: Sequence[ScannedFile] | None = None
        if replica.check():
            try:
                async with asyncio.timeout(ANSWER_S):
                    held = (await replica.ask_state(StateRequest(next(self._numbers)))).held
            except (ReplicaLost, TimeoutError):
                # One that is silent is passed by; one that has much to scan answers others meanwhile.
                pass
        return ReplicaState(
            address=replica.address, contact=replica.contact, answered_at=replica.answered_at, held=held
        )

"""Replica driver: places the replicas of shards on the nodes of a Ray cluster, and looks after them.

    missing --(a node is found)--> starting --(it says where)--> placed
       ^                              |                             |
       '--- the node is gone, it fails, or is silent for too long --'

A process of its own, which may end at any moment: replicas go on (they are detached actors), and the next driver finds
them by their names. No two replicas of a shard are on one node.
"""

import contextlib
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penchant import __version__
from penchant.cluster.ray_driver import require_cluster
from penchant.cluster.replica_actor import ReplicaActor
from penchant.cluster.replicas import DriverFailure, ReplicaPlan, ReplicaReport, Reports
from penchant.errors import Refused
from penchant.settings import set_cluster_environment

NAMESPACE = "penchant"
STEP_S = 0.5
PATIENCE_S = 8.0
"""How long a replica may be missing before that is a fault: longer than one takes to start."""
ROOM_S = 4.0
"""The same where no node has room: operators are to know it within ten seconds of the loss of a node."""
START_S = 90.0
"""How long a node may take to start one, before another node is tried."""
SILENCE_S = 15.0
"""How long a replica may be silent before it is placed anew: workers pass it by meanwhile."""
AVOIDED_S = 20.0
"""How long a node is avoided that has not started one."""
CPUS = 1
"""What a replica takes of its node: it scans with one thread."""


@dataclass(slots=True)
class _Slot:
    """The place of one replica; ``asked`` is what it was asked last, since ``asked_at``."""

    shard: int
    number: int
    missing_since: float
    node: str | None = None
    actor: Any = None
    asked: Any = None
    asked_at: float = 0.0
    address: str | None = None
    reason: str = "it is starting"
    avoided: dict[str, float] = field(default_factory=dict)


def drive_replicas(
    connection: "Connection[Any, Any]", plan: ReplicaPlan, address: str, token_file: Path | None
) -> None:
    """Place replicas and send `Reports` of them, until nobody listens."""
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    set_cluster_environment(token_file)
    import ray.util.scheduling_strategies  # noqa: PLC0415  # an extra

    try:
        require_cluster(address)
        ray.init(address=address, namespace=NAMESPACE, logging_level="error", log_to_driver=False)
        placer = ReplicaPlacer(ray, plan)
        while True:
            connection.send(placer.step())
            time.sleep(STEP_S)
    except Refused as error:
        connection.send(DriverFailure(error.detail))
    except Exception as error:  # noqa: BLE001  # Ray has many, and the next driver may do better
        connection.send(DriverFailure(f"the cluster at {address} cannot be used: {_said(error)}"))


def _end_with(connection: "Connection[Any, Any]") -> None:
    """End this process when nobody listens any more; Ray may hang for a minute. Replicas go on."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
    os._exit(0)


class ReplicaPlacer:
    """Knows where each replica is, and does what is next for it; ``ray`` is the module, connected to a cluster."""

    def __init__(self, ray: Any, plan: ReplicaPlan, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._ray = ray
        self._monotonic = monotonic
        self._plan = plan
        self._actors = ray.remote(ReplicaActor)
        self._slots = [
            _Slot(shard, number, missing_since=monotonic())
            for shard in range(plan.shards)
            for number in range(plan.replicas)
        ]
        self._nodes: dict[str, dict[str, Any]] = {}
        self._read_nodes()
        self._adopt()

    def step(self) -> Reports:
        """Do what is next for each replica, without waiting for any, and return how they are."""
        self._read_nodes()
        for slot in self._slots:
            self._follow(slot)
        for slot in self._slots:
            if slot.actor is None:
                self._begin(slot)
        now = self._monotonic()
        reports = [
            ReplicaReport(
                slot.address,
                slot.reason if slot.address is None and now - slot.missing_since > _patience_s(slot) else None,
            )
            for slot in self._slots
        ]
        count = self._plan.replicas
        return tuple(tuple(reports[first : first + count]) for first in range(0, len(reports), count))

    def _read_nodes(self) -> None:
        self._nodes = {
            node["NodeID"]: node
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= CPUS
        }

    def _adopt(self) -> None:
        """Take over what an earlier driver has placed; end what another release has, or a node that is gone.

        Replicas of this release that are not asked for are left: lists may still come from them. They end when nobody
        is connected.
        """
        release = f"{self._plan.service}/{__version__}/"
        slots = {self._prefix(slot): slot for slot in self._slots}
        for name in self._ray.util.list_named_actors():
            service, *_ = name.split("/")
            if service != self._plan.service:
                continue
            prefix, node, _ = name.rsplit("/", 2)
            # Gone since it was listed.
            with contextlib.suppress(ValueError):
                actor = self._ray.get_actor(name)
                slot = slots.pop(prefix, None)
                if not prefix.startswith(release) or node not in self._nodes:
                    self._ray.kill(actor, no_restart=True)
                elif slot is not None:
                    slot.actor, slot.node = actor, node
                    self._ask(slot)

    def _prefix(self, slot: _Slot) -> str:
        return f"{self._plan.service}/{__version__}/{slot.shard}/{slot.number}"

    def _begin(self, slot: _Slot) -> None:
        """Have a node start a replica, where there is one for it."""
        node = self._choose_node(slot)
        if node is None:
            return
        slot.node = node
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        options = {
            "name": f"{self._prefix(slot)}/{node}/{uuid.uuid4().hex}",
            "lifetime": "detached",
            "num_cpus": CPUS,
            # Ray would start it on the same node, or wait for that for ever.
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": strategy,
        }
        slot.actor = self._actors.options(**options).remote()
        self._ask(slot)

    def _choose_node(self, slot: _Slot) -> str | None:
        """Return the node with the most room that has no replica of the shard; notes why where there is none."""
        now = self._monotonic()
        taken = Counter(each.node for each in self._slots if each.node is not None)
        beside = {each.node for each in self._slots if each.shard == slot.shard}
        room = {name: node["Resources"]["CPU"] - CPUS * taken[name] for name, node in self._nodes.items()}
        roomy = [name for name in room if room[name] >= CPUS]
        apart = [name for name in roomy if name not in beside]
        found = [name for name in apart if slot.avoided.get(name, 0.0) < now]
        if found:
            return max(found, key=lambda name: (room[name], name))
        if not apart:
            slot.reason = (
                f"none of the {len(self._nodes)} nodes of the cluster has a CPU left for a replica"
                if not roomy
                else "only nodes that have a replica of the same shard have a CPU left"
            )
        return None

    def _ask(self, slot: _Slot) -> None:
        host = self._nodes[slot.node]["NodeManagerAddress"]  # type: ignore[index]  # only of one that has a node
        slot.asked, slot.asked_at = slot.actor.serve.remote(__version__, self._plan, host), self._monotonic()

    def _follow(self, slot: _Slot) -> None:
        """Note what has become of a replica since the last look."""
        if slot.actor is None:
            return
        waited_s = self._monotonic() - slot.asked_at
        if slot.node not in self._nodes:
            self._give_up(slot, "its node is gone")
        elif self._ray.wait([slot.asked], timeout=0)[0]:
            try:
                slot.address = self._ray.get(slot.asked)
                self._ask(slot)
            except Exception as error:  # noqa: BLE001  # whatever it is, another one is started
                self._give_up(slot, f"{self._host(slot)} says: {_said(error)}")
        elif waited_s > (START_S if slot.address is None else SILENCE_S):
            self._give_up(slot, f"{self._host(slot)} has not answered for {waited_s:.0f} s")
        elif slot.address is None and waited_s > PATIENCE_S:
            slot.reason = f"{self._host(slot)} has not started it yet: others may have its CPUs"

    def _host(self, slot: _Slot) -> str:
        return str(self._nodes[slot.node]["NodeManagerAddress"])  # type: ignore[index]  # as above

    def _give_up(self, slot: _Slot, reason: str) -> None:
        """Begin anew, and elsewhere unless it had been there before."""
        with contextlib.suppress(Exception):
            self._ray.kill(slot.actor, no_restart=True)
        if slot.address is None and slot.node is not None:
            slot.avoided[slot.node] = self._monotonic() + AVOIDED_S
        elif slot.address is not None:
            slot.missing_since = self._monotonic()
        slot.actor = slot.asked = slot.address = slot.node = None
        slot.reason = reason


def _patience_s(slot: _Slot) -> float:
    """Return how long a replica may be missing before that is a fault."""
    return ROOM_S if slot.actor is None else PATIENCE_S


def _said(error: BaseException) -> str:
    """Return the words of an error, of which Ray's go over many lines."""
    cause = getattr(error, "cause", None) or error
    said = getattr(cause, "detail", "") or str(cause).strip() or type(cause).__name__
    return said.splitlines()[-1]

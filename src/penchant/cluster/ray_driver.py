"""Ray driver: the ranges of a plan as tasks of a Ray cluster, handed out by a child process of its own.

Ray ends a process that has lost its cluster for a minute. So the driver is a child of a `Crew`, which notices its end,
starts another one, and gives the ranges out again. A task whose worker or node is lost is done by another one; files
travel once to each node, into its shared memory, and to no disk.
"""

import socket
import time
import uuid
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from penchant import __version__
from penchant.cluster.crew import Crew, PartDone, RangeFailure, Ready
from penchant.cluster.plan import Work, WorkPlan
from penchant.cluster.ray_node import require_ray
from penchant.errors import Refused
from penchant.settings import set_cluster_environment

MOST_RETRIES = 10
"""How often a task is given to another worker when its own is lost: more losses are not of workers alone."""
AHEAD = 2
"""Tasks handed out for each CPU of the cluster: one under way, one waiting."""
STALL_CPUS = 0.0001
"""Ray's smallest share of a CPU: by so much less is asked for after each stall."""
MOST_REPEATS = 3
"""How often in a row all is begun once more before work is given up."""
WAIT_S = 0.2
REACHED_S = 5.0
SILENT = (
    "The cluster has CPUs, but does nothing with them. What is done is kept: the same command goes on from there, once"
    " the nodes are started anew, or with processes of this machine."
)
LOST = (
    "The cluster is lost, or this machine's node of it. What is done is kept: the same command goes on from there, once"
    " the cluster is back, or with processes of this machine."
)
_prepared: dict[str, Work] = {}
"""What a worker has made of the files of the plan that it works on."""


def ray_crew(plan: WorkPlan, folder: Path, address: str, token_file: Path | None = None) -> Crew:
    """Return a crew of the workers of a cluster; its token is that of a file, as `cluster_environment` says.

    Raises:
        Refused: as `require_cluster`.
    """
    require_cluster(address)
    return Crew(1, _drive, plan, folder, address, token_file)


def require_cluster(address: str) -> None:
    """Raise `Refused` where Ray is not installed, or nobody listens at an address; Ray is not imported."""
    require_ray()
    host, _, port = address.rpartition(":")
    try:
        # Ray itself goes on trying for minutes.
        socket.create_connection((host, int(port)), timeout=REACHED_S).close()
    except OSError as error:
        raise Refused(f"The cluster at {address} cannot be reached ({error}).") from None


def _drive(
    connection: "Connection[Any, Any]", plan: WorkPlan, folder: Path, address: str, token_file: Path | None
) -> None:
    """Have a cluster do ranges until nobody asks for more."""
    set_cluster_environment(token_file)
    ray = _ray()
    try:
        # That it was there this process knows by its start: where it is not there now, it has been lost since.
        require_cluster(address)
        ray.init(address=address, logging_level="error", log_to_driver=False)
        cpus = _cpus(ray)
        # Once for all tasks: what is put is in the shared memory of this node, and copied to others when asked for.
        # Tasks get them in a list: what is an argument by itself a node keeps for ever if this process is killed while
        # the task is under way, and with seven tenths of its shared memory kept so it begins nothing any more.
        contents = [ray.put(np.fromfile(folder / name, dtype=np.uint8)) for name in plan.files]
    except Refused:
        connection.send(RangeFailure(LOST))
        return
    except Exception as error:  # noqa: BLE001  # Ray has many, and the child has nobody else to tell
        connection.send(RangeFailure(f"The cluster at {address} cannot be used: {error}"))
        return
    task = ray.remote(max_retries=MOST_RETRIES)(_do_range)
    # The one argument by itself, a few bytes: Ray asks the nodes that have it for workers, also when the head is lost.
    name = ray.put(uuid.uuid4().hex)

    def begin(number: int, stalls: int) -> Any:
        # Ray asks for no worker while as many of its requests are open as tasks of the same kind wait, and a node that
        # is frozen leaves those to it open for ever. Tasks that want another share of a CPU are of another kind.
        return task.options(num_cpus=1 - STALL_CPUS * stalls).remote(name, __version__, plan, number, contents)

    connection.send(Ready(max(1, AHEAD * cpus)))
    _hand_on(connection, ray, begin, plan.patience_s)


def _hand_on(connection: "Connection[Any, Any]", ray: Any, begin: Any, patience_s: float) -> None:
    """Begin the ranges that are asked for, and send what they have become.

    After so long with nothing done all that is under way is begun once more, by others, and where still nothing is done
    after twice as long again: Ray waits for ever for a task of a node that is frozen, though it knows that the node is
    gone. After `MOST_REPEATS` with nothing done it gives up.
    """
    pending: dict[Any, int] = {}
    moved_at, repeats, stalls = time.monotonic(), 0, 0
    while True:
        try:
            while not pending or connection.poll(0):
                number = connection.recv()
                pending[begin(number, stalls)] = number
                moved_at = time.monotonic()
            done, _ = ray.wait(list(pending), timeout=WAIT_S)
            for each in done:
                number = pending.get(each)
                if number is not None:
                    connection.send(PartDone(number, ray.get(each)))
                    # Others that were begun for the same range have nothing to add.
                    pending = {other: its for other, its in pending.items() if its != number}
                moved_at, repeats = time.monotonic(), 0
            if time.monotonic() - moved_at > patience_s * 2**repeats:
                if not _cpus(ray):
                    connection.send(RangeFailure("The cluster has no CPU left that could do the work."))
                    return
                if repeats == MOST_REPEATS:
                    connection.send(RangeFailure(SILENT))
                    return
                moved_at, repeats, stalls = time.monotonic(), repeats + 1, stalls + 1
                pending |= {begin(number, stalls): number for number in sorted(set(pending.values()))}
        except (EOFError, BrokenPipeError):
            return
        except Exception as error:  # noqa: BLE001  # what a task raises is raised again here
            connection.send(
                RangeFailure(LOST if _is_loss(ray, error) else f"The cluster could not do a range: {error}")
            )
            return


def _ray() -> Any:
    """Return the module, which goes by the environment that it is first imported in."""
    import ray  # noqa: PLC0415  # an extra

    return ray


def _is_loss(ray: Any, error: Exception) -> bool:
    """Return whether an error is of the connection to the node of this machine, as Ray's bare "Broken pipe"."""
    losses = (OSError, ray.exceptions.RaySystemError, ray.exceptions.LocalRayletDiedError)
    # An error of a task is of the class that was raised there, too.
    return isinstance(error, losses) and not isinstance(error, ray.exceptions.RayTaskError)


def _cpus(ray: Any) -> int:
    resources: Mapping[str, float] = ray.cluster_resources()
    return int(resources.get("CPU", 0))


def _do_range(name: str, release: str, plan: WorkPlan, number: int, contents: list[Any]) -> bytes:
    """Do a range, in a worker of the cluster; what was made of the files is kept for the next one.

    ``contents`` are references to the files, each an array of bytes.

    Raises:
        Refused: the node has another release, which might give other bytes.
    """
    if release != __version__:
        raise Refused(f"A node of the cluster has penchant {__version__}, where the work wants {release}.")
    work = _prepared.get(name)
    if work is None:
        _prepared.clear()
        work = _prepared[name] = plan.prepare(dict(zip(plan.files, _ray().get(contents), strict=True)))
    return work(*plan.bounds(number))

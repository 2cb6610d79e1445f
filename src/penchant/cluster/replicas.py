"""Replicas: what is asked of a cluster that places servers, and what it tells of them."""

from typing import NamedTuple

from penchant.settings import NodeSettings


class ReplicaPlan(NamedTuple):
    """Replicas of shards to be placed: ``replicas`` of each of ``shards``, each of them what ``server`` names.

    ``server`` (``module:name``) takes these settings and the id of the service, and its ``start`` a host.
    """

    server: str
    settings: NodeSettings
    service: str
    shards: int
    replicas: int


class ReplicaReport(NamedTuple):
    """Of a replica where it runs, if it does; ``fault`` is why it does not, where that has lasted."""

    address: str | None
    fault: str | None


class DriverFailure(NamedTuple):
    """Why a driver has ended."""

    detail: str


Reports = tuple[tuple[ReplicaReport, ...], ...]
"""By shard those of its replicas."""

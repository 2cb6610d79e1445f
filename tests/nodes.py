"""Two nodes of the service as processes, asked in turn."""

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from acceptance.servers import Server
from databases import prepared_database
from penchant.bootstrap import storage_of
from penchant.settings import NodeSettings
from penchant.storage import Storage
from serving import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Two nodes of two workers each on one PostgreSQL; ``settings`` are those of the first, ``storage`` is of both."""

    addresses: Sequence[str]
    settings: NodeSettings
    storage: Storage


class AlternatingTransport(httpx.BaseTransport):
    """Sends each request to the next of several nodes."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._next = itertools.cycle([httpx.URL(address) for address in addresses])
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer of the next node."""
        node = next(self._next)
        request.url = request.url.copy_with(scheme=node.scheme, host=node.host, port=node.port)
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()


@contextlib.contextmanager
def running_nodes(postgresql: str, folder: Path, min_version_timeout_s: float) -> Iterator[Nodes]:
    """Start two nodes on a fresh database, and end them."""
    database = prepared_database(postgresql)
    file = folder / "penchant.toml"
    file.write_text(f"min-version-timeout-s = {min_version_timeout_s}\n")
    options = ("--workers", "2", "--settings", str(file))
    running = [Server(folder / name, *options, database=database) for name in ("one", "two")]
    settings = NodeSettings(data=str(folder / "one"), database=database, min_version_timeout_s=min_version_timeout_s)
    with contextlib.closing(storage_of(settings)) as storage:
        yield Nodes(addresses=[server.url for server in running], settings=settings, storage=storage)
    for server in running:
        assert server.stop() == 0


@contextlib.contextmanager
def service_on_nodes(nodes: Nodes) -> Iterator[Service]:
    """Return the service of an account of its own on two nodes."""
    with httpx.Client(transport=AlternatingTransport(nodes.addresses), base_url="http://nodes", timeout=300) as client:
        yield Service(client, nodes.settings, account=f"test-{uuid.uuid4().hex}", storage=nodes.storage)

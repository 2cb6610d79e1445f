"""A listing ends in time although the network to its database swallows everything."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factories import piece
from faults.cluster import Cluster
from faults.proxy import Proxy
from penchant.errors import StorageUnavailable
from penchant.service import content
from penchant.settings import NodeSettings
from tenants import Tenant, tenant_of

pytestmark = pytest.mark.stress

PIECES = 5_000
"""More than some batches."""
PATIENCE_S = 300


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    made = Proxy(cluster.socket)
    yield made
    made.end()


async def listed(tenant: Tenant, meanwhile: Callable[[], None]) -> int:
    """Read a listing, with something that happens after each batch; return how many pieces came."""
    page = await tenant.services.content.pieces(tenant.access, "s")
    count = 0
    async for batch in page.batches():
        count += len(batch)
        meanwhile()
    return count


async def test_a_listing_whose_network_is_cut_silently_fails_in_time_and_leaves_room_for_others(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "BATCH_TIMEOUT_S", 0.3)
    monkeypatch.setattr(content, "MAX_LISTINGS", 1)
    address = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
    settings = NodeSettings(data=str(tmp_path), database=address)

    pieces = [piece(f"p{number}") for number in range(PIECES)]
    async with asyncio.timeout(PATIENCE_S), tenant_of(settings) as tenant:
        for first in range(0, PIECES, 1_000):
            await tenant.submit(*pieces[first : first + 1_000])
        with pytest.raises(StorageUnavailable):
            await listed(tenant, lambda: proxy.tell("hold"))
        proxy.tell("pass")
        monkeypatch.setattr(content, "BATCH_TIMEOUT_S", PATIENCE_S)

        assert await listed(tenant, lambda: None) == PIECES

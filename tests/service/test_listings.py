"""A listing ends in time although the network to its database swallows everything."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.cluster import Cluster, new_cluster
from faults.proxy import Proxy
from penchant.bootstrap import open_services
from penchant.errors import StorageUnavailable
from penchant.model import FULL_PLAN, EncodedPiece
from penchant.service import Services, content
from penchant.service.access import Access
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import SubmitPieces

pytestmark = pytest.mark.slow

PIECES = 5_000
"""More than some batches."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = new_cluster()
    yield made
    made.remove()


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    made = Proxy(cluster.socket)
    yield made
    made.end()


async def filled(services: Services) -> Access:
    database = services.database
    account = await database.in_thread(database.storage.accounts.ensure, "one")
    pieces = [EncodedPiece(id=f"p{number}", body=b"{}") for number in range(PIECES)]
    await database.change(SubmitPieces(account_id=account, source="s", pieces=pieces))
    return Access(key_id="k", account_id=account, plan=FULL_PLAN, admin=False)


async def listed(services: Services, access: Access, meanwhile: Callable[[], None]) -> int:
    """Read a listing, with something that happens after each batch; return how many pieces came."""
    page = await services.content.pieces(access, "s")
    count = 0
    async for batch in page.batches():
        count += len(batch)
        meanwhile()
    return count


def test_a_listing_whose_network_is_cut_silently_fails_in_time_and_leaves_room_for_others(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "BATCH_TIMEOUT_S", 0.3)
    monkeypatch.setattr(content, "MAX_LISTINGS", 1)
    address = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
    settings = NodeSettings(data=str(tmp_path), database=address)

    async def scene() -> int:
        async with open_services(CurrentSettings(settings)) as services:
            access = await filled(services)
            with pytest.raises(StorageUnavailable):
                await listed(services, access, lambda: proxy.tell("hold"))
            proxy.tell("pass")
            return await listed(services, access, lambda: None)

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == PIECES

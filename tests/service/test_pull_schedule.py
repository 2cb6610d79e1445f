"""Pulls beside requests: by a process of their own, by one of several nodes, given up when the service ends."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from client.answering import Answer, Script, answering
from databases import prepared_database
from penchant.bootstrap import open_services, storage_of
from penchant.bootstrap.pulls import PullSchedule
from penchant.service.pulling import Puller, PullSpec, list_runs
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import Storage

PATIENCE_S = 120
SHOP = Answer(200, b"id,label\na,A\nb,B\n")


def node(folder: Path, server: Script, database: str | None = None) -> NodeSettings:
    hosts = (server.address.removeprefix("http://"),)
    return NodeSettings(data=str(folder), database=database, pull_hosts=hosts)


def add(storage: Storage, settings: NodeSettings, server: Script) -> None:
    spec = PullSpec(format="csv", address=f"{server.address}/x.csv", every_s=3600)
    Puller(storage, settings).add("shop", spec, account="default", source="s", actor="test")


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  # what another process does sets no event
            await asyncio.sleep(0.05)


async def test_of_two_nodes_one_pulls_and_both_have_it(tmp_path: Path, postgresql: str) -> None:
    database = prepared_database(postgresql)
    with answering(SHOP) as server:
        nodes = [node(tmp_path / name, server, database) for name in ("one", "two")]
        with closing(storage_of(nodes[0])) as storage:
            add(storage, nodes[0], server)
            async with AsyncExitStack() as stack:
                running = [await stack.enter_async_context(open_services(CurrentSettings(each))) for each in nodes]
                counts = [each.metrics.counts for each in running]
                await until(lambda: any(count("penchant_pulls", "outcome") for count in counts))

            head = storage.sources.read_head(storage.accounts.ensure("default"), "s")

    assert head is not None
    assert head.piece_count == 2
    assert sum(count("penchant_pulls", "outcome").get(("stored",), 0) for count in counts) == 1
    assert len(server.asked) == 1


@pytest.mark.slow
async def test_a_failure_is_a_warning_of_health_until_it_is_none(tmp_path: Path) -> None:
    with answering(Answer(500), SHOP) as server:
        settings = node(tmp_path, server)
        with closing(storage_of(settings)) as storage:
            add(storage, settings, server)
        async with open_services(CurrentSettings(settings)) as services:
            gauge = services.metrics.registry.get_sample_value
            await until(lambda: gauge("penchant_failing_pulls"))
            assert services.metrics.counts("penchant_pulls", "outcome") == {("failed",): 1}

            await asyncio.to_thread(Puller(services.database.storage, settings).run, "shop")
            await PullSchedule(services.database, services.current, services.metrics).look()
            assert gauge("penchant_failing_pulls") == 0


@pytest.mark.slow
async def test_a_service_that_ends_gives_a_pull_under_way_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = NodeSettings(data=str(tmp_path), pull_hosts=(f"127.0.0.1:{server.getsockname()[1]}",))
        server.setblocking(False)
        with closing(storage_of(settings)) as storage:
            spec = PullSpec(format="csv", address=f"http://{settings.pull_hosts[0]}/", every_s=3600)
            Puller(storage, settings).add("shop", spec, account="default", source="s", actor="test")
        async with open_services(CurrentSettings(settings)):
            async with asyncio.timeout(PATIENCE_S):
                # It is asked, and never answers.
                connection, _ = await asyncio.get_running_loop().sock_accept(server)
        connection.close()

    with closing(storage_of(settings)) as storage:
        found = storage.pulls.find("shop")
        assert found is not None
        assert (found.lease_until, list_runs(storage, "shop")) == (0, [])

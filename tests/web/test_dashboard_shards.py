"""The dashboard's page of shard processes, and health, where none of them answers."""

import pytest

from acceptance.servers import free_port
from penchant.settings import NodeSettings
from serving import Service
from visitors import Visitor, text_of


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(data=settings.data, shard_hosts=(f"127.0.0.1:{free_port()}+127.0.0.1:{free_port()}",))


@pytest.mark.usefixtures("alone")
def test_a_process_that_is_not_there_is_shown(service: Service, settings: NodeSettings) -> None:
    visitor = Visitor(service, service.new_key(account="operators", admin=True))

    page = text_of(visitor.get("shards").text)

    assert page.count("not reachable: it cannot be reached") == 2
    assert all(address in page for address in settings.shard_hosts[0].split("+"))
    assert "No process of this shard answers" in page
    assert "None: no source has as many pieces" in page
    assert "No process of shard 0 answers" in service.get("/-/health/ready").json()["warnings"][0]

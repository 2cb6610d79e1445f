"""Settings of the service that change how it answers."""

import pytest

from factories import piece
from penchant.settings import NodeSettings
from serving import Service


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(data=settings.data, base_path="/below/here", metrics_public=False, log_requests=True)


@pytest.mark.slow
def test_every_path_is_below_the_base_path(service: Service) -> None:
    created = service.post("/below/here/a%2Fb/content", json=[piece("a")])

    assert created.status_code == 202
    assert service.get("/below/here/a%2Fb/ids").json()["count"] == 1
    assert service.get("/below/here/-/health/ready").status_code == 200
    missing = service.get("/a%2Fb/ids")
    assert missing.status_code == 404
    assert missing.json()["type"] == "/below/here/-/problems/unknown-route"
    assert service.get("/below/here/-/openapi.json").json()["servers"] == [{"url": "/below/here"}]


def test_closed_metrics_want_an_admin_key(service: Service) -> None:
    path = "/below/here/-/metrics"

    assert service.client.get(path).status_code == 401
    assert service.get(path).json()["code"] == "not-an-admin"
    assert service.get(path, key=service.new_key(admin=True)).status_code == 200

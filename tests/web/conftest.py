"""Fixtures of the interface: a service to ask; for the dashboard a source with people, and somebody who looks at it."""

import time
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from clocks import DAY_CLOCK
from factories import piece, weighted
from nodes import service_on_nodes
from penchant.settings import NodeSettings
from serving import Applications, Service, ok
from visitors import Visitor

HOSTILE = "<script>alert(1)</script> \"'&amp; \u202eabc " + "😀" * 500


@pytest.fixture
def service(
    request: pytest.FixtureRequest, applications: Applications, settings: NodeSettings, clock: Callable[[], float]
) -> Iterator[Service]:
    """An account without any source at a service that tests share: in this process, or (``--on``) two nodes.

    Tests that use ``alone`` or ``fresh`` have a service of their own; no nodes have those of ``alone``, nor those
    with settings of their own.
    """
    wanted = set(request.fixturenames)
    nodes = request.getfixturevalue("nodes") if request.config.getoption("--on") == "nodes" else None
    # Nodes go by the real clock, and so does what is beside them, but for what is alone.
    DAY_CLOCK.is_real = nodes is not None and "alone" not in wanted
    if nodes and "alone" not in wanted and settings == replace(nodes.settings, data=settings.data, database=None):
        with service_on_nodes(nodes) as service:
            yield service
    elif wanted & {"alone", "fresh"}:
        with applications.service(settings, clock) as service:
            yield service
    else:
        yield applications.shared_service(settings, clock)


@pytest.fixture
def noon() -> None:
    """Give a test, or a module, a service at a noon that stands still: for what counts in days."""


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Callable[[], float]:
    """What the service takes for the present."""
    return DAY_CLOCK if "noon" in request.fixturenames else time.time


@pytest.fixture
def fresh() -> None:
    """Give a test a service that nobody has asked before, where it runs in this process."""


@pytest.fixture
def filled(service: Service) -> Service:
    """The service with a small source, and a person in it."""
    service.submit(
        "s",
        piece("a", "x", "y", label="First of all"),
        piece("b", "x", "book", label="Second"),
        piece("c", "X", "Bóoks", label=HOSTILE),
        weighted("d", heavy=80, light=20),
        weighted("e", heavy=60),
    )
    did = (("RateLike", "a"), ("RateDislike", "d"), ("Click", "gone"))
    ok(service.post("/s/interactions", json=[{"userId": "kim", "type": kind, "contentId": each} for kind, each in did]))
    return service


@pytest.fixture
def visitor(filled: Service) -> Visitor:
    return Visitor(filled, filled.key)


@pytest.fixture
def alone() -> None:
    """Give a test a service of its own in this process: for what one process limits, or shows of all accounts."""

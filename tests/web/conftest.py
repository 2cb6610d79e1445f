"""Fixtures of the dashboard's tests: a source with people, and somebody who looks at it."""

import pytest

from factories import piece, weighted
from serving import Service
from visitors import Visitor

HOSTILE = "<script>alert(1)</script> \"'&amp; \u202eabc " + "😀" * 500


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
    for kind, piece_id in (("RateLike", "a"), ("RateDislike", "d"), ("Click", "gone")):
        assert service.post(f"/s/users/kim/interactions/{kind}/content/{piece_id}").status_code == 200
    return service


@pytest.fixture
def visitor(filled: Service) -> Visitor:
    return Visitor(filled, filled.key)


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> None:
    """Skip on nodes, which all tests share: for what one process limits, or shows of all accounts."""
    if request.config.getoption("--on") == "nodes":
        pytest.skip("the nodes that all tests share do not show it")

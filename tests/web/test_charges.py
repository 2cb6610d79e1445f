"""A request is charged to the account of its key, wherever the key is: each way in is one parameter."""

from collections.abc import Callable
from typing import Any

import pytest

from factories import piece
from penchant.live.admission import KEYLESS
from penchant.settings import NodeSettings
from penchant.storage import account_number
from penchant.web.operations import keys_of
from penchant.web.query import RequestHeaders
from serving import Service
from visitors import GROUPS, Person, Visitor
from web.test_whom import SHOP

pytestmark = pytest.mark.usefixtures("alone")

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(
        data=settings.data,
        mcp=True,
        trusted_proxies=("127.0.0.1",),
        dashboard_proxy_header="Remote-User",
        dashboard_proxy_groups_header="Remote-Groups",
        dashboard_groups=GROUPS,
    )


def asking_as_a_page(service: Service) -> Callable[[], Any]:
    key = service.new_key(origins=[SHOP])
    return lambda: service.client.get("/s/content/a/similar", params={"key": key}, headers={"origin": SHOP})


def visiting(visitor: Visitor) -> Callable[[], Any]:
    return lambda: visitor.get("desk", source="s")


WAYS: dict[str, Callable[[Service], Callable[[], Any]]] = {
    "header": lambda service: lambda: service.get("/s/content/a/similar"),
    "query": asking_as_a_page,
    "bearer": lambda service: (
        lambda: service.client.post(
            "/-/mcp", json=LIST, headers={"authorization": f"Bearer {service.key}", "accept": "application/json"}
        )
    ),
    "session": lambda service: visiting(Visitor(service, service.key)),
    "person": lambda service: visiting(Person(service, "newsroom")),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_request_takes_is_its_accounts(service: Service, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    ask, other = WAYS[way](service), service.new_key(account="other")
    assert ask().status_code == 200
    # Nothing is charged while one account is alone; that a key has one is known from its second request on.
    assert [service.get("/s", key=other).status_code for _ in range(2)] == [404, 404]
    loads = service.client.app.services.admission.loads  # type: ignore[attr-defined]
    charges: list[int | None] = []
    charge = loads.charge_step

    def note(account: int | None, *seconds: float) -> None:
        charges.append(account)
        charge(account, *seconds)

    monkeypatch.setattr(loads, "charge_step", note)

    assert ask().status_code == 200

    assert charges
    assert charges[-1] == account_number(service.account)
    assert set(charges) <= {account_number(service.account), KEYLESS}


def test_a_key_is_found_wherever_it_may_be() -> None:
    def found(path: str, *headers: tuple[bytes, bytes], query: bytes = b"") -> list[str]:
        return keys_of({"raw_path": path.encode(), "query_string": query}, RequestHeaders(list(headers)))

    header, bearer = (b"x-api-key", b"one"), (b"authorization", b"bEarer  two ")
    assert found("/s") == []
    assert found("/s", header, header) == ["one", "one"]
    assert found("/s", bearer) == []
    assert found("/rec/-/mcp", bearer, header) == ["two", "one"]
    assert found("/-/mcp", query=b"key=three") == []
    assert found("/s", query=b"a=b&key=th%72ee") == ["three"]
    assert found("/s", header, query=b"key=three") == ["one"]
    assert found("/s", query=b"key=%zz") == []

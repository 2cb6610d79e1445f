"""People who sign in at a proxy: a real nginx, set as the documents say, before a real server with two workers."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from acceptance.balancers import Balancer, program
from acceptance.processes import wait_until
from acceptance.servers import Server, free_port

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "dashboard.md"
HOME = "/-/dashboard"
FORGED = {"remote-user": "eve", "remote-groups": "it", "Remote_User": "eve", "Remote_Groups": "it"}
SETTINGS = """
trusted-proxies = ["127.0.0.1"]
dashboard-proxy-header = "Remote-User"
dashboard-proxy-groups-header = "Remote-Groups"
[[dashboard-groups]]
group = "it"
role = "admin"
[[dashboard-groups]]
group = "newsroom"
account = "default"
role = "{role}"
"""
GATE = """
    server {{
        listen 127.0.0.1:{port};
        location / {{
            if ($cookie_house = "") {{ return 401; }}
            add_header Remote-User Kim;
            add_header Remote-Groups newsroom,other;
            return 200;
        }}
    }}
"""
"""Stands for Authelia: who has the cookie is Kim of the newsroom."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("signing") / "data"
    with Server(data, "--workers", "2", settings=SETTINGS.format(role="editor")) as running:
        running.client.post("/s/content", json=[{"id": "a", "categories": {}}])
        yield running


@pytest.fixture(scope="module")
def proxy(server: Server) -> Iterator[Balancer]:
    """Nginx by our own file, with the locations that the documents show."""
    program("nginx")
    gate = free_port()
    shown = PAGE.read_text().partition("```nginx\n")[2].partition("```")[0]
    shown = shown.replace("http://127.0.0.1:8080", "http://nodes").replace("127.0.0.1:9091", f"127.0.0.1:{gate}")
    nodes = (server.port, server.port)
    balancer = Balancer("nginx", server.data.parent / "nginx", nodes, before=GATE.format(port=gate), within=shown)
    yield balancer
    balancer.stop()


def asked(proxy: Balancer, path: str = f"{HOME}/desk?source=s", **headers: str) -> httpx.Response:
    """Ask over a connection of its own, with headers that no client should get through."""
    return httpx.get(proxy.url + path, headers=FORGED | headers, timeout=120)


def test_the_proxy_says_who_it_is_whatever_a_client_sends(proxy: Balancer) -> None:
    assert asked(proxy).status_code == 401
    page = asked(proxy, cookie="house=1").text

    assert "<b><bdi>kim</bdi></b>: editor of <bdi>default</bdi>" in page
    assert asked(proxy, f"{HOME}/keys", cookie="house=1").status_code == 403


@pytest.mark.parametrize(
    "path",
    ("//-/dashboard/keys", "/%2D/dashboard/keys", "/-%2Fdashboard/keys", "/-/%64ashboard/keys", "/-/Dashboard/keys"),
)
def test_no_way_to_spell_a_page_leads_around_the_proxys_door(proxy: Balancer, path: str) -> None:
    """As curl sends it: clients of Python tidy some of these up."""
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", proxy.url + path]
    words += [word for name, value in FORGED.items() for word in ("-H", f"{name}: {value}")]

    status = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout

    assert status in {"401", "404"}


def test_all_workers_go_by_another_role_once_it_is_reloaded(proxy: Balancer, server: Server) -> None:
    def give(role: str) -> None:
        server.settings_file.write_text(SETTINGS.format(role=role))
        server.process.send_signal(signal.SIGHUP)

    def roles() -> set[str]:
        pages = [asked(proxy, cookie="house=1").text for _ in range(20)]
        return {found[1] for page in pages if (found := re.search(r"</bdi></b>: (\w+) of", page))}

    assert roles() == {"editor"}
    give("viewer")

    wait_until(lambda: roles() == {"viewer"})
    give("owner")
    wait_until(lambda: "owner" in server.log())
    assert roles() == {"viewer"}
    give("editor")
    wait_until(lambda: roles() == {"editor"})

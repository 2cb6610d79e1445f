"""SIGHUP: settings change in all workers, and nobody who asks meanwhile notices."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from acceptance.balancers import DEPLOY
from acceptance.processes import wait_until, workers_of
from acceptance.servers import WITHOUT_TLS, Server, command, free_port
from kernel_cache import KERNELS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="workers are found through /proc"),
]

FIRST = """
log-format = "json"
min-version-timeout-s = 0.2
[plans.press]
features = []
"""
SECOND = """
log-format = "json"
min-version-timeout-s = 0.2
log-requests = true
body-limit-bytes = 50
cors-origins = ["https://new.example"]
port = 9
base-path = "/elsewhere"
[plans.press]
features = ["lists"]
requests-per-second = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(FIRST)
    return path


@pytest.fixture
def server(tmp_path: Path, file: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", "--workers", "2", "--settings", str(file)) as running:
        wait_until(lambda: len(list(running.data.glob("metrics/*/counter_*.db"))) >= 2)
        running.client.post("/s/content", json=[{"id": "a", "categories": {}}])
        yield running


@pytest.fixture
def press(server: Server, file: Path) -> str:
    created = command("keys", "create", "--data", str(server.data), "--settings", str(file), "--plan", "press")
    assert created.returncode == 0, created.stderr
    return created.stdout.strip()


def statuses(server: Server, path: str, key: str, times: int = 20) -> set[int]:
    """Ask over connections of their own, so that all workers answer."""
    options: Any = {"headers": {"x-api-key": key}, "timeout": 120, "verify": WITHOUT_TLS}
    return {httpx.get(server.url + path, **options).status_code for _ in range(times)}


def hang_up(server: Server, settled: str) -> None:
    """Have the settings read, and wait for the line of the log that tells so."""
    before = server.log().count(settled)
    # As systemd does it.
    line = re.search("^ExecReload=(.*)$", (DEPLOY / "penchant.service").read_text(), re.MULTILINE)
    assert line is not None
    surroundings = os.environ | {"MAINPID": str(server.process.pid)}
    subprocess.run(["sh", "-c", line[1]], env=surroundings, check=True, timeout=300)
    wait_until(lambda: server.log().count(settled) > before)


def test_all_workers_go_by_the_new_settings_and_stay(server: Server, file: Path, press: str) -> None:
    workers = workers_of(server.process.pid)
    assert statuses(server, "/s/whitelist", press) == {403}
    preflight = {"origin": "https://new.example", "access-control-request-method": "GET"}
    assert httpx.options(f"{server.url}/s/ids", headers=preflight).status_code != 200

    file.write_text(SECOND)
    hang_up(server, "settings reloaded")

    wait_until(lambda: statuses(server, "/s/whitelist", press) == {200, 429})
    answers = [
        httpx.post(f"{server.url}/s/content", headers={"x-api-key": server.key}, json=[{"id": "x" * 50}])
        for _ in range(20)
    ]
    assert {answer.status_code for answer in answers} == {413}
    assert {httpx.options(f"{server.url}/s/ids", headers=preflight).status_code for _ in range(20)} == {200}
    assert '"route":"/{source}/whitelist"' in server.log().replace(" ", "")
    assert workers_of(server.process.pid) == workers


def test_what_wants_a_restart_is_told(server: Server, file: Path) -> None:
    file.write_text(SECOND)

    hang_up(server, "want a restart")

    (line,) = [line for line in server.log().splitlines() if "want a restart" in line]
    # The command line gave the port, which stays.
    assert '["base-path"]' in line
    assert statuses(server, "/s/ids", server.key) == {200}


def test_a_wrong_file_leaves_everything_as_it_was(server: Server, file: Path, press: str) -> None:
    for wrong in ("stale-reads-s = -1", "no", "log-level = 'loud'", None):
        if wrong is None:
            file.unlink()
        else:
            file.write_text(SECOND.replace("port = 9", wrong))

        hang_up(server, "the settings stay as they were")
        time.sleep(1.1)

        assert statuses(server, "/s/whitelist", press) == {403}, wrong
    file.write_text(SECOND)
    hang_up(server, "settings reloaded")
    wait_until(lambda: 200 in statuses(server, "/s/whitelist", press))


def test_a_worker_that_is_replaced_goes_by_the_new_settings(server: Server, file: Path, press: str) -> None:
    file.write_text(SECOND)
    hang_up(server, "settings reloaded")

    before = workers_of(server.process.pid)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: len(set(workers_of(server.process.pid)) - {before[0]}) == 2)

    wait_until(lambda: statuses(server, "/s/whitelist", press) <= {200, 429})
    assert statuses(server, "/s/whitelist", press) <= {200, 429}


ANSWERS_A_ROUND = 80
"""So many answers are awaited after each change of the settings."""


def wait_for_more(found: list[int | str]) -> None:
    enough = len(found) + ANSWERS_A_ROUND
    wait_until(lambda: len(found) >= enough)


def test_no_request_is_dropped_while_settings_change(server: Server, file: Path) -> None:
    ended = threading.Event()
    found: list[int | str] = []

    def ask(connection: str) -> None:
        headers = {"x-api-key": server.key, "connection": connection}
        with httpx.Client(base_url=server.url, headers=headers, timeout=120) as client:
            while not ended.is_set():
                try:
                    found.append(client.get("/s/ids").status_code)
                except httpx.TransportError as error:
                    found.append(repr(error))

    askers = [threading.Thread(target=ask, args=(("keep-alive", "close")[number % 2],)) for number in range(6)]
    for asker in askers:
        asker.start()
    for round_ in range(6):
        file.write_text(SECOND if round_ % 2 else FIRST)
        hang_up(server, "settings reloaded")
        wait_for_more(found)
    ended.set()
    for asker in askers:
        asker.join()

    assert set(found) == {200}


def test_a_terminal_that_is_closed_ends_the_demo(tmp_path: Path) -> None:
    port = free_port()
    demo = subprocess.Popen(
        [sys.executable, "-m", "penchant", "demo", "--data", str(tmp_path / "data"), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PENCHANT_KERNEL_FOLDER": str(KERNELS)},
    )

    def is_ready() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/-/health/ready", verify=WITHOUT_TLS).status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_until(is_ready)
        demo.send_signal(signal.SIGHUP)
        assert demo.wait(timeout=120) == 0
    finally:
        demo.kill()
        demo.wait()

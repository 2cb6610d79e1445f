"""``penchant health`` finds the service by the settings that it was started with, as probes of containers run it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server, command, free_port
from databases import started_postgresql


def asked(*words: str) -> tuple[int, str]:
    """Return the exit code and the line that the command wrote, to whichever stream."""
    done = command("health", *words)
    [line] = (done.stdout + done.stderr).splitlines()
    assert bool(done.stdout) == (done.returncode == 0)
    return done.returncode, line


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service below a path, over TLS with a certificate of its own making, which listens everywhere."""
    folder = tmp_path_factory.mktemp("health")
    made = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "own.pem"), "-days", "2", "-nodes")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *made]
    named = ("-subj", "/CN=shop.example", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([*words, *named], check=True, capture_output=True)
    port = free_port()
    settings = f'host = "0.0.0.0"\nport = {port}\nbase-path = "/rec"\n'
    settings += f'tls-certificate = "{folder / "own.pem"}"\ntls-key = "{folder / "key.pem"}"\n'
    with Server(folder / "data", settings=settings, port=port, certificate=folder / "own.pem", base="/rec") as server:
        yield server


@pytest.mark.parametrize("question", ("ready", "live"))
def test_port_path_and_tls_are_those_of_the_settings(secured: Server, question: str) -> None:
    words = () if question == "ready" else ("--live",)

    code, line = asked("--settings", str(secured.settings_file), *words)

    address = f"https://127.0.0.1:{secured.port}/rec/-/health/{question}"
    assert (code, line) == (0, f"penchant: {question} at {address}")


def test_the_environment_and_the_folder_s_file_are_read_as_a_service_reads_them(
    secured: Server, tmp_path: Path
) -> None:
    text = secured.settings_file.read_text()
    (tmp_path / "penchant.toml").write_text(text.replace(f"port = {secured.port}", "port = 1"))
    program = Path(sys.executable).with_name("penchant")
    environment = os.environ | {"PENCHANT_PORT": str(secured.port), "PENCHANT_WORKERS": "2"}

    done = subprocess.run([program, "health"], cwd=tmp_path, env=environment, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr


def test_another_path_and_an_open_port_without_tls_are_told_apart(secured: Server, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(secured.settings_file.read_text().replace("/rec", ""))

    code, line = asked("--settings", str(tmp_path / "other.toml"))
    assert (code, line.endswith("answers 404 (another base-path, or another program)")) == (1, True), line

    code, line = asked("--port", str(secured.port))
    assert (code, "does not answer" in line) == (1, True), line


@pytest.mark.parametrize("host", ("::", "::1", "localhost", "127.0.0.1"))
def test_who_does_not_answer_is_named_and_who_is_silent_in_time(host: str) -> None:
    code, line = asked("--host", host, "--port", str(port := free_port()))
    assert (code, f":{port}/-/health/ready does not answer" in line) == (1, True), line

    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        code, line = asked("--port", str(silent.getsockname()[1]), "--timeout", "0.5")
    assert (code, "no answer in time" in line) == (1, True), line


def test_settings_that_are_not_accepted_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "penchant.toml").write_text("prot = 8080\n")

    code, line = asked("--settings", str(tmp_path / "penchant.toml"))

    assert (code, "prot" in line) == (1, True), line


@pytest.fixture
def database() -> Iterator[Any]:
    with started_postgresql() as server:
        yield server


@pytest.mark.stress
def test_a_service_whose_database_is_away_lives_and_is_not_ready(database: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", database=database.get_uri())
    database.stop()

    code, line = asked("--port", str(server.port))

    assert (code, f"not ready: {server.url}/-/health/ready answers 503" in line) == (1, True), line
    assert asked("--port", str(server.port), "--live") == (0, f"penchant: live at {server.url}/-/health/live")
    database.start()
    assert server.stop() == 0

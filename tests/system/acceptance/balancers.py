"""Starts the balancers of the folder deploy before nodes under test: their own files, other addresses."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from acceptance.servers import free_port

DEPLOY = Path(__file__).parents[3] / "deploy"
STARTING_S = 60
NGINX_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""Where nginx keeps what it buffers: one folder for each module that it was built with."""


def program(name: str) -> str:
    """Return the path of a program of the system; skip where there is none."""
    path = os.environ.get("PATH", os.defpath) + os.pathsep + "/usr/sbin"
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def replaced(text: str, pattern: str, new: str) -> str:
    """Return a text with what must be there once replaced."""
    text, count = re.subn(pattern, new, text)
    assert count == 1, pattern
    return text


def nginx_file(folder: Path, port: int, nodes: Sequence[int], *, before: str = "", within: str = "") -> Path:
    """Write a copy of nginx.conf that listens on ``port`` and knows these nodes; all on loopback.

    ``before`` its server others may stand, and ``within`` it locations before its own.
    """
    text = (DEPLOY / "nginx.conf").read_text()
    text = replaced(text, r"listen 80;", f"listen 127.0.0.1:{port};")
    text = text.replace("/var/log/nginx/", f"{folder}/")
    for number, node in enumerate(nodes, start=1):
        text = replaced(text, rf"server node{number}:8080", f"server 127.0.0.1:{node}")
    text = text.replace("        location / {\n", f"{within}        location / {{\n", 1)
    text = text.replace("    server {\n", f"{before}    server {{\n", 1)
    temporary = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in NGINX_FOLDERS)
    text = replaced(text, r"http \{\n", "http {\n" + temporary)
    # As root it would change to a user who may not enter the test's folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    file = folder / "nginx.conf"
    file.write_text(f"{user}daemon off;\npid {folder}/nginx.pid;\n{text}")
    return file


def haproxy_file(folder: Path, port: int, nodes: Sequence[int]) -> Path:
    """Write a copy of haproxy.cfg that listens on ``port`` and knows these nodes; all on loopback."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    text = replaced(text, r"bind :80\n", f"bind 127.0.0.1:{port}\n")
    # So many need more files than every machine lets a test open.
    text = replaced(text, r"maxconn \d+", "maxconn 500")
    for number, node in enumerate(nodes, start=1):
        text = replaced(text, rf"node{number}:8080", f"127.0.0.1:{node}")
    file = folder / "haproxy.cfg"
    file.write_text(text)
    return file


class Balancer:
    """A balancer that runs in the foreground."""

    def __init__(self, name: str, folder: Path, nodes: Sequence[int], **added: str) -> None:
        folder.mkdir()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        if name == "nginx":
            words = [program("nginx"), "-p", str(folder), "-c", str(nginx_file(folder, self.port, nodes, **added))]
            words += ["-e", str(folder / "error.log")]
        else:
            words = [program("haproxy"), "-db", "-f", str(haproxy_file(folder, self.port, nodes))]
        with (folder / "output.log").open("wb") as output:
            self.process = subprocess.Popen(words, stdout=output, stderr=output)
        self._log = folder / "output.log"
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + STARTING_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self._log.read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"not ready in time: {self._log.read_text()}")

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

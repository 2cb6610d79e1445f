"""The files of the folder deploy are what those who read them accept, and agree with each other."""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from acceptance.balancers import DEPLOY, haproxy_file, nginx_file, program, replaced
from penchant.cli.serve import KILL_TIMEOUT_S
from penchant.settings import load_settings

ROOT = DEPLOY.parent
PORTS = (18_081, 18_082)
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
SERVICE_MEMBERS = {"build", "image", "command", "init", "restart", "stop_grace_period", "depends_on", "environment"}
SERVICE_MEMBERS |= {"volumes", "networks", "ports", "healthcheck", "read_only", "tmpfs", "cap_drop", "security_opt"}
SERVICE_MEMBERS |= {"mem_limit", "pids_limit", "ulimits"}
"""Members of a service that the compose specification has, as far as they are used: a slip is none of them."""
MAX_EXPOSURE = 20
"""Of systemd-analyze security, in tenths: it calls up to 2.0 of 10 "OK" and below."""


def checked(*words: str, **environment: str) -> str:
    """Run a linter and return what it printed; it must be content."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return document


def instructions() -> list[tuple[str, str]]:
    """Return the Containerfile's instructions with their words, lines that go on joined."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE))
    pairs = [line.partition(" ") for line in text.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in pairs]


def words_of(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def unit() -> dict[str, str]:
    lines = (DEPLOY / "penchant.service").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_nginx_accepts_its_file(tmp_path: Path) -> None:
    file = nginx_file(tmp_path, 18_080, PORTS)

    said = checked(program("nginx"), "-t", "-p", str(tmp_path), "-e", f"{tmp_path}/error.log", "-c", str(file))

    assert "warn" not in said


def test_haproxy_accepts_its_file(tmp_path: Path) -> None:
    said = checked(program("haproxy"), "-c", "-f", str(haproxy_file(tmp_path, 18_080, PORTS)))

    assert "WARNING" not in said


def test_balancers_never_send_a_post_twice() -> None:
    nginx, haproxy = ((DEPLOY / name).read_text() for name in ("nginx.conf", "haproxy.cfg"))

    assert re.findall(r"proxy_next_upstream (.*);", nginx) == ["error timeout"]
    assert re.findall(r"disable-l7-retry (.*)", haproxy) == ["unless { method GET HEAD }"]


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    text = (DEPLOY / "penchant.service").read_text()
    copy = tmp_path / "penchant.service"
    copy.write_text(replaced(text, r"/opt/penchant/\.venv/bin/penchant", str(Path(sys.executable).parent / "penchant")))

    # Faults of the machine's own units are told as well.
    assert "penchant" not in checked(analyze, "verify", "--man=no", str(copy))
    checked(analyze, "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager", str(copy))


def test_the_unit_lets_a_node_finish_and_keeps_it_running() -> None:
    settings = unit()

    assert settings["Type"] == "simple"
    assert settings["Restart"] == "on-failure"
    assert settings["KillSignal"] == "SIGTERM"
    assert int(settings["TimeoutStopSec"]) >= 2 * KILL_TIMEOUT_S + 5
    assert "RuntimeMaxSec" not in settings
    assert settings["User"] not in {"", "root"}
    assert f"/var/lib/{settings['StateDirectory']}" in settings["ExecStart"]
    assert settings["ExecStart"].split()[1] == "serve"


NEEDED = {"reload": "ExecReload", "enable": "WantedBy"}
"""What the unit has to say for a word of systemctl; others need nothing of it."""
OTHER_WORDS = {"daemon-reload", "restart", "start", "status", "stop"}


def test_every_word_of_systemctl_in_the_documents_does_something(tmp_path: Path) -> None:
    texts = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *FILES)]
    words = {word for text in texts for word in re.findall(r"systemctl (?:-\S+ )*([a-z-]+)", text)}

    assert words >= {"reload", "enable"}
    assert words <= {*NEEDED, *OTHER_WORDS}
    assert {NEEDED[word] for word in words & set(NEEDED)} <= set(unit())
    folder = tmp_path / "etc" / "systemd" / "system"
    folder.mkdir(parents=True)
    shutil.copy(DEPLOY / "penchant.service", folder)
    checked(program("systemctl"), f"--root={tmp_path}", "enable", "penchant")
    assert (folder / "multi-user.target.wants" / "penchant.service").is_symlink()


def test_compose_has_a_database_two_nodes_and_a_balancer() -> None:
    services = compose()["services"]

    assert set(services) == {"postgresql", "node1", "node2", "balancer"}
    for name in ("node1", "node2"):
        node = services[name]
        assert (DEPLOY / node["build"]["context"] / node["build"]["dockerfile"]).samefile(DEPLOY / "Containerfile")
        assert node["depends_on"] == {"postgresql": {"condition": "service_healthy"}}
        assert int(node["stop_grace_period"].removesuffix("s")) >= 2 * KILL_TIMEOUT_S + 5
        loaded = load_settings(environment={key: str(value) for key, value in node["environment"].items()})
        assert (loaded.database or "").startswith("postgresql://")
        assert set(node["environment"]) <= {"PENCHANT_DATABASE", "PENCHANT_WORKERS"}
    assert services["node1"]["volumes"] != services["node2"]["volumes"]
    assert services["postgresql"]["image"] == "postgres:18"
    assert set(services["balancer"]["depends_on"]) == {"node1", "node2"}


def test_what_compose_refers_to_is_there() -> None:
    document = compose()
    services = document["services"]

    assert set(document) <= {"name", "x-node", "services", "networks", "volumes"}
    for service in services.values():
        assert set(service) <= SERVICE_MEMBERS
        for mount in service.get("volumes", []):
            origin = mount.split(":")[0]
            assert origin in document["volumes"] or (DEPLOY / origin).is_file()
        assert set(service["networks"]) <= set(document["networks"])
        assert set(service.get("depends_on", {})) <= set(services)
    addresses = [services[name]["networks"]["inside"]["ipv4_address"] for name in ("node1", "node2")]
    subnet = document["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert len(set(addresses)) == 2
    assert {address.rpartition(".")[0] for address in addresses} == {subnet.rpartition(".")[0]}
    for name in ("nginx.conf", "haproxy.cfg"):
        assert set(re.findall(r"\b(node\d):8080", (DEPLOY / name).read_text())) == {"node1", "node2"}


def test_hadolint_accepts_the_containerfile() -> None:
    checked(program("hadolint"), str(DEPLOY / "Containerfile"))


def test_the_containerfile_builds_from_what_is_there() -> None:
    """Instructions are known; what is copied exists and is sent; every install is locked; stages are named."""
    known = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE"}
    known |= {"STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions()} <= known
    assert words_of("FROM") == ["python:3.13-slim AS build", "python:3.13-slim"]
    sent = [line[1:] for line in (DEPLOY / "Containerfile.dockerignore").read_text().splitlines() if line[:1] == "!"]
    for copied in words_of("COPY"):
        *origins, _ = shlex.split(copied)
        if origins[0].startswith("--from="):
            assert origins[0] == "--from=build"
            continue
        for origin in origins:
            assert (ROOT / origin).exists()
            assert any(fnmatch.fnmatch(origin, pattern) or origin.startswith(f"{pattern}/") for pattern in sent)
    installs = re.findall(r"pip (?:--python \S+ )?(?:install|wheel) [^&]*", " && ".join(words_of("RUN")))
    assert len(installs) == 4
    # The commands that others bring are there as well, and what the setting `mcp` needs.
    assert all(f"packages/{path.name} " in installs[2] for path in (ROOT / "packages").iterdir())
    for install in installs:
        assert "--require-hashes" in install or "--no-deps" in install


def test_the_image_has_no_pip_and_the_locks_a_current_one() -> None:
    """What Python brings along is years old, and nothing is installed in a container."""
    first, *_, last = words_of("RUN")

    assert "python -m venv --without-pip /opt/penchant" in first
    assert "pip uninstall --yes" in last
    assert not any("/opt/penchant/bin/pip" in run for run in words_of("RUN"))
    [major] = re.findall(r"^pip==(\d+)", (ROOT / "requirements" / "build.txt").read_text(), re.MULTILINE)
    assert int(major) >= 26
    assert "pip uninstall --quiet --yes setuptools" in (ROOT / "scripts" / "setup").read_text()


def test_the_container_runs_as_a_user_of_its_own_and_tells_its_health() -> None:
    final = [name for name, _ in instructions()][[name for name, _ in instructions()].index("FROM", 1) :]

    assert final.index("USER") < final.index("ENTRYPOINT")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", words_of("USER")[0])
    assert words_of("VOLUME") == ['["/var/lib/penchant"]']
    assert words_of("STOPSIGNAL") == ["SIGTERM"]
    assert words_of("HEALTHCHECK")[0].endswith('CMD ["penchant", "health"]')
    named = re.findall(r"PENCHANT_\w+=\S+", words_of("ENV")[0])
    loaded = load_settings(environment=dict(each.split("=") for each in named))
    assert (loaded.data, loaded.host, loaded.port) == ("/var/lib/penchant", "0.0.0.0", 8080)  # noqa: S104


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_images_are_named_without_the_host_of_a_registry(file: Path) -> None:
    images = re.findall(r"^\s*(?:FROM|image:)\s+(\S+)", file.read_text(), re.MULTILINE)

    assert bool(images) == (
        file.name in {"Containerfile", "compose.yaml", "cluster.yaml", "kuberay.yaml", "pull-cronjob.yaml"}
    )
    assert all(re.fullmatch(r"[a-z]+(:[a-z0-9.-]+)?", image) for image in images)


def test_a_node_has_limits_of_memory_and_tasks_and_dumps_no_core() -> None:
    nodes = [service for service in compose()["services"].values() if "build" in service]

    assert {unit()[name] for name in ("LimitCORE", "TasksMax")} == {"0", "1024"}
    assert unit()["MemoryMax"]
    for node in nodes:
        assert node["mem_limit"]
        assert (node["pids_limit"], node["ulimits"]) == (1024, {"core": 0})

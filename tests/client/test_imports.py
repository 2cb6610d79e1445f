"""The client is light, and says what it needs."""

import subprocess
import sys

import pytest

import penchant.client

pytestmark = pytest.mark.slow


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)


def test_nothing_of_the_service_is_loaded_with_the_client() -> None:
    ran = run("import sys, penchant.client; print(*sys.modules)")

    loaded = set(ran.stdout.split())
    assert {"httpx", "msgspec", "penchant.client"} <= loaded, ran.stderr
    assert not {name.split(".")[0] for name in loaded} & {"numpy", "numba", "sqlalchemy", "starlette"}
    assert {".".join(name.split(".")[:2]) for name in loaded if name.startswith("penchant.")} == {"penchant.client"}


def test_the_client_has_the_version_of_the_service() -> None:
    assert penchant.client.__version__ == penchant.__version__


def test_without_its_extra_the_client_says_what_to_install() -> None:
    ran = run("import sys; sys.modules['httpx'] = None; import penchant.client")

    assert ran.returncode == 1
    assert "install penchant[client]" in ran.stderr


def test_the_service_does_without_the_extra() -> None:
    ran = run("import sys; sys.modules['httpx'] = None; import penchant.__main__, penchant.web.routes; print('fine')")

    assert ran.stdout == "fine\n", ran.stderr

"""The client is light, and says what it needs."""

import subprocess
import sys

import pytest

import penchant.client
import penchant_client

pytestmark = pytest.mark.slow


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)


def test_nothing_of_the_service_is_loaded_with_the_client() -> None:
    ran = run("import sys, penchant_client; print(*sys.modules)")

    loaded = set(ran.stdout.split())
    assert {"httpx", "msgspec", "penchant_client"} <= loaded, ran.stderr
    assert not {name.split(".")[0] for name in loaded} & {
        "numpy",
        "numba",
        "sqlalchemy",
        "starlette",
        "penchant",
        "penchant_engine",
    }


def test_the_client_goes_by_its_former_name_as_well() -> None:
    assert penchant.client.Client is penchant_client.Client
    assert penchant.client.NotFound is penchant_client.NotFound

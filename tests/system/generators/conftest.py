"""A service for clients that generators make, and a folder among the tools for each of them."""

import shutil
from collections.abc import Iterator

import pytest

from acceptance.servers import Server
from generators.workshop import TOOLS, Workshop


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("generators") / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture
def workshop(server: Server) -> Workshop:
    """A folder among the tools, so that these find their libraries, with both forms of the document."""
    folder = TOOLS / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "ruff.toml").touch()  # what is generated is put in order by its generator's rules, not by ours
    for name, address in (("exact", "/-/openapi.json"), ("generators", "/-/openapi.json?for=generators")):
        (folder / f"{name}.json").write_bytes(server.client.get(address).content)
    return Workshop(folder, server)

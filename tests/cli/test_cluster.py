"""``penchant cluster``: what its commands refuse before anything of Ray is started."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from penchant.cli.cluster import cluster
from penchant.errors import InvalidInput, PenchantError, Refused

TOKENS = {"RAY_AUTH_TOKEN": None, "RAY_AUTH_TOKEN_PATH": None}


def error_of(data: Path, *words: str) -> PenchantError:
    """Return what a command ends with."""
    done = CliRunner().invoke(cluster, [words[0], "--data", str(data), *words[1:]], env=TOKENS)
    assert isinstance(done.exception, PenchantError), done.output
    return done.exception


def test_a_node_joins_nothing_without_the_token_of_its_cluster(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        pytest.importorskip("ray", reason="Ray is not installed: sh scripts/ray")
        refused = [error_of(tmp_path, "join", address), error_of(tmp_path, "status", address)]

    assert all(isinstance(each, Refused) for each in refused)
    assert {each.detail for each in refused} == {
        f"There is no token of a cluster: copy that of its first node to {tmp_path / 'cluster-token'}."
    }


@pytest.mark.parametrize(
    "words",
    (
        ("start", "--host", "127.0.0.1"),
        ("start", "--host", "127.0.0.2", "--port", "7000", "--ports", "6990"),
        ("join", "--host", "localhost", "127.0.0.2:6379"),
        ("join", "127.0.0.2"),
        ("status", "127.0.0.2:port"),
        ("status",),
    ),
)
def test_addresses_that_name_no_node_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: sh scripts/ray")

    assert isinstance(error_of(tmp_path, *words), InvalidInput)


def test_to_stop_where_nothing_runs_is_no_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(cluster, ["stop", "--data", str(tmp_path)])

    assert (done.exit_code, done.output) == (0, f"No node of {tmp_path} runs.\n")

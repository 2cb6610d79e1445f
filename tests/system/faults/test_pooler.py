"""PgBouncer between the service and PostgreSQL: its session mode works, those that share sessions are refused."""

import contextlib
import getpass
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acceptance.servers import command, free_port
from faults.campaign import Row, require_clean, times, try_fault, under_load
from faults.cluster import USER, Cluster, give_away
from faults.load import Target
from faults.node import Node

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

AWAY_S = 1.0
LISTENING_S = 60.0

Pooled = Callable[[str], str]


@pytest.fixture
def pooled(cluster: Cluster) -> Iterator[Pooled]:
    """Start a pooler of a mode before the server, and return the address; skip where there is none."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed (scripts/system)")
    with contextlib.ExitStack() as stack:

        def start(mode: str) -> str:
            port = free_port()
            file = cluster.sockets / "pooler.ini"
            file.write_text(
                f"[databases]\npostgres = host={cluster.sockets} user=postgres\n"
                f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
                f"pool_mode = {mode}\nmax_client_conn = 200\ndefault_pool_size = 80\nserver_login_retry = 1\n"
            )
            give_away(file)
            options = {"user": USER, "group": USER} if os.geteuid() == 0 else {"user": getpass.getuser()}
            process = subprocess.Popen([program, "-q", str(file)], cwd="/", **options)  # type: ignore[call-overload]
            stack.callback(process.wait)
            stack.callback(process.kill)
            address = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            deadline = time.monotonic() + LISTENING_S
            while not _answers(address):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            return address

        yield start


def _answers(address: str) -> bool:
    import psycopg  # noqa: PLC0415  # only where a server could be started

    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("mode", ("transaction", "statement"))
def test_a_pooler_that_shares_sessions_is_refused_by_a_sentence(pooled: Pooled, tmp_path: Path, mode: str) -> None:
    address = pooled(mode)

    done = command("keys", "create", "--data", str(tmp_path / "data"), "--database", address)

    assert done.returncode == 1
    assert "pool_mode = session" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pooler_that_gives_each_connection_a_session_is_as_good_as_none(
    pooled: Pooled, cluster: Cluster, tmp_path: Path
) -> None:
    row = Row("PostgreSQL stopped at once behind PgBouncer, started again")
    node = Node(tmp_path / "data", database=pooled("session"))

    def mend() -> None:
        time.sleep(AWAY_S)
        cluster.start()

    try:
        with under_load(Target([node.port], node.key)) as load:
            for _ in range(times()):
                try_fault(load, row, cluster.stop, mend)
            row.tell(load)
            require_clean(load)
        assert node.stop() == 0
    finally:
        node.kill()

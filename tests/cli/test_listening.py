"""Commands that listen: a taken port, a wrong setting or file is told, and how it ends tells a service manager."""

import http.server
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.servers import Server, free_port
from cli.conftest import Running
from cli.test_start import imported_by
from penchant.settings import NodeSettings

pytestmark = pytest.mark.slow

UNIT = Path(__file__).parents[2] / "deploy" / "penchant.service"


class Silent(http.server.SimpleHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, *_words: object) -> None:
        """Do nothing."""


@pytest.fixture
def stranger() -> Iterator[int]:
    """The port of a server of another kind."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


def test_a_port_is_looked_at_before_what_takes_long_to_import() -> None:
    loaded = imported_by("import penchant.cli.listening")

    assert not loaded & {"granian", "numpy", "sqlalchemy", "penchant.web", "penchant.storage"}


@pytest.mark.parametrize("command", ("serve", "demo"))
def test_a_port_of_another_program_is_told(command: str, stranger: int, refused: Running, tmp_path: Path) -> None:
    told = refused(command, "--port", str(stranger), "--data", str(tmp_path / "data"))

    place = f"http://127.0.0.1:{stranger}"
    choice = "End it, or choose another port with --port."
    assert told == (1, f"penchant: cannot listen on {place}: another program listens there. {choice}")
    assert not (tmp_path / "data").exists()


def test_a_port_where_penchant_answers_is_told(refused: Running, tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        code, told = refused("serve", "--port", str(server.port), "--data", str(tmp_path / "other"))

    assert code == 1
    assert told.startswith(f"penchant: {server.url} is taken: a penchant answers there. If it is what a server that")
    assert told.endswith(
        f"cannot listen on {server.url}: a penchant answers there. End it, or choose another port with --port."
    )


def test_a_port_that_becomes_free_meanwhile_is_taken(tmp_path: Path) -> None:
    port = free_port()
    held = socket.create_server(("127.0.0.1", port))
    words = [sys.executable, "-m", "penchant", "serve", "--port", str(port), "--data", str(tmp_path / "data")]
    starting = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert starting.stderr is not None

    assert "something that does not answer listens there" in starting.stderr.readline()
    held.close()
    listening = starting.stderr.readline()
    starting.kill()
    starting.communicate()

    assert listening.startswith(f"penchant listens on http://127.0.0.1:{port} ")


def test_an_address_of_the_new_kind_has_brackets() -> None:
    assert NodeSettings(host="::1", port=1, base_path="/rec").address == "http://[::1]:1/rec"
    assert NodeSettings(tls_certificate="c", tls_key="k").address == "https://127.0.0.1:8080"


FAULTS = (
    ('log-level = "info"\nprot = 80\n', "line 2: there is no setting `prot`; did you mean `port`?"),
    ("\n[plans.a]\nfeatures = []\nrequests-per-secnd = 3\n", "line 4: there is no setting `requests-per-secnd`; did"),
    ("zzzzz = 1\n", "line 1: there is no setting `zzzzz`."),
    ('\n\nport = "x"\n', "line 3: Expected `int`"),
    ('\ntrusted-proxies = ["a"]\n', "line 2: trusted-proxies: 'a' does not appear"),
    ("\n\ndashboard-groups = []\ndashboard-proxy-header = 'x'\n", "line 4: dashboard-proxy-header and"),
    ('tls-key = "k"\n', "line 1: tls-certificate and tls-key need each other."),
    ("a = \n", "cannot be read: Invalid value (at line 1, column 5)."),
)


@pytest.mark.parametrize(("content", "fault"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_of_the_settings_names_its_place_and_ends_with_2(
    content: str, fault: str, refused: Running, tmp_path: Path
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(content)

    code, told = refused("serve", "--settings", str(file), "--data", str(tmp_path / "data"))

    assert code == 2
    assert str(file) in told
    assert fault in told
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    (
        ("PORT", "x", "PENCHANT_PORT: Expected `int`"),
        ("DATABASE", "mysql://me:s3cret@h/d", "The address of the database is not accepted."),
        ("DATABASE", "postgresql://me:s3cret@h:x/d", "The address of the database is not accepted."),
        ("REDIS", "redis://:s3cret@h:x", "The setting redis cannot be used"),
        ("REDIS", "http://:s3cret@h", "PENCHANT_REDIS: "),
    ),
)
def test_a_fault_of_a_variable_ends_with_2_and_tells_no_secret(
    variable: str, value: str, told: str, refused: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"PENCHANT_{variable}", value)
    port = [] if variable == "PORT" else ["--port", str(free_port())]

    code, said = refused("serve", "--data", str(tmp_path / "data"), *port)

    assert (code, told in said, "s3cret" in said) == (2, True, False), said


def test_files_of_tls_that_cannot_be_used_are_named(refused: Running, tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("no certificate")
    told = []
    for certificate in ("c.pem", "missing.pem"):
        file = tmp_path / "p.toml"
        file.write_text(f'tls-certificate = "{tmp_path / certificate}"\ntls-key = "{tmp_path / "c.pem"}"\n')
        told.append(refused("serve", "--settings", str(file), "--data", str(tmp_path), "--port", str(free_port())))

    assert [code for code, _ in told] == [2, 2]
    assert f"{tmp_path / 'c.pem'} and {tmp_path / 'c.pem'}: " in told[0][1]
    assert f"{tmp_path / 'missing.pem'}: No such file or directory." in told[1][1]


def test_the_unit_does_not_start_again_what_the_settings_prevent() -> None:
    assert re.search(r"^RestartPreventExitStatus=2$", UNIT.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "near"),
    (
        ("improt", "Did you mean 'import'?"),
        ("keys lsit", "Did you mean 'list'?"),
        ("import --sorce s", "--source"),
        ("import --from cvs --source s x", "'cvs' is unknown. Did you mean csv?"),
        ("evaluate --method itemknn", "'itemknn' is unknown. Did you mean item-kNN"),
    ),
)
def test_what_is_mistyped_is_told_with_the_nearest_name(words: str, near: str, refused: Running) -> None:
    code, told = refused(*words.split())

    assert code == 2
    assert near in told


def test_a_database_that_is_not_there_is_named(refused: Running, tmp_path: Path) -> None:
    address = "postgresql://u:s3cret@127.0.0.1:1/shop"

    code, told = refused("serve", "--data", str(tmp_path), "--database", address, "--port", str(free_port()))

    assert code == 1
    assert "penchant: The database shop on 127.0.0.1:1 cannot be reached: nobody listens there" in told
    assert "s3cret" not in told

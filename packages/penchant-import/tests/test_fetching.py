"""Fetching of files: what may be reached, how much of it, and what of an address is never told."""

import gzip
import io
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acceptance.servers import free_port
from client.answering import Answer, Script, answering
from penchant_import.fetching import (
    MAX_HOPS,
    FetchFailure,
    FetchRules,
    Validators,
    address_problem,
    fetch,
    is_public,
)
from penchant_import.pulling import PullSpec

FILE = Answer(200, b"id\na\n", {"etag": '"1"', "last-modified": "Mon, 23 Nov 2026 00:00:00 GMT"})


def rules(*servers: Script, limit_bytes: int = 1 << 20, timeout_s: float = 60) -> FetchRules:
    """Return rules that name these servers of loopback."""
    hosts = frozenset(server.address.removeprefix("http://") for server in servers)
    return FetchRules(hosts=hosts, limit_bytes=limit_bytes, timeout_s=timeout_s)


def moved(address: str) -> Answer:
    return Answer(302, b"", {"location": address})


@contextmanager
def sending(start: bytes, more: bytes = b"") -> Iterator[str]:
    """Serve one connection with some bytes, and then the same ones again until the other side has gone."""
    gone = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.recv(1 << 16)
                try:
                    connection.sendall(start)
                    while more and not gone.wait(0.001):
                        connection.sendall(more)
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        gone.set()
        thread.join()


def fetched(host: str, folder: Path, **bounds: float) -> bytes:
    """Return what a server of sockets gives."""
    found = fetch(f"http://{host}/x.csv", folder, rules=FetchRules(hosts=frozenset({host}), **bounds))  # type: ignore[arg-type]
    assert found.path is not None
    return found.path.read_bytes()


def test_a_file_is_fetched_once_and_then_asked_for_by_what_its_server_calls_it(tmp_path: Path) -> None:
    with answering(FILE, Answer(304)) as server:
        first = fetch(f"{server.address}/a/b.csv?x=1#y", tmp_path, rules=rules(server))
        again = fetch(f"{server.address}/a/b.csv", tmp_path, known=first.validators, rules=rules(server))

    assert first.path == tmp_path / "b.csv"
    assert (first.path.read_bytes(), first.byte_count) == (b"id\na\n", 5)
    assert first.validators == Validators('"1"', "Mon, 23 Nov 2026 00:00:00 GMT")
    assert (again.path, again.validators) == (None, first.validators)
    assert server.asked[0].path == "/a/b.csv?x=1"
    assert server.asked[1].headers["if-none-match"] == '"1"'
    assert server.asked[1].headers["if-modified-since"] == first.validators.modified


@pytest.mark.parametrize(
    ("path", "content_type", "name"),
    (
        ("/feed", "application/rss+xml; charset=utf-8", "feed.xml"),
        ("/", "application/json", "file.json"),
        ("/a%2F..%2Fb.csv", "text/plain", "a-..-b.csv"),
        ("/..", "text/csv", "file.csv"),
    ),
)
def test_a_file_is_called_as_its_address_or_type_says(path: str, content_type: str, name: str, tmp_path: Path) -> None:
    with answering(Answer(200, b"x", {"content-type": content_type})) as server:
        found = fetch(server.address + path, tmp_path, rules=rules(server))

    assert found.path == tmp_path / name


@pytest.mark.parametrize(
    "address",
    (
        "http://example.com/x",
        "ftp://example.com/x",
        "file:///etc/passwd",
        "https://",
        "https://example.com:99999/",
        "https://example.com/a b",
        "https://example.com/\r\nhost: x",
        "https://[::1/",
        "http://127.0.0.1:8096/x",
    ),
)
def test_addresses_that_are_not_fetched_say_so_before_anything_is_asked(address: str) -> None:
    assert address_problem(address, frozenset({"127.0.0.1"})) is not None
    assert address_problem("https://example.com:8443/x?y#z", frozenset()) is None
    assert address_problem("http://127.0.0.1/x", frozenset({"127.0.0.1"})) is None
    spec = PullSpec(address="http://Box.lan/x", format="csv", url="http://localhost", source="s", hosts=["Box.lan"])
    assert address_problem(spec.address, spec.rules.hosts) is None


@pytest.mark.parametrize(
    "number",
    (
        "127.0.0.1", "0.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1",
        "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::a00:1", "2001:0:1::", "fe80::1%1",
    ),
)  # fmt: skip
def test_numbers_within_a_network_are_not_public_however_they_are_wrapped(number: str) -> None:
    assert not is_public(number)
    assert is_public("93.184.215.14")
    assert is_public("2606:4700:4700::1111")
    assert is_public("::ffff:93.184.215.14")


@pytest.mark.parametrize("host", ("localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"))
def test_a_name_is_judged_by_the_numbers_that_it_has(host: str, tmp_path: Path) -> None:
    with pytest.raises(FetchFailure, match="has no public address"):
        fetch(f"https://{host}:{free_port()}/", tmp_path, rules=FetchRules())


def test_the_number_that_was_looked_at_is_connected_to_and_no_other(tmp_path: Path) -> None:
    """A name that is public when it is looked at and private a moment later is looked up once."""
    answers = [["203.0.113.1"], ["127.0.0.1"]]
    with answering(FILE) as server:
        port = server.server_address[1]
        with pytest.raises(FetchFailure, match="has no public address"):
            # A number of documentation: as little public as the one that would come next.
            fetch(f"https://rebinding.example:{port}/", tmp_path, rules=FetchRules(), find=lambda *_: answers.pop(0))
        assert len(answers) == 1

        hosts = frozenset({f"named.example:{port}"})
        fetch(f"http://named.example:{port}/", tmp_path, rules=FetchRules(hosts=hosts), find=lambda *_: answers.pop(0))

    assert answers == []
    assert server.asked[0].headers["host"] == f"named.example:{port}"


@pytest.mark.parametrize(
    "location", ("http://127.0.0.1:1/", "https://localhost/", "http://[::1]/", "file:///etc/passwd")
)
def test_a_redirect_is_looked_at_as_its_address_would_be(location: str, tmp_path: Path) -> None:
    with answering(moved(location)) as server, pytest.raises(FetchFailure):
        fetch(server.address, tmp_path, rules=rules(server))

    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed_a_few_times_and_take_credentials_nowhere_else(tmp_path: Path) -> None:
    with answering(FILE) as other, answering(moved("/next"), moved(f"{other.address}/b.csv")) as server:
        named = server.address.replace("http://", "http://us%40er:p%C3%A4ss@")
        found = fetch(named, tmp_path, rules=rules(server, other))
    with answering(moved("/")) as circle, pytest.raises(FetchFailure, match="leads on and on"):
        fetch(circle.address, tmp_path, rules=rules(circle))

    assert found.path == tmp_path / "b.csv"
    assert [each.headers.get("authorization") for each in server.asked] == ["Basic dXNAZXI6cMOkc3M="] * 2
    assert "authorization" not in other.asked[0].headers
    assert len(circle.asked) == MAX_HOPS + 1


def test_what_may_be_secret_of_an_address_is_never_shown(tmp_path: Path) -> None:
    with answering(Answer(500)) as server, pytest.raises(FetchFailure) as refused:
        fetch(server.address.replace("//", "//user:pass@") + "/x?token=abc", tmp_path, rules=rules(server))

    assert refused.value.detail == f"{server.address} answered 500."


def test_an_answer_that_never_ends_is_left_at_the_bound(tmp_path: Path) -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n"
    with sending(endless, b"x" * 65536) as host, pytest.raises(FetchFailure, match="larger than 1000000 bytes"):
        fetched(host, tmp_path, limit_bytes=1_000_000)

    assert (tmp_path / "x.csv").stat().st_size <= 1_000_000


def test_an_answer_that_says_ten_gigabytes_is_not_begun(tmp_path: Path) -> None:
    huge = b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n"
    with sending(huge, b"x") as host, pytest.raises(FetchFailure, match="larger than"):
        fetched(host, tmp_path, limit_bytes=1_000_000)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("start", (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: "))
def test_an_answer_that_trickles_ends_with_the_time_for_all_of_it(start: bytes, tmp_path: Path) -> None:
    with sending(start, b"x") as host, pytest.raises(FetchFailure, match="takes longer than"):
        fetched(host, tmp_path, timeout_s=0.3)


@pytest.mark.parametrize(
    "start",
    (
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nid\na",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nid\na\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + gzip.compress(b"id\na\n" * 99, mtime=0)[:-9],
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nxx",
        b"HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"",
    ),
)
def test_half_a_file_and_what_is_none_are_failures(start: bytes, tmp_path: Path) -> None:
    with sending(start) as host, pytest.raises(FetchFailure):
        fetched(host, tmp_path)


def test_what_is_packed_is_unpacked_within_the_bound(tmp_path: Path) -> None:
    packed = gzip.compress(b"id\n" * 9)
    twice = Answer(200, gzip.compress(packed), {"content-encoding": "gzip"})
    bomb = Answer(200, gzip.compress(bytes(5_000_000)))
    with answering(twice, bomb) as server:
        found = fetch(f"{server.address}/x.csv.gz", tmp_path, rules=rules(server))
        with pytest.raises(FetchFailure, match="larger than"):
            fetch(f"{server.address}/y.csv.gz", tmp_path, rules=rules(server))

    assert found.path == tmp_path / "x.csv"
    assert found.path.read_bytes() == b"id\n" * 9
    assert not [path for path in tmp_path.iterdir() if path.stat().st_size > 1 << 20]


def test_an_archive_is_taken_by_what_it_is_and_unpacks_to_no_more_than_the_bound(tmp_path: Path) -> None:
    def archive(content: bytes) -> Answer:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.csv", content)
        return Answer(200, written.getvalue())

    with answering(archive(b"id\n"), archive(bytes(5_000_000)), Answer(200, b"id\n")) as server:
        found = fetch(f"{server.address}/export", tmp_path, rules=rules(server))
        with pytest.raises(FetchFailure, match="larger than"):
            fetch(f"{server.address}/bomb.zip", tmp_path, rules=rules(server))
        plain = fetch(f"{server.address}/plain.csv.zip", tmp_path, rules=rules(server))

    assert found.path == tmp_path / "export.zip"
    assert plain.path == tmp_path / "plain.csv"


def test_a_server_that_is_down_is_a_failure_that_names_it(tmp_path: Path) -> None:
    host = f"127.0.0.1:{free_port()}"

    with pytest.raises(FetchFailure, match=f"http://{host} cannot be read: Connection refused"):
        fetched(host, tmp_path)


def test_a_certificate_has_to_be_trusted_and_of_the_name_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    named = ("-subj", "/CN=shop.example", "-addext", "subjectAltName=DNS:shop.example")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(["openssl", "req", "-x509", *made, *files, *named], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def ask(host: str) -> bytes:
        with answering(FILE) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            port = server.server_address[1]
            bounds = FetchRules(hosts=frozenset({f"{host}:{port}"}))
            found = fetch(f"https://{host}:{port}/x.csv", tmp_path, rules=bounds, find=lambda *_: ["127.0.0.1"])
            assert found.path is not None
            assert server.asked[0].headers["host"] == f"{host}:{port}"
            return found.path.read_bytes()

    with pytest.raises(FetchFailure, match="cannot be read"):
        ask("shop.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    assert ask("shop.example") == b"id\na\n"
    with pytest.raises(FetchFailure, match="cannot be read"):
        ask("other.example")

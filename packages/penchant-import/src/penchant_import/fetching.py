"""Fetching of files for imports: from addresses that people name, without reaching what they should not.

    address --look up--> numbers --each may be connected to?--> connection --> answer --30x--> the next address
                             (the number that was looked at is the one that is connected to)

An address is asked by HTTPS at a public number; hosts that its caller names may be asked by HTTP and at any.
Each hop is looked at anew. What comes is bounded in bytes, packed and unpacked, and in seconds as a whole, however
slowly it comes. Credentials stay in the address: no message and no file name has them.
"""

import contextlib
import gzip
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urljoin, urlsplit

from penchant_engine.errors import Refused
from penchant_import import __version__

MAX_HOPS = 5
"""Redirects that are followed."""
TIMEOUT_S = 600.0
"""How long all of it may take: some 400 KB a second for the largest file by default."""
SILENCE_S = 30.0
"""How long a server may say nothing."""
MAX_MEMBERS = 10_000
"""Files in a fetched archive."""
MAX_ADDRESS_LETTERS = 4_000
MAX_VALIDATOR_LETTERS = 1_000
"""The longest ETag that is sent back: of a longer one nothing is kept."""
_CHUNK = 1 << 16
_PORTS = {"https": 443, "http": 80}
_ZIP = b"PK\x03\x04"
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 numbers that stand for IPv4 ones, private ones too."""
_ENDINGS = {
    "json": ".json",
    "xml": ".xml",
    "csv": ".csv",
    "tab-separated-values": ".tsv",
    "html": ".html",
    "x-ndjson": ".ndjson",
    "zip": ".zip",
}
"""What a file is called whose address has no ending, by the type that the server says."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

LookUp = Callable[[str, int], list[str]]
"""Returns the numbers of a host, for a port."""


class FetchFailure(Refused):
    """A file cannot be fetched, or may not be."""


class Validators(NamedTuple):
    """What a server calls the state of a file, to be asked with whether there is another one."""

    etag: str = ""
    modified: str = ""


NO_VALIDATORS = Validators()
"""Those of a file that was never fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file as it was fetched and unpacked, or ``path`` ``None`` where the server says that it is still the same."""

    path: Path | None
    validators: Validators
    byte_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """What may be fetched: ``hosts`` by HTTP and at private numbers, too; so many bytes, for so long in all."""

    hosts: frozenset[str] = frozenset()
    limit_bytes: int = 256 * 1024 * 1024
    timeout_s: float = TIMEOUT_S
    silence_s: float = SILENCE_S


def look_up(host: str, port: int) -> list[str]:
    """Return the numbers of a host, in the order of the system."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def address_problem(address: str, hosts: frozenset[str]) -> str | None:
    """Return why an address is not fetched, as far as it tells by itself; ``None`` where nothing speaks against it."""
    try:
        _read_hop(address, hosts)
    except FetchFailure as failure:
        return failure.detail
    return None


def fetch(
    address: str, folder: Path, *, known: Validators = NO_VALIDATORS, rules: FetchRules, find: LookUp = look_up
) -> Download:
    """Fetch a file into a folder, unless it is the one that ``known`` is of.

    Raises:
        FetchFailure: it is not there, too large or too slow, not whole, or lies where it may not be fetched from.
    """
    until = time.monotonic() + rules.timeout_s
    first = hop = _read_hop(address, rules.hosts)
    for _ in range(MAX_HOPS + 1):
        # What the first server is told of who asks is for no other one.
        with _asking(hop, known, rules, until, find, first.parts if hop.origin == first.origin else None) as answer:
            location = answer.headers.get("location")
            if answer.status in {301, 302, 303, 307, 308} and location:
                # What others write leads nowhere within a network: only from there to a host that is named as well.
                hop = _read_hop(urljoin(hop.address, location), rules.hosts if first.is_named else frozenset())
                continue
            validators = Validators(*(_kept(answer.headers.get(name)) for name in ("etag", "last-modified")))
            if answer.status == HTTPStatus.NOT_MODIFIED and any(known):
                return Download(path=None, validators=validators if any(validators) else known)
            if answer.status != HTTPStatus.OK:
                raise FetchFailure(f"{hop.display_name} answered {answer.status}.")
            path = folder / _file_name(hop.parts, answer.headers.get_content_type())
            count = _save(answer, path, rules, hop)
        return Download(path=_unpacked(path, rules, hop), validators=validators, byte_count=count)
    raise FetchFailure(f"{first.display_name} leads on and on: {MAX_HOPS} redirects are followed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hop:
    """An address that may be asked, if its numbers allow it; ``is_named`` where its host is named."""

    address: str
    parts: SplitResult
    host: str
    port: int
    is_named: bool

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.parts.scheme, self.host, self.port

    @property
    def display_name(self) -> str:
        return f"{self.parts.scheme}://{_host_and_port(self.parts)}"

    @property
    def target(self) -> str:
        """What is asked for: path and query."""
        return (self.parts.path or "/") + (f"?{self.parts.query}" if self.parts.query else "")


def _read_hop(address: str, hosts: frozenset[str]) -> _Hop:
    if len(address) > MAX_ADDRESS_LETTERS or not address.isascii() or re.search(r"[\x00-\x20\x7f]", address):
        raise FetchFailure(f"An address has up to {MAX_ADDRESS_LETTERS} letters of ASCII without blanks.")
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise FetchFailure("The address cannot be read.") from None
    if parts.scheme not in _PORTS or not host:
        raise FetchFailure("An address begins with https:// and names a host.")
    is_usual = port == _PORTS[parts.scheme]
    is_named = f"{host}:{port}" in hosts or (is_usual and host in hosts)
    if parts.scheme == "http" and not is_named:
        named = host if is_usual else f"{host}:{port}"
        raise FetchFailure(f"{named} would be asked by plain HTTP: only hosts that the pull's `hosts` names are.")
    return _Hop(address=address, parts=parts._replace(fragment=""), host=host, port=port, is_named=is_named)


@contextlib.contextmanager
def _asking(
    hop: _Hop, known: Validators, rules: FetchRules, until: float, find: LookUp, credentials: SplitResult | None
) -> Iterator[http.client.HTTPResponse]:
    """Give the answer of a server; its connection is closed at the end, and whatever comes when the time is over."""
    headers = {"user-agent": f"penchant-pull/{__version__}", "accept": "*/*", "accept-encoding": "gzip"}
    headers["connection"] = "close"
    headers |= {name: value for name, value in zip(("if-none-match", "if-modified-since"), known, strict=True) if value}
    if credentials is not None and credentials.username is not None:
        pair = b":".join(unquote_to_bytes(part or "") for part in (credentials.username, credentials.password))
        headers["authorization"] = f"Basic {b64encode(pair).decode()}"
    # Closed in this order: the clock first, so that it does not cut a number that is another file's by then.
    with contextlib.ExitStack() as stack:
        try:
            connected = stack.enter_context(_connect(hop, rules, until, find))
            clock = threading.Timer(max(0.0, until - time.monotonic()), _cut, (connected,))
            clock.daemon = True
            clock.start()
            stack.callback(clock.join)
            stack.callback(clock.cancel)
            connection = http.client.HTTPConnection(hop.host, hop.port)
            connection.sock = connected
            if hop.parts.scheme == "https":
                connected = ssl.create_default_context().wrap_socket(
                    connected, server_hostname=hop.host, do_handshake_on_connect=False
                )
                stack.enter_context(connected)
                # Since the wrapped socket has the number of the one before, which is no longer open.
                clock.args = (connected,)
                connected.do_handshake()
                connection.sock = connected
                connection.default_port = _PORTS["https"]
            connection.request("GET", hop.target, headers=headers)
            yield stack.enter_context(contextlib.closing(connection.getresponse()))
            # What was cut may look like an end.
            if time.monotonic() >= until:
                raise TimeoutError
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            if time.monotonic() >= until:
                raise FetchFailure(f"{hop.display_name}: it takes longer than {rules.timeout_s:g} s.") from None
            # Of messages of the library some repeat what was asked for, and so credentials.
            reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise FetchFailure(f"{hop.display_name} cannot be read: {reason}.") from None


def _connect(hop: _Hop, rules: FetchRules, until: float, find: LookUp) -> socket.socket:
    """Return a connection to one of a host's numbers, of those that may be connected to."""
    numbers = find(hop.host, hop.port)
    allowed = [number for number in numbers if hop.is_named or is_public(number)]
    if not allowed:
        raise FetchFailure(
            f"{hop.display_name} has no public address: hosts within a network have to be named by the pull's `hosts`."
        )
    failure: OSError = ConnectionError("no address answers")
    for number in allowed:
        # A literal number: nothing is looked up any more that could come out otherwise.
        left = until - time.monotonic()
        if left <= 0:
            break
        try:
            connected = socket.create_connection((number, hop.port), timeout=min(rules.silence_s, left))
        except OSError as error:
            failure = error
        else:
            connected.settimeout(rules.silence_s)
            return connected
    raise failure


def is_public(number: str) -> bool:
    """Return whether an IP number is one of the internet's, whichever way it is written or wrapped."""
    address = ipaddress.ip_address(number)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        # They stand for IPv4 numbers, any of them, and no server of today needs them.
        if address.sixtofour is not None or address.teredo is not None or address in _TRANSLATED:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _cut(connected: socket.socket) -> None:
    """End a connection under whoever reads from it."""
    # The plain one, also of TLS: that of its class would wait for the reader.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _save(answer: http.client.HTTPResponse, path: Path, rules: FetchRules, hop: _Hop) -> int:
    """Write the body of an answer to a file, as it comes, and return how many bytes it has."""
    packing = answer.headers.get("content-encoding", "identity").strip().lower()
    if packing not in {"identity", "gzip", "x-gzip"}:
        raise FetchFailure(f"{hop.display_name}: it is packed in a way that was not asked for ({packing[:20]!r}).")
    if answer.length is not None and answer.length > rules.limit_bytes:
        raise _too_large(hop, rules)
    count = 0
    with path.open("wb") as file:
        while part := answer.read(_CHUNK):
            count += len(part)
            if count > rules.limit_bytes:
                raise _too_large(hop, rules)
            file.write(part)
    # A body that is cut off looks like a whole one to the library.
    if answer.length:
        raise FetchFailure(f"{hop.display_name}: the connection ended {answer.length} bytes before the file did.")
    return count


def _unpacked(path: Path, rules: FetchRules, hop: _Hop) -> Path:
    """Return a file unpacked, also where what was packed for the way was packed before; archives are looked over."""
    # Twice at most: who packs more often means to fill a disk.
    for _ in range(2):
        with path.open("rb") as file:
            start = file.read(len(_ZIP))
        if not start.startswith(b"\x1f\x8b"):
            break
        path = _unpack(path, rules, hop)
    if start == _ZIP:
        named = path if path.suffix.lower() == ".zip" else path.rename(path.with_name(f"{path.name}.zip"))
        _look_over(named, rules, hop)
        return named
    # Called an archive but none: read by what it is.
    return path.rename(path.with_suffix("")) if path.suffix.lower() == ".zip" else path


def _unpack(path: Path, rules: FetchRules, hop: _Hop) -> Path:
    unpacked = path.with_name("unpacked-" + path.name)
    try:
        with gzip.open(path) as packed, unpacked.open("wb") as file:
            _copy(packed, file, rules, hop)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FetchFailure(
            f"{hop.display_name}: it cannot be unpacked, or is not whole ({type(error).__name__})."
        ) from None
    path.unlink()
    return unpacked.rename(path.with_name(path.name.removesuffix(".gz")))


def _copy(packed: gzip.GzipFile, file: BinaryIO, rules: FetchRules, hop: _Hop) -> None:
    left = rules.limit_bytes
    while part := packed.read(_CHUNK):
        left -= len(part)
        if left < 0:
            raise _too_large(hop, rules)
        file.write(part)


def _look_over(path: Path, rules: FetchRules, hop: _Hop) -> None:
    """Check what an archive unpacks to: of each file no more is ever read than its entry says."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise FetchFailure(f"{hop.display_name}: the archive cannot be read.") from None
    if len(entries) > MAX_MEMBERS or sum(entry.file_size for entry in entries) > rules.limit_bytes:
        raise _too_large(hop, rules)


def _too_large(hop: _Hop, rules: FetchRules) -> FetchFailure:
    return FetchFailure(
        f"{hop.display_name}: the file is larger than {rules.limit_bytes} bytes, or unpacks to more (the pull's"
        " `limit-bytes`)."
    )


def _kept(value: str | None) -> str:
    """Return a validator as it may be sent back; nothing of what is too long, or no text."""
    text = (value or "").strip()
    return text if len(text) <= MAX_VALIDATOR_LETTERS and text.isascii() and text.isprintable() else ""


def _file_name(parts: SplitResult, content_type: str) -> str:
    """Return what a file is called, for formats that go by names: the last part of its path, and an ending."""
    name = _UNSAFE.sub("-", unquote(parts.path.rpartition("/")[2])).strip(".-")[-100:] or "file"
    if "." in name:
        return name
    subtype = content_type.partition("/")[2]
    return name + (_ENDINGS.get(subtype) or _ENDINGS.get(subtype.rpartition("+")[2], ""))


def _host_and_port(parts: SplitResult) -> str:
    """Return host and port of an address, without who asks."""
    return parts.netloc.rpartition("@")[2]

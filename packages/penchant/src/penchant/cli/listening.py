"""Commands that listen: what stands in their way is told before anything that takes long to import."""

import contextlib
import errno
import functools
import http.client
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import click

from penchant.cli import import_late
from penchant.cli.health import any_certificate
from penchant.cli.locations import DataLocation, data_options, listening_options
from penchant.errors import InvalidSettings
from penchant.settings import NodeSettings

LEFT_BEHIND_S = 5.0
"""How long a port is waited for: workers of a server that was killed notice it twice a second."""
ANSWER_S = 0.5
"""How long what listens on a port may take to say what it is."""
ANSWER_BYTES = 4_096
MARKS = (b'"penchant"', b"/-/problems/")
"""What every answer to ``/`` holds, also where all routes stand below a base path."""


@click.command()
@data_options
@listening_options
def serve(location: DataLocation, **listening: Any) -> None:
    """Serve the interface over HTTP; ready when /-/health/ready answers 200."""
    reading = functools.partial(location.settings, **listening)
    settings = reading()
    require_free_port(settings)
    import_late("penchant.cli.serve").run(settings, reading)


@click.command()
@data_options
@listening_options
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin whose pages may call the service, such as http://localhost:5173; may be repeated.",
)
@click.option("--load-only", is_flag=True, help="Load the catalogues and print the key, without serving.")
def demo(*, location: DataLocation, load_only: bool, **options: Any) -> None:
    """Load the demo catalogues where they are not there yet, and serve them."""
    if not load_only:
        require_free_port(location.settings(**{name: options[name] for name in ("host", "port", "workers")}))
    serve_demo = import_late("penchant.cli.demo").serve_demo
    serve_demo(location, load_only=load_only, **options)


def require_free_port(settings: NodeSettings) -> None:
    """End with a clear message where another process listens: the server itself would share the port.

    Workers that a killed server has left are waited for, which is told at once; of others it is told who they are.
    """
    error = _why_not_free(settings)
    if error is None:
        return
    place = settings.origin
    if error.errno != errno.EADDRINUSE:
        _end(f"cannot listen on {place} ({error.strerror}). Choose another address with --host and --port.")
    is_ours = _is_penchant(settings)
    choice = "End it, or choose another port with --port."
    if is_ours is False:
        _end(f"cannot listen on {place}: another program listens there. {choice}")
    who = "a penchant answers" if is_ours else "something that does not answer listens"
    click.echo(
        f"penchant: {place} is taken: {who} there. If it is what a server that was killed has left, it ends in "
        f"{LEFT_BEHIND_S:.0f} s.",
        err=True,
    )
    deadline = time.monotonic() + LEFT_BEHIND_S
    while _why_not_free(settings) is not None:
        if time.monotonic() > deadline:
            _end(f"cannot listen on {place}: {who} there. {choice}")
        time.sleep(0.1)


def require_certificate(settings: NodeSettings) -> None:
    """Look at the files of TLS before the server does, which names none.

    Raises:
        InvalidSettings: they cannot be read, or do not belong together.
    """
    if settings.tls_certificate is None or settings.tls_key is None:
        return
    try:
        for name in (settings.tls_certificate, settings.tls_key):
            Path(name).read_bytes()
        # A password would be asked for otherwise, where nobody is.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_certificate, settings.tls_key, "")
    except OSError as error:
        files = error.filename or f"{settings.tls_certificate} and {settings.tls_key}"
        raise InvalidSettings(
            f"The files of tls-certificate and tls-key are not accepted: {files}: {error.strerror or error}."
        ) from error


def _end(line: str) -> None:
    click.echo(f"penchant: {line}", err=True)
    sys.exit(1)


def _is_penchant(settings: NodeSettings) -> bool | None:
    """Return whether a penchant answers on the port; ``None`` where nothing does."""
    host, context = settings.own_host, any_certificate()
    for asking in (
        http.client.HTTPConnection(host, settings.port, timeout=ANSWER_S),
        http.client.HTTPSConnection(host, settings.port, timeout=ANSWER_S, context=context),
    ):
        with contextlib.closing(asking), contextlib.suppress(OSError, http.client.HTTPException):
            asking.request("GET", "/")
            answer = asking.getresponse().read(ANSWER_BYTES)
            return any(mark in answer for mark in MARKS)
    return None


def _why_not_free(settings: NodeSettings) -> OSError | None:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            return error
    return None

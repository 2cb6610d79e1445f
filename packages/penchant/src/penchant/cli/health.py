"""``penchant health``: asks the service of this machine whether it can serve, by the settings that it was started with.

For probes of containers, which run it again and again: it imports little, and ends with 0 or 1 and one line.
"""

import http.client
import ssl
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from penchant.cli.numbers import NumberRange
from penchant.errors import InvalidSettings
from penchant.settings import NodeSettings, load_settings

TIMEOUT_S = 4.0
"""Below the five seconds that probes are given: the line then says what took long."""
MAX_ANSWER_BYTES = 64 * 1024


@click.command()
@click.option("--live", is_flag=True, help="Ask only whether the process runs, whatever its database does.")
@click.option("--host", help="Address that the service was started with, if not by its settings.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port that it was started with, likewise.")
@click.option("--timeout", "timeout_s", type=NumberRange(0.1), default=TIMEOUT_S, help="Seconds to wait.")
@click.option(
    "--settings",
    "settings_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Settings file of the service (default: penchant.toml where there is one).",
)
def health(*, live: bool, host: str | None, port: int | None, timeout_s: float, settings_file: Path | None) -> None:
    """Tell whether the service of this machine is ready: exit code 0 or 1, and one line.

    Host, port, base path and TLS are those of the settings that a service reads: environment, then settings file.
    """
    try:
        settings = load_settings({"host": host, "port": port}, file=settings_file)
        line, is_well = _ask(settings, "live" if live else "ready", timeout_s)
    except InvalidSettings as error:
        line, is_well = error.detail, False
    click.echo(f"penchant: {' '.join(line.split())}", err=not is_well)
    sys.exit(0 if is_well else 1)


def _ask(settings: NodeSettings, question: str, timeout_s: float) -> tuple[str, bool]:
    """Return what became of a question about the service's health, and whether all is well."""
    address = f"{settings.own_address}/-/health/{question}"
    parts = urlsplit(address)
    if parts.scheme == "http":
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    else:
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=timeout_s, context=any_certificate()
        )
    try:
        connection.request("GET", parts.path, headers={"user-agent": "penchant-health"})
        answer = connection.getresponse()
        status, body = answer.status, answer.read(MAX_ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return f"{address} does not answer ({why})", False
    finally:
        connection.close()
    said = _members(body)
    if status == http.HTTPStatus.OK and said.get("status") == "ok":
        return f"{question} at {address}{''.join(f'; {warning}' for warning in said.get('warnings', ()))}", True
    # A penchant of another base path says "no route"; so may whatever else answers there.
    detail = "another base-path, or another program" if status == http.HTTPStatus.NOT_FOUND else said.get("detail")
    return f"not {question}: {address} answers {status} ({detail})", False


def any_certificate() -> ssl.SSLContext:
    """Return what takes any certificate: none names this machine itself, and nothing is told to whoever answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _members(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}

"""The command: the desk alone, before a service elsewhere."""

import functools

import click
from granian import Granian
from granian.constants import HTTPModes, Interfaces

from penchant_client import AsyncClient
from penchant_desk import __version__
from penchant_desk.alone import AloneDesk


@click.command()
@click.option("--url", required=True, metavar="URL", help="Address of the service, such as https://penchant.example.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8081, show_default=True, type=click.IntRange(1, 65_535), help="Port to listen on.")
@click.version_option(__version__)
def main(url: str, host: str, port: int) -> None:
    """Serve the dashboard of a service; people sign in with its keys. Put a proxy with TLS before it."""
    try:
        AsyncClient(url, "")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    # Sessions are in memory, so one process serves.
    server = Granian(
        "penchant_desk",
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        workers=1,
        websockets=False,
        log_enabled=False,
    )
    click.echo(f"penchant-desk listens on http://{host}:{port}/-/dashboard, before {url}")
    server.serve(target_loader=functools.partial(_desk, url), wrap_loader=False)


def _desk(url: str) -> AloneDesk:
    return AloneDesk(url)

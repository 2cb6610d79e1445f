"""``penchant shard``: a process that searches segments of large sources for the workers of nodes."""

import asyncio
import signal
from pathlib import Path

import click

from penchant.bootstrap import kernel_folder, listen
from penchant.cli.options import folder_options, read_settings
from penchant.errors import Refused
from penchant.live.compiling import KernelCompiler
from penchant.settings import NodeSettings
from penchant.telemetry import logger, start_logging


@click.command()
@folder_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65_535), required=True, help="Port to listen on.")
def shard(*, data: str | None, settings_file: Path | None, host: str, port: int) -> None:
    """Search segments of large sources for nodes with the same data folder, until SIGTERM."""
    settings = read_settings(settings_file, data=data)
    start_logging(settings.log_level, settings.log_format)
    # As in a worker: until the builder has compiled them numpy searches, and says the same.
    compiling = KernelCompiler(kernel_folder(settings))
    try:
        asyncio.run(_serve(settings, host, port))
    finally:
        compiling.close()


async def _serve(settings: NodeSettings, host: str, port: int) -> None:
    """Answer until the process is told to end.

    Raises:
        Refused: the address is taken, or none of this machine.
    """
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        _, listening = await listen(settings, host, port)
    except OSError as error:
        raise Refused(f"Cannot listen on {host}:{port} ({error.strerror}).") from error
    logger.info("a shard process listens", extra={"fields": {"address": f"{host}:{port}"}})
    await ended.wait()
    listening.close()

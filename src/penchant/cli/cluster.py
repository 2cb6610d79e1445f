"""``penchant cluster``: this machine's node of a Ray cluster, which does work over everybody."""

from pathlib import Path
from typing import Any

import click

from penchant.bootstrap import cluster_token_file, data_folder, make_token
from penchant.cli.options import Command, folder_options, read_settings
from penchant.cluster.ray_driver import require_cluster
from penchant.cluster.ray_node import DEFAULTS, HEALTH, NODE_PORTS, NodeSpec, RayNode, cluster_status, require_ray
from penchant.errors import InvalidInput, Refused
from penchant.settings import NodeSettings, cluster_environment, names_cluster_token

FOLDER = "cluster"
PORT = 6379
REWRITTEN = {"127.0.0.1", "localhost", "::1"}
"""Hosts that Ray replaces by another address of the machine."""
MOST_PORT = 65_535


@click.group()
def cluster() -> None:
    """Run this machine's node of a Ray cluster, which does work over everybody."""


def _node_options(function: Command) -> Command:
    """Add what `start` and `join` share."""
    for option in (
        click.option(
            "--block", is_flag=True, help="Run the node in the foreground, as systemd and containers want it."
        ),
        click.option("--temp-dir", "folder", help="Folder of Ray's own files, with a short path (default /tmp/ray)."),
        click.option(
            "--memory-bytes",
            type=click.IntRange(100_000_000),
            help="Shared memory for files of work under way (default: as Ray has it, a third of the machine's).",
        ),
        click.option("--cpus", type=click.IntRange(0), help="Tasks done at a time (default: one a core); 0: none."),
        click.option(
            "--ports",
            "first_port",
            type=click.IntRange(1_024, MOST_PORT - NODE_PORTS + 1),
            default=PORT + 1,
            show_default=True,
            help=f"First of the {NODE_PORTS} ports in a row by which other nodes reach this one.",
        ),
    ):
        function = option(function)
    return folder_options(function)


@cluster.command()
@_node_options
@click.option("--host", required=True, help="Address of this machine, by which the other nodes reach it.")
@click.option("--port", type=click.IntRange(1, MOST_PORT), default=PORT, show_default=True, help="Port of the cluster.")
def start(*, data: str | None, settings_file: Path | None, host: str, port: int, block: bool, **how: Any) -> None:
    """Start the first node of a cluster, its head; there is a single one."""
    settings = read_settings(settings_file, data=data)
    require_ray()
    _require_host(host)
    if how["first_port"] <= port < how["first_port"] + NODE_PORTS:
        raise InvalidInput(
            f"The port of the cluster, {port}, is among the {NODE_PORTS} of the node: choose other --ports."
        )
    token_file = cluster_token_file(settings)
    if not names_cluster_token() and not token_file.exists():
        data_folder(settings)
        make_token(token_file)
    _run(settings, NodeSpec(host=host, port=port, **how), block=block)
    token = "the token of this environment" if names_cluster_token() else f"a copy of {token_file}"
    click.echo(f"The head of the cluster runs at {host}:{port}. Other nodes need {token}, and join by")
    click.echo(f"  penchant cluster join {host}:{port}")


@cluster.command()
@_node_options
@click.argument("address", metavar="HOST:PORT")
@click.option("--host", help="Address of this machine, by which the other nodes reach it (default: as Ray finds it).")
def join(
    *,
    data: str | None,
    settings_file: Path | None,
    address: str,
    host: str | None,
    block: bool,
    **how: Any,
) -> None:
    """Start a node that joins the cluster at an address."""
    settings = read_settings(settings_file, data=data)
    if host is not None:
        _require_host(host)
    _require_address(address)
    _run(settings, NodeSpec(host=host, address=address, **how), block=block)
    click.echo(f"This machine is a node of the cluster at {address}.")


@cluster.command()
@folder_options
@click.argument("address", metavar="[HOST:PORT]", required=False)
def status(*, data: str | None, settings_file: Path | None, address: str | None) -> None:
    """Tell which nodes a cluster has and what they have to do; by default that of the setting `cluster`."""
    settings = read_settings(settings_file, data=data)
    address = address or settings.cluster
    if address is None:
        raise InvalidInput("Which cluster? Give its address, or the setting `cluster`.")
    _require_address(address)
    click.echo(cluster_status(address, _environment(settings)).strip())


@cluster.command()
@folder_options
def stop(*, data: str | None, settings_file: Path | None) -> None:
    """End the node that was started with this data folder; its tasks have 30 seconds to end before."""
    settings = read_settings(settings_file, data=data)
    ended = RayNode(Path(settings.data) / FOLDER, {}).stop()
    click.echo("The node has ended." if ended else f"No node of {settings.data} runs.")


def _run(settings: NodeSettings, spec: NodeSpec, *, block: bool) -> None:
    node = RayNode(data_folder(settings) / FOLDER, _environment(settings))
    if block:
        node.become(spec)
    node.start(spec)


def _environment(settings: NodeSettings) -> dict[str, str]:
    """Return the environment of Ray's commands.

    Raises:
        Refused: there is no token.
    """
    token_file = cluster_token_file(settings)
    if not names_cluster_token() and not token_file.exists():
        raise Refused(f"There is no token of a cluster: copy that of its first node to {token_file}.")
    return DEFAULTS | cluster_environment(token_file) | HEALTH


def _require_host(host: str) -> None:
    if host in REWRITTEN:
        raise InvalidInput(f"Ray takes another address in place of {host}: give that of a network, or 127.0.0.2.")


def _require_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InvalidInput(f"{address!r} is no address of a cluster, which is host:port.")
    require_cluster(address)

"""``penchant-mcp``: the tools of a service for a program that starts them, over standard input and output."""

import asyncio

import click
from mcp.server.stdio import stdio_server

from penchant_client import AsyncClient, ClientError
from penchant_mcp import __version__
from penchant_mcp.serving import Caller, agent_server


@click.command()
@click.option("--url", required=True, envvar="PENCHANT_URL", help="Address of the service; $PENCHANT_URL.")
@click.option("--key", required=True, envvar="PENCHANT_KEY", help="Key that the tools ask with; better $PENCHANT_KEY.")
@click.version_option(__version__)
def main(url: str, key: str) -> None:
    """Serve the tools of a penchant service to an agent, over standard input and output."""
    try:
        asyncio.run(serve(url, key))
    except (ClientError, ValueError) as error:
        raise click.ClickException(f"No service answers at {url}: {error}") from error


async def serve(url: str, key: str) -> None:
    """Answer the messages of standard input until it ends, by the service at an address, which has to answer."""
    async with AsyncClient(url, key) as client:
        await client.addresses()
        server = agent_server(lambda _: Caller(client=client, key=key))
        async with stdio_server() as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())

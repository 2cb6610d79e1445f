"""What the package brings to the service: the tools at ``/-/mcp``, where the setting `mcp` wants them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pluggy import HookimplMarker

if TYPE_CHECKING:
    from penchant.hooks import Mount
    from penchant.settings import NodeSettings


@HookimplMarker("penchant")
def mount(settings: "NodeSettings") -> Iterable["Mount"]:
    """Return the tools, if the settings turn them on."""
    if not settings.mcp:
        return ()
    from penchant.hooks import AGENTS_PATH, Mount  # noqa: PLC0415  # over stdio the tools run without the service
    from penchant_mcp.serving import application  # noqa: PLC0415  # the protocol takes a second to import

    return (Mount(AGENTS_PATH, application, by_key=True),)

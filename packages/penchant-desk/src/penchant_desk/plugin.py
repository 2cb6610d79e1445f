"""What the desk brings to the service: the application at ``/-/dashboard``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pluggy import HookimplMarker

if TYPE_CHECKING:
    from penchant.hooks import Mount
    from penchant.settings import NodeSettings

implementation = HookimplMarker("penchant")


@implementation
def mount(settings: "NodeSettings") -> Iterable["Mount"]:
    """Return the desk, unless the settings turn it off."""
    if not settings.dashboard:
        return ()
    from penchant.hooks import Mount  # noqa: PLC0415  # the desk runs without the service, too
    from penchant_desk.application import DeskApplication  # noqa: PLC0415  # only processes that answer need it
    from penchant_desk.mounted import MountedEntrance  # noqa: PLC0415  # as above
    from penchant_desk.site import HOME  # noqa: PLC0415  # as above

    return (Mount(HOME, DeskApplication(MountedEntrance.of_scope)),)

"""What the desk brings to the service: the application at ``/-/dashboard``, and the time zone of a source's pages."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pluggy import HookimplMarker

from penchant_desk import HOME

if TYPE_CHECKING:
    from penchant.hooks import Mount
    from penchant.settings import NodeSettings
    from penchant.wire.fields import Record

implementation = HookimplMarker("penchant")


@implementation
def mount(settings: "NodeSettings") -> Iterable["Mount"]:
    """Return the desk, unless the settings turn it off."""
    if not settings.dashboard:
        return ()
    from penchant.hooks import Mount  # noqa: PLC0415  # the desk runs without the service, too

    return (Mount(HOME, LateDesk()),)


class LateDesk:
    """The desk, imported by the first request for it: 10 MiB, and a tenth of a second of each start."""

    def __init__(self) -> None:
        self._desk: Callable[..., Awaitable[None]] | None = None

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """Answer a request; what else this process is asked is answered while the desk is imported."""
        if self._desk is None:
            self._desk = await asyncio.to_thread(_desk)
        await self._desk(scope, receive, send)


def _desk() -> Callable[..., Awaitable[None]]:
    from penchant_desk.application import DeskApplication  # noqa: PLC0415  # as `LateDesk` has it
    from penchant_desk.mounted import MountedEntrance  # noqa: PLC0415  # as above

    return DeskApplication(MountedEntrance.of_scope)


@implementation
def source_settings() -> Iterable[type["Record"]]:
    """Return the setting of the desk."""
    return (desk_settings(),)


@functools.cache
def desk_settings() -> type["Record"]:
    """Return what a source settles for its pages; made here, since the desk runs without the service, too."""
    from penchant.wire.fields import Description, Example, Label, Record, text  # noqa: PLC0415  # as above
    from penchant_desk.moments import MAX_ZONE, zone_called  # noqa: PLC0415  # as above

    def problem_of(name: str) -> str | None:
        is_known = len(name) <= MAX_ZONE and zone_called(name) is not None
        return None if is_known else f"Found another time zone; {accepted} is accepted."

    accepted = "one of the IANA database, such as Europe/Berlin,"
    schema = {"type": "string", "minLength": 1, "maxLength": MAX_ZONE}

    class DeskSettings(Record, frozen=True, kw_only=True, rename="camel"):
        """The ``time_zone`` in which pages write moments where the reader's is not known."""

        time_zone: Annotated[
            str,
            text(problem_of, accepted, schema),
            Description("The IANA time zone of pages of the dashboard, where the browser's is not known."),
            Label("Time zone of pages, where the browser's is not known"),
            Example("Europe/Berlin"),
        ] = "UTC"

    return DeskSettings

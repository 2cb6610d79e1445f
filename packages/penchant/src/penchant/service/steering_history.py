"""History of what steers a source: the kept versions of its settings and lists, and what each of them has changed."""

from collections.abc import Sequence
from typing import Any, Self

import msgspec
from msgspec import UNSET

from penchant.errors import invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.storage.steering_versions import SETTINGS
from penchant.wire import decode_stored_settings, encode_settings, format_timestamp
from penchant.wire.administration import SteeringChange
from penchant.wire.catalogue_answers import SteeringListing, SteeringVersionAnswer


class SteeringHistory:
    """What settings and lists were."""

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what is kept over the service."""
        return cls(services.database)

    async def versions(self, view: View, subject: str, version: int | None = None) -> SteeringListing[str]:
        """Return the versions of settings or a list, newest first; or one of them alone, with all that it has.

        Raises:
            InvalidInput: this version is not kept.
        """
        listing = await self._database.in_thread(self._listing, view.head.source_id, subject, version)
        if version is not None and not listing.versions:
            raise invalid_parameter(
                "version", "Found the version of no change that is kept; without it they are listed."
            )
        return listing

    def _listing(self, source_id: int, subject: str, version: int | None) -> SteeringListing[str]:
        decode, is_whole = _settings if subject == SETTINGS else _ids, version is not None
        stored = self._database.storage.steering_versions.list_versions(source_id, subject, decode, version)
        return SteeringListing(
            versions=[
                SteeringVersionAnswer(
                    version=each.version,
                    timestamp=format_timestamp(each.recorded_at),
                    key_id=each.actor or None,
                    actor_name=each.actor_name or UNSET,
                    changes=msgspec.convert(each.changes, Sequence[SteeringChange]),
                    settings=each.state if is_whole and subject == SETTINGS else UNSET,
                    content=each.state if is_whole and subject != SETTINGS else UNSET,
                )
                for each in stored
            ]
        )


def _settings(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(encode_settings(decode_stored_settings(body)))
    return found


def _ids(body: bytes) -> list[str]:
    return msgspec.json.decode(body, type=list[str]) if body else []

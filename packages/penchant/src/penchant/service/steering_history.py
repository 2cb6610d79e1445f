"""History of what steers a source: the kept versions of its settings and lists, and in words what each has changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import msgspec
from msgspec import UNSET

from penchant.errors import invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.storage.steering_versions import MAX_STEERING_VERSIONS, SETTINGS, SteeringVersion
from penchant.wire import decode_stored_settings, encode_settings, format_timestamp
from penchant.wire.catalogue_answers import SteeringListing, SteeringVersionAnswer

NAMED = 10
"""Ids that a change of a list names."""
MAX_VALUE = 60
"""Characters of a value that a change of settings tells."""


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
        rows = await self._database.in_thread(
            self._database.storage.steering_versions.list_versions, view.head.source_id, subject
        )
        if version is not None and all(row.version != version for row in rows):
            raise invalid_parameter(
                "version", "Found the version of no change that is kept; without it they are listed."
            )
        return await self._database.in_thread(_listing, rows, subject, version)


def _listing(rows: Sequence[SteeringVersion], subject: str, version: int | None) -> SteeringListing[str]:
    answers = []
    for place, row in enumerate(rows):
        if version is not None and row.version != version:
            continue
        # Before the first one there was nothing, unless that is kept no more.
        is_first = place + 1 == len(rows)
        before = b"" if is_first else rows[place + 1].body
        is_known = not is_first or len(rows) < MAX_STEERING_VERSIONS
        read = _settings if subject == SETTINGS else _ids
        now = read(row.body)
        changes = [*_changes(read(before), now)] if is_known else []
        is_whole = version is not None
        answers.append(
            SteeringVersionAnswer(
                version=row.version,
                timestamp=format_timestamp(row.recorded_at),
                key_id=row.actor or None,
                changes=changes,
                settings=now if is_whole and isinstance(now, dict) else UNSET,
                content=now if is_whole and isinstance(now, list) else UNSET,
            )
        )
    return SteeringListing(versions=answers)


def _settings(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(encode_settings(decode_stored_settings(body)))
    return found


def _ids(body: bytes) -> list[str]:
    return msgspec.json.decode(body, type=list[str]) if body else []


def _changes(before: dict[str, Any] | list[str], now: dict[str, Any] | list[str]) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        yield from setting_changes(before, now)
    elif isinstance(before, list) and isinstance(now, list):
        yield from list_changes(before, now)


def setting_changes(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield in words what differs between settings, by name: `blend.popularity 0.1 → 0.02`."""
    for name in sorted({*before, *now}):
        was, is_now = before.get(name), now.get(name)
        if was == is_now:
            continue
        if isinstance(was, dict) and isinstance(is_now, dict):
            yield from setting_changes(was, is_now, f"{within}{name}.")
            continue
        texts = ["none" if each is None else json.dumps(each, ensure_ascii=False) for each in (was, is_now)]
        is_short = all(len(text) <= MAX_VALUE for text in texts)
        yield f"{within}{name} {texts[0]} → {texts[1]}" if is_short else f"{within}{name} changed"


def list_changes(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yield in words what differs between lists: `2 added: alien, gravity`."""
    old, new = set(before), set(now)
    for word, ids in (("added", [each for each in now if each not in old]), ("removed", [*_without(before, new)])):
        if ids:
            more = ", …" if len(ids) > NAMED else ""
            yield f"{len(ids)} {word}: {', '.join(ids[:NAMED])}{more}"
    if [*_without(before, old - new)] != [*_without(now, new - old)]:
        yield "another order"


def _without(ids: Sequence[str], others: set[str]) -> Iterator[str]:
    return (each for each in ids if each not in others)

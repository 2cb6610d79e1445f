"""Export: a source as lines, one for each thing in it, in an order that an import gives back."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from penchant.importing.interactions import stable_event_id
from penchant.model import DAY_MS, InteractionType, NewInteraction, StoredInteraction
from penchant.storage import SourceExport
from penchant.wire import decode_settings, encode, encode_settings, format_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportParts:
    """What is exported beside the pieces."""

    interactions: bool = False
    lists: bool = False
    settings: bool = False


def export_lines(export: SourceExport, parts: ExportParts, now: int) -> Iterator[bytes]:
    """Yield the lines: pieces by id, lists, settings, interactions by time and then as recorded.

    Interactions past their retention at ``now``, in ms since 1970 UTC, are none of them.
    """
    for batch in export.pieces:
        for piece in batch:
            yield piece.body + b"\n"
    if parts.lists:
        yield encode({"whitelist": export.curation.whitelist}) + b"\n"
        yield encode({"blacklist": export.curation.blacklist}) + b"\n"
    settings = decode_settings(export.curation.settings or b"{}")
    if parts.settings:
        yield b'{"settings":' + encode_settings(settings) + b"}\n"
    if parts.interactions:
        oldest = (now // DAY_MS - settings.retention_days) * DAY_MS
        yield from _interaction_lines(export, oldest)


def _interaction_lines(export: SourceExport, oldest: int) -> Iterator[bytes]:
    """Yield interactions; of equal ones each after the first says by an event id that it is another one."""
    moment, seen = -1, Counter[tuple[str, InteractionType, str]]()
    for batch in export.interactions(oldest):
        for each in batch:
            # In the order of time, so that equal ones are all of the moment that is counted now.
            if each.occurred_at != moment:
                moment, seen = each.occurred_at, Counter()
            same = each.user_id, each.type, each.piece_id
            seen[same] += 1
            yield _interaction_line(each, seen[same])


def _interaction_line(interaction: StoredInteraction, repeat: int) -> bytes:
    """Return the line of an interaction, the n-th of those that say the same.

    An import gives it an event id by what it says: without another one the second would be a duplicate of the first.
    """
    members = {
        "userId": interaction.user_id,
        "type": interaction.type.value,
        "contentId": interaction.piece_id,
        "timestamp": format_timestamp(interaction.occurred_at),
    }
    if repeat > 1:
        new = NewInteraction(
            user_id=interaction.user_id,
            type=interaction.type,
            piece_id=interaction.piece_id,
            occurred_at=interaction.occurred_at,
        )
        members["eventId"] = stable_event_id(new, repeat)
    return encode(members) + b"\n"

"""Export: a source as lines, one for each thing in it, in an order that an import gives back."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator

from penchant.enrichment import exported_rules, rule_of, split_rule
from penchant.importing.kinds import line_kinds
from penchant.model import NewInteraction
from penchant.storage import SourceExport
from penchant.wire import decode_stored_settings, encode, encode_settings, format_timestamp
from penchant.wire.lines import encode_stated_preferences
from penchant.wire.syntax import number_of
from penchant_engine.model import DAY_MS, InteractionType, StoredInteraction

_STABLE_PREFIX = "import-"
_STABLE = re.compile(_STABLE_PREFIX + "[0-9a-f]{32}")


def export_lines(export: SourceExport, parts: Collection[str], now: int) -> Iterator[bytes]:
    """Yield the lines: pieces by id, lists, settings, those of packages, interactions by time, and preferences.

    Beside the pieces come those of `export_parts` that ``parts`` names. Interactions of one moment come as they were
    recorded; those past their retention at ``now``, in ms since 1970 UTC, are left out. Preferences come last: what
    people did who are switched off now is imported before that is known.
    """
    yield from (piece.body + b"\n" for batch in export.pieces for piece in batch)
    if "lists" in parts:
        yield encode({"whitelist": export.curation.whitelist}) + b"\n"
        yield encode({"blacklist": export.curation.blacklist}) + b"\n"
    settings = decode_stored_settings(export.curation.settings)
    if "settings" in parts:
        # The keywords of packages do not travel: they are made of the pieces.
        rules = encode(exported_rules(split_rule(rule_of(settings))))[1:-1]
        yield b'{"settings":' + encode_settings(settings) + (b"," + rules if rules else b"") + b"}\n"
    for kind in line_kinds().values():
        if kind.part in parts:
            yield from (b'{"%s":%s}\n' % (kind.name.encode(), value) for value in export.read(kind.values))
    if "interactions" in parts:
        oldest = settings.oldest_day(now // DAY_MS) * DAY_MS
        yield from _interaction_lines(export, oldest)
    if "preferences" in parts:
        stated = (encode_stated_preferences(*each) for batch in export.preferences for each in batch)
        yield from (b'{"preferences":' + each + b"}\n" for each in stated)


def _interaction_lines(export: SourceExport, oldest: int) -> Iterator[bytes]:
    """Yield interactions; of equal ones without event id each after the first says by one that it is another."""
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
    One that an import gave is made anew, so that what was imported and what was recorded since stay apart.
    """
    event_id = interaction.event_id
    if event_id is None or _STABLE.fullmatch(event_id):
        event_id = stable_event_id(interaction, repeat) if repeat > 1 else None
    return encode(_interaction_members(interaction._replace(event_id=event_id))) + b"\n"


def stable_event_id(interaction: NewInteraction | StoredInteraction, repeat: int = 1) -> str:
    """Return the event id of an interaction by what it says, the same wherever and however often it is imported.

    ``repeat`` counts equal ones from 1; they may differ in their portions (D188 of docs/decisions.md).
    """
    parts = [interaction.user_id, interaction.type, interaction.piece_id, interaction.occurred_at]
    content = encode(parts if repeat == 1 else [*parts, repeat])
    return _STABLE_PREFIX + hashlib.blake2b(content, digest_size=16).hexdigest()


def _interaction_members(interaction: StoredInteraction) -> dict[str, str | float]:
    """Return an interaction as the members of a request."""
    members: dict[str, str | float] = {
        "userId": interaction.user_id,
        "type": interaction.type.value,
        "contentId": interaction.piece_id,
        "timestamp": format_timestamp(interaction.occurred_at),
    }
    if interaction.event_id is not None:
        members["eventId"] = interaction.event_id
    if interaction.portion is not None:
        members["value"] = number_of(interaction.portion)
    return members

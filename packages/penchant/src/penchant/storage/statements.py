"""Statements that several parts need, built once for both databases; nothing is executed here."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    ScalarSelect,
    Table,
    bindparam,
    delete,
    literal_column,
    select,
    update,
)

from penchant.storage.schema import (
    CONTENT,
    INTERACTIONS,
    TYPES,
    counters,
    event_ids,
    interactions,
    pieces,
    preferences,
    sources,
    taken_back,
    usage,
)
from penchant_engine.model import StoredInteraction

LOOKUP_KEYS = 5_000
"""Keys in one look-up: both databases bound the parameters of a statement."""

_Key = TypeVar("_Key")

_content = counters.alias("content")
_interacted = counters.alias("interacted")

_HEADS = (
    select(
        sources.c.source_id,
        sources.c.account_id,
        sources.c.name,
        sources.c.incarnation,
        sources.c.epoch,
        _content.c.version,
        _interacted.c.version.label("interactions_version"),
        _content.c.live,
        sources.c.created_at,
        sources.c.changed_at,
        _interacted.c.erased_at,
        sources.c.deleted,
        _content.c.cleared_at,
        _content.c.purged_below,
        _interacted.c.cleared_at.label("interactions_cleared_at"),
        _interacted.c.purged_below.label("interactions_purged_below"),
        _interacted.c.clock.label("interactions_clock"),
        sources.c.words,
        sources.c.words_wanted,
        sources.c.own_events,
    )
    .select_from(sources)
    .join(
        _content,
        (_content.c.source_id == sources.c.source_id) & (_content.c.kind == literal_column(str(CONTENT))),
    )
    .join(
        _interacted,
        (_interacted.c.source_id == sources.c.source_id) & (_interacted.c.kind == literal_column(str(INTERACTIONS))),
    )
)
STORE_KEYWORDS = (
    update(pieces)
    .where(
        pieces.c.source_id == bindparam("number"),
        pieces.c.piece_id == bindparam("id"),
        pieces.c.version == bindparam("read_at"),
    )
    .values(words=bindparam("text"))
)
"""Stores what is kept of the words of a piece as it was read."""
version_of_one = pieces.c.version + literal_column("0")
"""The version of a piece in look-ups by ids: bounds of the column itself have SQLite read all pieces of a source."""
KNOWN_PIECES = select(pieces.c.piece_id).where(
    pieces.c.source_id == bindparam("source"),
    pieces.c.piece_id.in_(bindparam("ids", expanding=True)),
    pieces.c.deleted.is_(False),
    version_of_one > bindparam("cleared_at"),
)
"""Which of these ids, some hundreds at most, a source has a piece of."""
LIVE_PIECES = select(pieces.c.piece_id, pieces.c.first_submitted_at).where(
    pieces.c.source_id == bindparam("source"),
    pieces.c.piece_id.in_(bindparam("ids", expanding=True)),
    pieces.c.deleted.is_(False),
    version_of_one > bindparam("cleared_at"),
)
"""Since when a source has pieces, as `KNOWN_PIECES`. Live is what `SourceReader` calls live: neither deleted alone nor
cleared with all others."""
LOCK_COUNTERS = (
    select(counters.c.version)
    .where(counters.c.source_id == bindparam("source"), counters.c.kind.in_(bindparam("kinds", expanding=True)))
    .order_by(counters.c.kind)
    .with_for_update()
)
"""Locks counters of a source, by ascending kind."""
RAISE_CONTENT = (
    update(counters)
    .where(counters.c.source_id == bindparam("source"), counters.c.kind == literal_column(str(CONTENT)))
    .values(
        version=bindparam("raised"), clock=bindparam("moment"), live=bindparam("left"), cleared_at=bindparam("cleared")
    )
)
RAISE_INTERACTIONS = (
    update(counters)
    .where(counters.c.source_id == bindparam("source"), counters.c.kind == literal_column(str(INTERACTIONS)))
    .values(version=bindparam("raised"), clock=bindparam("moment"), erased_at=bindparam("erased"))
)
"""Raise what a source's counters stand at."""
NOTE_CHANGE = update(sources).where(sources.c.source_id == bindparam("source")).values(changed_at=bindparam("moment"))
ANYBODY_OFF = (
    select(preferences.c.version)
    .where(preferences.c.source_id == bindparam("source"), preferences.c.off_person.is_not(None))
    .limit(1)
)
"""Whether a source may have people who are switched off."""
ANY_TAKEN_BACK = select(taken_back.c.version).where(taken_back.c.source_id == bindparam("source")).limit(1)
"""Whether anything was taken back in a source."""
MOVE_INTERACTION, MOVE_EVENT = (
    update(table)
    .where(table.c.source_id == bindparam("source"), table.c.version == bindparam("old"))
    .values(version=bindparam("new"))
    for table in (interactions, event_ids)
)
"""Give what was recorded at a version, and its event id, another one."""
HEAD = _HEADS.where(sources.c.source_id == bindparam("source_id"))
"""A source with both its counters; the first eleven columns are those of a `SourceHead`, in its order."""
HEADS_OF = _HEADS.where(sources.c.source_id.in_(bindparam("numbers", expanding=True)))
"""Several sources, as `HEAD`."""
HEADS_FROM = _HEADS.where(_content.c.live >= bindparam("minimum"))
"""The sources with at least so many pieces, as `HEAD`."""
HEADS_BUSY = _HEADS.where(_interacted.c.version - _interacted.c.cleared_at >= bindparam("minimum"))
"""The sources in which at least so many interactions were recorded, erased and expired ones too, as `HEAD`."""
FEED = (
    select(
        interactions.c.version,
        interactions.c.user_key,
        interactions.c.piece_key,
        interactions.c.piece_id,
        interactions.c.type,
        interactions.c.occurred_at,
        interactions.c.portion,
    )
    .where(interactions.c.source_id == bindparam("source"), interactions.c.version > bindparam("after"))
    .order_by(interactions.c.version)
)
"""What was recorded and who was erased in a source after a version."""
INTERACTION = (
    interactions.c.piece_id,
    interactions.c.type,
    interactions.c.occurred_at,
    interactions.c.version,
    interactions.c.event_id,
    interactions.c.portion,
)
"""What is read of an interaction whose person is known; `to_interaction` takes it."""
STATED_CODE = -1
"""In `RECORDED` the type of a change of preferences; no interaction has it, and no erasure."""


def portions(keys: Iterable[_Key], size: int = LOOKUP_KEYS) -> Iterator[list[_Key]]:
    """Yield keys in lists of a size, each for one statement."""
    remaining = iter(keys)
    while portion := list(islice(remaining, size)):
        yield portion


def to_interaction(user_id: str, *columns: Any) -> StoredInteraction:
    """Return the interaction of a person in the columns of `INTERACTION`."""
    piece_id, code, occurred_at, version, event_id, portion = columns
    return StoredInteraction(
        user_id=user_id,
        type=TYPES[code],
        piece_id=piece_id,
        occurred_at=occurred_at,
        version=version,
        event_id=event_id,
        portion=portion,
    )


def cleared_at(source: int | BindParameter[int], kind: int) -> ScalarSelect[int]:
    """Select the version up to which rows of this counter's kind were cleared, or are of a source that was deleted."""
    return (
        select(counters.c.cleared_at).where(counters.c.source_id == source, counters.c.kind == kind).scalar_subquery()
    )


def _within(table: Table) -> ColumnElement[bool]:
    return (
        (table.c.source_id == bindparam("source"))
        & (table.c.version > bindparam("after"))
        & (table.c.version <= bindparam("until"))
    )


RECORDED = (
    select(
        interactions.c.version,
        interactions.c.user_key,
        interactions.c.piece_id,
        interactions.c.type,
        interactions.c.occurred_at,
        interactions.c.user_id,
        interactions.c.portion,
    )
    .where(_within(interactions))
    .union_all(
        select(
            preferences.c.version,
            preferences.c.user_key,
            literal_column("''"),
            literal_column(str(STATED_CODE)),
            literal_column("0"),
            literal_column("''"),
            literal_column("NULL"),
        ).where(_within(preferences))
    )
    .order_by(interactions.c.version)
)
"""What became of people in a source after a version, up to another; of erasures only that there was one."""


Insert = Callable[[Table], Any]
"""A dialect's INSERT: it alone knows ON CONFLICT."""


def upsert(insert: Insert, table: Table) -> Any:
    """Return the dialect's insert of a row that replaces the one of the same primary key."""
    statement = insert(table)
    replaced = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=replaced)


def add_usage(insert: Insert) -> Any:
    """Return the dialect's insert that adds to the row of the same month."""
    statement = insert(usage)
    total = usage.c.answers + statement.excluded.answers
    return statement.on_conflict_do_update(index_elements=("account_id", "month"), set_={"answers": total})


def insert_missing(insert: Insert, table: Table) -> Any:
    """Return the dialect's insert of a row unless its key is there."""
    return insert(table).on_conflict_do_nothing()


def remove_chunk(connection: Connection, table: Table, is_gone: ColumnElement[bool], chunk: int) -> int:
    """Remove up to ``chunk`` rows key by key: for a list of keys SQLite would look through the whole source."""
    columns = table.primary_key.columns
    keys = [row._asdict() for row in connection.execute(select(*columns).where(is_gone).limit(chunk))]
    if keys:
        connection.execute(delete(table).where(*(column == bindparam(column.name) for column in columns)), keys)
    return len(keys)

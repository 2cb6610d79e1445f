"""Tables of rows: placements, what they showed, and drafts."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, SmallInteger, Table

from penchant.storage.schema import BY_CODE_POINT

metadata = MetaData()

placements = Table(
    "placements",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
"""Which version of each placement is in force: the content version that it was stored at."""
placement_versions = Table(
    "placement_versions",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("actor", BY_CODE_POINT, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("assignment", LargeBinary, nullable=False),
    Column("draft", BY_CODE_POINT),
    Column("stops", LargeBinary),
)
"""``body`` is the placement as JSON, ``assignment`` which people its variants are for; these never change.

``draft`` is the name of the draft that it was published with, or taken back with; null for none.
``stops`` tells, as JSON by variant, when and why one was stopped; null for none.
"""
drafts = Table(
    "drafts",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("state", BY_CODE_POINT, nullable=False),
    Column("title", BY_CODE_POINT, nullable=False),
    Column("actor", BY_CODE_POINT, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("moved_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),
    Column("writers", LargeBinary, nullable=False),
    Column("steps", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("basis", LargeBinary, nullable=False),
    Column("replaced", LargeBinary, nullable=False),
)
"""Drafts of sources (`storage.drafts`): ``body`` is what one edits, as JSON, ``revision`` a number that is another one
each time it is written, ``actor`` who wrote it last and when (``changed_at``). ``basis`` is how what it edits was then,
``replaced`` what its publication put out of force. At ``due_at`` it is to be published."""
OPEN_STATES = ("draft", "proposed", "sent-back", "scheduled")
"""States of drafts that wait for something."""
Index("drafts_due", drafts.c.due_at)
impressions = Table(
    "impressions",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("incarnation", BigInteger, primary_key=True, autoincrement=False),
    Column("list_key", LargeBinary, primary_key=True),
    Column("piece_key", LargeBinary, primary_key=True),
    Column("person", LargeBinary, nullable=False),
    Column("piece_id", BY_CODE_POINT, nullable=False),
    Column("placement", BY_CODE_POINT, nullable=False),
    Column("variant", BY_CODE_POINT, nullable=False),
    Column("position", Integer, nullable=False),
    Column("shown_at", BigInteger, nullable=False),
    Column("counts_until", BigInteger, nullable=False),
    Column("led_to", Integer, nullable=False),
    Column("stage", SmallInteger, nullable=False),
    Column("by_page", Integer, nullable=False),
    Column("repeated", Boolean, nullable=False),
    Column("raised", Boolean),
)
"""Pieces that people were shown. ``list_key`` begins with the moment of the list (`penchant_rows.wire.list_ids`), so
that old rows come first; ``person`` is the keyed hash of the list's id, empty where it is for nobody in particular;
``position`` counts from 1, 0 for unknown. Until ``counts_until`` interactions that name no list are attributed to the
row; ``led_to`` has the bit of the code of each type of interaction that was. ``stage`` is how much the person had been
shown before (`storage.placement_counts`). ``by_page`` has the bits of what browser keys alone have reported, bit 0 that
it was shown. What a ``repeated`` row led to is counted with another one of the same piece and day. A ``raised`` one
stood where it did by a quota; null is not."""
# What a person was shown, each piece by itself, the lists in the order of time.
Index(
    "impressions_of_person",
    impressions.c.source_id,
    impressions.c.incarnation,
    impressions.c.person,
    impressions.c.piece_key,
    impressions.c.list_key,
)
placement_people = Table(
    "placement_people",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("incarnation", BigInteger, primary_key=True, autoincrement=False),
    Column("person", LargeBinary, primary_key=True),
    Column("placement", BY_CODE_POINT, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("day", Integer, nullable=False),
    Column("lists", Integer, nullable=False),
    Column("pieces", Integer, nullable=False),
)
"""How much a person has been shown in a placement: ``pieces`` under its ``version``, ``lists`` on the UTC ``day``.

The row without a person and a placement has the pieces of a day in lists for nobody in particular."""
placement_counts = Table(
    "placement_counts",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("incarnation", BigInteger, primary_key=True, autoincrement=False),
    Column("placement", BY_CODE_POINT, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("variant", BY_CODE_POINT, primary_key=True),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("numbers", LargeBinary, nullable=False),
)
"""What placements showed and what came of it (`storage.placement_counts`); ``day`` counts UTC days from 1970."""
placement_pieces = Table(
    "placement_pieces",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("incarnation", BigInteger, primary_key=True, autoincrement=False),
    Column("placement", BY_CODE_POINT, primary_key=True),
    Column("variant", BY_CODE_POINT, primary_key=True),
    Column("piece_key", LargeBinary, primary_key=True),
    Column("first_day", Integer, nullable=False),
    Column("last_day", Integer, nullable=False),
)
"""Which pieces a placement's variants have ever shown, on which UTC day first and last."""

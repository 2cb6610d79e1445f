"""Schema of the database: every table and index but those of plugins (`storage.parts`), once for both databases.

It runs no statement.

Every primary, unique and foreign key of a tenant's table holds ``source_id``, so that the same tables can be
distributed by it. The others (`SHARED_TABLES`) are small.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    literal_column,
)

from penchant_engine.model import InteractionType

CONTENT = 1
"""The counter kind of pieces, lists and settings."""
INTERACTIONS = 2
"""The counter kind of interactions and erasures."""
CODEC_JSON = 0
"""The body is the JSON bytes as they are."""
CODEC_ZSTD = 1
"""The body is a zstd frame, which names the dictionary that it needs (`storage.bodies`)."""
ERASURE_CODE = 0
"""The type of the row that an erasure leaves in the feed."""
TYPE_CODES = {kind: kind.code for kind in InteractionType}
"""The code under which a type is stored."""
TYPES = {code: kind for kind, code in TYPE_CODES.items()}
"""The type of each code; the erasure's code has none."""

BY_CODE_POINT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by code point: SQLite compares UTF-8 bytes anyway."""

metadata = MetaData()

accounts = Table(
    "accounts",
    metadata,
    Column("account_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", BY_CODE_POINT, nullable=False, unique=True),
    Column("version_floor", BigInteger),
    Column("signing_secret", LargeBinary),
)
"""``version_floor`` is the greatest content version of the account's sources that are purged; null: of none."""
secrets = Table(
    "secrets",
    metadata,
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("secret", LargeBinary, nullable=False),
)
"""Random numbers of the database itself, made when they are first needed."""
keys = Table(
    "keys",
    metadata,
    Column("key_id", BY_CODE_POINT, primary_key=True),
    Column("account_id", BigInteger, nullable=False),
    Column("plan", BY_CODE_POINT, nullable=False),
    Column("admin", Boolean, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("scopes", Text, nullable=False),
    Column("origins", Text, nullable=False),
    Column("requests_per_second", Integer),
    Column("requests_per_month", BigInteger),
    Column("name", Text),
)
"""``scopes`` are those to which a key is limited, separated by commas, "" for all; ``origins`` those of a browser key,
separated by spaces, "" for another. The two numbers limit browser keys, NULL for what is usual: requests from one
address, and answers that count. ``name`` says who has the key, NULL where nobody said it."""
sessions = Table(
    "sessions",
    metadata,
    Column("session_hash", LargeBinary, primary_key=True),
    Column("key_id", BY_CODE_POINT, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Index("sessions_by_key", "key_id", "ends_at"),
)
"""Sessions at the dashboard, each by the SHA-256 of the id that its browser has; they are over at ``ends_at``."""
audit = Table(
    "audit",
    metadata,
    Column("audit_id", BigInteger, primary_key=True, autoincrement=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("account_id", BigInteger, nullable=False),
    Column("actor", BY_CODE_POINT, nullable=False),
    Column("action", BY_CODE_POINT, nullable=False),
    Column("subject", BY_CODE_POINT, nullable=False),
    Column("of_source", BigInteger),
    Column("times", Integer),
    Column("first_at", BigInteger),
    # No Text: by its size SQLite would at times take another index than that of the subject for what is equal.
    Column("changes", String),
    Index("audit_by_account", "account_id", "audit_id"),
    Index("audit_by_source", "of_source", "audit_id"),
    Index("audit_by_actor", "actor", "audit_id"),
    Index("audit_by_subject", "account_id", "subject", "audit_id"),
)
"""``audit_id`` is the moment in nanoseconds: ascending without a sequence, which one server would have to give.

``of_source`` is the number of the source that was changed, null of keys and accounts, and ``changes`` is JSON
(`penchant.differences`) of what the last change of settings or a list changed. A row stands for ``times`` equal
entries (null: one) since ``first_at``, the latest at ``recorded_at``.
"""
# Answers that count, of an account, or of a browser key under the negative number of `hashing.key_counter`.
usage = Table(
    "usage",
    metadata,
    Column("account_id", BigInteger, primary_key=True, autoincrement=False),
    Column("month", BY_CODE_POINT, primary_key=True),
    Column("answers", BigInteger, nullable=False),
)
sources = Table(
    "sources",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("account_id", BigInteger, nullable=False, index=True),
    Column("name", BY_CODE_POINT, nullable=False),
    Column("incarnation", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("settings", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("words", LargeBinary),
    Column("words_wanted", LargeBinary),
    Column("own_events", Boolean),
)
"""``words`` is the rule by which packages make keywords of pieces, ``words_wanted`` that of the settings: where the two
differ, keywords by it are being made. Null or empty is none. ``own_events`` says that no event id has a key that
people share, as 0.1.0 gave them (`storage.hashing.shared_event_key`); null that one may."""
counters = Table(
    "counters",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("cleared_at", BigInteger, nullable=False),
    Column("purged_below", BigInteger, nullable=False),
    Column("live", BigInteger, nullable=False),
    Column("clock", BigInteger, nullable=False),
    Column("erased_at", BigInteger, nullable=False),
)
"""``erased_at`` is the version of the latest erasure of a person; 0 of content."""
pieces = Table(
    "pieces",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("piece_id", BY_CODE_POINT, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("first_submitted_at", BigInteger, nullable=False),
    Column("codec", SmallInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("words", LargeBinary),
)
"""``words`` has a line for each rule that is in force or wanted (`penchant.enrichment`), and counts for no version.

Of a deleted piece, ``first_submitted_at`` is the moment of the deletion (tombstones are purged by age)."""
# By it followers read the rows above their cursor. Unique: no version is given twice.
Index("pieces_feed", pieces.c.source_id, pieces.c.version, unique=True)
# Only of deleted pieces, so that housekeeping finds the old ones without reading live rows.
_tombstones = Index("pieces_tombstones", pieces.c.source_id, pieces.c.first_submitted_at, sqlite_where=pieces.c.deleted)
lists = Table(
    "lists",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", BY_CODE_POINT, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("piece_id", BY_CODE_POINT, nullable=False),
)
steering_versions = Table(
    "steering_versions",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("subject", BY_CODE_POINT, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("actor", BY_CODE_POINT, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""What settings, whitelist and blacklist were (`storage.steering_versions`), by the content version of the change."""
interactions = Table(
    "interactions",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("user_key", LargeBinary, nullable=False),
    Column("piece_key", LargeBinary, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("occurred_at", BigInteger, nullable=False),
    Column("user_id", BY_CODE_POINT, nullable=False),
    Column("piece_id", BY_CODE_POINT, nullable=False),
    Column("event_id", BY_CODE_POINT),
    Column("portion", SmallInteger),
)
"""An erasure is a row without ids; ``user_key`` is masked there, by the number in ``piece_key`` (`storage.secrets`).

``event_id`` is as it was given: the export has it. Rows of 0.1.0 have none, only its hash among `event_ids`.
``portion`` is in hundredths, NULL where none was given.
"""
# A person's interactions, newest first, without a sort; the versions order those of one moment.
Index(
    "interactions_of_user",
    interactions.c.source_id,
    interactions.c.user_key,
    interactions.c.occurred_at,
    interactions.c.version,
)
Index("interactions_by_age", interactions.c.source_id, interactions.c.occurred_at)
_is_erasure = interactions.c.type == literal_column(str(ERASURE_CODE))
erasures_by_age = Index(
    "erasures_by_age",
    interactions.c.source_id,
    interactions.c.occurred_at,
    sqlite_where=_is_erasure,
)
PARTIAL_INDEXES = ((_tombstones, pieces.c.deleted), (erasures_by_age, _is_erasure))
"""Indexes with the condition on their rows, for PostgreSQL to set: named above, its dialect would always be loaded."""
event_ids = Table(
    "event_ids",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("event_key", LargeBinary, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
# By it retention and erasures find the event ids of the interactions that they remove.
Index("event_ids_by_version", event_ids.c.source_id, event_ids.c.version, unique=True)
taken_back = Table(
    "taken_back",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("event_key", LargeBinary, primary_key=True),
    Column("user_key", LargeBinary, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
)
"""Event ids of interactions that were taken back, so that a late repeat brings none back (`storage.taking_back`)."""
# By it an erasure finds the event ids of its person.
Index("taken_back_of_user", taken_back.c.source_id, taken_back.c.user_key)
preferences = Table(
    "preferences",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("user_key", LargeBinary, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("user_id", BY_CODE_POINT, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("off_person", LargeBinary),
)
"""What people have said of themselves, as JSON. ``version`` is one of the interactions' counter: no row of
``interactions`` has the same. Preferences that are removed leave no row, and so a gap in these versions.
``off_person`` is the keyed hash by which lists name a person who is switched off (`storage.people.off_person`)."""
Index("preferences_feed", preferences.c.source_id, preferences.c.version, unique=True)
# By it one look tells that nobody of a source is switched off, as nearly always.
people_off = Index("people_off", preferences.c.source_id, preferences.c.off_person)
dictionaries = Table(
    "dictionaries",
    metadata,
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("dictionary_id", Integer, primary_key=True, autoincrement=False),
    Column("bytes", LargeBinary, nullable=False),
)
pulls = Table(
    "pulls",
    metadata,
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("account_id", BigInteger, nullable=False),
    Column("source", BY_CODE_POINT, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("lease", BY_CODE_POINT, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
)
"""Addresses that a service read again and again before penchant-import did; ``body`` says which and how. Nobody writes
it any more, and `penchant doctor` tells what replaces what is in it."""
pull_runs = Table(
    "pull_runs",
    metadata,
    Column("name", BY_CODE_POINT, primary_key=True),
    Column("begun_at", BigInteger, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""What came of the last runs of each of these; nobody reads it any more."""

SHARED_TABLES = (accounts, keys, sessions, usage, audit, secrets, pulls, pull_runs)
"""The tables that belong to no source, copied whole each time: they are small, or few."""
FEED_TABLES = (pieces, interactions, event_ids, preferences)
"""The tables whose new rows the version tells."""
SMALL_TABLES = (taken_back, lists, steering_versions, dictionaries)
"""The tables that are copied whole each time: they have no versions of their own that a feed tells."""
SOURCE_TABLES = (sources, counters, *FEED_TABLES, *SMALL_TABLES)
"""The tables of a source; those of plugins come to them (`storage.parts`)."""

removed = MetaData()
"""Tables of earlier schemas, which a file of then may still have."""
ended_sessions = Table(
    "ended_sessions",
    removed,
    Column("session_id", BY_CODE_POINT, primary_key=True),
    Column("ends_at", BigInteger, nullable=False),
)

marks = MetaData()
"""The tables that are the database's own: they are never moved."""
lineage = Table(
    "lineage",
    marks,
    Column("lineage_id", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)
"""One row on PostgreSQL: the cluster, database and timeline that the rows are from.

Another one is found after a promotion, a restore or a recovery to a moment: then every source begins a new epoch.
"""
unfinished_move = Table(
    "unfinished_move",
    marks,
    Column("origin", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
)
"""Only in the target of a move that is not finished: where it comes from, and the least epoch of what is copied.

While it is there nothing but the move opens the database.
"""

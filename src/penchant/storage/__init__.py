"""The truth: everything that must not be lost, in SQLite or PostgreSQL, behind one seam.

It stores and returns bytes and rows; it never scores, ranks or speaks HTTP, and never imports the index.
"""

from penchant.storage.backup import BackupContents, SourceContents, back_up, restore
from penchant.storage.comparing import TableComparison
from penchant.storage.connections import ServerOptions
from penchant.storage.hashing import list_person, source_id, user_key
from penchant.storage.moving import MoveSide, compare_sides, move
from penchant.storage.records import (
    AccountUsage,
    AddUsage,
    AuditEntry,
    ChangeListing,
    ClearPieces,
    Command,
    ContentFeed,
    DeletePieces,
    DeleteSource,
    EraseUser,
    Erasure,
    FeedCursor,
    InteractionChange,
    InteractionQuery,
    InteractionsFeed,
    KeyRecord,
    Outcome,
    PieceChange,
    PieceListing,
    RecordInteractions,
    ReplaceList,
    ReplaceSettings,
    SourceCommand,
    SourceCuration,
    SourceExport,
    SourceHead,
    SubmitPieces,
)
from penchant.storage.storage import Storage, open_storage

__all__ = [
    "AccountUsage",
    "AddUsage",
    "AuditEntry",
    "BackupContents",
    "ChangeListing",
    "ClearPieces",
    "Command",
    "ContentFeed",
    "DeletePieces",
    "DeleteSource",
    "EraseUser",
    "Erasure",
    "FeedCursor",
    "InteractionChange",
    "InteractionQuery",
    "InteractionsFeed",
    "KeyRecord",
    "MoveSide",
    "Outcome",
    "PieceChange",
    "PieceListing",
    "RecordInteractions",
    "ReplaceList",
    "ReplaceSettings",
    "ServerOptions",
    "SourceCommand",
    "SourceContents",
    "SourceCuration",
    "SourceExport",
    "SourceHead",
    "Storage",
    "SubmitPieces",
    "TableComparison",
    "back_up",
    "compare_sides",
    "list_person",
    "move",
    "open_storage",
    "restore",
    "source_id",
    "user_key",
]

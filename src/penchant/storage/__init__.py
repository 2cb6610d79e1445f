"""The truth: everything that must not be lost, in SQLite or PostgreSQL, behind one seam.

It stores and returns bytes and rows; it never scores, ranks or speaks HTTP, and never imports the index.
"""

from penchant.storage.backup import Contents, SourceContents, back_up, restore
from penchant.storage.comparing import Comparison
from penchant.storage.moving import Side, compare_sides, move
from penchant.storage.postgresql import Pooling
from penchant.storage.records import (
    AccountUsage,
    AddUsage,
    AuditEntry,
    ClearPieces,
    Command,
    ContentFeed,
    Curation,
    Cursor,
    DeletePieces,
    DeleteSource,
    EraseUser,
    Export,
    InteractionChange,
    InteractionQuery,
    InteractionsFeed,
    KeyRecord,
    Listing,
    Outcome,
    PieceChange,
    RecordInteractions,
    ReplaceList,
    ReplaceSettings,
    SourceCommand,
    SourceHead,
    SubmitPieces,
)
from penchant.storage.storage import Storage, open_storage

__all__ = [
    "AccountUsage",
    "AddUsage",
    "AuditEntry",
    "ClearPieces",
    "Command",
    "Comparison",
    "ContentFeed",
    "Contents",
    "Curation",
    "Cursor",
    "DeletePieces",
    "DeleteSource",
    "EraseUser",
    "Export",
    "InteractionChange",
    "InteractionQuery",
    "InteractionsFeed",
    "KeyRecord",
    "Listing",
    "Outcome",
    "PieceChange",
    "Pooling",
    "RecordInteractions",
    "ReplaceList",
    "ReplaceSettings",
    "Side",
    "SourceCommand",
    "SourceContents",
    "SourceHead",
    "Storage",
    "SubmitPieces",
    "back_up",
    "compare_sides",
    "move",
    "open_storage",
    "restore",
]

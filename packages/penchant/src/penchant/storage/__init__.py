"""The truth: everything that must not be lost, in SQLite or PostgreSQL, behind one seam.

It stores and returns bytes and rows; it never scores, ranks or speaks HTTP, and never imports the index.
"""

from penchant.storage.accounts import AddUsage, SessionRecord
from penchant.storage.curation import EditList, ReplaceList, ReplaceSettings, SettingsChange
from penchant.storage.databases.connections import ServerOptions, parse_address, place_of
from penchant.storage.hashing import account_id as account_number
from penchant.storage.hashing import key_counter, list_person, source_id, user_key
from penchant.storage.interaction_pages import InteractionPage
from penchant.storage.interaction_writes import (
    EraseUser,
    InteractionReceipt,
    PeopleChange,
    RecordInteractions,
    ReplacePreferences,
    TakeBack,
)
from penchant.storage.parts import StoragePart
from penchant.storage.piece_writes import (
    ClearPieces,
    DeletePieces,
    DeleteSource,
    PieceDeletion,
    PieceSubmission,
    StoreKeywords,
    SubmitPieces,
)
from penchant.storage.records import (
    NO_KEYWORDS,
    AccountUsage,
    AuditEntry,
    ChangeListing,
    ContentFeed,
    Erasure,
    FeedCursor,
    InteractionChange,
    InteractionQuery,
    InteractionsFeed,
    KeyRecord,
    KeywordRules,
    KeywordRulesChanged,
    PieceChange,
    RecordedChanges,
    SourceCuration,
    SourceExport,
    SourceHead,
    StoredPerson,
)
from penchant.storage.storage import Storage, open_storage
from penchant.storage.transaction import Command, Result, SourceChange
from penchant.storage.upkeep.backup import BackupContents, SourceContents, back_up, restore
from penchant.storage.upkeep.moving import MoveSide, TableComparison, compare_sides, move

"""The truth: everything that must not be lost, in SQLite or PostgreSQL, behind one seam.

It stores and returns bytes and rows; it never scores, ranks or speaks HTTP, and never imports the index.
"""

from penchant.storage.databases.connections import ServerOptions, parse_address, place_of
from penchant.storage.hashing import account_id as account_number
from penchant.storage.hashing import key_counter, list_person, source_id, user_key
from penchant.storage.interaction_pages import InteractionPage
from penchant.storage.records import (
    NO_WORDS,
    AccountUsage,
    AddUsage,
    AuditEntry,
    ChangeListing,
    ClearPieces,
    Command,
    ContentFeed,
    DeleteDraft,
    DeletePieces,
    DeletePlacement,
    DeleteSource,
    DraftAct,
    DraftBasis,
    DraftRow,
    DueDraft,
    EditList,
    EraseUser,
    Erasure,
    FeedCursor,
    InteractionChange,
    InteractionQuery,
    InteractionsFeed,
    KeyRecord,
    MoveDraft,
    NoteStops,
    Outcome,
    PieceChange,
    PlacementEdit,
    PlacementRow,
    PublishDraft,
    PutPlacement,
    RecordedChanges,
    RecordImpressions,
    RecordInteractions,
    ReplacedState,
    ReplaceList,
    ReplacePreferences,
    ReplaceSettings,
    SaveDraft,
    SourceCuration,
    SourceExport,
    SourceHead,
    StepGrant,
    StoredPerson,
    StoreWords,
    SubmitPieces,
    TakeBack,
    WordRules,
    WordRulesChanged,
)
from penchant.storage.sessions import SessionRecord
from penchant.storage.storage import Storage, open_storage
from penchant.storage.upkeep.backup import BackupContents, SourceContents, back_up, restore
from penchant.storage.upkeep.moving import MoveSide, TableComparison, compare_sides, move

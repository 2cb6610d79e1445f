"""The interface's JSON: what comes in is checked to the last member, what goes out is spelt here alone.

What other parts may use is imported here.
"""

from penchant.model import Scope
from penchant.wire.administration import (
    MAX_ADDRESS_RATE,
    MAX_BROWSER_QUOTA,
    MAX_KEY_DAYS,
    MAX_ORIGINS,
    AccountUsageAnswer,
    AuditEntryAnswer,
    AuditLog,
    IssuedKeyAnswer,
    KeyAnswer,
    KeyList,
    KeyWish,
    SigningSecret,
    UsageReport,
    decode_key_wish,
    decode_plan_wish,
    parse_audit_moment,
    parse_month,
)
from penchant.wire.answers import (
    Addresses,
    AnonymousResult,
    BulkReceipt,
    ExportedImpression,
    ExportedInteraction,
    InteractionAnswer,
    InteractionKey,
    Problem,
    ProblemFault,
    Profile,
    ProspectList,
    ProspectScore,
    Receipt,
    RecommendationResult,
    RecommendedPiece,
    RecordedInteraction,
    Removal,
    RevisitPiece,
    RevisitResult,
    ServiceVersion,
    SourceStatus,
    TasteSegment,
    TasteSegments,
    UserExport,
)
from penchant.wire.attributes import decode_stored_extra, decode_stored_marks
from penchant.wire.catalogue_answers import (
    CategoryListing,
    CategorySize,
    KeywordCount,
    KeywordListing,
    MatchedPiece,
    MatchPlace,
    SearchAnswer,
)
from penchant.wire.drafts.answers import (
    DraftEffect,
    DraftEvent,
    DraftListing,
    DraftSummary,
    PlacementEffect,
    PublishedVersion,
    ReachEffect,
    encode_draft,
    format_revision,
    parse_revision,
)
from penchant.wire.drafts.edits import (
    DRAFT_NOTE,
    DRAFT_SCHEDULE,
    MAX_DRAFTS,
    MAX_EFFECT,
    DraftEdits,
    EffectWish,
    ExportedDraft,
    decode_edits,
    decode_effect_wish,
    decode_exported_draft,
    decode_stored_edits,
    encode_edits,
    encode_exported_draft,
)
from penchant.wire.explanations import (
    ExplainedPiece,
    ExplainedResult,
    KeywordShare,
    LeftPiece,
    Move,
    MovingRule,
    PartShare,
    PersonalWhy,
    PieceShare,
    Place,
    PreviewedList,
    RankResult,
    Reason,
    SettingsPreview,
    SimilarEntry,
    SimilarWhy,
    TermRest,
)
from penchant.wire.fields import BodyMember
from penchant.wire.filters import MAX_FILTER_BYTES, decode_boosts, decode_filter, read_boosts, read_filter
from penchant.wire.lines import (
    ChangeLine,
    ExportedPlacement,
    StatedPreferences,
    begin_line,
    decode_exported_placement,
    decode_stated_preferences,
    delete_line,
    encode_exported_placement,
    encode_stated_preferences,
    end_line,
    upsert_line,
)
from penchant.wire.list_ids import (
    MAX_LIST_NAMES_BYTES,
    ListCursor,
    decode_cursor,
    decode_list_id,
    encode_cursor,
    encode_list_id,
)
from penchant.wire.lists import decode_asked, decode_ids, decode_list, decode_rank_wish
from penchant.wire.pieces import (
    DEFAULT_LIMITS,
    PieceWords,
    Submission,
    WordsPreview,
    decode_draft,
    decode_submission,
    decode_words_preview,
)
from penchant.wire.placement_answers import (
    CardPart,
    CardWeek,
    DayCount,
    Doubt,
    Interval,
    ListSeed,
    ListShare,
    PageEntry,
    PageResult,
    PinnedCount,
    PlacedPiece,
    PlacedWhy,
    PlacementCard,
    PlacementHistory,
    PlacementListing,
    PlacementPreview,
    PlacementResult,
    PlacementResults,
    PlacementVersion,
    PositionCount,
    PreviewedPlacement,
    UnmetRule,
    VariantResult,
    VariantStop,
)
from penchant.wire.placements import (
    BASE,
    BUCKETS,
    MAX_LISTS,
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    MAX_ROWS,
    PLACEMENT,
    ListRules,
    ListUse,
    PageWish,
    PlacementPin,
    PlacementSpec,
    PlacementWish,
    check_filters,
    decode_page,
    decode_placement,
    decode_placement_preview,
    encode_placement,
    placement_problem,
    read_placement,
)
from penchant.wire.preferences import (
    PersonPreferences,
    StatedLikings,
    decode_likings,
    decode_preferences,
    encode_preferences,
    preferences_answer,
)
from penchant.wire.recording import decode_impressions, decode_interaction_lines, decode_interactions
from penchant.wire.samples import SAMPLES
from penchant.wire.schemas import components
from penchant.wire.settings import (
    BLEND,
    MAX_DAYS,
    SETTINGS,
    PreviewWish,
    decode_preview,
    decode_settings,
    decode_stored_settings,
    encode_settings,
    read_settings,
    setting_members,
    stored_retention_days,
    with_vocabulary,
)
from penchant.wire.signing import MAX_SIGNED_S, sign_user, signed_user
from penchant.wire.stored import (
    AS_SUBMITTED,
    PieceReading,
    body_with_words,
    decode_stored_card,
    decode_stored_filters,
    decode_stored_keywords,
    decode_stored_label,
    decode_stored_piece,
    decode_stored_texts,
    include_problem,
    is_public,
    piece_members,
    public_body,
)
from penchant.wire.syntax import encode, hundredths_of, number_of, pointer
from penchant.wire.text import id_problem, name_problem, source_problem
from penchant.wire.times import (
    parse_date,
    parse_interaction_timestamp,
    parse_sent_timestamp,
)
from penchant.wire.words import (
    decode_word_rule,
    decode_words,
    encode_word_rule,
    encode_word_setting,
    encode_words,
    read_vocabulary,
    word_rule_numbers,
    words_of_piece,
)
from penchant_engine.model import InteractionType
from penchant_engine.moments import format_timestamp, parse_timestamp

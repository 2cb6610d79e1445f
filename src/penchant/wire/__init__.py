"""The interface's JSON: what comes in is checked to the last member, what goes out is spelt here alone."""

from penchant.wire.administration import (
    MAX_KEY_DAYS,
    AccountUsageAnswer,
    AuditEntryAnswer,
    AuditLog,
    KeyAnswer,
    KeyList,
    KeyWish,
    NewKeyAnswer,
    UsageReport,
    decode_key_wish,
    parse_month,
)
from penchant.wire.answers import (
    BulkReceipt,
    InteractionAnswer,
    InteractionKey,
    Problem,
    ProblemFault,
    Profile,
    Receipt,
    RecommendationResult,
    RecommendedPiece,
    SourceStatus,
    UserExport,
)
from penchant.wire.encoding import encode
from penchant.wire.interactions import decode_interaction_lines, decode_interactions
from penchant.wire.lists import decode_ids, decode_list
from penchant.wire.pieces import Submission, decode_submission
from penchant.wire.schemas import components
from penchant.wire.settings import decode_settings, encode_settings
from penchant.wire.stored import decode_stored_piece
from penchant.wire.text import id_problem, name_problem, source_problem
from penchant.wire.times import format_timestamp, parse_date, parse_interaction_timestamp, parse_timestamp

__all__ = [
    "MAX_KEY_DAYS",
    "AccountUsageAnswer",
    "AuditEntryAnswer",
    "AuditLog",
    "BulkReceipt",
    "InteractionAnswer",
    "InteractionKey",
    "KeyAnswer",
    "KeyList",
    "KeyWish",
    "NewKeyAnswer",
    "Problem",
    "ProblemFault",
    "Profile",
    "Receipt",
    "RecommendationResult",
    "RecommendedPiece",
    "SourceStatus",
    "Submission",
    "UsageReport",
    "UserExport",
    "components",
    "decode_ids",
    "decode_interaction_lines",
    "decode_interactions",
    "decode_key_wish",
    "decode_list",
    "decode_settings",
    "decode_stored_piece",
    "decode_submission",
    "encode",
    "encode_settings",
    "format_timestamp",
    "id_problem",
    "name_problem",
    "parse_date",
    "parse_interaction_timestamp",
    "parse_month",
    "parse_timestamp",
    "source_problem",
]

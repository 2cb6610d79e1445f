"""The interface's JSON: what comes in is checked to the last member, what goes out is spelt here alone.

What other parts may use is imported here.
"""

from penchant.wire.lists import decode_list
from penchant.wire.pieces import decode_submission
from penchant.wire.preferences import StatedLikings, decode_preferences
from penchant.wire.settings import decode_settings, decode_stored_settings, encode_settings
from penchant.wire.signing import sign_user
from penchant.wire.syntax import encode
from penchant.wire.text import id_problem
from penchant_engine.moments import format_timestamp, parse_timestamp

__all__ = [
    "StatedLikings",
    "decode_list",
    "decode_preferences",
    "decode_settings",
    "decode_stored_settings",
    "decode_submission",
    "encode",
    "encode_settings",
    "format_timestamp",
    "id_problem",
    "parse_timestamp",
    "sign_user",
]

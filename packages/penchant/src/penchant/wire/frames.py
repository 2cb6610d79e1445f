"""Records of answers and bodies."""

import msgspec


class Record(msgspec.Struct, frozen=True):
    """An answer or a body, or a part of one; the Python client has its own of the same members."""

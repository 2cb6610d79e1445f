"""Keys of lists: they begin with the moment at which a list was made, so that they sort by it."""

_MOMENT_BYTES = 5
"""Seconds since 1970, the first bytes of a list's id (`penchant.wire.list_ids`)."""


def first_key(made_at: int) -> bytes:
    """Return what the keys of lists made at a moment (ms since 1970 UTC) or later are not less than."""
    return (max(0, made_at) // 1000).to_bytes(_MOMENT_BYTES, "big")


def made_at_of(list_key: bytes) -> int:
    """Return the moment of a list by its key, in ms since 1970 UTC, cut to a second."""
    return int.from_bytes(list_key[:_MOMENT_BYTES], "big") * 1000

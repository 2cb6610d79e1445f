"""JSON encoding: compact UTF-8, the same bytes for the same value."""

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Return a value as JSON; records by the names of the interface, integers of any size."""
    return _encoder.encode(value)

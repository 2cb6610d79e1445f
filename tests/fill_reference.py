"""Fill by its definition: what nothing speaks for, newest days first, then by a hash of the date and the id."""

import hashlib
from datetime import UTC, datetime

DAY_MS = 86_400_000


def fill_place(piece_id: str, available_from: int, moment: int) -> tuple[int, bytes, str]:
    """Return where a piece stands that is shown from one moment on, at another; both in ms since 1970 UTC."""
    date = datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d")
    hashed = hashlib.blake2b(f"{date}\0{piece_id}".encode(), digest_size=8).digest()
    return -(available_from // DAY_MS), hashed, piece_id

"""Pieces and requests for tests."""

from typing import Any


def piece(piece_id: str, *keywords: str, **members: Any) -> dict[str, Any]:
    """Return a piece with plain keywords in the category ``genre``."""
    return {"id": piece_id, "categories": {"genre": list(keywords)}, **members}


def weighted(piece_id: str, **keywords: int) -> dict[str, Any]:
    """Return a piece with weighted keywords in the category ``tag``."""
    return {"id": piece_id, "categories": {"tag": [{"key": key, "weight": weight} for key, weight in keywords.items()]}}

"""penchant_engine: exact similarity and recommendations that say why, as a library.

    catalogue = Catalogue.from_frame(films, id="id", categories=["genre", "tag"])
    catalogue.similar("dune", k=10)
    model = Recommender().fit(catalogue, Interactions.from_frame(clicks))
    model.recommend("kim", k=10, explain=True)

What is named here stays; all else is the inside.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penchant_engine.catalogue import Catalogue
    from penchant_engine.compiling import ready_kernels
    from penchant_engine.conditions import Condition, Field, Keywords
    from penchant_engine.errors import InvalidInput, PenchantError, TooFewPieces, UnknownPiece
    from penchant_engine.interactions import Interactions
    from penchant_engine.model import Blend, InteractionType, Preferences, Term
    from penchant_engine.recommender import Recommender
    from penchant_engine.records import ListedPiece, Obstacle, PieceList, PieceRank

__version__ = "0.2.0"
__all__ = [
    "Blend",
    "Catalogue",
    "Condition",
    "Field",
    "InteractionType",
    "Interactions",
    "InvalidInput",
    "Keywords",
    "ListedPiece",
    "Obstacle",
    "PenchantError",
    "PieceList",
    "PieceRank",
    "Preferences",
    "Recommender",
    "Term",
    "TooFewPieces",
    "UnknownPiece",
    "ready_kernels",
]
_HOMES = {
    "catalogue": ("Catalogue",),
    "compiling": ("ready_kernels",),
    "conditions": ("Condition", "Field", "Keywords"),
    "errors": ("InvalidInput", "PenchantError", "TooFewPieces", "UnknownPiece"),
    "interactions": ("Interactions",),
    "model": ("Blend", "InteractionType", "Preferences", "Term"),
    "recommender": ("Recommender",),
    "records": ("ListedPiece", "Obstacle", "PieceList", "PieceRank"),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: a program that needs an error alone is not to wait for numpy."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""penchant_engine: exact similarity and recommendations that say why, as a library."""

__version__ = "0.1.0"

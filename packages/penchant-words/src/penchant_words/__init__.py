"""Words of texts: keywords of pieces that describe themselves in sentences (interface, section 11)."""

__version__ = "0.2.0"

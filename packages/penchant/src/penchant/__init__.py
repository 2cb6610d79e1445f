"""penchant: a content recommendation service that people run themselves."""

__version__ = "0.2.0"

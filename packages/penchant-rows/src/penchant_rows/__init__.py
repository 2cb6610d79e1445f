"""Rows of a page: placements with rules, variants and results, what was seen of them, and drafts of changes."""

__version__ = "0.2.0"

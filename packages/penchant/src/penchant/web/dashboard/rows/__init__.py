"""Rows of pages at the desk: placements as forms, what came of them, proposals, and cards."""

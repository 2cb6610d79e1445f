"""Rows and drafts at the edge: what their operations alone need."""

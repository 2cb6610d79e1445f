"""Rows in the storage: their tables, and what they add to it."""

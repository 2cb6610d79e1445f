"""Rows: what their storage, JSON and use cases share."""

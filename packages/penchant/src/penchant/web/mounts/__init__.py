"""Mounted applications, which packages serve below ``/-/``: how they are found, and what they are given."""

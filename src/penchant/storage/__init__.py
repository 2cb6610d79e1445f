"""The truth: everything that must not be lost, in SQLite or PostgreSQL, behind one seam.

It stores and returns bytes and rows; it never scores, ranks or speaks HTTP, and never imports the index.
"""

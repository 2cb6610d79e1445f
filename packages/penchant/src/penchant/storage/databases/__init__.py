"""The two databases, SQLite and PostgreSQL: how each is opened, locked and written."""

"""The use cases: what a caller may do, decided here and carried out by storage, live views and the index."""

"""What keeps up: follows the feeds of storage and holds an immutable snapshot of each source that is asked for."""

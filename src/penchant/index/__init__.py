"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

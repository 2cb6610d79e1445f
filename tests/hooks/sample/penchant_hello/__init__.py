"""A package as a stranger would write it: it greets, and uses every hook."""

"""Commands of the lab, which the command line finds by their entry points."""

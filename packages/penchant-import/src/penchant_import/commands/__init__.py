"""Commands of imports, which the command line finds by their entry points, and that of this package alone."""

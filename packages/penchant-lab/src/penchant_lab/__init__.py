"""penchant_lab: held-out interactions, what methods make of the rest, settings that do better, and what it all costs.

Modules but for the commands open no file and no database: whoever calls them reads the history and shows the report.
"""

__version__ = "0.2.0"

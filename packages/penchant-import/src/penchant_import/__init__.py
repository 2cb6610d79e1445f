"""penchant_import: files and addresses of others, read as the lines of JSON that penchant keeps.

A module of `penchant_import.formats` turns rows into drafts and knows no service; everything else knows no format.
"""

__version__ = "0.2.0"

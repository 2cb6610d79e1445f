"""Catalogues and interactions of other systems, brought into a source, and a source brought out.

A format's module turns rows into drafts and knows no storage; everything else knows no format.
"""

from penchant.importing.checkpoint import CheckpointFile, checkpoint_name, fingerprint
from penchant.importing.choices import Choices, Column, parse_column, parse_type
from penchant.importing.drafts import Kind
from penchant.importing.exporting import Parts, export_lines
from penchant.importing.files import Files, InputFile, Position, gather, printable
from penchant.importing.formats import FORMATS
from penchant.importing.remote import RemoteTarget
from penchant.importing.report import Report, to_text
from penchant.importing.running import Import, Progress, newest_moment
from penchant.importing.targets import StoredTarget, Target

__all__ = [
    "FORMATS",
    "CheckpointFile",
    "Choices",
    "Column",
    "Files",
    "Import",
    "InputFile",
    "Kind",
    "Parts",
    "Position",
    "Progress",
    "RemoteTarget",
    "Report",
    "StoredTarget",
    "Target",
    "checkpoint_name",
    "export_lines",
    "fingerprint",
    "gather",
    "newest_moment",
    "parse_column",
    "parse_type",
    "printable",
    "to_text",
]

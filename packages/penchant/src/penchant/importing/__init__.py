"""Lines of JSON into a source and out of it; what reads files of other systems is the package penchant-import."""

from penchant.importing.checks import BodyChecks, join_vocabulary
from penchant.importing.exporting import export_lines
from penchant.importing.kinds import LineKind, export_parts
from penchant.importing.lines import LineImport, newest_moment, numbered_lines
from penchant.importing.targets import StoredTarget
from penchant.importing.verdict import MAX_STORED_PIECES, JudgedSource, count_figures, sampled_source

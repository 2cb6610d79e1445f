"""Catalogues and interactions of other systems, brought into a source, and a source brought out.

A module of `penchant.importing.formats` turns rows into drafts and knows no storage; everything else knows no format.
"""

from penchant.importing.checkpoint import CheckpointFile, checkpoint_name, fingerprint
from penchant.importing.drafts import DraftKind
from penchant.importing.exporting import ExportParts, export_lines
from penchant.importing.fetching import (
    FetchRules,
    LookUp,
    Validators,
    address_problem,
    fetch,
    look_up,
    shown_address,
)
from penchant.importing.files import Files, InputFile, amount, gather, printable, save_standard_input
from penchant.importing.formats import FORMATS, WINDOWED, unused_options
from penchant.importing.options import ImportOptions, KeywordColumn, parse_column, parse_type
from penchant.importing.remote import RemoteTarget
from penchant.importing.report import ImportReport, to_text
from penchant.importing.running import Import, ImportProgress, new_source_settings, newest_moment
from penchant.importing.targets import StoredTarget, Target
from penchant.importing.verdict import MAX_STORED_PIECES, ImportVerdict, JudgedSource, judge
from penchant.importing.vocabularies import VariantRow, VocabularyFile, put_in_force, read_vocabulary_file, write_table

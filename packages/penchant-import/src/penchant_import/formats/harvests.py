"""Harvests: Dublin Core as repositories answer with it to OAI-PMH (``oai_dc``), in one file or several.

https://www.openarchives.org/OAI/openarchivesprotocol.html has the protocol and this form of records.
"""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, UnreadableFile
from penchant_import.markup import child_text, local_name, read_items, text_of
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    LABEL,
    FieldTaker,
    IdRegister,
    PieceBuilder,
    extra,
    keywords,
    omit_field,
)
from penchant_import.report import Notes

_DC = "dc"
_RECORD, _ERROR, _TOKEN = "record", "error", "resumptionToken"
_ID = "identifier"
_DELETED_REASON = "deleted there; delete it here, too"


def _take_identifier(builder: PieceBuilder, field: str, value: str) -> None:
    if not value.startswith(("http://", "https://")):
        builder.omit(field)
    elif not builder.has_extra("link"):
        builder.keep(field, "link", value)


def _take_first(taker: FieldTaker, member: str) -> FieldTaker:
    """Return what takes the first of several texts; further ones are titles or descriptions in other languages."""

    def take(builder: PieceBuilder, field: str, value: str) -> None:
        if builder.has_extra(member):
            builder.omit(field, "one more, such as in another language; the first one is kept")
        else:
            taker(builder, field, value)

    return take


_FIELDS: Mapping[str, FieldTaker] = {
    "title": LABEL,
    "creator": keywords("author"),
    "contributor": keywords("contributor"),
    "subject": keywords("subject", ";"),
    "description": _take_first(DESCRIPTION, "description"),
    "publisher": keywords("publisher"),
    "date": _take_first(extra("date"), "date"),
    # Repositories write what a work is as an address of a vocabulary, too.
    "type": keywords("type", read=lambda value: value.rstrip("/").rpartition("/")[2]),
    "language": keywords("language"),
    "coverage": keywords("coverage"),
    "rights": _take_first(extra("rights"), "rights"),
    _ID: _take_identifier,
}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the records of answers, or of files of single records; deleted ones are left out.

    Raises:
        UnreadableFile: a server answered with an error.
    """
    known = IdRegister(notes)
    for file in files.select("xml"):
        for line, item in read_items(files, file, (_RECORD, _DC, _ERROR, _TOKEN)):
            name, where = local_name(item.tag), (file.name, line)
            if name == _ERROR:
                raise UnreadableFile(f"{file}: the server answered {item.get('code', '')}: {text_of(item)[:200]}")
            if name == _TOKEN:
                if text_of(item):
                    notes.note_further_pages(file.name, _TOKEN, line)
                continue
            parts = {local_name(element.tag): element for element in item.iter()}
            piece_id = _id_of(parts, options)
            draft = _record(parts, piece_id, where, options, notes)
            # All datestamps of a server are equally long, and in UTC.
            stamp = child_text(parts["header"], "datestamp") if "header" in parts else None
            if draft is not None and (draft.problem or known.accept(draft, piece_id, stamp)):
                yield draft


def _id_of(parts: Mapping[str, Element], options: ImportOptions) -> str:
    """Return the id of a record: that of its header, or the field that was chosen; nothing where there is none."""
    header, core = parts.get("header"), parts.get(_DC)
    if header is not None and options.id_column is None:
        return child_text(header, _ID)
    return "" if core is None else child_text(core, options.id_column or _ID)


def _record(
    parts: Mapping[str, Element], piece_id: str, where: tuple[str, int], options: ImportOptions, notes: Notes
) -> Draft | None:
    """Return the piece of a record, or its problem; ``None``, which is noted, for one that was deleted."""
    header, core = parts.get("header"), parts.get(_DC)
    if header is not None and header.get("status") == "deleted":
        notes.left_out(where[0], _RECORD, _DELETED_REASON, where[1])
        return None
    if core is None:
        match = next((local_name(entry.tag) for entry in parts.get("metadata", ())), "nothing")
        hint = "; --from marcxml reads it" if match == _RECORD else ""
        detail = f"Found metadata of <{match}>{hint}: records of metadataPrefix=oai_dc are accepted."
        return problem_draft(DraftKind.PIECE, where, "metadata", detail)
    field = options.id_column or _ID
    if not piece_id:
        return problem_draft(DraftKind.PIECE, where, field, f"Found a record without {field}.")
    builder = PieceBuilder(notes, *where, piece_id, id_field=field, options=options)
    for element in core:
        name, text = local_name(element.tag), text_of(element)
        if text and text != piece_id:
            _FIELDS.get(name, omit_field)(builder, name, text)
    return builder.draft()

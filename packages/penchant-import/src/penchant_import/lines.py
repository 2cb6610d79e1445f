"""Lines: what files hold as lines of JSON, as ``penchant import -`` takes them, one thing each."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from penchant_import.drafts import Draft, DraftKind
from penchant_import.files import Files, InputFile, UnreadableFile, gather
from penchant_import.formats import Reader, read_drafts
from penchant_import.options import ImportOptions
from penchant_import.report import Notes


def read_lines(
    name: str,
    files: Sequence[InputFile | Path],
    options: ImportOptions | None = None,
    *,
    notes: Notes | None = None,
    refuse: Callable[[Draft], None] | None = None,
    reader: Reader | None = None,
) -> Iterator[bytes]:
    """Yield what files of a format hold; ``notes`` tell what became of each field.

    ``refuse`` is given the draft of each row that becomes nothing, with its problem; a ``reader`` of its own may stand
    for that of the format.

    Raises:
        UnreadableFile: a file is not of the format, or without ``refuse`` a row becomes nothing.
    """
    inputs = [file for item in files for file in (gather([item]) if isinstance(item, Path) else [item])]
    for draft in read_drafts(name, Files(inputs), options or ImportOptions(), notes or Notes(), reader):
        if draft.problem is None:
            yield _line(draft)
        elif refuse is None:
            raise UnreadableFile(problem_text(draft))
        else:
            refuse(draft)


def problem_text(draft: Draft) -> str:
    """Return where a row is that becomes nothing, and why."""
    pointer, detail = draft.problem or ("", "")
    return f"{draft.file}, line {draft.line}: {pointer or '(row)'}: {detail}"


def _line(draft: Draft) -> bytes:
    body = draft.body.replace(b"\n", b" ")
    is_plain = draft.kind in {DraftKind.PIECE, DraftKind.INTERACTION}
    return body + b"\n" if is_plain else b'{"%s":%s}\n' % (draft.kind.value.encode(), body)

"""Vocabulary files: which keywords stand for others, and which count for nothing, as a table or a thesaurus in SKOS.

    from,to,pieces          a table, which `write_table` writes to look over
    genre/Noir,genre/noir,3 the first counts as the second
    genre/other,,12         it counts for nothing

Of a thesaurus (RDF/XML or Turtle) the other labels of a concept stand for its preferred one, within a category.
"""

import csv
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from penchant_engine.errors import Fault, InvalidInput, Refused
from penchant_import.files import Files, InputFile, UnreadableFile, printable
from penchant_import.hosting import ServiceHost, Settings, Target
from penchant_import.markup import read_items
from penchant_import.rules import MAX_ALIASES, encode

SOURCE, TARGET, PIECES = COLUMNS = ("from", "to", "pieces")
MAX_THESAURUS_BYTES = 64 * 1024 * 1024
"""The largest thesaurus: half a minute to a minute."""
EXAMPLES = 3
"""Labels that a remark names."""
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_PREFERRED = "prefLabel"
_LABELS = (_PREFERRED, "altLabel", "hiddenLabel")
_BEGINNING_BYTES = 1024
_TURTLE = re.compile(rb"@(?:prefix|base)\b|(?:prefix|base)\s", re.IGNORECASE)
_PLACE = re.compile(r"/(aliases|ignore)/(\d+)")


class VocabularyFile(NamedTuple):
    """What a file says of keywords, as the setting `vocabulary` has it, and remarks on what of it was left out."""

    words: Mapping[str, Any]
    remarks: Sequence[str] = ()


class VariantRow(NamedTuple):
    """A row of a table: a keyword, what it is to count as (empty for nothing), and how many pieces have it."""

    source: str
    target: str
    pieces: int


def write_table(rows: Iterable[VariantRow], file: TextIO) -> None:
    """Write rows as a table that `read_vocabulary_file` reads."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)


def read_vocabulary_file(
    host: ServiceHost, path: Path, *, category: str | None = None, languages: Sequence[str] = ()
) -> VocabularyFile:
    """Return what a file says of keywords; of a thesaurus as keywords of a category, in some languages.

    The first language that a concept has a preferred label in names it; without any, all labels count, and a concept
    may have one preferred label.

    Raises:
        Refused: the file cannot be read, the category or the package for SKOS is missing.
        InvalidInput: what it says contradicts itself, or is no keyword; every fault has its line, or its label.
    """
    file = InputFile(path)
    files = Files([file])
    form = _form_of(files, file)
    if form is None:
        if category or languages:
            raise Refused(f"{file} is a table, whose keywords have their category; a category is for SKOS.")
        return VocabularyFile(_checked(host, file, _read_table(files, file)))
    if not category:
        raise Refused(f"{file} is a thesaurus; say by --category which category its labels are keywords of.")
    thesaurus = _Thesaurus(category, languages)
    concepts = _read_labels(files, file, form)
    if not concepts:
        raise UnreadableFile(f"{file}: no concept with a label in SKOS was found.")
    for concept in concepts:
        thesaurus.add(concept)
    return VocabularyFile(_checked(host, file, thesaurus.statements()), thesaurus.remarks())


def apply_vocabulary(
    host: ServiceHost, target: Target | None, file: VocabularyFile, *, replaces: bool = False
) -> Settings:
    """Add a vocabulary to that of a source, or have it take its place; return the setting as it is then.

    Raises:
        InvalidInput: both together name more keywords than are accepted.
    """
    settings = {} if target is None else target.settings()
    changed = host.join_vocabulary(settings, file.words, replaces)
    if target is not None and changed.get("vocabulary") != settings.get("vocabulary"):
        target.put("settings", [encode(changed)])
    words: Settings = changed.get("vocabulary") or {}
    return words


def summarize_vocabulary(words: Mapping[str, Any]) -> str:
    """Return in words what a vocabulary says."""
    aliases = sum(len(alias["from"]) for alias in words.get("aliases", ()))
    return f"keywords that count as others: {aliases}, for nothing: {len(words.get('ignore', ()))}"


@dataclass(slots=True)
class _Statements:
    """What a file says, in the form of the setting, and where it says each of it."""

    aliases: list[dict[str, Any]] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    places: dict[tuple[str, int], str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def add(self, source: str, target: str, place: str) -> None:
        if target:
            self.places["aliases", len(self.aliases)] = place
            self.aliases.append({"from": [source], "to": target})
        else:
            self.places["ignore", len(self.ignore)] = place
            self.ignore.append(source)

    def __len__(self) -> int:
        return len(self.aliases) + len(self.ignore)


def _checked(host: ServiceHost, file: InputFile, statements: _Statements) -> Mapping[str, Any]:
    """Return the vocabulary that a file says, read as that of a request; faults have their places in the file."""
    faults = list(statements.faults)
    words = {"aliases": statements.aliases, "ignore": statements.ignore}
    try:
        host.join_vocabulary({}, words, True)
    except InvalidInput as error:
        for fault in error.faults:
            match = _PLACE.match(fault.pointer or "")
            place = statements.places[match[1], int(match[2])] if match else str(file)
            faults.append(Fault(pointer=place, detail=fault.detail))
    if faults:
        raise InvalidInput(f"Nothing of {file} is put in force; mend it first.", faults=faults)
    return words


def _form_of(files: Files, file: InputFile) -> str | None:
    """Return by which of its parsers RDF is read, by a file's beginning or name; ``None`` for a table."""
    with files.open(file) as stream:
        beginning = stream.read(_BEGINNING_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith((b"<?xml", b"<rdf:", b"<!")):
        return "xml"
    is_turtle = file.ending in {"ttl", "turtle", "nt"} or _TURTLE.match(beginning)
    return "turtle" if is_turtle else None


def _read_table(files: Files, file: InputFile) -> _Statements:
    files.require_columns(file, (SOURCE, TARGET))
    statements = _Statements()
    # As they are: keywords may differ in blanks.
    for row in files.rows(file, trim=False):
        place = f"{file}, line {row.line}"
        if row.problem is not None:
            statements.faults.append(Fault(pointer=place, detail=row.problem))
        # In a spreadsheet a row may have been cleared instead of deleted.
        elif row.values[SOURCE] or row.values[TARGET]:
            if len(statements) == MAX_ALIASES:
                raise UnreadableFile(f"{place}: a vocabulary has up to {MAX_ALIASES} keywords; leave some out.")
            statements.add(row.values[SOURCE], row.values[TARGET], place)
    return statements


def keyword_name(category: str, keyword: str) -> str:
    """Return how a vocabulary names a keyword."""
    return f"{category}/{keyword}"


class _ConceptLabel(NamedTuple):
    kind: str
    text: str
    language: str


def _read_labels(files: Files, file: InputFile, form: str) -> list[list[_ConceptLabel]]:
    """Return the labels of each concept of a thesaurus, in the order of their addresses; nothing else is kept of it."""
    try:
        import rdflib  # noqa: PLC0415  # an extra, for those who have a thesaurus
    except ImportError:
        raise Refused(f"{file} is RDF; install penchant-import[skos] to read it.") from None
    with files.open(file) as stream:
        text = stream.read(MAX_THESAURUS_BYTES + 1)
    if len(text) > MAX_THESAURUS_BYTES:
        raise UnreadableFile(f"{file}: a thesaurus of over {MAX_THESAURUS_BYTES} bytes.")
    if form == "xml":
        # Our own parser goes first: it follows no entity and nothing external, and tells faults with their lines.
        for _ in read_items(files, file, ()):
            pass
    kinds = {rdflib.URIRef(_SKOS + name): name for name in _LABELS}
    result: dict[str, list[_ConceptLabel]] = defaultdict(list)

    class LabelSink(rdflib.Graph):
        """Takes the labels out of what a parser finds, and keeps nothing."""

        def add(self, triple: Any) -> "LabelSink":
            concept, kind, label = triple
            if kind in kinds and isinstance(label, rdflib.Literal):
                words, language = " ".join(label.split()), (label.language or "").lower()
                result[str(concept)].append(_ConceptLabel(kinds[kind], words, language))
            return self

    # It would tell every date that is none, with a traceback.
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    try:
        LabelSink().parse(data=text, format=form, publicID="urn:thesaurus:")
    except Exception as error:  # noqa: BLE001  # that parser raises what it comes upon
        line = f", line {error.lines + 1}" if hasattr(error, "lines") else ""
        reason = printable(getattr(error, "_why", "") or str(error) or type(error).__name__)
        raise UnreadableFile(f"{file}{line}: not RDF: {reason[:200]}.") from None
    return [sorted(set(labels)) for _, labels in sorted(result.items())]


class _Thesaurus:
    """Gathers what the labels of concepts stand for."""

    def __init__(self, category: str, languages: Sequence[str]) -> None:
        self._category = category
        self._languages = [language.lower() for language in languages]
        self._targets: dict[str, set[str]] = defaultdict(set)
        self._preferred: set[str] = set()
        self._nameless = 0
        self._left: Mapping[str, list[str]] = {}

    def add(self, labels: Sequence[_ConceptLabel]) -> None:
        chosen = [item for item in labels if item.text and self._rank(item.language) is not None]
        preferred = [item for item in chosen if item.kind == _PREFERRED]
        if not preferred:
            self._nameless += 1
            return
        if not self._languages and len({item.text for item in preferred}) > 1:
            result = ", ".join(sorted({item.language or "none" for item in preferred}))
            raise Refused(f"The labels have several languages ({result}): choose by --language, the first one names.")
        target = min(preferred, key=lambda item: (self._rank(item.language), item.text)).text
        self._preferred.add(target)
        for item in chosen:
            if item.text != target:
                self._targets[item.text].add(target)

    def _rank(self, language: str) -> int | None:
        """Return the place of a language among those chosen, of `en-GB` that of `en`; ``None`` of one that is not."""
        if not (self._languages and language):
            return len(self._languages)
        names = {language, language.partition("-")[0]}
        return next((place for place, item in enumerate(self._languages) if item in names), None)

    def statements(self) -> _Statements:
        """Return what stands for what: labels of one concept only, which name no other."""
        statements = _Statements()
        left: dict[str, list[str]] = defaultdict(list)
        for label, targets in sorted(self._targets.items()):
            name = keyword_name(self._category, label)
            if label in self._preferred:
                left["name a concept of their own"].append(name)
            elif len(targets) > 1:
                left["are of several concepts"].append(name)
            else:
                statements.add(name, keyword_name(self._category, min(targets)), printable(name))
        self._left = left
        return statements

    def remarks(self) -> list[str]:
        """Return what was left out, each kind with its count and the first examples."""
        lines = [
            f"Labels left out that {why}: {len(names)}, such as {', '.join(map(printable, names[:EXAMPLES]))}"
            for why, names in self._left.items()
        ]
        if self._nameless:
            lines.append(f"Concepts left out without a preferred label in these languages: {self._nameless}")
        return lines

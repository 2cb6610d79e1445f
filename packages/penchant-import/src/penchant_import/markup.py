"""Markup: the items of an XML file one by one, with their lines; entities and external parts are never followed."""

import codecs
import contextlib
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.entities import name2codepoint
from xml.etree.ElementTree import Element, ParseError, TreeBuilder  # what the safe parser builds

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from penchant_import.files import ENCODING_HINT, MAX_LINE_BYTES, Files, InputFile, UnreadableFile

_CHUNK_BYTES = 64 * 1024
MAX_ITEM_LETTERS = MAX_LINE_BYTES
"""Letters of an item with its attributes: what a line may have, too."""
MAX_DEPTH = 1_000
"""Elements within each other in an item."""
_CHARACTERS = {name: chr(code) for name, code in name2codepoint.items()}
"""What names of HTML stand for, such as ``nbsp``."""
_DECLARED = re.compile(rb"<\?xml[^<>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")
_WIDE = ("utf-16", "utf16", "utf-32", "utf32", "ucs")
_PARSED = frozenset({"utf-8", "utf-16", "ascii", "iso8859-1"})
"""Encodings that the parser knows itself."""
_ELEMENT_LETTERS = 100
"""What an element counts for beside its letters: it takes memory even if it is empty."""


def read_items(files: Files, file: InputFile, tags: Sequence[str]) -> Iterator[tuple[int, Element]]:
    """Yield the elements of these names, in any namespace, with the lines where they begin; one in memory at a time.

    Raises:
        UnreadableFile: the file is no XML, or holds entities.
    """
    collector = _ItemCollector(frozenset(tags))
    start = _FirstChunk(b"", None)
    try:
        with files.open(file) as stream:
            start = _first_chunk(file, stream.read(_CHUNK_BYTES), files.encoding)
            parser = DefusedXMLParser(target=collector, encoding=start.encoding)
            # Where a document type is named, as in television guides, that of HTML is often meant: single characters.
            parser.entity.update(_CHARACTERS)
            # Set afterwards: the parser needs its collector to be made, and alone knows the line.
            collector.line = lambda: int(parser.parser.CurrentLineNumber) + start.blank_lines
            fed, chunk = 0, start.content
            while chunk:
                chunk = start.as_parsed(chunk)
                try:
                    parser.feed(chunk)
                except ParseError:
                    # What ended before the fault is whole.
                    yield from collector.take()
                    raise
                fed += len(chunk)
                # What is not yet a whole tag waits in the parser.
                if collector.is_too_large or fed - parser.parser.CurrentByteIndex > MAX_ITEM_LETTERS:
                    raise UnreadableFile(
                        f"{file}, line {collector.line()}: an item of over {MAX_ITEM_LETTERS} letters, or of elements "
                        f"in more than {MAX_DEPTH} others."
                    )
                yield from collector.take()
                chunk = stream.read(_CHUNK_BYTES)
            parser.close()
            yield from collector.take()
    except ParseError as error:
        line, column = error.position
        reason = str(error).partition(": line")[0]
        line += start.blank_lines
        if start.is_utf_8:
            files.require_utf_8(file, line)
        raise UnreadableFile(f"{file}, line {line}, column {column + 1}: not XML: {reason}.") from None
    except UnicodeDecodeError as error:
        where = f"{file}, line {collector.line()} or after"
        raise UnreadableFile(f"{where}: not {error.encoding.upper()} ({error.reason}). {ENCODING_HINT}") from None
    except DefusedXmlException as error:
        line = collector.line()
        raise UnreadableFile(f"{file}, line {line}: entities and external parts are not read ({error}).") from None


class _FirstChunk:
    """The beginning of a file of XML, without blanks before its declaration, and how the file is to be parsed.

    A file that begins with the letters of its declaration, a byte each, is not UTF-16, whatever it declares. What the
    parser does not know, such as Shift JIS, it is given as UTF-8.
    """

    def __init__(self, content: bytes, stated: str | None) -> None:
        text = content.lstrip(b" \t\r\n")
        self.content = text if text.startswith(b"<?xml") else content
        self.blank_lines = content[: len(content) - len(self.content)].count(b"\n")
        declared = _DECLARED.match(text.removeprefix(codecs.BOM_UTF8))
        name = stated or (declared[1].decode().lower() if declared else "utf-8")
        name = "utf-8" if stated is None and name.startswith(_WIDE) else _text_encoding(name)
        self.is_utf_8 = name == "utf-8"
        self.encoding = name if stated or declared else None
        self._decoder: codecs.IncrementalDecoder | None = None
        if name not in _PARSED:
            self.encoding, self._decoder = "utf-8", codecs.getincrementaldecoder(name)()

    def as_parsed(self, chunk: bytes) -> bytes:
        """Return a part of the file as the parser takes it; raises `UnicodeDecodeError` where it is not so written."""
        return chunk if self._decoder is None else self._decoder.decode(chunk).encode()


def _text_encoding(name: str) -> str:
    """Return the name by which an encoding of texts is known.

    Raises:
        LookupError: it is none: not one of bytes, which could unpack to any size, nor one of names and escapes.
    """
    result = codecs.lookup(name).name
    if result in _NO_FILES:
        raise LookupError(f"unknown encoding: {name}")
    "".encode(result)
    return result


_NO_FILES = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})


def _first_chunk(file: InputFile, content: bytes, stated: str | None) -> _FirstChunk:
    try:
        return _FirstChunk(content, stated)
    except LookupError as error:
        raise UnreadableFile(f"{file}, line 1: {error}. {ENCODING_HINT}") from None


MAX_NAMES = 1_000
"""Names of elements that an outline tells apart."""
MAX_OUTLINED_BYTES = 16 * 1024 * 1024
"""How much of a file an outline is made of: its beginning."""


@dataclass(slots=True)
class Outline:
    """What a file of XML has: its root, how often each element, by its name, and the names of what stands in it."""

    root: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    children: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __str__(self) -> str:
        """Return in words what is in it: the root, and the most frequent element that holds others."""
        holders = [(count, name) for name, count in self.counts.items() if self.children.get(name)]
        count, name = max(holders, default=(0, ""))
        within = f" with {count} <{name}>" if count else ""
        return f"a <{self.root}>{within}"


def outline(files: Files, file: InputFile) -> Outline:
    """Return the outline of a file's beginning; of one that is no XML, of what comes before that shows."""
    reader = _OutlineReader()
    with contextlib.suppress(ParseError, DefusedXmlException, UnicodeDecodeError), files.open(file) as stream:
        start = _first_chunk(file, stream.read(_CHUNK_BYTES), files.encoding)
        parser = DefusedXMLParser(target=reader, encoding=start.encoding)
        chunk = start.content
        for _ in range(MAX_OUTLINED_BYTES // _CHUNK_BYTES):
            if not chunk or reader.is_too_deep:
                break
            parser.feed(start.as_parsed(chunk))
            chunk = stream.read(_CHUNK_BYTES)
    return reader.outline


class _OutlineReader:
    """Counts the elements that a parser meets."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._open: list[str] = []

    @property
    def is_too_deep(self) -> bool:
        return len(self._open) > MAX_DEPTH

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        name, result = local_name(tag), self.outline
        if not self._open:
            result.root = name
        elif name in result.counts or len(result.counts) < MAX_NAMES:
            result.counts[name] += 1
            result.children[self._open[-1]].add(name)
        self._open.append(name)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def close(self) -> None:
        """End the document; the parser requires this method."""


@functools.lru_cache(MAX_NAMES)
def local_name(tag: str) -> str:
    """Return an element's name without its namespace."""
    return tag.rpartition("}")[2]


def text_of(element: Element) -> str:
    """Return the text of an element and of all inside it, trimmed."""
    return "".join(element.itertext()).strip()


def child_text(element: Element, *names: str) -> str:
    """Return the first text that is not empty of the elements directly in one, by the first of these names."""
    texts = (text_of(child) for name in names for child in element if local_name(child.tag) == name)
    return next((text for text in texts if text), "")


class _ItemCollector:
    """Builds the items that a parser meets, and forgets everything around them."""

    def __init__(self, tags: frozenset[str]) -> None:
        self._tags = tags
        self._builder: TreeBuilder | None = None
        self._depth = 0
        self._line = 0
        self._letters = 0
        self.is_too_large = False
        self._items: list[tuple[int, Element]] = []
        self.line: Callable[[], int] = lambda: 0

    def take(self) -> list[tuple[int, Element]]:
        result, self._items = self._items, []
        return result

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._builder is None:
            if local_name(tag) not in self._tags:
                return
            self._builder, self._line, self._letters = TreeBuilder(), self.line(), 0
        # Counts the open elements of an item, so that one of the same name inside does not end it.
        self._depth += 1
        self._count(_ELEMENT_LETTERS + len(tag) + sum(len(name) + len(text) for name, text in attributes.items()))
        if not self.is_too_large:
            self._builder.start(tag, attributes)

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._count(len(text))
            if not self.is_too_large:
                self._builder.data(text)

    def end(self, tag: str) -> None:
        if self._builder is None or self.is_too_large:
            return
        self._builder.end(tag)
        self._depth -= 1
        if not self._depth:
            self._items.append((self._line, self._builder.close()))
            self._builder = None

    def _count(self, letters: int) -> None:
        """Count what an item holds; what is too large is not built any further, and refused at the end of the part."""
        self._letters += letters
        self.is_too_large = self.is_too_large or self._letters > MAX_ITEM_LETTERS or self._depth > MAX_DEPTH

    def close(self) -> None:
        """End the document; the parser requires this method."""

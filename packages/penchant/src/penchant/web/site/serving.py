"""Pages of the documents as they are sent: made once in a thread, kept, with an ETag and a strict policy.

Search of the documents: every section is an entry, and each word searched must begin a word of it.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from penchant import __version__
from penchant.errors import UnknownRoute
from penchant.web.operations import body_tag
from penchant.web.site.library import API, GUIDE, HOME, KINDS, SEARCH, Document, Library
from penchant.web.site.reference import TAG_TITLES, Json, OperationSection, described
from penchant.web.site.rendering import RenderedPage, code_block, plain_file, rendered

MAX_QUERY_CHARACTERS = 200
"""More of a query is not looked at."""
MAX_WORDS = 8
MIN_LETTERS = 2
MAX_FOUND = 30
_EXCERPT_CHARACTERS = 160
_IN_PAGE_TITLE, _IN_HEADING, _IN_TEXT = 20, 10, 1
"""What a word counts by where it stands."""
_MOST_IN_TEXT = 5
"""A word that is often in a long text counts no more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """A section that can be found."""

    page: str
    title: str
    address: str
    text: str
    lower: tuple[str, str, str] = field(init=False, repr=False)
    """Page, title and text in lower case, in which words are looked for."""

    def __post_init__(self) -> None:
        """Make lower case once, not for each search."""
        object.__setattr__(self, "lower", (self.page.lower(), self.title.lower(), self.text.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A section that was found; ``excerpt`` is HTML, with the words marked."""

    entry: SearchEntry
    excerpt: Markup


def words_of(query: str) -> list[str]:
    """Return the words that are looked for, lower case; single letters are none, since they stand everywhere."""
    words = re.findall(r"[\w\-./{}]+", query[:MAX_QUERY_CHARACTERS].lower())
    return [word for word in words if len(word) >= MIN_LETTERS][:MAX_WORDS]


def search(entries: Iterable[SearchEntry], words: Sequence[str]) -> list[SearchHit]:
    """Return the sections that have all words, best first, equally good ones in the order of the documents."""
    if not words:
        return []
    scored = [(score, entry) for entry in entries if (score := _score(entry, words))]
    # A stable sort: equally good ones keep the order of the documents.
    scored.sort(key=lambda pair: -pair[0])
    # Escaped: what somebody searches for is text, never a pattern.
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    return [SearchHit(entry=entry, excerpt=_excerpt(entry.text, patterns)) for _, entry in scored[:MAX_FOUND]]


def _score(entry: SearchEntry, words: Sequence[str]) -> int:
    """Return how well an entry fits; 0 where a word is missing."""
    page, title, text = entry.lower
    total = 0
    for word in words:
        score = _IN_TEXT * _count(word, text, _MOST_IN_TEXT)
        score += _IN_HEADING * _count(word, title, 1) + _IN_PAGE_TITLE * _count(word, page, 1)
        if not score:
            return 0
        total += score
    return total


def _count(word: str, text: str, most: int) -> int:
    """Return how many words of a text begin with a word, up to ``most``; a pattern takes twenty times as long."""
    count, place = 0, text.find(word)
    while place >= 0 and count < most:
        before = text[place - 1 : place]
        count += not (before.isalnum() or before == "_")
        place = text.find(word, place + len(word))
    return count


def _excerpt(text: str, patterns: Sequence[re.Pattern[str]]) -> Markup:
    """Return the text around the first word that is in it, escaped, every word marked."""
    places = [match.start() for pattern in patterns if (match := pattern.search(text))]
    begin = max(0, min(places, default=0) - _EXCERPT_CHARACTERS // 3)
    # From the beginning of a word; the third before the hit shows what it is about.
    begin = text.find(" ", begin) + 1 if begin else 0
    cut = text[begin : begin + _EXCERPT_CHARACTERS]
    if begin + len(cut) < len(text):
        cut = cut.rpartition(" ")[0] or cut
    either = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    html = Markup("… ") if begin else Markup()
    end = 0
    for match in either.finditer(cut):
        # Escaped piece by piece, between marks that are ours.
        html += escape(cut[end : match.start()]) + Markup("<mark>") + escape(match.group()) + Markup("</mark>")
        end = match.end()
    return html + escape(cut[end:]) + (Markup(" …") if begin + len(cut) < len(text) else Markup())


_HERE = Path(__file__).parent
_LINK = re.compile(r"\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
"""A link of Markdown to a file of the project."""
_GUIDE_TITLE = """# penchant

> A content recommendation service that you run yourself: similar pieces, recommendations for people, both exact, with
> reasons, over HTTP."""
_HTML = "text/html; charset=utf-8"
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Nothing but our own style sheet and icon is loaded, no script runs. A cache asks each time, and gets a 304."""
_FILES = {"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A page as it is sent."""

    body: bytes
    media_type: str = _HTML
    etag: str
    headers: Mapping[str, str] = field(default_factory=lambda: HEADERS)


class DocumentSite:
    """All pages of one service, each rendered once."""

    def __init__(self, openapi: Json, base_path: str, library: Library | None = None) -> None:
        """Make the site of an OpenAPI document."""
        self._openapi = openapi
        self._base = base_path
        self.library = library or Library()
        # Reentrant: making a page makes its rendering, its style and the operations, each kept under the same lock.
        self._lock = threading.RLock()
        self._kept: dict[str, Any] = {}
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def page(self, name: str) -> DocumentPage:
        """Return a page by its name in addresses.

        Raises:
            UnknownRoute: there is none.
        """
        make = self._made_markdown if name == GUIDE or name.endswith(".md") else self._made
        page: DocumentPage = self._once(f"page {name}", lambda: make(name))
        return page

    def has(self, name: str) -> bool:
        """Return whether a page is made already, so that to give it costs nothing."""
        return f"page {name}" in self._kept

    def found(self, query: str) -> DocumentPage:
        """Return the page with the hits for a query; it is not kept."""
        words = words_of(query)
        hits = search(self.prepare_search(), words)
        return self._filled("search.html", title="Search", current=SEARCH, query=query, hits=hits, words=words)

    @property
    def is_searchable(self) -> bool:
        """Whether what a search looks through is made already."""
        return "entries" in self._kept

    def prepare_search(self) -> Sequence[SearchEntry]:
        """Return what a search looks through, which the first time renders all documents: some seconds."""
        entries: Sequence[SearchEntry] = self._once("entries", self._entries)
        return entries

    def names(self) -> list[str]:
        """Return the names of all pages, in the order of the navigation."""
        tags = [f"{API}-{tag}" for tag in self._by_tag()]
        return [HOME, SEARCH, *self.library.documents, API, *tags]

    def address(self, name: str) -> str:
        """Return the address of a page."""
        return f"{self._base}/-/docs/{name}" if name else f"{self._base}/-/docs"

    def rendering(self, document: Document) -> RenderedPage:
        """Return a document's page without what stands around it."""

        def resolve(target: str) -> str | None:
            slug = self.library.slug_of(target, seen_from=document.path)
            return None if slug is None else self.address(slug)

        def make() -> RenderedPage:
            if document.is_markdown:
                return rendered(document.text, resolve)
            return plain_file(document.title, document.text)

        result: RenderedPage = self._once(f"rendering {document.slug}", make)
        return result

    def operations(self) -> list[OperationSection]:
        """Return the operations of the reference."""
        make = lambda: described(self._openapi, self.library.interface)  # noqa: E731  # one line, once
        result: list[OperationSection] = self._once("operations", make)
        return result

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what is kept under a name, made now if nothing is; one thread makes at a time."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]

    def _made(self, name: str) -> DocumentPage:
        """Make a page by its name: a file, a picture, the first page, the reference, a tag of it, or a document.

        Raises:
            UnknownRoute: there is none.
        """
        if name in _FILES:
            return _page((_HERE / name).read_bytes(), media_type=_FILES[name])
        if name in self.library.pictures:
            return _page(self.library.pictures[name].read_bytes(), media_type="image/webp")
        if name == HOME:
            return self._filled("home.html", title=f"penchant {__version__}", current=HOME, kinds=self._shelves())
        if name == API:
            return self._filled("api.html", title="API reference", current=API, tags=self._by_tag())
        tag = name.removeprefix(f"{API}-")
        if tag in self._by_tag() and tag != name:
            operations = self._by_tag()[tag]
            return self._filled("operations.html", title=_tag_title(tag), current=name, operations=operations)
        document = self.library.documents.get(name)
        if document is None:
            raise UnknownRoute("The documents have no page of this name; /-/docs lists them all.")
        # Kept apart from the page, since the search wants its sections.
        page = self.rendering(document)
        return self._filled("document.html", title=document.title, current=name, page=page)

    def _made_markdown(self, name: str) -> DocumentPage:
        text = self._guide() if name == GUIDE else self._as_written(name.removesuffix(".md"))
        return _page(text.encode(), media_type="text/markdown; charset=utf-8")

    def _as_written(self, name: str) -> str:
        """Return a document in Markdown, with links that lead to others in Markdown.

        Raises:
            UnknownRoute: there is none.
        """
        document = self.library.documents.get(name)
        if document is None or not document.is_markdown:
            raise UnknownRoute(f"No document in Markdown has this name; {self._base}/{GUIDE} lists them all.")

        def led(link: re.Match[str]) -> str:
            slug = self.library.slug_of(link["target"], seen_from=document.path)
            if slug is None:
                return link.group()
            leads_to = self.library.documents.get(slug)
            suffix = ".md" if leads_to is not None and leads_to.is_markdown else ""
            return f"]({self.address(slug)}{suffix}{link['anchor'] or ''})"

        return _LINK.sub(led, document.text)

    def _guide(self) -> str:
        """Return the list of all documents for language models, in the form of llmstxt.org."""
        lines = [_GUIDE_TITLE]
        for kind, documents in self._shelves().items():
            lines += [f"\n## {kind}\n"]
            lines += [f"- [{each.title}]({self.address(each.slug)}.md): {each.summary}" for each in documents]
        lines += ["\n## Description of the interface\n", f"- [OpenAPI]({self._base}/-/openapi.json): every operation"]
        return "\n".join([*lines, ""])

    def _filled(self, template: str, **values: Any) -> DocumentPage:
        # The sheet's tag is in its address, so that a page of a new release never meets an old sheet.
        style = self._once("style", lambda: _page((_HERE / "style.css").read_bytes(), media_type=_FILES["style.css"]))
        text = self._templates.get_template(template).render(
            address=self.address,
            base=self._base,
            code_block=code_block,
            shelves=self._shelves(),
            style=f"{self.address('style.css')}?v={style.etag}",
            tag_title=_tag_title,
            tags_of_reference=list(self._by_tag()),
            version=__version__,
            **{"query": "", **values},
        )
        return _page(text.encode())

    def _shelves(self) -> Mapping[str, Sequence[Document]]:
        return {kind: self.library.of_kind(kind) for kind in KINDS}

    def _by_tag(self) -> Mapping[str, list[OperationSection]]:
        by_tag: dict[str, list[OperationSection]] = {tag: [] for tag in TAG_TITLES}
        for operation in self.operations():
            by_tag.setdefault(operation.tag, []).append(operation)
        return {tag: operations for tag, operations in by_tag.items() if operations}

    def _entries(self) -> list[SearchEntry]:
        """Return what can be found: every section of the documents, then every operation of the reference."""
        entries = [
            SearchEntry(
                page=document.title,
                title=section.title,
                address=self.address(document.slug) + (f"#{section.anchor}" if section.level > 1 else ""),
                text=section.text,
            )
            for document in self.library.documents.values()
            for section in self.rendering(document).sections
        ]
        entries += [
            SearchEntry(
                page="API reference",
                title=f"{each.method} {each.path}",
                address=f"{self.address(f'{API}-{each.tag}')}#{each.name}",
                text=" ".join([each.summary.striptags(), *(member.name for member in each.parameters)]),
            )
            for each in self.operations()
        ]
        return entries


def _tag_title(tag: str) -> str:
    return TAG_TITLES.get(tag, tag.capitalize())


def _page(body: bytes, *, media_type: str = _HTML) -> DocumentPage:
    return DocumentPage(body=body, media_type=media_type, etag=body_tag(body))

"""Markdown as pages: headings get anchors, links their addresses, code its colours; HTML stays text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_FORMATTER = HtmlFormatter(nowrap=True)
_LANGUAGES = {
    "text": "text",
    "": "text",
    "service": "ini",
    "conf": "nginx",
    "yml": "yaml",
    "cfg": "text",
    "csv": "text",
}
"""What is not coloured under its own name."""
_UNCOLOURED = re.compile(r'<span class="[wpo]">([^<]*)</span>')
"""Blanks and brackets need no colour: a third of a page."""
_VALUES = re.compile(r'<span class="(?:s2|mi|mf|kc)">([^<]*)</span>')
"""Nor do values of JSON, beside its names: a tenth of a page of examples."""
_FILE = re.compile(r"(?:\bfile=| )([\w-]+\.\w+)(?: |$)")

Resolve = Callable[[str], str | None]
"""Gives the address that a relative link leads to, or ``None`` for nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSection:
    """A heading with the plain text below it, up to the next heading; ``level`` is 1 for the page's title."""

    level: int
    title: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page's HTML, its sections in order, and the links that lead nowhere (a test holds that there are none)."""

    html: str
    sections: Sequence[DocumentSection]
    broken: Sequence[str]


@dataclass(slots=True, kw_only=True)
class _RenderState:
    """The state of a page while it is rendered: how its links are resolved, and which led nowhere."""

    resolve: Resolve
    broken: list[str] = field(default_factory=list)


def rendered(text: str, resolve: Resolve) -> RenderedPage:
    """Return a Markdown text as a page."""
    page = _RenderState(resolve=resolve)
    tokens = _MARKDOWN.parse(text)
    # Before rendering: it gives headings the anchors that the HTML then has.
    sections = _anchored(tokens)
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {"page": page})
    return RenderedPage(html=html, sections=sections, broken=page.broken)


def coloured(code: str, language: str) -> str:
    """Return code as HTML with classes for its colours; of an unknown language as plain text."""
    if language == "http":
        return _coloured_request(code)
    try:
        lexer = get_lexer_by_name(_LANGUAGES.get(language, language), stripnl=False)
    except ClassNotFound:
        return escape(code)
    html = _UNCOLOURED.sub(r"\1", highlight(code, lexer, _FORMATTER))
    return _VALUES.sub(r"\1", html) if language == "json" else html


def _coloured_request(request: str) -> str:
    """Return a request with its method and its body coloured; the body is JSON, as all are here."""
    head, blank, body = request.partition("\n\n")
    method, space, rest = head.partition(" ")
    return (
        f'<span class="k">{escape(method)}</span>{space}{escape(rest)}{blank}{coloured(body, "json") if body else ""}'
    )


def code_block(code: str, language: str) -> str:
    """Return a block of code, which the keyboard can scroll."""
    return f'<pre tabindex="0"><code>{coloured(code, language)}</code></pre>\n'


def plain_file(name: str, text: str) -> RenderedPage:
    """Return the page of a file that is no Markdown."""
    html = f"<h1>{escape(name)}</h1>\n{code_block(text, name.rpartition('.')[2])}"
    return RenderedPage(html=html, sections=[DocumentSection(level=1, title=name, anchor="", text=text)], broken=[])


def anchor_of(title: str, taken: Mapping[str, Any]) -> str:
    """Return a heading's anchor: the same as on the usual code hosts, so that links work there as well."""
    plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    number = 0
    anchor = plain
    # Headings of one name are told apart by a number, from the second one on.
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    return anchor


def _anchored(tokens: Sequence[Token]) -> list[DocumentSection]:
    """Give every heading its anchor, and return the sections."""
    headings: dict[str, tuple[int, str]] = {}
    texts: dict[str, list[str]] = {}
    anchor = ""
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            # The parser puts a heading's text between its opening and closing tokens.
            title = _plain(tokens[place + 1])
            anchor = anchor_of(title, headings)
            token.attrSet("id", anchor)
            headings[anchor] = (int(token.tag[1]), title)
            texts[anchor] = []
        elif token.type == "inline" and anchor and tokens[place - 1].type != "heading_open":
            texts[anchor].append(_plain(token))
        elif token.type == "fence" and anchor:
            texts[anchor].append(token.content)
    return [
        DocumentSection(level=level, title=title, anchor=anchor, text=" ".join(" ".join(texts[anchor]).split()))
        for anchor, (level, title) in headings.items()
    ]


def _plain(inline: Token) -> str:
    return "".join(" " if each.type == "softbreak" else each.content for each in inline.children or ())


def _fence(_renderer: Any, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    info = tokens[place].info.strip()
    file = _FILE.search(info)
    caption = f'<p class="file"><code>{escape(file.group(1))}</code></p>\n' if file else ""
    return caption + code_block(tokens[place].content, info.partition(" ")[0])


def _heading_close(_renderer: Any, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    tag = tokens[place].tag
    opening = next(token for token in reversed(tokens[:place]) if token.type == "heading_open")
    if tag == "h1":
        return "</h1>\n"
    return f' <a class="anchor" href="#{opening.attrs["id"]}" aria-label="Permalink">#</a></{tag}>\n'


def _link_open(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    page: _RenderState = env["page"]
    token = tokens[place]
    target = str(token.attrs["href"])
    # A scheme or an anchor of the same page is left as it is.
    if not re.match(r"[a-z]+:|#", target):
        path, mark, anchor = target.partition("#")
        address = page.resolve(path)
        if address is None:
            page.broken.append(target)
            token.attrs.pop("href")
        else:
            token.attrSet("href", address + mark + anchor)
    return str(renderer.renderToken(tokens, place, options, env))


def _image(_renderer: Any, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    page: _RenderState = env["page"]
    token = tokens[place]
    target = str(token.attrs["src"])
    address = page.resolve(target)
    if address is None:
        page.broken.append(target)
        return escape(token.content)
    return f'<img src="{escape(address)}" alt="{escape(token.content)}" loading="lazy">'


def _table_open(*_given: Any) -> str:
    return '<div class="table" tabindex="0"><table>\n'


def _table_close(*_given: Any) -> str:
    return "</table></div>\n"


def _markdown() -> MarkdownIt:
    # HTML in a document is shown as text: that a page's policy would stop scripts is no reason to let it in.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    for name, rule in (
        ("fence", _fence),
        ("heading_close", _heading_close),
        ("link_open", _link_open),
        ("image", _image),
        ("table_open", _table_open),
        ("table_close", _table_close),
    ):
        markdown.add_render_rule(name, rule)
    return markdown


_MARKDOWN = _markdown()

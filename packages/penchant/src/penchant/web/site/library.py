"""Library of the documents: which there are, of which kind, and under which name each is served.

In a wheel they lie in ``penchant/documents``, in a checkout where they are written. A document that the shelf below
does not name is a how-to page, so that a new one is never left out.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penchant_engine.computed import computed

PACKAGED = Path(__file__).parents[2] / "documents"
CHECKOUT = Path(__file__).parents[6]
HOME, API, SEARCH, GUIDE = "", "api", "search", "llms.txt"
"""The names of the pages that are no documents; the reference has a page for each tag: ``api-content``."""
INTERFACE = (
    "docs/reference/interface.md",
    "docs/reference/interface-content.md",
    "docs/reference/interface-similar.md",
    "docs/reference/interface-people.md",
    "docs/reference/interface-recommendations.md",
    "docs/reference/interface-placements.md",
    "docs/reference/interface-drafts.md",
    "docs/reference/interface-source.md",
    "docs/reference/interface-administration.md",
)
"""The pages that describe the operations, a page a topic; their examples are run in this order."""
KINDS = ("Start", "How to", "Reference", "Explanation")
_SHELF: Mapping[str, Sequence[str]] = {
    "Start": ("docs/tutorial/quickstart.md",),
    "How to": (
        "docs/how-to/import.md",
        "docs/reference/import-formats.md",
        "docs/lab/import-trials.md",
        "docs/how-to/pull.md",
        "docs/how-to/weights.md",
        "docs/how-to/filters.md",
        "docs/how-to/placements.md",
        "docs/how-to/drafts.md",
        "docs/how-to/cold-start.md",
        "docs/how-to/tuning.md",
        "docs/how-to/library.md",
        "docs/how-to/client.md",
        "docs/how-to/dashboard.md",
        "docs/how-to/editors.md",
        "docs/how-to/keys.md",
        "docs/how-to/browser.md",
        "docs/how-to/agents.md",
        "docs/how-to/privacy.md",
        "docs/how-to/operations.md",
        "docs/how-to/deploying.md",
        "docs/how-to/scaling.md",
    ),
    "Reference": (
        *INTERFACE,
        "docs/reference/choices.md",
        "docs/reference/settings.md",
        "docs/reference/limits.md",
        "docs/reference/metrics.md",
        "docs/reference/glossary.md",
        "docs/reference/releasing.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ),
    "Explanation": (
        "docs/how-to/experiments.md",
        "docs/explanation/scoring.md",
        "docs/how-to/words.md",
        "docs/explanation/explanations.md",
        "ARCHITECTURE.md",
        "docs/lab/quality.md",
        "docs/lab/simulation.md",
        "docs/lab/library-peers.md",
        "docs/lab/performance.md",
        "docs/lab/faults.md",
        "docs/lab/trust.md",
        "docs/lab/model.md",
        "docs/decisions.md",
    ),
}
PICTURES = "docs/pictures"
"""Where the pictures lie that documents show."""
_SUMMARY_CHARACTERS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that is served as a page; ``path`` is where it lies in the project, ``slug`` its name in addresses.

    ``kind`` is "" for files that documents only link to, such as examples of configuration.
    """

    path: str
    kind: str
    text: str

    @property
    def slug(self) -> str:
        """The name in addresses: that of the file, without its folder, lower case."""
        return posixpath.basename(self.path).removesuffix(".md").lower()

    @property
    def is_markdown(self) -> bool:
        """Whether it is written in Markdown; anything else is shown as it is."""
        return self.path.endswith(".md")

    @property
    def title(self) -> str:
        """The first heading, or the file's name."""
        heading = re.match(r"# (.+)", self.text) if self.is_markdown else None
        return heading.group(1) if heading else posixpath.basename(self.path)

    @property
    def summary(self) -> str:
        """The first sentence of the first paragraph, as plain text."""
        paragraphs = [part for part in self.text.split("\n\n")[1:] if re.match(r"\w|`[^`]", part)]
        text = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", " ".join(paragraphs[0].split())) if paragraphs else ""
        sentence = re.split(r"(?<=[.:]) ", text)[0].rstrip(":.") if text else ""
        return (
            sentence
            if len(sentence) <= _SUMMARY_CHARACTERS
            else sentence[:_SUMMARY_CHARACTERS].rsplit(" ", 1)[0] + " …"
        )


class Library:
    """All documents below a folder that is laid out as the project is."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or (PACKAGED if PACKAGED.is_dir() else CHECKOUT)

    @computed
    def documents(self) -> Mapping[str, Document]:
        """The documents by slug, in the order of the shelf, read once."""
        named = [path for paths in _SHELF.values() for path in paths if (self.root / path).is_file()]
        pages = sorted(str(path.relative_to(self.root)) for path in (self.root / "docs").rglob("*.md"))
        attached = sorted(
            str(path.relative_to(self.root))
            for path in (self.root / "deploy").glob("*.*")
            if path.suffix in {".cfg", ".conf", ".json", ".service", ".yaml", ".yml"}
        )
        kinds = {path: kind for kind, paths in _SHELF.items() for path in paths}
        kinds |= dict.fromkeys(attached, "")
        documents = [
            Document(path=path, kind=kinds.get(path, "How to"), text=(self.root / path).read_text(encoding="utf-8"))
            # The shelf first, in its order; what is named there is not repeated by what is found.
            for path in dict.fromkeys([*named, *pages, *attached])
        ]
        return {document.slug: document for document in documents}

    @computed
    def pictures(self) -> Mapping[str, Path]:
        """The pictures that documents show, each by its name in addresses, which is that of its file."""
        return {path.name: path for path in sorted((self.root / PICTURES).glob("*.webp"))}

    @property
    def interface(self) -> str:
        """Return the pages of the interface as one text, in their order."""
        return "\n".join(document.text for document in self.documents.values() if document.path in INTERFACE)

    def of_kind(self, kind: str) -> list[Document]:
        """Return the documents of a kind, in their order."""
        return [document for document in self.documents.values() if document.kind == kind]

    def slug_of(self, target: str, *, seen_from: str) -> str | None:
        """Return the name in addresses of what a relative link of the document at ``seen_from`` leads to, if anything.

        It leads to a document or to a picture.
        """
        path = posixpath.normpath(posixpath.join(posixpath.dirname(seen_from), target))
        folder, name = posixpath.split(path)
        if folder == PICTURES:
            return name if name in self.pictures else None
        return next((each.slug for each in self.documents.values() if each.path == path), None)

"""Routing tree: which resource a path names, found in one walk over its segments, while these are still encoded.

A framework's router tries one pattern after the other: 27 us for the last of 26, this one takes 2 (D31
of docs/decisions.md). A part of the tree, parameters in braces:

    (root) -- "-" ------ "health" --- "live"
       `----- {} ------- "content" -- {} -- "similar"
                  `----- "ids"

The tree has no names for parameters: those belong to the template, so that two may name the same segment differently.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

Resource = TypeVar("Resource")

RESERVED_SEGMENT = "-"
"""The first path segment that is the service's own; no source can be called so."""


class _Node(Generic[Resource]):
    """A node of the tree: what may follow a segment, literals by their text, or one parameter."""

    def __init__(self) -> None:
        self.literals: dict[str, _Node[Resource]] = {}
        self.parameter: _Node[Resource] | None = None
        self.resource: Resource | None = None
        self.names: tuple[str | None, ...] = ()


class Routes(Generic[Resource]):
    """The resources of an application by templates such as ``/{source}/content/{contentID}``."""

    def __init__(self, resources: Mapping[str, Resource], base_path: str = "") -> None:
        """Build the tree from the templates, which say nothing of the base path."""
        self._base = base_path
        self._root: _Node[Resource] = _Node()
        for template, resource in resources.items():
            node = self._root
            names: list[str | None] = []
            for segment in template.split("/")[1:]:
                if segment.startswith("{"):
                    names.append(segment.strip("{}"))
                    node.parameter = node.parameter or _Node()
                    node = node.parameter
                else:
                    names.append(None)
                    node = node.literals.setdefault(segment, _Node())
            node.resource = resource
            node.names = tuple(names)

    def find(self, path: str) -> tuple[Resource, dict[str, str]] | None:
        """Return the resource of an encoded path and its parameters, encoded; literals go before parameters."""
        # The base path itself names the root as its form with a slash does.
        if path == self._base:
            path += "/"
        if not path.startswith(self._base + "/"):
            return None
        segments = path[len(self._base) + 1 :].split("/")
        node = self._walk(self._root, segments, 0)
        if node is None or node.resource is None:
            return None
        pairs = zip(node.names, segments, strict=True)
        return node.resource, {name: segment for name, segment in pairs if name is not None}

    def _walk(self, node: _Node[Resource], segments: Sequence[str], depth: int) -> _Node[Resource] | None:
        if depth == len(segments):
            return node if node.resource is not None else None
        # Back to the parameter where the literal leads nowhere. Below "-" that is a source of this name, which the
        # application refuses.
        literal = node.literals.get(segments[depth])
        child = None if literal is None else self._walk(literal, segments, depth + 1)
        if child is None and node.parameter is not None and segments[depth]:
            child = self._walk(node.parameter, segments, depth + 1)
        return child

"""Requests about placements: what the rows of pages show, and their lists."""

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, TypedDict, Unpack

from penchant.client.requests import Request, asking, encode, query_of, reading, several
from penchant.wire import PageResult, PlacementPreview, PlacementResult
from penchant.wire.placement_answers import PlacementVersions, StoredPlacements
from penchant.wire.placements import PageList, Placement

_ONE = "/{source}/placements/{name}"


class PlacementOptions(TypedDict, total=False):
    """For whom a list is, and beside which piece; ``exclude`` leaves out pieces with these ids.

    ``explain`` adds to each entry why it is there.

    ``take`` is the old name of ``limit``, which wins over it. ``min_audience_version`` waits until what people like is
    known up to this version of the interactions.
    """

    user: str | None
    content: str | None
    limit: int | None
    take: int | None
    exclude: Iterable[str] | None
    explain: bool | None
    min_audience_version: int | None


class PageListOptions(TypedDict, total=False):
    """For whom the lists of a page are; ``exclude`` leaves out pieces with these ids from all of them.

    ``explain`` adds to each entry why it is there.
    """

    user: str | None
    exclude: Iterable[str] | None
    explain: bool | None
    min_audience_version: int | None


class PlacementPreviewOptions(TypedDict, total=False):
    """Whose lists are wanted, beside which piece, and the variant that all of these people are to see."""

    users: Iterable[str] | None
    content: str | None
    variant: str | None
    take: int | None


def list_placements(source: str) -> Request[StoredPlacements]:
    """Read the placements of a source as they are in force, ascending by name."""
    return reading("/{source}/placements", StoredPlacements, {"source": source})


def get_placement(source: str, name: str) -> Request[Placement]:
    """Read a placement."""
    return reading(_ONE, Placement, {"source": source, "name": name})


def put_placement(source: str, name: str, placement: Placement | Mapping[str, object]) -> Request[Placement]:
    """Store a placement as the next version of its name; members left out are as the source has them."""
    return Request(
        method="PUT",
        template=_ONE,
        places={"source": source, "name": name},
        body=encode(placement),
        answer=Placement,
        repeatable=True,
    )


def delete_placement(source: str, name: str) -> Request[None]:
    """Delete a placement with all its versions; an unknown one is no error."""
    places = {"source": source, "name": name}
    return Request(method="DELETE", template=_ONE, places=places, answer=NoneType, repeatable=True)


def list_placement_versions(source: str, name: str) -> Request[PlacementVersions]:
    """Read the versions of a placement that are kept, newest first, with who stored them and when."""
    return reading(_ONE + "/versions", PlacementVersions, {"source": source, "name": name})


def roll_back_placement(source: str, name: str, *, version: int | None = None) -> Request[Placement]:
    """Put an earlier version of a placement in force again; without ``version`` the one before the present."""
    return Request(
        method="POST",
        template=_ONE + "/rollback",
        places={"source": source, "name": name},
        query=query_of({"version": version}),
        answer=Placement,
        # A second time without a version it would lead back to where it began.
        repeatable=version is not None,
    )


def placement_list(source: str, name: str, **options: Unpack[PlacementOptions]) -> Request[PlacementResult]:
    """Read the list of a placement."""
    return reading(_ONE + "/list", PlacementResult, {"source": source, "name": name}, options)


def page_lists(
    source: str, lists: Iterable[PageList | Mapping[str, object]], **options: Unpack[PageListOptions]
) -> Request[PageResult]:
    """Read the lists of several placements for a page, in which no piece comes twice."""
    body: dict[str, object] = {"lists": list(lists)}
    if options.get("user") is not None:
        body["user"] = options["user"]
    if options.get("exclude") is not None:
        body["exclude"] = list(several(options["exclude"] or ()))
    query = {name: options.get(name) for name in ("explain", "min_audience_version")}
    return asking("/{source}/lists", PageResult, source, encode(body), query)


def preview_placement(
    source: str, name: str, placement: Placement | Mapping[str, object], **wanted: Unpack[PlacementPreviewOptions]
) -> Request[PlacementPreview]:
    """Read lists as they are and as they would be under a draft; nothing is stored."""
    given: Mapping[str, Any] = wanted
    body: dict[str, object] = {"name": name, "placement": placement}
    for option, value in given.items():
        if value is not None:
            body[option] = list(several(value)) if option == "users" else value
    return asking("/{source}/preview/placement", PlacementPreview, source, encode(body))

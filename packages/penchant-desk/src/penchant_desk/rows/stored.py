"""Stored rows, as the interface has them: requests for them, and for what pages of rows need beside."""

from collections.abc import Mapping
from typing import Any

from penchant_client import ServiceError, operations
from penchant_client.records import Settings
from penchant_client.requests import Request, encode, request_of
from penchant_desk.drafts import JSON, keep_in_draft, own_draft
from penchant_desk.site import PageVisit, Redirect

RowMembers = Mapping[str, Any]


def list_rows(source: str) -> Request[Any]:
    """Return the request for all rows as they are in force, ascending by name."""
    return request_of("GET", "/{source}/placements", JSON, source)


def list_versions(source: str, name: str) -> Request[Any]:
    """Return the request for the versions of a row, newest first."""
    return request_of("GET", "/{source}/placements/{name}/versions", JSON, source, name)


def put_row(source: str, name: str, members: RowMembers) -> Request[Any]:
    """Return the request that stores a row."""
    return request_of("PUT", "/{source}/placements/{name}", JSON, source, name, body=encode(members))


async def titles_of_rows(visit: PageVisit) -> Mapping[str, str]:
    """Return what rows are called, by their names; nothing where the plan has none."""
    if not visit.may("placements"):
        return {}
    listing = await visit.client.send(list_rows(visit.source))
    return {each["name"]: each["placement"].get("title") or each["name"] for each in listing["placements"]}


async def rows_and_settings(visit: PageVisit) -> tuple[dict[str, Any], Settings]:
    """Return the rows in force by their names, each as a version, and the settings of the source."""
    listing, settings = await visit.ask(list_rows(visit.source), operations.get_settings(visit.source))
    return {each["name"]: each for each in listing["placements"]}, settings


def version_of(rows: Mapping[str, Any], name: str) -> int:
    """Return the version of a row that is in force; 0 where there is none of this name."""
    return int(rows[name]["version"]) if name in rows else 0


async def propose_row(visit: PageVisit, name: str, members: RowMembers | None) -> Redirect:
    """Keep a row, or for ``None`` that it is deleted, in the draft of one's own of it, and lead to that."""
    into = own_draft(visit, name)
    title = name if members is None else str(members.get("title") or name)
    await keep_in_draft(visit, into, {"title": f"Row {title}"[:200], "placements": {name: members}})
    return Redirect(path=visit.link("proposal", source=visit.source, name=into, said="saved"))


async def or_none(visit: PageVisit, request: Request[Any], code: str) -> Any:
    """Return what is answered; ``None`` where there is no such thing, which the code says."""
    try:
        return await visit.client.send(request)
    except ServiceError as error:
        if error.code != code:
            raise
        return None

"""A source that is deleted and made again: no operation tells anything of the old one."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from databases import connection_beside
from factories import piece
from penchant.storage.schema import metadata
from penchant.web.operations import Operation
from penchant.web.routes import interface_operations
from serving import Service
from shown import list_id, report

OPERATIONS = interface_operations()

pytestmark = pytest.mark.usefixtures("noon")

ON_PURPOSE = {"listChanges", "sourceAudit"}
"""Operations that tell of the old one: that followers begin anew, and who deleted it."""
READ = [each for each in OPERATIONS if "{source}" in each.path and each.method == "GET" and each.name not in ON_PURPOSE]
PATH = {"contentID": "a", "other": "b", "userID": "kim", "name": "home"}
QUERY = {"listSegments": {"category": "genre"}}
OF_TIME = {"timestamp", "createdAt", "updatedAt", "changedAt", "version", "indexedVersion", "interactionsVersion"}
OF_TIME |= {"history", "listId", "instance", "requestId", "ageSeconds"}
"""Members that differ between any two sources."""
NOT_FILLED = {"dictionaries"}
"""Tables that hold nothing of what was sent: small pieces need none."""


def make(service: Service, source: str) -> None:
    service.submit(source, piece("a", "x"), piece("b", "x"), piece("c", "y"))


def fill(service: Service) -> None:
    """Have a row of the source in every table."""
    assert service.put("/s/settings", json={"halfLifeDays": 7}).status_code == 200
    for name in ("whitelist", "blacklist"):
        assert service.put(f"/s/{name}", json=["c"]).status_code == 200
    for kind in ("popular", "new"):
        assert service.put("/s/placements/home", json={"kind": kind}).status_code == 200
    assert service.put("/s/drafts/home", json={"blacklist": ["a"]}).status_code == 200
    click = "/s/users/kim/interactions/{}/content/{}?event-id={}"
    for words in (("Watch", "a", "1"), ("Click", "b", "2")):
        assert service.post(click.format(*words)).status_code == 200
    assert service.delete(click.format("Click", "b", "2")).json() == {"removed": 1}
    assert service.put("/s/users/kim/preferences", json={"hidden": ["b"]}).status_code == 200
    shown = list_id(service)
    assert report(service, {"listId": shown, "content": ["a"]}).status_code == 202
    acted = service.post(f"/s/users/kim/interactions/Click/content/a?list={shown}")
    assert acted.status_code == 200, acted.text


def empty_tables(service: Service) -> set[str]:
    """Return the tables that have no row of the source, of those that hold rows of sources."""
    with service.opened_storage() as storage:
        head = storage.sources.read_head(storage.accounts.ensure(service.account), "s")
        assert head is not None
    tables = [table for table in metadata.sorted_tables if "source_id" in table.c]
    with connection_beside(Path(service.settings.data), service.settings.database) as connection:
        counts = {
            table.name: connection.execute(
                select(func.count()).select_from(table).where(table.c.source_id == head.source_id)
            ).scalar_one()
            for table in tables
        }
    return {name for name, count in counts.items() if not count}


def told(service: Service, operation: Operation, source: str) -> Any:
    """Return what an operation answers, but for what differs between any two sources."""
    if operation.name == "sourceHealth":
        service.findings(source)
    path = operation.path.format_map(PATH | {"source": source})
    answer = service.get(path, params=QUERY.get(operation.name))
    return answer.status_code, lasting(answer.json(), source)


def lasting(value: Any, source: str) -> Any:
    if isinstance(value, dict):
        return {name: lasting(inner, source) for name, inner in value.items() if name not in OF_TIME}
    if isinstance(value, list):
        return [lasting(inner, source) for inner in value]
    if isinstance(value, float):
        return round(value, 3)  # what is new is less so after the milliseconds between both
    return "" if value == source else value


def test_a_source_made_again_answers_as_a_new_one(service: Service) -> None:
    make(service, "s")
    fill(service)
    assert empty_tables(service) <= NOT_FILLED
    assert service.delete("/s?confirm=s").status_code == 202

    make(service, "s")
    make(service, "t")

    for operation in READ:
        assert told(service, operation, "s") == told(service, operation, "t"), operation.name

"""Who changed what: of a source, for its account; of all accounts, for admins; at the desk and on the page."""

from typing import Any

import pytest

from factories import piece
from penchant.model import ListKind
from penchant.storage import ReplaceList, SubmitPieces
from serving import Service
from visitors import Visitor, text_of, words

OTHERS = 220


def actions(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["action"] for each in answer.json()["entries"]]


def write_much(service: Service, account: str) -> None:
    """Have another account change much, each time by another key."""
    with service.opened_storage() as storage:
        number = storage.accounts.ensure(account)
        commands: list[Any] = [SubmitPieces(account_id=number, source="s", pieces=[])]
        commands += [
            ReplaceList(account_id=number, source="s", actor=f"k{each}", kind=ListKind.BLACKLIST, ids=[])
            for each in range(OTHERS)
        ]
        for each in [storage.submit(command) for command in commands]:
            each.result(timeout=300)


def test_a_source_tells_its_changes_page_by_page(service: Service) -> None:
    service.submit("s", piece("a"))
    service.submit("t", piece("a"))
    service.put("/s/whitelist", json=["a"])
    service.put("/s/whitelist", json=[])
    service.put("/s/settings", json={})
    other = service.new_key()
    service.put("/s/blacklist", json=[], key=other)

    whole = service.get("/s/audit")
    first = service.get("/s/audit?limit=3")
    rest = service.get(f"/s/audit?limit=3&before={first.headers['x-penchant-next']}")

    entries = whole.json()["entries"]
    assert actions(whole) == ["blacklist.replace", "settings.replace", "whitelist.replace", "source.create"]
    assert [each["count"] for each in entries] == [1, 1, 2, 1]
    assert all(each["firstAt"] <= each["recordedAt"] for each in entries)
    assert first.json()["entries"] + rest.json()["entries"] == entries
    assert "x-penchant-next" not in rest.headers
    assert whole.headers["cache-control"] == "no-store"
    assert actions(service.get(f"/s/audit?actor={other.split('_')[1]}")) == ["blacklist.replace"]
    assert actions(service.get(f"/s/audit?before={entries[-1]['recordedAt']}")) == []
    assert actions(service.get("/s/audit?before=2100-01-01T00:00:00+0100")) == actions(whole)


def test_only_keys_that_may_write_read_the_changes_of_their_source(service: Service) -> None:
    service.submit("s", piece("a"))
    reading = service.new_key(scopes=("read", "personal", "interact"))
    page = service.new_key(origins=("https://shop.example",), scopes=("read",))

    assert service.get("/s/audit", key=reading).status_code == 403
    assert service.get("/s/audit", key=page, headers={"origin": "https://shop.example"}).status_code == 403
    assert service.get("/s/audit", key=service.new_key(account="stranger")).status_code == 404
    assert service.get("/none/audit").status_code == 404


@pytest.mark.parametrize("query", ("before=yesterday", "before=5", "before=", "limit=0", "actor=", "actor=a&actor=b"))
def test_what_cannot_be_found_so_is_refused(service: Service, query: str) -> None:
    service.submit("s", piece("a"))

    answer = service.get(f"/s/audit?{query}")

    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, query.partition("=")[0])


def test_admins_find_changes_by_account_actor_and_time(service: Service) -> None:
    service.submit("s", piece("a"))
    admin = service.new_key(account="operators", admin=True)
    acting = service.key.split("_")[1]

    def found(query: str) -> list[str]:
        return actions(service.get(f"/-/admin/audit?{query}", key=admin))

    assert found(f"account={service.account}&limit=1") == ["source.create"]
    assert found(f"actor={acting}") == ["source.create"]
    assert found(f"actor={acting}&before=2020-01-01T00:00:00Z") == []
    unknown = service.get("/-/admin/audit?account=nobody%20here", key=admin)
    assert (unknown.status_code, unknown.json()["errors"][0]["parameter"]) == (422, "account")


def test_the_page_shows_changes_by_account_actor_and_time(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))
    filled.put("/s/whitelist", json=["a"])
    filled.put("/s/whitelist", json=[])
    acting = filled.key.split("_")[1]

    of_account = text_of(visitor.get("audit", account=filled.account).text)

    assert "(2 times)" in of_account
    assert "operators" not in of_account
    by_actor = visitor.get("audit", account=filled.account, actor=acting, before="2100-01-01T00:00").text
    assert "whitelist.replace" in by_actor
    assert "key.create" not in by_actor
    assert "whitelist.replace" not in visitor.get("audit", before="2020-01-01T00:00").text
    for wrong in ({"account": "nobody here"}, {"before": "soon"}):
        refused = visitor.get("audit", **wrong)
        assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)


@pytest.mark.slow
def test_the_page_leads_to_older_changes(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))
    write_much(filled, "loud too")

    page = visitor.get("audit", account="loud too")
    (onward,) = [each for each in page.text.split('href="') if "before=" in each]
    older = visitor.ask("GET", onward.partition('"')[0].replace("&amp;", "&"))

    assert "100 changes of loud too" in text_of(page.text)
    assert page.text.count("blacklist.replace") == older.text.count("blacklist.replace") == 100
    assert f"Key k{OTHERS - 101} " in text_of(older.text)


def test_equal_changes_are_told_as_one_at_the_desk(visitor: Visitor, filled: Service) -> None:
    for _ in range(3):
        filled.put("/s/whitelist", json=["a"])

    assert "(3 times)" in words(visitor.get("desk", source="s"), "changes")

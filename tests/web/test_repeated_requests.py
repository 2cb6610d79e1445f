"""Who sends the same bytes again: answered before they are read, and counted, named and limited as ever."""

import time
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.errors import Overloaded
from penchant.live.admission import Admission
from penchant.service.access import KEY_LIFE_S
from penchant.settings import NodeSettings, PlanSettings
from penchant.web.resource import CheckedOperation
from serving import Service, ok

SIMILAR = "/s/content/a/similar"
PERSONAL = "/s/users/kim/recommendation"


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    narrow = PlanSettings(requests_per_second=2)
    return NodeSettings(data=settings.data, plans={"narrow": narrow})


@pytest.fixture
def filled(service: Service) -> Service:
    service.submit("s", *(piece(name, "x") for name in "abc"))
    ok(service.post("/s/interactions", json=[{"userId": "kim", "type": "RateLike", "contentId": "a"}]))
    return service


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the routes of the requests that are read."""
    routes: list[str] = []
    answer = CheckedOperation.answer

    async def noting(self: CheckedOperation, *options: Any) -> None:
        routes.append(self.operation.path)
        await answer(self, *options)

    monkeypatch.setattr(CheckedOperation, "answer", noting)
    return routes


def steady(service: Service, path: str, read: list[str]) -> Any:
    """Return the answer to a request that is read no more."""
    for _ in range(100):
        read.clear()
        answer = service.get(path)
        if not read:
            return answer
        # What people like may still be counted.
        time.sleep(0.05)
    raise AssertionError(f"each request is read: {path}")


@pytest.mark.parametrize("path", (SIMILAR, PERSONAL, f"{PERSONAL}/profile"))
def test_the_same_bytes_are_answered_unread_until_something_is_stored(
    filled: Service, read: list[str], path: str
) -> None:
    first = filled.get(path)
    again = steady(filled, path, read)
    filled.submit("other", piece("a", "x"))
    after = filled.get(path)

    # The submission and, since that is a change, the request.
    assert len(read) == 2
    assert first.content == again.content == after.content
    own = {"x-request-id"}
    assert {name: value for name, value in again.headers.items() if name not in own} == {
        name: value for name, value in after.headers.items() if name not in own
    }
    assert len({each.headers["x-request-id"] for each in (first, again, after)}) == 3


def test_an_id_that_is_given_is_that_of_the_answer(filled: Service, read: list[str]) -> None:
    for number in range(8):
        given = f"request-{number}"
        assert filled.get(SIMILAR, headers={"x-request-id": given}).headers["x-request-id"] == given
    steady(filled, SIMILAR, read)
    assert filled.get(SIMILAR, headers={"x-request-id": "mine"}).headers["x-request-id"] == "mine"


@pytest.mark.usefixtures("alone")
def test_each_is_counted(filled: Service, read: list[str]) -> None:
    admin = filled.new_key(admin=True)
    line = 'penchant_requests_total{method="GET",route="/{source}/content/{contentID}/similar",status="200"}'

    def counted() -> tuple[int, float]:
        accounts = filled.get("/-/admin/usage", key=admin).json()["accounts"]
        answers = next(each["answers"] for each in accounts if each["account"] == filled.name_of("default"))
        lines = filled.get("/-/metrics").text.splitlines()
        return answers, sum(float(each.removeprefix(line)) for each in lines if each.startswith(line))

    steady(filled, SIMILAR, read)
    asked = [filled.get(SIMILAR) for _ in range(30)]
    tag = asked[0].headers["etag"]
    unchanged = [filled.get(SIMILAR, headers={"if-none-match": tag}) for _ in range(8)]
    expected = filled.get(SIMILAR)

    assert {each.status_code for each in unchanged} == {304}
    assert {each.content for each in asked} == {expected.content}
    # Those that had the answer already do not count against a quota.
    wait_until(lambda: counted()[0] == counted()[1] >= 32)


def test_a_key_that_gets_a_rate_is_held_to_it(filled: Service) -> None:
    admin, key = filled.new_key(admin=True), filled.new_key()
    for _ in range(8):
        filled.get(SIMILAR, key=key)
    ok(filled.put(f"/-/admin/keys/{key.split('_')[1]}/plan", json={"plan": "narrow"}, key=admin))
    time.sleep(2 * KEY_LIFE_S)

    answers = [filled.get(SIMILAR, key=key) for _ in range(12)]

    # Another second may begin meanwhile.
    assert [each.status_code for each in answers[:2]] == [200, 200]
    assert 429 in {each.status_code for each in answers}
    assert all("ratelimit" in each.headers for each in answers)


def test_one_that_would_have_to_wait_too_long_is_refused(
    filled: Service, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steady(filled, SIMILAR, read)

    def refuse(*_: object, **_options: object) -> None:
        raise Overloaded("More requests come in than can be answered in time.", retry_after_s=1)

    monkeypatch.setattr(Admission, "turn", refuse)
    answer = filled.get(SIMILAR)

    assert (answer.status_code, answer.json()["code"], read) == (503, "overloaded", [])


def test_where_something_else_was_written_one_request_is_read_for_all_of_its_source(
    filled: Service, read: list[str]
) -> None:
    paths = (f"{PERSONAL}/profile", SIMILAR, "/s/content/b/similar")
    before = [steady(filled, path, read).content for path in paths]

    def read_after_a_change() -> int:
        filled.submit("other", piece("a", "x"))
        read.clear()
        assert [filled.get(path).content for path in paths] == before
        return len(read)

    # The service may count what it answered in between, which is another change.
    wait_until(lambda: read_after_a_change() == 1)

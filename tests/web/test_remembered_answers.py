"""Answers that are kept, asked of two workers: whatever an answer follows from changes, the next one has it."""

import itertools
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from clocks import DAY_CLOCK, DAY_S, SetClock
from factories import piece
from penchant.bootstrap import web_application
from penchant.service.access import KEY_LIFE_S
from penchant.settings import NodeSettings
from penchant.wire.signing import sign_user
from serving import Applications, PromptClient, Service, ok
from web.test_whom import SHOP, Page

PATHS = (
    "/s/content/p0/similar",
    "/s/content/p0/similar?include=label,extras&catalogs=x",
    "/s/content/p0/similar?at=2020-01-01",
    "/s/users/kim/recommendation",
    "/s/users/lee/recommendation",
    "/s/users/kim/recommendation?take=2&include=label",
    "/s/users/nobody/recommendation?limit=1",
    "/s/users/kim/recommendation/profile",
    "/s/users/lee/recommendation/profile",
    "/s/users/kim/segments?category=genre",
)
SHOWN_IN = {"catalogs": ["x"]}
WATCHED = {"userId": "kim", "type": "Watch", "contentId": "p4"}
FIRST = tuple(
    piece(f"p{number}", "a", *(["b"] if number % 2 else ["c"]), label=f"P{number}", filters=SHOWN_IN)
    for number in range(9)
)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(DAY_CLOCK())


@pytest.fixture
def workers(applications: Applications, settings: NodeSettings, clock: SetClock) -> Iterator[tuple[Service, Service]]:
    """Two workers of a service, which count and remember apart, and a person in its source."""
    with (
        applications.service(settings, clock) as one,
        PromptClient(web_application(one.settings, clock=clock)) as client,
    ):
        other = Service(client, one.settings, account=one.account)
        other.key = one.key
        one.submit("s", *FIRST)
        events = [{"userId": user, "type": "RateLike", "contentId": "p1"} for user in ("kim", "lee")]
        ok(one.post("/s/interactions", json=events))
        yield one, other


_NUMBERS = itertools.count()


def anew(service: Service, path: str) -> Any:
    """Return an answer that nobody has asked for: the name of a parameter that is ignored is another one each time."""
    return service.get(f"{path}{'&' if '?' in path else '?'}unasked-{next(_NUMBERS)}=1")


def of_one_audience(service: Service, path: str) -> tuple[Any, Any, Any]:
    """Return what is answered, answered again and made anew, all by the same that people like.

    That may come half a second late where counting takes long, as on a busy machine, and so between two requests: then
    they are sent once more.
    """
    before = anew(service, path)
    for _ in range(50):
        found, again, made = service.get(path), service.get(path), anew(service, path)
        if before.content == made.content:
            return found, again, made
        before = made
    raise AssertionError(f"what people like changes with every request: {path}")


def put(path: str, body: Any) -> Callable[[Service], Any]:
    return lambda service: service.put(path, json=body)


def post(path: str, body: Any = None) -> Callable[[Service], Any]:
    return lambda service: service.post(path, json=body)


CHANGES: dict[str, Callable[[Service], Any]] = {
    "a piece": post("/s/content", [piece("p9", "a", "c", label="P9", filters=SHOWN_IN)]),
    "a label": post("/s/content", [piece("p2", "a", "c", label="Other", filters=SHOWN_IN)]),
    "a deletion": lambda service: service.delete("/s/content/p3"),
    "a blacklist": put("/s/blacklist", ["p5"]),
    "a whitelist": put("/s/whitelist", ["p8"]),
    "settings": put("/s/settings", {"categoryWeights": {"genre": 3}, "excludeSeen": False}),
    "words": put("/s/settings", {"words": {"language": "en"}}),
    "an interaction": post("/s/interactions", [WATCHED]),
    "others' interactions": post("/s/interactions", [{**WATCHED, "userId": user} for user in ("lee", "max", "zoe")]),
    "one taken back": lambda service: service.delete("/s/users/kim/interactions/Watch/content/p4"),
    "preferences": put("/s/users/kim/preferences", {"keywords": {"genre": {"c": 1, "b": -1}}, "hidden": ["p6"]}),
    "none at all": put("/s/users/kim/preferences", {"personal": False}),
    "a placement": put("/s/placements/home", {"kind": "popular"}),
    "an erasure": lambda service: service.delete("/s/users/kim"),
    "another source": lambda service: [service.delete("/s?confirm=s"), service.submit("s", *FIRST[:4])][0],
}


def test_whatever_changes_the_next_answer_has_it_on_every_worker(workers: tuple[Service, Service]) -> None:
    one, other = workers
    for number, (name, change) in enumerate(CHANGES.items()):
        # From the sixth on nothing of a request is read.
        for service in (one, other) * 7:
            for path in PATHS:
                assert service.get(path).status_code == 200, path
        answer = change(workers[number % 2])
        assert answer.status_code < 300, answer.text
        for service in workers:
            for path in PATHS:
                found, again, made = of_one_audience(service, path)
                assert (found.status_code, found.content) == (made.status_code, made.content), (name, path)
                assert again.content == found.content
                assert again.headers.get("etag") == found.headers.get("etag") == made.headers.get("etag")
                assert again.headers["x-penchant-version"] == made.headers["x-penchant-version"]


def test_a_day_and_the_windows_of_pieces_end_what_was_kept(workers: tuple[Service, Service], clock: SetClock) -> None:
    one, _ = workers
    opens, closes = clock.now + 3 * DAY_S, clock.now + 5 * DAY_S
    window = [datetime.fromtimestamp(moment, UTC).isoformat() for moment in (opens, closes)]
    filters = {**SHOWN_IN, "availableFrom": window[0], "availableUntil": window[1]}
    one.submit("s", piece("p9", "a", "c", label="P9", filters=filters))
    shown, start = [], clock.now
    for moment in (start, opens - 1, opens, opens + DAY_S, closes - 1, closes, closes + 9 * DAY_S):
        clock.now = moment
        for path in PATHS:
            found, again = one.get(path), one.get(path)
            assert found.content == again.content == anew(one, path).content, (path, moment)
        shown.append("p9" in one.get(PATHS[0]).text)

    assert shown == [False, False, True, True, True, False, False]


def test_what_a_key_may_see_is_its_own(workers: tuple[Service, Service]) -> None:
    service, _ = workers
    later = {"availableFrom": "2999-01-01T00:00:00Z"}
    service.put("/s/settings", json={"publicExtras": ["url"]})
    hidden = {"id": "later", "label": "L", "categories": {"genre": ["a"]}, "filters": later}
    service.submit("s", {**FIRST[2], "extras": {"url": "/2", "cost": 3}}, hidden)
    page, path = Page(service), "/s/content/p0/similar?include=extras"
    personal = service.new_key(scopes=["personal"])
    basic = service.new_key(plan="basic")

    def extras(**options: Any) -> Any:
        entries = ok(service.get(path, **options))["content"]
        return next(each["extras"] for each in entries if each["id"] == "p2")

    for _ in range(2):
        assert extras() == {"url": "/2", "cost": 3}
        assert extras(key=page.key, headers=page.headers()) == {"url": "/2"}
        assert service.get("/s/content/later/similar").status_code == 200
        assert service.get("/s/content/later/similar", key=page.key, headers=page.headers()).status_code == 404
        assert service.get("/s/users/kim/recommendation?include=label").status_code == 200
        assert service.get("/s/users/kim/recommendation?include=label", key=personal).status_code == 403
        assert service.get("/s/users/kim/recommendation", key=basic).json()["code"] == "feature-not-in-plan"
        assert service.get("/s/content/p0/similar?catalogs=x").status_code == 200
        assert service.get("/s/content/p0/similar?catalogs=x", key=basic).json()["code"] == "feature-not-in-plan"
        assert service.get("/s/content/p0/similar", headers={"origin": SHOP}).status_code == 200
    other = service.new_key(account="other")
    service.submit("s", *FIRST[:3], key=other)
    assert len(ok(service.get("/s/content/p0/similar", key=other))["content"]) == 2


def test_a_plan_and_a_key_that_change_hold_for_what_was_kept_on_every_worker(workers: tuple[Service, Service]) -> None:
    admin, key = workers[0].new_key(admin=True), workers[0].new_key()
    address = f"/-/admin/keys/{key.split('_')[1]}"

    def answers() -> list[tuple[int, bytes]]:
        # What is believed of a key is half a second old at most.
        time.sleep(KEY_LIFE_S * 1.1)
        given = [(service.get(path, key=key), service.get(path, key=key)) for service in workers for path in PATHS]
        assert all(found.content == again.content for found, again in given)
        return [(found.status_code, found.content) for found, _ in given]

    of_full = answers()
    ok(workers[1].put(f"{address}/plan", json={"plan": "basic"}, key=admin))
    of_basic = answers()
    ok(workers[0].put(f"{address}/plan", json={"plan": "full"}, key=admin))
    of_full_again = answers()
    ok(workers[1].delete(address, key=admin))
    of_none = answers()

    assert {status for status, _ in of_full} == {200}
    assert of_full_again == of_full
    # The basic plan has neither filters nor what is for people.
    allowed = [path for path in PATHS if "/similar" in path and "catalogs" not in path] * len(workers)
    assert [each for each in of_basic if each[0] == 200] == [
        each for each, path in zip(of_full, PATHS * len(workers), strict=True) if path in allowed
    ]
    assert {status for status, _ in of_basic} == {200, 403}
    assert {status for status, _ in of_none} == {401}


def test_what_a_key_may_do_is_its_own_on_every_worker(workers: tuple[Service, Service], clock: SetClock) -> None:
    page = Page(workers[0])
    signed = {"origin": SHOP, "x-penchant-user": sign_user("kim", page.secret, int(clock.now) + 60)}
    keys: dict[str, dict[str, Any]] = {
        "all": {},
        "read": {"key": workers[0].new_key(scopes=["read"])},
        "personal": {"key": workers[0].new_key(scopes=["personal"])},
        "basic": {"key": workers[0].new_key(plan="basic")},
        "page": {"key": page.key, "headers": signed},
        "unsigned": {"key": page.key, "headers": page.headers()},
        "foreign": {"key": workers[0].new_key(account="other")},
    }

    def statuses(service: Service) -> dict[str, list[int]]:
        return {
            name: [service.get(path, **options).status_code for path in PATHS[-5:]] for name, options in keys.items()
        }

    # Each key asks for what another one was answered, whoever came first and on whichever worker.
    first = [statuses(service) for service in workers]
    keys = dict(reversed(keys.items()))
    again = [statuses(service) for service in workers]

    assert first == again == [first[0]] * 2
    assert first[0] == {
        "all": [200] * 5,
        "read": [403] * 5,
        "personal": [403, 200, 200, 200, 200],
        "basic": [403] * 5,
        "page": [200, 401, 200, 401, 200],
        "unsigned": [401] * 5,
        "foreign": [404] * 5,
    }


def test_strangers_share_a_list_each_under_their_own_name(workers: tuple[Service, Service]) -> None:
    service, _ = workers
    answers = {}
    for user in ("nobody", 'q"uote', "é", "nobody"):
        answer = service.get(f"/s/users/{quote(user)}/recommendation?limit=2")
        following = service.get(
            f"/s/users/{quote(user)}/recommendation?limit=2&after={answer.headers['x-penchant-next']}"
        )
        assert answer.json()["id"] == user
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert following.status_code == 200, following.text
        answers[user] = answer.json()["content"], following.json()["content"]

    assert len({str(each) for each in answers.values()}) == 1


def test_what_is_kept_is_compressed_as_each_client_accepts(workers: tuple[Service, Service]) -> None:
    service, _ = workers
    service.submit("s", *(piece(f"q{number}", "a", label="L" * 99, filters=SHOWN_IN) for number in range(40)))
    path = "/s/content/p0/similar?include=label"
    plain = service.get(path, headers={"accept-encoding": "identity"})
    coded = [service.get(path, headers={"accept-encoding": each}) for each in ("gzip", "zstd", "gzip", "zstd", "br")]
    service.submit("s", piece("q0", "a", label="Other", filters=SHOWN_IN))
    changed = service.get(path, headers={"accept-encoding": "gzip"})

    assert [each.headers.get("content-encoding") for each in coded] == ["gzip", "zstd", "gzip", "zstd", None]
    assert {each.content for each in coded} == {plain.content}
    assert {each.headers["vary"] for each in coded[:4]} == {"x-api-key, accept-encoding"}
    assert changed.headers["content-encoding"] == "gzip"
    assert "Other" in changed.text


def test_conditions_heads_and_faults_are_answered_as_ever(workers: tuple[Service, Service]) -> None:
    service, _ = workers
    path = "/s/content/p0/similar"
    first = service.get(path)
    tag = first.headers["etag"]

    unchanged = service.get(path, headers={"if-none-match": tag})
    head = service.request("HEAD", path)
    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", tag)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(first.content)))
    version = int(first.headers["x-penchant-version"])
    assert service.get(path, headers={"x-penchant-min-version": str(version)}).content == first.content
    assert service.get(path, headers={"x-penchant-min-version": str(version + 1)}).status_code == 503
    assert service.get(path, headers={"x-penchant-min-version": "x"}).status_code == 422
    assert service.get(f"{path}?min-version={version + 1}").status_code == 503
    for faulty in (f"{path}?take=x", f"{path}?at=x", "/s/content/none/similar", f"/s/users/{'u' * 501}/recommendation"):
        assert service.get(faulty).content == service.get(faulty).content
        assert service.get(faulty).status_code in {404, 422}

"""Which people a piece would suit best (interface, section 9)."""

from datetime import timedelta
from itertools import count, cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK
from factories import piece
from oracle import telling
from penchant_batch import everybody
from serving import Service, ok
from strategies import CATALOGUES, CATEGORY_WEIGHTS, INTERACTIONS, SAID, examples

pytestmark = pytest.mark.usefixtures("noon")

NUMBERS = count()
AT_DAYS = 30
DONE = st.lists(INTERACTIONS.filter(bool), min_size=1, max_size=6)
QUERIES = st.sampled_from(["", "?include-seen=true", "?fill=false", f"?at={DAY_CLOCK.midnight(AT_DAYS)[:10]}"])
Events = list[dict[str, Any]]


def listed(service: Service, path: str, **options: Any) -> list[tuple[str, float]]:
    return [(each["id"], each["score"]) for each in ok(service.get(path, **options))["people"]]


def do(service: Service, source: str, user: str, done: Events) -> None:
    moments = [DAY_CLOCK.now() - timedelta(days=each["age"]) for each in done]
    body = [
        {"userId": user, "timestamp": moment.isoformat()}
        | {name: each[name] for name in ("type", "contentId", "value") if name in each}
        for each, moment in zip(done, moments, strict=True)
    ]
    ok(service.post(f"/{source}/interactions", json=body))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pieces=CATALOGUES,
    more=CATALOGUES,
    done=DONE,
    said=st.lists(SAID, max_size=3),
    weights=CATEGORY_WEIGHTS,
    labels=st.lists(st.sampled_from(("", "shark", "shark boat", "boat gull")), min_size=1, max_size=4),
    query=QUERIES,
)
def test_it_is_the_score_of_each_persons_own_list(  # noqa: PLR0917  # strategies arrive as parameters
    service: Service,
    pieces: Events,
    more: Events,
    done: list[Events],
    said: list[dict[str, Any]],
    weights: dict[str, float],
    labels: list[str],
    query: str,
) -> None:
    source, piece_id = f"s{next(NUMBERS)}", str(pieces[0]["id"])
    service.submit(
        source,
        *(
            {**each, "filters": {"availableFrom": "2020-01-01T00:00:00Z"}, "label": words}
            for each, words in zip(pieces, cycle(labels), strict=False)
        ),
    )
    ok(service.put(f"/{source}/settings", json={"categoryWeights": weights, "words": {"language": "none"}}))
    people = {f"u{number}": list(each) for number, each in enumerate(done)}
    for user, each in people.items():
        do(service, source, user, each)
    speaking = dict(zip(people, said, strict=False))
    for user, words in speaking.items():
        ok(service.put(f"/{source}/users/{user}/preferences", json=words))
    if more[0]["id"] != piece_id:
        service.submit(source, more[0])
    # All are read for this list; what comes now is of some of them, of whom one is new.
    listed(service, f"/{source}/content/{piece_id}/audience")
    do(service, source, "u0", done[-1])
    do(service, source, "new", done[0])
    people["u0"], people["new"] = people["u0"] + done[-1], done[0]
    last = list(people)[-2]
    speaking[last] = {"keywords": {"genre": {"a": 1}}}
    version = service.put(f"/{source}/users/{last}/preferences", json=speaking[last]).headers[
        "x-penchant-interactions-version"
    ]
    options = {"headers": {"x-penchant-min-audience-version": version}}

    known = {user for user, words in speaking.items() if any(words.values())}
    # Those of whom nothing counts are nobody's prospects.
    ages = {user: [each["age"] for each in telling(own)] for user, own in people.items()}
    known |= {user for user, own in ages.items() if own and ("at" not in query or max(own) >= AT_DAYS)}

    def in_own_lists() -> list[tuple[str, float]]:
        lists = {
            user: ok(service.get(f"/{source}/users/{user}/recommendation{query}", **options)) for user in sorted(known)
        }
        return [(user, e["score"]) for user, found in lists.items() for e in found["content"] if e["id"] == piece_id]

    # Popularity may be that of half a second ago: what all know at the same moment is compared.
    for _ in range(100):
        before = in_own_lists()
        found = listed(service, f"/{source}/content/{piece_id}/audience{query}", **options)
        if in_own_lists() == before:
            break
    assert sorted(found) == before
    assert [score for _, score in found] == sorted(score for _, score in found)


def test_equal_scores_are_ordered_by_id_and_the_list_is_cut(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "y"))
    for user in ("kim", "é", "bo", "lee"):
        ok(service.post(f"/s/users/{user}/interactions/Watch/content/{'c' if user == 'lee' else 'b'}"))

    found = listed(service, "/s/content/a/audience")

    assert [user for user, _ in found] == ["bo", "kim", "é", "lee"]
    assert (
        listed(service, "/s/content/a/audience?limit=2") == found[:2] == listed(service, "/s/content/a/audience?take=2")
    )
    assert [user for user, _ in listed(service, "/s/content/b/audience")] == ["lee"]


@pytest.mark.nodes
def test_who_is_erased_or_hides_the_piece_is_in_no_list_from_then_on(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    for user in ("kim", "lee", "bo"):
        ok(service.post(f"/s/users/{user}/interactions/Click/content/b"))
    assert len(listed(service, "/s/content/a/audience")) == 3

    service.delete("/s/users/kim")
    ok(service.put("/s/users/bo/preferences", json={"hidden": ["a"]}))

    assert [user for user, _ in listed(service, "/s/content/a/audience")] == ["lee"]


def test_what_nobodys_list_may_show_is_for_nobody(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x", filters={"availableUntil": "2020-01-01T00:00:00Z"}))
    ok(service.post("/s/users/kim/interactions/Click/content/b"))
    assert listed(service, "/s/content/b/audience") == []
    assert len(listed(service, "/s/content/a/audience")) == 1

    ok(service.put("/s/blacklist", json=["a"]))

    assert listed(service, "/s/content/a/audience") == []


@pytest.mark.usefixtures("alone")
def test_so_many_people_are_looked_at_and_no_more(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    for user in ("kim", "lee"):
        ok(service.post(f"/s/users/{user}/interactions/Click/content/b"))
    monkeypatch.setattr(everybody, "MAX_PEOPLE", 1)

    answer = service.get("/s/content/a/audience")

    assert (answer.status_code, answer.json()["code"]) == (409, "too-many-people")

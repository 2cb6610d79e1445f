"""Remembered lists of similar pieces: the same as searched ones, whatever happens between two requests."""

import time
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from serving import Service
from strategies import CHANGES, PIECE_IDS, examples

REQUESTS = st.sampled_from(["", "?algo=jaccard", "?limit=2", "?exclude=p1", "?catalogs=x", "?at=2020-01-01"])
STEERING = st.one_of(
    st.tuples(st.just("blacklist"), st.lists(PIECE_IDS, max_size=3, unique=True)),
    st.tuples(st.just("whitelist"), st.lists(PIECE_IDS, max_size=3, unique=True)),
    st.tuples(st.just("settings"), st.sampled_from([{}, {"categoryWeights": {"genre": 3}}])),
    st.tuples(st.just("source"), st.none()),
)


def carry_out(service: Service, source: str, kind: str, value: Any) -> None:
    """Change a source; the request is accepted whatever the source holds."""
    if kind == "submit":
        service.post(f"/{source}/content", json=value)
    elif kind == "clear":
        service.delete(f"/{source}/content")
    elif kind == "delete":
        service.request("DELETE", f"/{source}/content", json=value)
    elif kind == "source":
        service.delete(f"/{source}?confirm={source}")
    else:
        service.put(f"/{source}/{kind}", json=value)


def patient(service: Service, method: str, path: str, **options: Any) -> Any:
    """Return an answer; a busy machine may say that it is too early."""
    for _ in range(20):
        answer = service.request(method, path, **options)
        if answer.status_code != 503:
            break
        time.sleep(0.2)
    return answer


@given(
    changes=CHANGES, steering=st.lists(STEERING, max_size=4), request=REQUESTS, pieces=st.lists(PIECE_IDS, min_size=1)
)
@run_with(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_remembered_list_is_the_one_that_a_search_gives(
    service: Service, changes: list[Any], steering: list[Any], request: str, pieces: list[str]
) -> None:
    for number, change in enumerate([*changes, *steering, *changes]):
        if isinstance(change, tuple):
            carry_out(service, "s", *change)
        piece = pieces[number % len(pieces)]
        first = patient(service, "GET", f"/s/content/{piece}/similar{request}")
        again = patient(service, "GET", f"/s/content/{piece}/similar{request}")
        searched = patient(service, "POST", f"/s/similar{request}", json=[piece])

        assert (again.status_code, again.content) == (first.status_code, first.content)
        if first.status_code == 200:
            assert first.headers["etag"] == again.headers["etag"]
            assert searched.json()[0]["content"] == first.json()["content"]

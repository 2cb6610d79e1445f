"""What a person likes as rows of a page, against a plain count of the pieces of each keyword."""

from collections import Counter
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import piece
from serving import Service, ok
from strategies import examples

NUMBERS = count()
PIECES = {f"p{number:02}": {f"k{number % 2}", f"k{2 + number % 3}", f"k{5 + number % 5}"} for number in range(30)}
IDS = st.lists(st.sampled_from(sorted(PIECES)), max_size=8, unique=True)
TYPES = st.sampled_from(["Click", "Play", "RateLike", "RateDislike", "Watch"])


@pytest.fixture
def shop(service: Service) -> Service:
    """A source of pieces with three keywords each."""
    later = {"availableFrom": "2999-01-01T00:00:00Z"}
    pieces = [piece(each, *sorted(terms), filters=later if each == "p00" else {}) for each, terms in PIECES.items()]
    service.submit("s", *pieces, {"id": "other", "categories": {"other": ["k0", "x"]}})
    return service


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    did=st.lists(st.tuples(TYPES, st.sampled_from(sorted(PIECES))), max_size=6),
    hidden=IDS,
    blacklist=IDS,
    exclude_seen=st.booleans(),
    take=st.sampled_from([1, 30]),
)
def test_segments_are_the_liked_keywords_of_five_pieces_to_show(
    shop: Service, *, did: Any, hidden: list[str], blacklist: list[str], exclude_seen: bool, take: int
) -> None:
    user = f"u{next(NUMBERS)}"
    ok(shop.put("/s/blacklist", json=blacklist))
    ok(shop.put("/s/settings", json={"excludeSeen": exclude_seen}))
    ok(shop.put(f"/s/users/{user}/preferences", json={"hidden": hidden}))
    ok(shop.post("/s/interactions", json=[{"userId": user, "type": kind, "contentId": key} for kind, key in did]))

    found = ok(shop.get(f"/s/users/{user}/segments?category=genre&take={take}"))

    seen = {key for kind, key in did if kind not in {"Click", "Play"}} if exclude_seen else set()
    shown = [terms for key, terms in PIECES.items() if key not in {"p00", *hidden, *blacklist, *seen}]
    counts = Counter(term for terms in shown for term in terms)
    profile = ok(shop.get(f"/s/users/{user}/recommendation/profile"))
    scores = profile[0]["categories"].get("genre", {}) if profile else {}
    enough = [(-score, term) for term, score in scores.items() if score > 0 and counts[term] >= 5]
    expected = [{"keyword": term, "score": -score} for score, term in sorted(enough)[:take]]
    assert found == {"id": user, "segments": expected}

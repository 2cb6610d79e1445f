"""Why a piece is in a list, and why not (interface, section 9)."""

from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import audience_reference
import oracle
from clocks import DAY_CLOCK
from serving import Service, ok
from strategies import CATALOGUES, CATEGORY_WEIGHTS, INTERACTIONS, PIECE_IDS, examples

pytestmark = pytest.mark.usefixtures("noon")

SLOWLY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ALGORITHMS = st.sampled_from([None, "jaccard", "cosine"])
LISTS = st.lists(PIECE_IDS, max_size=3, unique=True)
BLENDS = st.sampled_from(
    [
        {"content": 3, "audience": 1, "popularity": 2},
        {"content": 1, "audience": 0, "popularity": 0},
        {"content": 0, "audience": 8, "popularity": 1},
    ]
)
BY_SCORE = {"nothing-in-common", "outranked", "no-fill"}
"""Codes of reasons that follow from scores."""
TODAY = DAY_CLOCK.today()


def address(*parts: str, **query: Any) -> str:
    """Return a path with its ids encoded, and a query of which lists are repeated parameters."""
    pairs = [(name.replace("_", "-"), value) for name, value in query.items() if value is not None]
    flat = [(name, each) for name, value in pairs for each in (value if isinstance(value, list) else [value])]
    text = "&".join(
        f"{name}={quote(str(value).lower() if value in (True, False) else str(value))}" for name, value in flat
    )
    return "/" + "/".join(quote(part, safe="") for part in parts) + (f"?{text}" if text else "")


def shares(why: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(each["category"], each["keyword"]): each["share"] for each in why["terms"]}


def is_ordered(terms: list[dict[str, Any]]) -> bool:
    keys = [(-each["share"], each["category"], each["keyword"]) for each in terms]
    return keys == sorted(keys) and all(each["share"] for each in terms)


def catalogue(service: Service, pieces: list[dict[str, Any]]) -> None:
    """Store pieces of which some are in catalogs, and some have windows that are closed or open."""
    windows: list[dict[str, Any]] = [
        {"availableFrom": "2020-01-01T00:00:00Z"},
        {"availableFrom": DAY_CLOCK.midnight(7)},
        {"availableFrom": "2999-01-01T00:00:00Z"},
        {"availableFrom": DAY_CLOCK.midnight(400), "availableUntil": DAY_CLOCK.midnight(30)},
        {"availableFrom": "2020-01-01T10:00:00Z", "availableUntil": "2020-01-01T12:00:00Z"},
    ]
    for place, each in enumerate(pieces):
        catalogs: list[list[str]] = [["a"], ["a", "b,c"], []]
        each["filters"] = windows[place % 5] | {"catalogs": catalogs[place % 3]}
    service.delete("/s?confirm=s")
    service.submit("s", *pieces)


def changed(service: Service, listed: str, remedy: dict[str, Any], piece_id: str) -> list[str]:
    """Return the list after what a remedy says, and undo it."""
    path, _, query = listed.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    blacklist = ok(service.get("/s/blacklist"))
    if remedy == {"remove": "blacklist"}:
        ok(service.put("/s/blacklist", json=[each for each in blacklist if each != piece_id]))
    else:
        ((name, value),) = remedy.items()
        dropped = value if name == "remove" else name
        pairs = [pair for pair in pairs if pair.partition("=")[0].removesuffix("[]") != dropped]
        if name == "catalogs":
            pairs += [f"catalogs[]={quote(each)}" for each in value]
        elif name != "remove":
            pairs.append(f"{name}={str(value).lower()}")
    found = ok(service.get(f"{path}?{'&'.join(pairs)}"))["content"]
    ok(service.put("/s/blacklist", json=blacklist))
    return [each["id"] for each in found]


def check_places(service: Service, listed: str, places: dict[str, Any], kept_out: dict[str, set[str]]) -> None:
    """Assert that places of pieces are those of the list, and that remedies bring in what they promise to.

    ``kept_out`` has the codes of what keeps a piece out whatever the others are, but for what follows from scores.
    """
    content = ok(service.get(listed))["content"]
    entries = {entry["id"]: (rank, entry["score"]) for rank, entry in enumerate(content, start=1)}
    for piece_id, place in places.items():
        codes = [reason["code"] for reason in place["reasons"]]
        assert place["contentId"] == piece_id
        assert set(codes) - BY_SCORE == kept_out[piece_id]
        if piece_id in entries:
            assert (place["rank"], place["score"], codes) == (*entries[piece_id], [])
            continue
        assert place["rank"] is None
        assert codes
        for reason in place["reasons"]:
            check_remedy(service, listed, piece_id, reason, alone=len(codes) == 1)


def check_remedy(service: Service, listed: str, piece_id: str, reason: dict[str, Any], *, alone: bool) -> None:
    """Assert that a remedy brings a piece in, and that there is one wherever a rule alone keeps a piece out."""
    remedy = reason["remedy"]
    assert reason["detail"]
    if remedy is None:
        assert not alone or reason["code"] in {"nothing-in-common", "window"}
        return
    assert alone
    found = changed(service, listed, remedy, piece_id)
    assert piece_id in found, (listed, reason)
    if reason["code"] == "outranked":
        assert [*remedy.values()] == [found.index(piece_id) + 1]


def expected_exclusions(
    pieces: list[dict[str, Any]], blacklist: list[str], asked: dict[str, Any]
) -> dict[str, set[str]]:
    """Return for each piece what of lists, catalogs and windows keeps it out, by the interface's words."""
    moment = f"{asked['at']}T23:59:59.999Z" if "at" in asked else DAY_CLOCK.now().isoformat()
    found = {}
    for each in pieces:
        filters = each["filters"]
        begins, ends = filters.get("availableFrom", moment), filters.get("availableUntil", "9999")
        exclusions = {
            "blacklisted": each["id"] in blacklist,
            "catalog": "catalogs" in asked and asked["catalogs"] not in filters["catalogs"],
            "window": not begins <= moment < ends,
        }
        found[each["id"]] = {code for code, holds in exclusions.items() if holds}
    return found


@given(CATALOGUES, ALGORITHMS, CATEGORY_WEIGHTS)
@SLOWLY
def test_shares_of_similar_pieces_are_the_definition_and_add_up(
    service: Service, pieces: list[dict[str, Any]], algorithm: str | None, weights: dict[str, float]
) -> None:
    service.delete("/s?confirm=s")
    service.submit("s", *pieces, {"id": "one-more", "categories": {}})
    ok(service.put("/s/settings", json={"categoryWeights": weights}))
    by_id = {each["id"]: each for each in pieces}

    for each in pieces:
        path = address("s", "content", each["id"], "similar", algo=algorithm)
        plain, explained = service.get(path), service.get(path + ("&" if algorithm else "?") + "explain=true")
        assert [{"id": e["id"], "score": e["score"]} for e in ok(explained)["content"]] == ok(plain)["content"]
        used = algorithm or ("cosine" if oracle.is_weighted(each) else "jaccard")
        for entry in ok(explained)["content"]:
            found = shares(entry["why"])
            assert found == pytest.approx(oracle.similarity_shares(each, by_id[entry["id"]], used, weights), abs=1e-12)
            assert sum(found.values()) == pytest.approx(1 - entry["score"], abs=1e-9)
            assert is_ordered(entry["why"]["terms"])
            assert entry["why"]["rules"] == []


@given(
    CATALOGUES,
    CATEGORY_WEIGHTS,
    LISTS,
    LISTS,
    st.fixed_dictionaries(
        {},
        optional={
            "limit": st.integers(1, 4),
            "algo": st.sampled_from(["jaccard", "cosine"]),
            "catalogs": st.sampled_from(["a", "none"]),
            "at": st.sampled_from(["2020-06-01", str(TODAY - timedelta(days=10)), "2999-05-05"]),
        },
    ),
)
@SLOWLY
def test_every_piece_has_its_place_beside_every_other(
    service: Service,
    pieces: list[dict[str, Any]],
    weights: dict[str, float],
    whitelist: list[str],
    blacklist: list[str],
    asked: dict[str, Any],
) -> None:
    catalogue(service, [*pieces, {"id": "one-more", "categories": {}}])
    ok(service.put("/s/settings", json={"categoryWeights": weights}))
    ok(service.put("/s/whitelist", json=whitelist))
    ok(service.put("/s/blacklist", json=blacklist))
    kept_out = expected_exclusions(pieces, blacklist, asked)

    for piece_id in list(kept_out)[:4]:
        others = [each for each in kept_out if each != piece_id]
        places = {each: ok(service.get(address("s", "content", piece_id, "why", each, **asked))) for each in others}
        check_places(service, address("s", "content", piece_id, "similar", **asked), places, kept_out)


@given(
    CATALOGUES,
    st.lists(INTERACTIONS, min_size=1, max_size=5),
    st.fixed_dictionaries({"categoryWeights": CATEGORY_WEIGHTS, "blend": BLENDS}),
    ALGORITHMS,
    LISTS,
)
@SLOWLY
def test_shares_of_recommendations_are_the_definition_and_add_up(
    service: Service,
    pieces: list[dict[str, Any]],
    people: list[list[dict[str, Any]]],
    chosen: dict[str, Any],
    algorithm: str | None,
    whitelist: list[str],
) -> None:
    today = (TODAY - date(1970, 1, 1)).days
    everyone = interacting(service, pieces, people)
    ok(service.put("/s/settings", json=chosen))
    ok(service.put("/s/whitelist", json=whitelist))

    path = address("s", "users", "u0", "recommendation", algo=algorithm, include_seen=True)
    explained = ok(service.get(path + "&explain=true"))["content"]

    assert [{"id": e["id"], "score": e["score"]} for e in explained] == ok(service.get(path))["content"]
    expected = audience_reference.recommended_parts(
        pieces, everyone, "u0", today, settings=chosen, algorithm=algorithm, include_seen=True
    )
    for entry in explained:
        parts = {each["part"]: each for each in entry["why"]["parts"]}
        assert list(parts) == ["content", "audience", "popularity", "new"]
        found = {name: each["share"] for name, each in parts.items()}
        assert found == pytest.approx(expected[entry["id"]], abs=1e-9)
        assert 1 - min(1.0, max(0.0, sum(found.values()))) == pytest.approx(entry["score"], abs=1e-9)
        assert sum(shares(parts["content"]).values()) == pytest.approx(found["content"], abs=1e-9)
        assert is_ordered(parts["content"]["terms"])
        check_pieces(parts["audience"], everyone["u0"])
        if entry["score"] < 1:
            raised = (
                [{"rule": "whitelist", "position": whitelist.index(entry["id"])}] if entry["id"] in whitelist else []
            )
            assert entry["why"]["rules"] == raised
        elif sum(found.values()) < -1e-8:
            assert entry["why"]["rules"] == [{"rule": "fill"}]


def check_pieces(part: dict[str, Any], own: list[dict[str, Any]]) -> None:
    """Assert that pieces which a person likes are named, in order; where all may be, they add up to the part."""
    named = [(each["share"], each["id"], each.get("through", "")) for each in part["pieces"]]
    assert named == sorted(named, key=lambda each: (-each[0], *each[1:]))
    assert {piece_id for _, piece_id, _ in named} <= {each["contentId"] for each in own}


def interacting(
    service: Service, pieces: list[dict[str, Any]], people: list[list[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """Store pieces and interactions, and return these as the oracle takes them."""
    today = (TODAY - date(1970, 1, 1)).days
    for place, each in enumerate(pieces):
        each["filters"] = {"availableFrom": DAY_CLOCK.midnight(place * 7), "catalogs": [["a"], []][place % 2]}
        each["day"] = today - place * 7
    service.delete("/s?confirm=s")
    service.submit("s", *({name: value for name, value in each.items() if name != "day"} for each in pieces))
    everyone = {f"u{number}": [e | {"day": today - e["age"]} for e in own] for number, own in enumerate(people)}
    body = [
        {name: e[name] for name in ("type", "contentId", "value") if name in e}
        | {"userId": user, "timestamp": DAY_CLOCK.midnight(e["age"])}
        for user, own in everyone.items()
        for e in own
    ]
    ok(service.post("/s/interactions", json=body))
    return everyone


@given(
    CATALOGUES,
    st.lists(INTERACTIONS, min_size=1, max_size=2),
    LISTS,
    LISTS,
    st.fixed_dictionaries(
        {},
        optional={
            "take": st.integers(1, 4),
            "algo": st.sampled_from(["jaccard", "cosine"]),
            "catalogs": st.just("a"),
            "at": st.sampled_from([str(TODAY - timedelta(days=10)), "2999-05-05"]),
            "include_seen": st.booleans(),
            "fill": st.booleans(),
        },
    ),
)
@SLOWLY
def test_every_piece_has_its_place_for_every_person(
    service: Service,
    pieces: list[dict[str, Any]],
    people: list[list[dict[str, Any]]],
    whitelist: list[str],
    blacklist: list[str],
    asked: dict[str, Any],
) -> None:
    everyone = interacting(service, pieces, people)
    ok(service.put("/s/whitelist", json=whitelist))
    ok(service.put("/s/blacklist", json=blacklist))

    for user in ("u0", "nobody"):
        kept_out = expected_exclusions(pieces, blacklist, asked)
        for known in known_pieces(everyone.get(user, []), asked) & kept_out.keys():
            kept_out[known].add("seen")
        places = {each: ok(service.get(address("s", "users", user, "why", each, **asked))) for each in kept_out}
        check_places(service, address("s", "users", user, "recommendation", **asked), places, kept_out)


def known_pieces(interactions: list[dict[str, Any]], asked: dict[str, Any]) -> set[str]:
    """Return the pieces that a person knows at the moment asked for."""
    if asked.get("include_seen"):
        return set()
    last = (date.fromisoformat(asked["at"]) if "at" in asked else TODAY) - date(1970, 1, 1)
    # Nothing of a piece was watched or read where its value is 0; ratings have none.
    counting = [e for e in interactions if e.get("value") != 0 or e["type"] in {"RateLike", "RateDislike"}]
    return {e["contentId"] for e in counting if e["type"] in oracle.SEEN and e["day"] <= last.days}

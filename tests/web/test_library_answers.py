"""The library answers what the service answers: the same pieces, scores, reasons and profiles."""

import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from clocks import DAY_CLOCK
from penchant.service.lists.answers import why_of
from penchant_engine import Catalogue, Interactions, PieceList, Recommender
from penchant_engine.model import InteractionType
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")

TYPES = (*InteractionType,)
PEOPLE, PIECES = 12, 40


def pieces_of(chance: random.Random) -> list[dict[str, Any]]:
    """Return pieces as the service takes them, some with weights, some with nothing."""
    found = []
    for number in range(PIECES):
        genres = chance.sample("abcdef", chance.randint(0, 3))
        tags = [{"key": key, "weight": chance.randint(1, 90)} for key in chance.sample("uvwxyz", chance.randint(0, 2))]
        day = f"2026-0{chance.randint(1, 2)}-{chance.randint(1, 28):02}T00:00:00Z"
        categories = {"genre": genres, "tag": tags, "mood": chance.sample("rs", chance.randint(0, 1))}
        found.append({"id": f"p{number:02}", "categories": categories, "filters": {"availableFrom": day}})
    return found


def done_by(chance: random.Random) -> list[dict[str, Any]]:
    """Return what people did in the weeks before the day of the tests, as the service takes it."""
    now = int(DAY_CLOCK() * 1000)
    return [
        {
            "userId": f"u{chance.randrange(PEOPLE)}",
            "type": chance.choice(TYPES).value,
            "contentId": f"p{min(chance.randrange(PIECES), chance.randrange(PIECES)):02}",
            "timestamp": datetime.fromtimestamp((now - chance.randrange(40 * 86_400_000)) // 1000, UTC).isoformat(),
        }
        for _ in range(300)
    ]


def keywords(categories: dict[str, Any]) -> dict[str, Any]:
    """Return categories as the library takes them."""
    return {
        name: [(each["key"], each["weight"]) if isinstance(each, dict) else each for each in values]
        for name, values in categories.items()
    }


def fitted(pieces: list[dict[str, Any]], done: list[dict[str, Any]], **settings: Any) -> Recommender:
    catalogue = Catalogue(
        {
            "id": each["id"],
            "categories": keywords(each["categories"]),
            "available_from": each["filters"]["availableFrom"],
        }
        for each in pieces
    )
    columns = {name: [each[name] for each in done] for name in ("userId", "contentId", "type", "timestamp")}
    clicks = Interactions.from_frame(columns, person="userId", piece="contentId", type="type", time="timestamp")
    return Recommender(retention_days=396, **settings).fit(catalogue, clicks, moment=int(DAY_CLOCK() * 1000))


def told(found: PieceList) -> list[dict[str, Any]]:
    return [
        {"id": each.id, "score": each.score}
        | ({} if each.why is None else {"why": msgspec.to_builtins(why_of(each.why))})
        for each in found
    ]


def version_after(written: Any) -> str:
    """Return the version of the interactions that somebody has written."""
    ok(written)
    version: str = written.headers["x-penchant-interactions-version"]
    return version


@pytest.mark.parametrize("seed", range(3))
def test_lists_reasons_and_profiles_are_those_of_the_service(service: Service, seed: int) -> None:
    chance = random.Random(seed)
    pieces, done = pieces_of(chance), done_by(chance)
    service.submit("s", *pieces)
    written = service.post("/s/interactions", json=done)
    least = {"x-penchant-min-audience-version": version_after(written)}
    model = fitted(pieces, done)

    def content(path: str) -> Any:
        return ok(service.get(path, headers=least))["content"]

    for person in ("u0", "u5", f"u{PEOPLE}"):
        known = person if person in model.people else None
        assert content(f"/s/users/{person}/recommendation?explain=true") == told(
            model.recommend(known, 30, explain=True)
        )
        profile = ok(service.get(f"/s/users/{person}/recommendation/profile"))
        assert (profile[0]["categories"] if profile else {}) == model.profile(person)
    for by in ("content", "audience", "both"):
        assert content(f"/s/content/p03/similar?by={by}&explain=true") == told(
            model.similar("p03", 30, by=by, explain=True)
        )
    assert content("/s/popular") == told(model.popular(30))
    # Newness goes by the moment itself, and nodes by a clock that does not stand still.
    newest, own = content("/s/new"), model.newest(30)
    assert [each["id"] for each in newest] == own.ids
    assert [each["score"] for each in newest] == pytest.approx([each.score for each in own], abs=1e-6)


def test_settings_change_lists_as_they_do_in_the_service(service: Service) -> None:
    chance = random.Random(7)
    pieces, done = pieces_of(chance), done_by(chance)
    service.submit("s", *pieces)
    least = {"x-penchant-min-audience-version": version_after(service.post("/s/interactions", json=done))}
    settings = {"categoryWeights": {"genre": 2.5, "mood": 0}, "blend": {"content": 1, "audience": 0.5, "popularity": 0}}
    ok(service.put("/s/settings", json=settings))
    model = fitted(pieces, done, category_weights={"genre": 2.5, "mood": 0}, blend={"content": 1, "audience": 0.5})

    found = ok(service.get("/s/users/u1/recommendation?diversity=0.4&take=20", headers=least))["content"]

    assert found == told(model.recommend("u1", 20, diversity=0.4))
    assert model.under(blend={"popularity": 1}).recommend("u1", 5) != model.recommend("u1", 5)
    assert found == told(model.recommend("u1", 20, diversity=0.4))

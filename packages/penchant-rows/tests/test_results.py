"""Results of placements: what is counted, against what, of which days, for whom; and what they say of it."""

import time
from functools import partial
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.clock import Clock
from penchant_engine.model import DAY_MS, PIN
from penchant_rows.model import ListIdentity, NewImpression
from penchant_rows.service.impressions import ListIds
from penchant_rows.storage.impression_ledger import RecordImpressions
from serving import Service
from shown import list_id, report, show
from visitors import Visitor, text_of

VARIANTS = [{"name": "b", "share": 0.5, "kind": "new"}]


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "x"), piece("d", "x"))
    assert service.put("/s/placements/home", json={"kind": "popular", "variants": VARIANTS}).status_code == 200
    return service


def results(service: Service, query: str = "") -> Any:
    answer = service.get(f"/s/placements/home/results{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def variant(found: Any, name: str) -> Any:
    return next(each for each in found["variants"] if each["variant"] == name)


def test_of_a_placement_that_showed_nothing_nothing_is_told(shop: Service) -> None:
    found = results(shop)

    assert [each["variant"] for each in found["variants"]] == ["b", "base"]
    assert {each["verdict"] for each in found["variants"]} == {"base", "undecided"}
    nothing = variant(found, "b")
    assert (nothing["shown"], nothing["pieces"], nothing["rate"]) == (0, 0, {"value": 0.0, "lower": 0.0, "upper": 1.0})
    assert nothing["difference"] == {"value": 0.0, "lower": -1.0, "upper": 1.0}


def test_what_a_pin_showed_is_told_apart(shop: Service) -> None:
    pins = [{"id": "c", "position": 2}]
    assert shop.put("/s/placements/home", json={"kind": "new", "pins": pins}).status_code == 200
    answer = shop.get("/s/placements/home/list?user=kim")
    shown = answer.headers["x-penchant-list"]
    ids = [each["id"] for each in answer.json()["content"]]
    assert (len(ids), ids[1]) == (4, "c")
    report(shop, {"listId": shown, "content": ids})
    for piece_id in (ids[0], "c"):
        shop.post(f"/s/users/kim/interactions/Click/content/{piece_id}?list={shown}")

    (found,) = results(shop)["variants"]

    assert found["pinned"] == {"shown": 1, "successes": 1, "interactions": {"Click": 1}}
    assert (found["lists"], found["shown"], found["successes"], found["interactions"]) == (1, 3, 1, {"Click": 1})
    assert [each["position"] for each in found["positions"]] == [1, 3, 4]
    assert [(each["shown"], each["successes"]) for each in found["days"]] == [(3, 1)]
    assert found["rate"]["value"] == round(1 / 3, 9)
    disliked = results(shop, "?type=RateDislike")["variants"][0]["pinned"]
    assert disliked == {"shown": 1, "successes": 0, "interactions": {"Click": 1}}


def test_what_a_quota_raised_is_told_apart_and_counts_all_the_same(shop: Service) -> None:
    attributes = {"language": {"pointer": "/language", "type": "keyword"}}
    assert shop.put("/s/settings", json={"attributes": attributes}).status_code == 200
    shop.submit("s", piece("e", "y", extras={"language": "de"}))
    quotas = [{"filter": {"key": "language", "any": ["de"]}, "atLeast": 1, "of": 1}]
    picked = {"kind": "picks", "content": ["a", "b", "e"], "quotas": quotas}
    assert shop.put("/s/placements/home", json=picked).status_code == 200
    answer = shop.get("/s/placements/home/list?user=kim")
    content, shown = answer.json()["content"], answer.headers["x-penchant-list"]
    assert (content[0]["id"], content[0]["rule"]) == ("e", "quota")
    report(shop, {"listId": shown, "content": [each["id"] for each in content]})
    # It names no list: the list that showed it last is known by what is stored.
    shop.post("/s/users/kim/interactions/Play/content/e")

    (found,) = results(shop)["variants"]

    assert found["raised"] == {"shown": 1, "successes": 1, "interactions": {"Play": 1}}
    assert (found["shown"], found["successes"], found["rate"]["value"]) == (3, 1, round(1 / 3, 9))
    assert found["pinned"]["shown"] == 0


@pytest.mark.slow
def test_pins_decide_no_verdict(shop: Service) -> None:
    pins = [{"id": "d", "position": 1}]
    variants = [{"name": "b", "share": 0.5, "kind": "popular", "pins": pins}]
    assert shop.put("/s/placements/home", json={"kind": "popular", "variants": variants}).status_code == 200
    show(shop, 100, clicks={"base": 50, "b": 100}, rules={"b": {"a": PIN}})

    found = variant(results(shop), "b")

    assert (found["pinned"]["shown"], found["pinned"]["successes"]) == (100, 100)
    assert (found["shown"], found["successes"], found["rate"]["value"]) == (300, 0, 0.0)
    assert found["verdict"] != "better"


def test_results_count_what_was_shown_and_what_came_of_it(shop: Service) -> None:
    shown = list_id(shop, variant="b")
    report(shop, {"listId": shown, "content": ["a", "b"]}, {"listId": list_id(shop, variant="base"), "content": ["a"]})
    report(shop, {"listId": list_id(shop, variant="base", user=None), "content": ["c", "d"]})
    for kind in ("Click", "Purchase", "RateDislike"):
        shop.post(f"/s/users/kim/interactions/{kind}/content/b?list={shown}")

    found = results(shop)

    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert (found["placement"], found["from"], found["to"], found["base"]) == ("home", today, today, "base")
    other = variant(found, "b")
    assert (other["lists"], other["shown"], other["successes"], other["anonymous"]) == (1, 2, 1, 0)
    assert other["interactions"] == {"Click": 1, "Purchase": 1, "RateDislike": 1}
    assert other["positions"] == [
        {"position": 1, "shown": 1, "successes": 0},
        {"position": 2, "shown": 1, "successes": 1},
    ]
    assert other["days"] == [{"day": today, "shown": 2, "successes": 1}]
    assert (other["pieces"], other["coverage"], other["rate"]["value"]) == (2, 0.5, 0.5)
    base = variant(found, "base")
    assert (base["lists"], base["shown"], base["anonymous"], base["pieces"]) == (2, 3, 2, 3)
    disliked = results(shop, "?type=RateDislike")
    assert (disliked["counted"], variant(disliked, "b")["rate"]["value"]) == ("RateDislike", 0.5)
    assert [each["verdict"] for each in results(shop, "?base=b")["variants"]] == ["base", "undecided"]


@pytest.mark.slow
def test_a_variant_that_is_certainly_worse_is_called_so(shop: Service) -> None:
    show(shop, 300, clicks={"base": 180, "b": 60})

    found = results(shop)

    worse = variant(found, "b")
    assert worse["verdict"] == "worse"
    assert worse["difference"]["upper"] < 0 < worse["rate"]["value"]
    assert worse["difference"]["value"] == pytest.approx((60 - 180) / 1200)
    assert found["designEffect"] >= 1
    assert found["stopped"] == ["b"]
    assert worse["share"] is None


@pytest.mark.slow
def test_its_people_see_the_base_until_there_is_another_version(shop: Service) -> None:
    show(shop, 300, clicks={"base": 180, "b": 60})

    def seen() -> set[str]:
        answers = [shop.get(f"/s/placements/home/list?user=u{number}").json() for number in range(12)]
        return {answer["variant"] for answer in answers}

    # The first list begins a look in the background, in each process that is asked.
    wait_until(lambda: seen() == {"base"})
    wish = {"name": "home", "placement": {"kind": "new"}, "users": [f"u{number}" for number in range(12)]}

    def variants_before() -> set[str]:
        previewed = shop.post("/s/preview/placement", json=wish).json()["lists"]
        return {each["variantBefore"] for each in previewed}

    wait_until(lambda: variants_before() == {"base"})
    visitor = Visitor(shop, shop.key)
    stopped = "Certainly worse, so stopped by itself: b."
    wait_until(lambda: stopped in text_of(visitor.get("placement", source="s", name="home").text))
    stop = variant(results(shop), "b")["stop"]
    assert (stop["reason"], stop["difference"]["upper"] < 0) == ("worse", True)
    assert f"It stopped on {stop['timestamp'][:16].replace('T', ' ')} UTC, when it was between" in text_of(
        Visitor(shop, shop.key).get("results", source="s", name="home").text
    )
    renamed = [VARIANTS[0] | {"name": "c"}]
    assert shop.put("/s/placements/home", json={"kind": "popular", "variants": renamed}).status_code == 200
    assert seen() == {"base", "c"}
    ended = variant(results(shop), "b")["stop"]
    assert (ended["reason"], ended["by"]) == ("edited", shop.key.split("_")[1])


def test_results_are_of_the_days_that_are_asked_for(shop: Service) -> None:
    with shop.opened_storage() as storage:
        account = storage.accounts.ensure(shop.account)
        head = storage.sources.read_head(account, "s")
        assert head is not None
        for days_ago, piece_id in ((20, "a"), (10, "b"), (0, "c")):
            moment = int(time.time() * 1000) - days_ago * DAY_MS
            ids = ListIds(storage.list_secret(), clock=Clock(seconds=partial(float, moment / 1000)))
            made = ids.make(head, placement="home", variant="b", user_id="kim", pieces="abc")
            shown: ListIdentity = ids.read(head, made)
            seen = NewImpression(identity=shown, piece_id=piece_id, position=1, shown_at=moment)
            command = RecordImpressions(account_id=account, source="s", impressions=[seen], window_ms=0)
            storage.submit(command).result(timeout=120)

    def day(days_ago: int) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(time.time() - days_ago * 86_400))

    assert variant(results(shop), "b")["shown"] == 1
    lately = variant(results(shop, f"?from={day(12)}"), "b")
    assert (lately["shown"], lately["pieces"], [each["day"] for each in lately["days"]]) == (2, 2, [day(10), day(0)])
    once = variant(results(shop, f"?from={day(20)}&to={day(9)}"), "b")
    assert (once["shown"], once["pieces"], once["coverage"]) == (2, None, None)


def test_results_are_for_keys_that_may_write(shop: Service) -> None:
    for scope in ("read", "personal", "interact"):
        assert shop.get("/s/placements/home/results", key=shop.new_key(scopes=[scope])).status_code == 403


def test_the_list_of_a_placement_is_reported_by_its_header(shop: Service) -> None:
    shop.put("/s/placements/home", json={"kind": "popular", "fallback": "new", "variants": VARIANTS})
    answer = shop.get("/s/placements/home/list?user=kim")
    seen = [each["id"] for each in answer.json()["content"]]

    assert report(shop, {"listId": answer.headers["x-penchant-list"], "content": seen, "userId": "kim"}).json() == {
        "accepted": 4,
        "duplicates": 0,
    }
    assert variant(results(shop), answer.json()["variant"])["shown"] == 4

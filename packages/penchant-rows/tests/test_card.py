"""Cards of rows: what a row is, and what it has shown by whole weeks, in figures of which nobody can be seen."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from factories import piece
from penchant.clock import Clock
from penchant_engine.model import DAY_MS
from penchant_rows.model import NewImpression
from penchant_rows.service.cards import LEAST_PEOPLE, MAX_SHOWN
from penchant_rows.service.impressions import ListIds
from penchant_rows.storage.impression_ledger import RecordImpressions
from penchant_rows.storage.impressions import SLICES, ImpressionStore
from serving import Service

CARD = "/s/placements/home/card"


def last_monday() -> int:
    """Return the first day of the last whole week, counted from 1970."""
    today = int(time.time() * 1000) // DAY_MS
    return today - (today + 3) % 7 - 7


def show_in_week(service: Service, lists: Mapping[str | None, Sequence[str]], *, day: int | None = None) -> None:
    """Show pieces to people (`None`: to nobody in particular) on a day, by default one of the last whole week."""
    moment = (last_monday() + 2 if day is None else day) * DAY_MS + 1
    with service.opened_storage() as storage:
        account = storage.accounts.ensure(service.account)
        head = storage.sources.read_head(account, "s")
        assert head is not None
        ids = ListIds(storage.list_secret(), clock=Clock(seconds=lambda: moment / 1000))
        shown = []
        for user, pieces in lists.items():
            made = ids.make(head, placement="home", variant="base", user_id=user, pieces=pieces)
            identity = ids.read(head, made)
            shown += [
                NewImpression(identity=identity, piece_id=each, position=place, shown_at=moment)
                for place, each in enumerate(pieces, start=1)
            ]
        command = RecordImpressions(account_id=account, source="s", impressions=shown, window_ms=0)
        storage.submit(command).result(timeout=120)


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit(
        "s",
        piece("a", "x", "y", extras={"language": "en"}),
        piece("b", "x", extras={"language": "fr"}),
        piece("c", "z", extras={"language": "en"}, filters={"availableFrom": "2020-01-01T00:00:00Z"}),
        piece("d", "z"),
    )
    attributes = {"language": {"pointer": "/language", "type": "keyword"}}
    assert service.put("/s/settings", json={"attributes": attributes}).status_code == 200
    put(service, kind="popular")
    return service


def put(service: Service, **members: Any) -> None:
    answer = service.put("/s/placements/home", json=members)
    assert answer.status_code == 200, answer.text


def people(count: int, pieces: Sequence[str]) -> dict[str | None, Sequence[str]]:
    return {f"u{number}": pieces for number in range(count)}


def test_a_card_tells_what_a_row_is_in_words(shop: Service) -> None:
    put(
        shop,
        kind="recommendations",
        title="For you",
        purpose="What to watch tonight.",
        blend={"content": 1, "audience": 3, "popularity": 0},
        catalogs=["screen"],
        filter={"key": "language", "any": ["en", "cy"]},
        boosts=[{"key": "language", "any": ["cy"], "factor": 2}],
        pins=[{"id": "a", "position": 1}],
        quotas=[{"filter": {"key": "language", "any": ["cy"]}, "atLeast": 2, "of": 6}],
        diversity=0.5,
        calibration=0.25,
        calibrationCategory="genre",
        fallback="popular",
    )

    card = shop.get(CARD).json()

    assert (card["title"], card["purpose"], card["kind"]) == ("For you", "What to watch tonight.", "recommendations")
    assert card["counts"] == [{"part": "content", "share": 0.25}, {"part": "audience", "share": 0.75}]
    assert card["rules"] == [
        "Only from the catalog screen.",
        "Only where language is one of en, cy.",
        "Comes sooner, as if 2 times as fitting, where language is cy.",
        "One piece at places that an editor chose.",
        "At least 2 of the first 6 where language is cy.",
        "How mixed: visibly, at hardly any loss.",
        "Keeps the shares that genre has of each person's tastes: a little.",
        "Where it would be empty, another list: popular.",
    ]
    assert card["retentionDays"] == 396
    assert card["since"] < card["changedAt"]
    assert card["weeks"] == []


def test_conditions_of_keywords_and_catalogs_are_told_in_words(shop: Service) -> None:
    crime = {"should": [{"category": "genre", "any": ["crime"]}, {"category": "theme", "all": ["crime", "law"]}]}
    put(
        shop,
        kind="new",
        filter={
            "must": [{"category": "kind", "any": ["series"]}, {"catalogs": ["tv", "web"]}, crime],
            "mustNot": [
                {"category": "genre", "any": ["noir"]},
                {"catalogs": ["old"]},
                {"key": "language", "exists": True},
            ],
        },
        boosts=[crime | {"factor": 2}],
        quotas=[{"filter": {"category": "genre", "exists": True}, "atLeast": 1, "of": 3}],
    )

    assert shop.get(CARD).json()["rules"] == [
        "Only where kind is series.",
        "Only where it is in the catalog tv or web.",
        "Only where genre is crime or theme has all of crime, law.",
        "Only where genre is not noir.",
        "Only where it is not in the catalog old.",
        "Only where it is not so that language has a value.",
        "Comes sooner, as if 2 times as fitting, where genre is crime or theme has all of crime, law.",
        "At least 1 of the first 3 where genre has a value.",
    ]


def test_figures_of_a_week_are_those_of_their_definitions(shop: Service) -> None:
    shop.post("/s/users/kim/interactions/Purchase/content/a")
    show_in_week(shop, people(LEAST_PEOPLE, ["a", "b"]) | {None: ["c"]})

    (week,) = shop.get(CARD).json()["weeks"]

    shown = 2 * LEAST_PEOPLE + 1
    assert (week["shown"], week["pinned"], week["complete"]) == (shown, 0, True)
    assert week["coverage"] == 0.75
    assert week["newness"] == round(2 * LEAST_PEOPLE / shown, 2)
    # a has x and y, b has x: they have half of their keywords in common.
    assert week["diversity"] == 0.5
    assert 0 < week["popularity"] <= 0.5
    assert week["shares"] == {
        "language": {"en": round((LEAST_PEOPLE + 1) / shown, 2), "fr": round(LEAST_PEOPLE / shown, 2)}
    }


def test_a_week_that_too_few_people_saw_is_not_told(shop: Service) -> None:
    show_in_week(shop, people(LEAST_PEOPLE - 1, ["a", "b"]) | {None: ["c"]})

    assert shop.get(CARD).json()["weeks"] == []


def test_a_value_that_too_few_people_saw_is_in_no_share(shop: Service) -> None:
    show_in_week(shop, people(LEAST_PEOPLE, ["a"]) | {"somebody": ["b"]})

    (week,) = shop.get(CARD).json()["weeks"]

    assert set(week["shares"]["language"]) == {"en"}


def test_what_is_shown_to_nobody_in_particular_is_told_of_any_number(shop: Service) -> None:
    show_in_week(shop, {None: ["a", "b"]})

    (week,) = shop.get(CARD).json()["weeks"]
    assert week["shown"] == 2


def test_pinned_pieces_are_told_apart_and_are_in_no_figure(shop: Service) -> None:
    put(shop, kind="popular", pins=[{"id": "d", "position": 1}])
    show_in_week(shop, people(LEAST_PEOPLE, ["d", "a"]))

    (week,) = shop.get(CARD).json()["weeks"]

    assert (week["shown"], week["pinned"], week["coverage"]) == (LEAST_PEOPLE, LEAST_PEOPLE, 0.25)


def test_only_weeks_that_are_over_are_told(shop: Service) -> None:
    show_in_week(shop, people(LEAST_PEOPLE, ["a"]), day=int(time.time() * 1000) // DAY_MS)

    assert shop.get(CARD).json()["weeks"] == []


def test_pages_read_cards_where_the_source_says_so(shop: Service) -> None:
    origin = "https://shop.example"
    key = shop.new_key(origins=[origin], scopes=["read"])
    refused = shop.get(CARD, key=key, headers={"origin": origin})
    shop.put("/s/settings", json={"publicCards": True})

    answer = shop.get(CARD, key=key, headers={"origin": origin})

    assert (refused.status_code, refused.json()["code"]) == (403, "not-in-browsers")
    assert (answer.status_code, answer.json()["placement"]) == (200, "home")


def test_the_card_of_a_row_that_is_not_there_is_unknown(shop: Service) -> None:
    assert shop.get("/s/placements/other/card").json()["code"] == "unknown-placement"


def test_of_too_much_an_equal_part_of_each_hour_is_read(shop: Service) -> None:
    begin = last_monday() * DAY_MS
    show_in_week(shop, people(20, ["a", "b", "c", "d"]), day=last_monday())
    show_in_week(shop, {None: ["a"]}, day=last_monday() + 6)
    with shop.opened_storage() as storage:
        head = storage.sources.read_head(storage.accounts.ensure(shop.account), "s")
        assert head is not None
        read = storage.store(ImpressionStore).shown_between
        own, times = (head.source_id, head.incarnation, "home"), (begin, begin + 7 * DAY_MS)
        everything, is_whole = read(*own, times, limit=MAX_SHOWN)
        some, is_all = read(*own, times, limit=2 * SLICES - 2 * SLICES + SLICES // 4)

    assert (len(everything), is_whole, is_all) == (81, True, False)
    assert len(some) < len(everything)


@pytest.mark.slow
def test_anybody_reads_cards_and_nothing_else_where_the_source_says_so(shop: Service) -> None:
    address = f"/-/cards/{shop.account}/s/home"
    page = {"accept": "text/html"}
    closed = [shop.client.get(address), shop.client.get("/-/cards/nobody/s/home")]
    shop.put("/s/settings", json={"publicCards": True})

    answer, shown = shop.client.get(address), shop.client.get(address, headers=page)
    others = [shop.client.get(f"/-/cards/{shop.account}/{each}") for each in ("s/other", "t/home", "s/h%2Fome")]
    shop.put("/s/settings", json={})
    later = shop.client.get(address, headers=page)

    assert answer.json() == shop.get(CARD).json()
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "What counts, and how much" in shown.text
    # Neither the source nor its other pages are linked.
    assert "source=s" not in shown.text
    assert {each.status_code for each in (*closed, *others, later)} == {404}
    assert len({each.json()["detail"] for each in (*closed, *others)}) == 1
    assert shop.client.get(CARD).status_code == 401

"""Moments on pages, without scripts: in the zone of the source's setting, and forms in the zone that they say."""

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_desk.moments import field_text, interface_moment
from serving import Service, ok
from visitors import HOME, Visitor, fields_of, text_of, words

BERLIN = ZoneInfo("Europe/Berlin")
PIECE, ROW, DRAFT, SETTINGS = (f"{HOME}/{page}" for page in ("piece", "placement", "proposal", "settings"))


@pytest.fixture
def berlin(filled: Service) -> Service:
    """The service with a source whose pages are in the time of Berlin."""
    ok(filled.put("/s/settings", json={"timeZone": "Europe/Berlin"}))
    return filled


def put_row(service: Service, **pin: Any) -> None:
    ok(service.put("/s/placements/row", json={"kind": "new", "pins": [{"id": "a", "position": 1, **pin}]}))


def pins(service: Service) -> Any:
    return ok(service.get("/s/placements/row"))["pins"]


def test_the_zone_is_a_setting_which_says_nothing_where_it_is_utc(filled: Service) -> None:
    berlin = ok(filled.put("/s/settings", json={"timeZone": "Europe/Berlin"}))
    utc = ok(filled.put("/s/settings", json=berlin | {"timeZone": "UTC"}))

    assert berlin["timeZone"] == "Europe/Berlin"
    assert "timeZone" not in utc


@pytest.mark.parametrize("name", ("", "Berlin", "Europe", "../etc/localtime", "/Europe/Berlin", "A" * 65, 1, None))
def test_what_is_no_time_zone_is_refused(filled: Service, name: Any) -> None:
    answer = filled.put("/s/settings", json={"timeZone": name})

    assert (answer.status_code, [each["pointer"] for each in answer.json()["errors"]]) == (422, ["/timeZone"])


def test_editors_choose_the_zone_of_their_pages(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("settings", source="s")

    refused = visitor.fill(page, SETTINGS, do="save", timeZone="Berlin")
    visitor.fill(page, SETTINGS, do="save", timeZone=" Europe/Berlin ")

    assert (refused.status_code, "/timeZone: Found another time zone" in text_of(refused.text)) == (422, True)
    assert ok(filled.get("/s/settings"))["timeZone"] == "Europe/Berlin"


def test_pages_are_in_the_zone_of_the_setting_and_say_so(visitor: Visitor, berlin: Service) -> None:
    put_row(berlin, until="2099-07-01T18:00:00Z")
    changed = ok(berlin.get("/s"))["updatedAt"]
    local = datetime.fromisoformat(changed).astimezone(BERLIN)

    desk = visitor.get("desk", source="s").text

    assert re.search(rf'<time datetime="{changed[:19]}Z">{local:%Y-%m-%d %H:%M} CES?T</time>', desk)
    assert "pinned until 2099-07-01 20:00 CEST" in words(visitor.get("piece", source="s", id="a"), "stands")
    assert "UTC" not in text_of(desk)


def test_a_pin_is_from_and_until_a_moment_of_the_readers_own_across_a_change_of_clocks(
    visitor: Visitor, berlin: Service
) -> None:
    ok(berlin.put("/s/placements/row", json={"kind": "new"}))
    page = visitor.get("piece", source="s", id="b")
    given = {"row": "row", "position": "2", "from": "2099-03-28T20:00", "until": "2099-03-30T20:00", "do": "pin"}

    sent = visitor.send(f"{PIECE}?source=s&id=b", [*pin_fields(page.text), *given.items()])

    assert sent.status_code == 303
    assert page.text.count("<span data-zone>Europe/Berlin</span>") == 2
    # Clocks go forward in the night to the 29th.
    assert pins(berlin) == [{"id": "b", "position": 2, "from": "2099-03-28T19:00:00Z", "until": "2099-03-30T18:00:00Z"}]


def pin_fields(page: str) -> list[tuple[str, str]]:
    return [(name, text) for name, text in fields_of(page, PIECE) if name in {"proof", "zone"}]


def test_a_pin_is_moved_from_sunday_to_monday_evening_in_the_zone_of_the_form(
    visitor: Visitor, berlin: Service
) -> None:
    put_row(berlin, until="2099-10-25T18:30:00Z")
    page = visitor.get("placement", source="s", name="row")
    shown = dict(reversed(fields_of(page.text, ROW)))

    moved = visitor.fill(page, ROW, do="publish", **{"pins.until": "2099-10-26T20:00"})

    assert (shown["pins.until"], shown["zone"]) == ("2099-10-25T19:30", "Europe/Berlin")
    assert 'data-utc="2099-10-25T18:30:00Z"' in page.text
    assert moved.status_code == 303
    assert [each["until"] for each in pins(berlin)] == ["2099-10-26T19:00:00Z"]


def test_a_form_that_is_sent_as_it_stands_moves_no_pin(visitor: Visitor, berlin: Service) -> None:
    # Clocks show this hour twice; the field means the other one.
    put_row(berlin, until="2099-10-25T01:30:00Z")
    page = visitor.get("placement", source="s", name="row")

    visitor.fill(page, ROW, do="publish", title="Another")

    assert [each["until"] for each in pins(berlin)] == ["2099-10-25T01:30:00Z"]


def test_a_form_says_in_which_zone_it_is_and_is_answered_in_it(visitor: Visitor, berlin: Service) -> None:
    put_row(berlin)
    page = visitor.get("placement", source="s", name="row")
    late = {"zone": "America/New_York", "pins.until": "2099-07-01T20:00"}

    again = visitor.fill(page, ROW, do="show", **late)
    visitor.fill(again, ROW, do="publish")

    shown = dict(reversed(fields_of(again.text, ROW)))
    assert (shown["zone"], shown["pins.until"]) == ("America/New_York", "2099-07-01T20:00")
    assert "Times are those of America/New_York" in text_of(again.text)
    assert [each["until"] for each in pins(berlin)] == ["2099-07-02T00:00:00Z"]


def test_a_form_of_no_known_zone_is_refused(visitor: Visitor, berlin: Service) -> None:
    put_row(berlin)
    page = visitor.get("placement", source="s", name="row")

    refused = visitor.fill(page, ROW, do="publish", zone="Mars/Olympus", **{"pins.until": "2099-07-01T20:00"})

    assert (refused.status_code, "Found another time zone" in text_of(refused.text)) == (422, True)
    assert pins(berlin) == [{"id": "a", "position": 1}]


def test_a_draft_is_published_at_a_moment_of_the_readers_own(visitor: Visitor, berlin: Service) -> None:
    ok(berlin.put("/s/drafts/spring", json={"blacklist": ["b"]}))
    page = visitor.get("proposal", source="s", name="spring")

    sent = visitor.fill(page, DRAFT, do="schedule", at="2099-01-31T18:30")

    assert ok(berlin.get("/s/drafts/spring"))["due"].startswith("2099-01-31T17:30:00")
    shown = text_of(visitor.ask("GET", sent.headers["location"]).text)
    assert "for 2099-01-31 18:30 CET" in shown


def test_the_audit_log_goes_back_from_a_moment_of_the_readers_own(filled: Service) -> None:
    admin = Visitor(filled, filled.new_key(account="operators", admin=True))
    now = datetime.now(UTC)
    # Of a zone far ahead the same text is of an earlier moment.
    before = f"{now.replace(year=now.year + 1):%Y-%m-%dT%H:%M}"

    page = admin.get("audit", account=filled.account, before=before, zone="Pacific/Kiritimati")

    assert f'value="{before}"' in page.text
    assert 'name="zone" value="Pacific/Kiritimati"' in page.text
    assert "made the source" in text_of(page.text)
    assert admin.get("audit", before=before, zone="Mars").status_code == 422


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2099, 1, 1)))  # noqa: DTZ001
def test_a_field_means_the_moment_that_it_shows_but_for_the_second_of_two_equal_hours(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)

    meant = datetime.fromisoformat(interface_moment(field_text(moment, BERLIN), BERLIN))

    is_second = moment.astimezone(BERLIN).fold == 1
    assert (moment - meant).total_seconds() == (3600 if is_second else 0)

"""Requests are written as the interface reads them; what it would misread is refused before it is sent."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

import penchant_client as client
from penchant.wire import encode, sign_user
from penchant_client import AsyncClient, Client, UnreadableAnswer
from penchant_client.exchange import ServiceConnection
from penchant_client.flows import MAX_BODY_BYTES, batches, record_interaction
from penchant_client.operations import get_content, metrics, recommend, similar_content

LATE_IN_BERLIN = datetime(2026, 1, 2, 0, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("at", "written"), ((date(2026, 1, 2), "2026-01-02"), (LATE_IN_BERLIN, "2026-01-01"), ("2026-01-02", "2026-01-02"))
)
def test_a_day_is_the_utc_day(at: date | str, written: str) -> None:
    assert similar_content("s", "a", at=at).query == (("at", written),)


def test_a_moment_keeps_its_zone() -> None:
    in_utc = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert record_interaction("s", "u", "Play", "a", timestamp=in_utc).query == (("timestamp", "2026-01-02T03:04:05Z"),)


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        record_interaction("s", "u", "Play", "a", timestamp=LATE_IN_BERLIN.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("name", "written"),
    (("a/b", "a%2Fb"), ("%2F", "%252F"), (".", "%2E"), ("..", "%2E%2E"), ("-", "%2D"), ("é", "%C3%A9")),
)
def test_a_name_fills_one_segment_of_the_path(name: str, written: str) -> None:
    assert get_content(name, name).path == f"/{written}/content/{written}"


def test_a_version_of_the_audience_is_sent_in_its_header() -> None:
    written = ServiceConnection("http://s.example", "pk_x", wait=False).written(
        recommend("s", "u", min_audience_version=7)
    )

    assert written["headers"]["x-penchant-min-audience-version"] == "7"
    assert written["params"] is None


def test_options_that_are_none_are_left_out() -> None:
    assert similar_content("s", "a", limit=None, catalogs=None, algo="cosine").query == (("algo", "cosine"),)


@pytest.mark.parametrize("kind", (Client, AsyncClient))
@pytest.mark.parametrize("address", ("127.0.0.1:8080", "", "ftp://127.0.0.1"))
def test_an_address_without_a_scheme_is_refused(kind: type[Client] | type[AsyncClient], address: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        kind(address, "pk_x")


def test_a_batch_ends_before_its_body_is_too_large() -> None:
    entries = ["x" * (MAX_BODY_BYTES // 3)] * 7

    found = [(batch.place, len(batch.entries), len(batch.body())) for batch in batches(iter(entries), 2_000)]

    assert [(place, count) for place, count, _ in found] == [(0, 2), (2, 2), (4, 2), (6, 1)]
    assert all(size <= MAX_BODY_BYTES for _, _, size in found)


def test_an_entry_larger_than_a_body_goes_alone() -> None:
    entries = ["a", "x" * (MAX_BODY_BYTES + 1), "b"]

    assert [batch.body() for batch in batches(entries, 2_000)] == [encode([entry]) for entry in entries]


def test_text_that_is_none_is_told() -> None:
    with pytest.raises(UnreadableAnswer):
        metrics().read(b"\xff")


@pytest.mark.parametrize("user_id", ("kim", "a.b/c d", "é"))
def test_people_are_signed_as_the_service_signs_them(user_id: str) -> None:
    assert client.sign_user(user_id, "secret", 1_800_000_000) == sign_user(user_id, "secret", 1_800_000_000)

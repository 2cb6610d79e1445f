"""What does not fit is answered with 503 and leaves room for what does."""

from pathlib import Path

import pytest

from conftest import Service
from factories import piece
from penchant.service import content
from penchant.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), body_memory_bytes=10_000)


def test_a_body_that_finds_no_room_is_503_and_the_next_one_is_taken(service: Service) -> None:
    large = [piece(f"p{number}", "x" * 400) for number in range(30)]

    for _ in range(3):
        refused = service.post("/s/content", json=large)
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
    for number in range(20):
        service.submit("s", piece(f"p{number}", "x" * 400, "y" * 400, "z" * 400))
    assert service.get("/s/ids").json()["count"] == 20


def test_listings_wait_their_turn_and_are_refused_after_a_while(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "LISTING_WAIT_S", 0.1)
    service.submit("s", piece("a", "x"))
    listings = service.client.app.services.content._listings  # type: ignore[attr-defined]
    held = content.MAX_LISTINGS
    listings._value -= held

    refused = service.get("/s/content")
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")

    listings._value += held
    for _ in range(3 * held):
        assert service.get("/s/content").status_code == 200
        assert service.get("/s/ids").status_code == 200
        assert service.get("/none/ids").status_code == 404
    assert listings._value == held

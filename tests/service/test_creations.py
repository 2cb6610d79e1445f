"""An account makes so many sources a minute."""

from pathlib import Path

import pytest

from factories import piece
from penchant.errors import RateExceeded, StorageUnavailable
from penchant.service.content import CreationRate
from penchant.settings import NodeSettings
from serving import Service


@pytest.fixture
def settings(tmp_path: Path) -> NodeSettings:
    return NodeSettings(data=str(tmp_path / "data"), source_creations_per_minute=1)


def test_only_a_submission_that_makes_a_source_counts(service: Service) -> None:
    for _ in range(3):
        service.submit("s", piece("a", "x"))
    refused = service.request("POST", "/t/content", json=[piece("a", "x")])

    assert (refused.status_code, refused.json()["code"]) == (429, "rate-exceeded")
    assert service.get("/t/ids").status_code == 404


def create(rate: CreationRate, account_id: int, limit: int) -> None:
    with rate.creating(account_id, limit):
        pass


def test_a_minute_has_so_many_for_each_account() -> None:
    now = 30.0
    rate = CreationRate(monotonic=lambda: now)
    for account_id in (1, 2):
        for _ in range(3):
            create(rate, account_id, 3)
    with pytest.raises(RateExceeded) as caught:
        create(rate, 1, 3)
    assert caught.value.retry_after_s == 30

    now = 60.0
    create(rate, 1, 3)
    for _ in range(100):
        create(rate, 3, 0)


def test_a_source_that_could_not_be_made_is_not_counted() -> None:
    rate = CreationRate(monotonic=lambda: 30.0)
    for _ in range(3):
        with pytest.raises(StorageUnavailable), rate.creating(1, 1):
            raise StorageUnavailable("The disk is full.")

    create(rate, 1, 1)
    with pytest.raises(RateExceeded):
        create(rate, 1, 1)


def test_sources_that_are_made_at_the_same_time_all_count() -> None:
    rate = CreationRate(monotonic=lambda: 30.0)
    with rate.creating(1, 1), pytest.raises(RateExceeded):
        create(rate, 1, 1)

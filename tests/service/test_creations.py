"""An account makes so many sources a minute."""

import pytest

from penchant.errors import RateExceeded, StorageUnavailable
from penchant.service.content import CreationRate


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

"""An account makes so many sources a minute."""

import pytest

from penchant.errors import RateExceeded
from penchant.service.creations import CreationRate


def test_a_minute_has_so_many_for_each_account() -> None:
    now = 30.0
    rate = CreationRate(monotonic=lambda: now)
    for account in (1, 2):
        for _ in range(3):
            rate.count(account, 3)
    with pytest.raises(RateExceeded) as caught:
        rate.count(1, 3)
    assert caught.value.retry_after_s == 30

    now = 60.0
    rate.count(1, 3)
    for _ in range(100):
        rate.count(3, 0)

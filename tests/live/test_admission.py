"""Requests are turned away where time or memory is short, and let in again afterwards."""

import asyncio
import time

import pytest

from penchant.errors import Overloaded
from penchant.live.admission import CROWD, TICK_S, Admission


def test_requests_that_come_too_late_are_turned_away_until_the_loop_gets_round() -> None:
    admission = Admission(body_bytes=1, delay_s=0.2)

    async def scene() -> list[bool]:
        ticking = asyncio.create_task(admission.run())
        found = []
        for blocked_s, requests in ((0.0, 3 * CROWD), (0.5, 1), (0.5, CROWD + 1)):
            await asyncio.sleep(2 * TICK_S)
            time.sleep(blocked_s)  # noqa: ASYNC251  # an event loop that is held up
            found.append(sum(is_let_in(admission) for _ in range(requests)) == requests)
        await asyncio.sleep(3 * TICK_S)
        found.append(is_let_in(admission))
        ticking.cancel()
        return found

    assert asyncio.run(scene()) == [True, True, False, True]


def is_let_in(admission: Admission) -> bool:
    try:
        admission.require_time()
    except Overloaded:
        return False
    return True


def test_no_limit_lets_everything_in() -> None:
    now = [1.0]
    admission = Admission(body_bytes=1, delay_s=0, monotonic=lambda: now[0])

    async def scene() -> bool:
        ticking = asyncio.create_task(admission.run())
        await asyncio.sleep(0)
        now[0] += 1000
        ticking.cancel()
        return sum(is_let_in(admission) for _ in range(2 * CROWD)) == 2 * CROWD

    assert asyncio.run(scene())


def test_bodies_take_room_until_it_is_given_back() -> None:
    admission = Admission(body_bytes=100, delay_s=1)
    admission.take(60)
    with pytest.raises(Overloaded):
        admission.take(41)

    admission.give(60)
    admission.take(100)

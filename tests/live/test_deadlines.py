"""What tasks wait for expires in its time, by one timer for all, and in the event loop that is there."""

import asyncio

from penchant.live.deadlines import Deadlines


class Waiting:
    """Something that is waited for until it expires."""

    def __init__(self) -> None:
        self._expired = asyncio.get_running_loop().create_future()

    def expire(self) -> None:
        self._expired.set_result(None)

    async def ends(self) -> None:
        await asyncio.wait_for(self._expired, 30)

    def has_expired(self) -> bool:
        return self._expired.done()


async def test_what_has_less_time_expires_first_though_it_came_later() -> None:
    deadlines, late, soon = Deadlines(), Waiting(), Waiting()
    deadlines.begin(late, 60)
    deadlines.begin(soon, 0.01)
    await soon.ends()

    assert not late.has_expired()


async def test_the_timer_goes_on_with_the_next_one() -> None:
    deadlines, first, second = Deadlines(), Waiting(), Waiting()
    deadlines.begin(first, 0.01)
    deadlines.begin(second, 0.05)
    await first.ends()
    await second.ends()


async def test_what_has_ended_does_not_expire() -> None:
    deadlines, ended, kept = Deadlines(), Waiting(), Waiting()
    deadlines.begin(ended, 0.01)
    deadlines.begin(kept, 0.01)
    deadlines.end(ended)
    await kept.ends()

    assert not ended.has_expired()


def test_a_timer_of_a_loop_that_has_ended_holds_up_nothing_in_another_one() -> None:
    deadlines = Deadlines()

    async def begin(timeout_s: float) -> Waiting:
        waiting = Waiting()
        deadlines.begin(waiting, timeout_s)
        return waiting

    async def expire() -> None:
        await (await begin(0.01)).ends()

    asyncio.run(begin(0.005))
    asyncio.run(expire())

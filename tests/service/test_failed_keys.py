"""Wrong keys are free at first, and cost a wait where they go on."""

import asyncio

from penchant.service.rates import FAILURES_WINDOW_S, FREE_FAILURES, MAX_ADDRESSES, FailedKeys


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_address_waits_after_its_free_failures_until_the_window_ends() -> None:
    clock = Clock()
    failed = FailedKeys(monotonic=clock)

    assert [failed.count("a") for _ in range(FREE_FAILURES + 2)] == [False] * FREE_FAILURES + [True, True]
    assert not failed.count("b")
    clock.now = FAILURES_WINDOW_S + 1
    assert not failed.count("a")


def test_the_number_of_addresses_is_bounded() -> None:
    failed = FailedKeys(monotonic=Clock())
    for number in range(3 * MAX_ADDRESSES):
        failed.count(str(number))

    assert len(failed._failures) <= MAX_ADDRESSES


def test_a_refusal_that_waits_comes_in_the_end() -> None:
    failed = FailedKeys(monotonic=Clock(), delay_s=0.001)

    async def scene() -> None:
        for _ in range(FREE_FAILURES + 5):
            await failed.slow_down("a")

    asyncio.run(scene())
    assert failed._waiting == 0

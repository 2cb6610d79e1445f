"""Turns are shared between accounts: one that wants them all gets its own, and the others theirs."""

import asyncio

import pytest

from penchant.errors import Overloaded
from penchant.service.shares import AccountShares


async def test_an_account_waits_for_itself_and_not_for_others() -> None:
    shares = AccountShares("turns", turns=2, of_account=1, wait_s=0.05)
    give_back = await shares.take(1)

    with pytest.raises(Overloaded, match="Too many turns"):
        await shares.take(1)
    async with shares.turn(2):
        with pytest.raises(Overloaded):
            await shares.take(3)
    async with shares.turn(3):
        assert not shares.is_idle
    give_back()
    assert shares.is_idle


async def test_requests_of_an_account_take_turns_in_the_order_in_which_they_came() -> None:
    shares, order = AccountShares("turns", turns=2, of_account=1, wait_s=10), list[int]()

    async def work(number: int) -> None:
        async with shares.turn(number % 2):
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*map(work, range(10)))

    assert shares.is_idle
    assert order == list(range(10))


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    shares = AccountShares("turns", turns=1, of_account=1, wait_s=10)
    give_back = await shares.take(1)
    waiting = [asyncio.create_task(shares.take(account)) for account in (1, 2)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    give_back()
    assert shares.is_idle
    async with shares.turn(2):
        pass

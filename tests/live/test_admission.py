"""Requests wait for their turn, and are turned away where time or memory is short."""

import asyncio

import pytest

from clocks import SetClock
from penchant.errors import Overloaded
from penchant.live.admission import (
    CROWD,
    SEVERAL_S,
    TOGETHER,
    TOGETHER_BRIEF,
    UNCOUNTED,
    Admission,
    RecentAccounts,
)

WORK_S = 0.001
STEPS = 6


async def arrive(
    admission: Admission, clock: SetClock, work_s: float, begun: list[int], number: int, account: int | None = None
) -> bool:
    """Come as a request does; return whether it was let in."""
    try:
        await admission.enter(account)
    except Overloaded:
        return False
    clock.now += work_s
    begun.append(number)
    return True


def came(*crowds: int, delay_s: float = 0.025, work_s: float = WORK_S) -> tuple[list[int], list[int]]:
    """Let crowds of requests come one after the other; return how many of each were let in, and in which order."""
    clock, begun = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=delay_s, monotonic=clock)

    async def scene() -> list[int]:
        let_in = []
        for crowd in crowds:
            came = (arrive(admission, clock, work_s, begun, number) for number in range(crowd))
            let_in.append(sum(await asyncio.gather(*came)))
        return let_in

    return asyncio.run(scene()), begun


@pytest.mark.parametrize(
    ("came", "are_several"),
    (
        ([1], False),
        # A key that has not been accepted yet may be the account's own.
        ([None, 1], False),
        ([1, None], True),
        ([1, 2, 2], True),
    ),
)
def test_accounts_are_several_for_a_while_after_one_came_behind_another(
    *, came: list[int | None], are_several: bool
) -> None:
    clock = SetClock(1.0)
    accounts = RecentAccounts(clock)

    for each in came:
        accounts.note(each)

    assert accounts.are_several(clock.now) is are_several
    assert not accounts.are_several(clock.now + SEVERAL_S)


def test_as_many_as_a_crowd_are_let_in_however_long_they_take() -> None:
    assert came(*[TOGETHER + CROWD] * 5, work_s=1.0)[0] == [TOGETHER + CROWD] * 5


def test_more_are_turned_away_and_let_in_again_afterwards() -> None:
    let_in, _ = came(*[10 * CROWD] * 5, 1, CROWD, work_s=1.0)

    assert let_in == [TOGETHER + CROWD] * 5 + [1, CROWD]


@pytest.mark.slow
def test_quick_requests_may_wait_in_greater_number_for_the_same_time() -> None:
    delay_s = 4 * CROWD * WORK_S

    let_in, _ = came(*[20 * CROWD] * 20, delay_s=delay_s)

    assert let_in[0] == TOGETHER + CROWD
    assert CROWD < let_in[-1] - TOGETHER <= 4 * CROWD + 1


def test_no_limit_lets_everything_in() -> None:
    assert came(20 * CROWD, delay_s=0, work_s=1.0)[0] == [20 * CROWD]


def test_requests_begin_in_the_order_in_which_they_came() -> None:
    _, begun = came(TOGETHER + CROWD)

    assert begun == list(range(TOGETHER + CROWD))


async def test_who_has_one_request_waits_for_one_of_each_other_account() -> None:
    clock, begun = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=1, monotonic=clock)
    crowds = [account for account in (1, 2) for _ in range(TOGETHER + CROWD)]

    await asyncio.gather(admission.enter(1), admission.enter(2))
    waiting = [asyncio.create_task(arrive(admission, clock, WORK_S, begun, each, account=each)) for each in crowds]
    await asyncio.sleep(0)
    own = asyncio.create_task(arrive(admission, clock, WORK_S, begun, 3, account=3))
    await asyncio.gather(own, *waiting)

    assert sorted(begun[begun.index(3) - 2 : begun.index(3)]) == [1, 2]
    assert begun.index(3) < len(crowds) // 4


async def test_a_crowd_of_one_account_has_no_other_one_turned_away() -> None:
    clock, begun = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=0.001, monotonic=clock)

    came = [arrive(admission, clock, 1.0, begun, 1, account=1) for _ in range(10 * CROWD)]
    own = [arrive(admission, clock, 1.0, begun, 2, account=2) for _ in range(CROWD // 4)]
    let_in = await asyncio.gather(*came, *own)

    assert sum(let_in[: len(came)]) < len(came)
    assert all(let_in[len(came) :])


async def test_whatever_else_comes_waits_for_a_few_of_those_that_stand_in_the_queue() -> None:
    clock, begun = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=1, monotonic=clock)
    everyone = TOGETHER + CROWD

    waiting = [asyncio.create_task(arrive(admission, clock, WORK_S, begun, number)) for number in range(everyone)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    ahead = len(begun)
    await asyncio.gather(*waiting)

    assert ahead <= 2 * TOGETHER < everyone


async def test_steps_of_a_request_wait_for_one_of_each_other_account() -> None:
    clock, steps = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=1, monotonic=clock)

    async def work(account: int) -> None:
        for _ in range(STEPS):
            steps.append(account)
            await asyncio.sleep(0)

    async def served(account: int) -> None:
        await admission.enter(account)
        await admission.by_turns(account, work(account))

    await asyncio.gather(admission.enter(1), admission.enter(2))
    await asyncio.gather(*(served(account) for account in [*[1] * CROWD, 2]))

    own = [number for number, account in enumerate(steps) if account == 2]
    # Besides one that begins and one that goes on of the others in each turn of the event loop.
    assert own[-1] - own[0] <= 3 * STEPS < CROWD * STEPS // 4
    assert len(steps) == (CROWD + 1) * STEPS


async def test_a_request_that_is_cancelled_between_two_turns_ends() -> None:
    clock, ended = SetClock(1.0), list[str]()
    admission = Admission(body_bytes=1, delay_s=1, monotonic=clock)

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    await admission.enter(1)
    serving = asyncio.ensure_future(admission.by_turns(1, work()))
    await asyncio.sleep(0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving

    assert ended == ["work"]


async def test_one_that_gave_up_takes_nobodys_turn() -> None:
    clock, begun = SetClock(1.0), list[int]()
    admission = Admission(body_bytes=1, delay_s=1, monotonic=clock)

    waiting = [asyncio.create_task(arrive(admission, clock, WORK_S, begun, number)) for number in range(CROWD)]
    await asyncio.sleep(0)
    waiting[-2].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert begun == [*range(CROWD - 2), CROWD - 1]


def test_bodies_take_room_until_it_is_given_back() -> None:
    admission = Admission(body_bytes=100, delay_s=1)
    admission.take(60)
    with pytest.raises(Overloaded):
        admission.take(41)

    admission.give(60)
    admission.take(100)


async def test_what_can_wait_is_refused_while_there_is_a_crowd() -> None:
    admission = Admission(body_bytes=1, delay_s=0)

    await admission.enter(is_patient=False)
    waiting = [asyncio.ensure_future(admission.enter()) for _ in range(TOGETHER + CROWD)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await admission.enter(is_patient=False)
    await asyncio.gather(*waiting)
    await admission.enter(is_patient=False)


async def test_one_after_the_other_begins_at_once_and_of_a_crowd_only_some() -> None:
    admission = Admission(body_bytes=1, delay_s=0)

    one_by_one = []
    for _ in range(3 * TOGETHER):
        one_by_one.append(admission.turn(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    crowd = [admission.turn(1) for _ in range(TOGETHER + CROWD)]
    begun = crowd.count(None)
    await asyncio.gather(*filter(None, crowd))

    assert one_by_one == [None] * 3 * TOGETHER
    # Some may have begun before anybody counted.
    assert TOGETHER - UNCOUNTED <= begun <= TOGETHER


async def test_of_brief_ones_more_begin_together_but_none_before_those_that_wait() -> None:
    admission = Admission(body_bytes=1, delay_s=0)

    brief = [admission.turn(1, is_brief=True) for _ in range(TOGETHER + CROWD)]
    waiting = [admission.turn(1), admission.turn(1, is_brief=True)]
    await asyncio.gather(*filter(None, waiting))
    many = [admission.turn(1, is_brief=True) for _ in range(2 * TOGETHER_BRIEF)]
    await asyncio.gather(*filter(None, many))

    assert brief == [None] * (TOGETHER + CROWD)
    assert None not in waiting
    assert TOGETHER_BRIEF - UNCOUNTED - len(waiting) <= many.count(None) <= TOGETHER_BRIEF

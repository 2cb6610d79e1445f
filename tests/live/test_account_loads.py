"""Accounts that use most of a process beside others become heavy, and stay so while they go on."""

import asyncio
import time

import pytest

from clocks import SetClock
from live.conftest import Sources
from penchant.live.admission import HEAVY_S, KEYLESS, WINDOW_S, AccountLoads, Admission
from penchant.live.database import AsyncStorage
from penchant.telemetry import Metrics

HALF, TENTH = 0.5 * WINDOW_S, 0.1 * WINDOW_S


class Window:
    """Loads with a clock of the test's, and one window in which accounts use processor time."""

    def __init__(self) -> None:
        self.clock = SetClock(1.0)
        self.loads = AccountLoads(monotonic=self.clock)

    def use(self, used: dict[int, float]) -> None:
        for account, seconds in used.items():
            self.loads.charge(account, seconds)
        self.clock.now += WINDOW_S

    def heavy(self, *accounts: int) -> list[int]:
        return [account for account in accounts if self.loads.is_heavy(account)]


@pytest.mark.parametrize(
    ("used", "heavy"),
    (
        ({1: HALF, 2: TENTH}, [1]),
        ({1: TENTH, 2: TENTH / 2}, []),
        ({1: HALF, 2: HALF, 3: TENTH}, [1, 2]),
        # Somebody has to be answered by the worker.
        ({1: HALF, 2: HALF}, [1]),
        ({1: HALF}, []),
        ({1: HALF, KEYLESS: TENTH}, []),
        ({1: TENTH, KEYLESS: HALF}, [KEYLESS]),
        ({KEYLESS: HALF}, []),
    ),
)
def test_those_who_use_most_beside_others_are_heavy(*, used: dict[int, float], heavy: list[int]) -> None:
    window = Window()

    window.use(used)

    assert window.heavy(*sorted(used, key=lambda account: -used[account])) == heavy


def test_less_is_much_where_steps_are_slowed_down() -> None:
    window = Window()

    window.loads.charge_step(1, TENTH, 3 * TENTH)
    window.use({2: TENTH / 2})

    assert window.heavy(1, 2) == [1]


def test_who_is_heavy_is_so_for_a_while_and_longer_while_somebody_else_is_served_beside_it() -> None:
    window = Window()
    window.use({1: HALF, 2: TENTH})
    assert window.heavy(1, 2) == [1]

    with window.loads.elsewhere(1):
        for _ in range(int(2 * HEAVY_S / WINDOW_S)):
            window.use({2: TENTH})
            assert window.heavy(1, 2) == [1]
    window.clock.now += HEAVY_S / 2
    assert window.heavy(1, 2) == [1]
    window.clock.now += HEAVY_S / 2

    assert window.heavy(1, 2) == []


def test_who_goes_on_alone_is_answered_by_the_worker_again() -> None:
    window = Window()
    window.use({1: HALF, 2: TENTH})
    assert window.heavy(1, 2) == [1]

    with window.loads.elsewhere(1):
        for _ in range(int(HEAVY_S / WINDOW_S)):
            window.use({1: TENTH})
            window.heavy(1)

    assert window.heavy(1) == []


def test_requests_of_a_heavy_account_that_began_before_make_nobody_else_heavy() -> None:
    window = Window()
    window.use({1: HALF, 2: TENTH})
    assert window.heavy(1, 2) == [1]

    window.use({1: HALF, 2: HALF})

    assert window.heavy(1, 2) == [1]


def spin() -> None:
    until = time.thread_time() + HALF
    while time.thread_time() < until:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("is_in_thread", (False, True))
def test_an_account_is_charged_with_its_steps_and_its_threads(*, sources: Sources, is_in_thread: bool) -> None:
    clock = SetClock(1.0)

    async def scene() -> bool:
        database = AsyncStorage(sources.storage, Metrics())
        database.loads = AccountLoads(monotonic=clock)
        admission = Admission(body_bytes=1, delay_s=1, loads=database.loads)

        async def serve() -> None:
            if is_in_thread:
                await database.in_thread(spin)
            else:
                spin()

        # Of one that is alone threads are charged, and steps of those who are not.
        for account in () if is_in_thread else (2, 1):
            await admission.enter(account)
        await admission.by_turns(1, serve())
        database.loads.charge(2, 0.0)
        clock.now += WINDOW_S
        database.close()
        return database.loads.is_heavy(1)

    assert asyncio.run(scene())

"""Shares of accounts: what is scarce is given to a few requests at once, and to fewer of one account.

So that no account takes it all, however many requests it sends: they wait for each other, the others' do not.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from penchant.errors import Overloaded

HEAVY_TURNS = 2
"""Requests that a process serves at once of each kind that may hold a thread for seconds, of an account one."""
HEAVY_WAIT_S = 5.0
"""How long one more waits for its turn."""
PAGE_TURNS = 4
PAGES_OF_ACCOUNT = 2
"""Pages of all kinds that a process makes at once, and of one account."""


@dataclass(slots=True)
class _AccountTurns:
    """The turns of one account, and how many requests have one or wait for one."""

    semaphore: asyncio.Semaphore
    requests: int = field(default=0)


class AccountShares:
    """Turns at something scarce in a process; first come, first served, among the accounts' shares.

    ``pause`` is how long a turn stays taken after its end, for the time that it took: so an account that always wants
    one leaves time for others between two. ``name`` tells people what there is too little of. An account that has no
    request here takes no memory.
    """

    def __init__(self, name: str, *, turns: int, of_account: int, wait_s: float, pause: float = 0.0) -> None:
        self.wait_s = wait_s
        self._name = name
        self._pause = pause
        self._all = asyncio.Semaphore(turns)
        self._of_account = of_account
        # Only accounts with a request that has a turn or waits: `take` adds one, the last ``give_back`` removes it.
        self._accounts: dict[int, _AccountTurns] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no request has a turn or waits for one."""
        return not self._accounts

    @contextlib.asynccontextmanager
    async def turn(self, account_id: int) -> AsyncIterator[None]:
        """Wait for a turn, and give it back at the end.

        Raises:
            Overloaded: it did not come in time.
        """
        give_back = await self.take(account_id)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield
        finally:
            if self._pause:
                # The request is answered now; only its turn ends later.
                loop.call_later((loop.time() - began) * self._pause, give_back)
            else:
                give_back()

    async def take(self, account_id: int) -> Callable[[], None]:
        """Wait for a turn and return what gives it back, which must be called once.

        Raises:
            Overloaded: it did not come in time.
        """
        own = self._accounts.setdefault(account_id, _AccountTurns(asyncio.Semaphore(self._of_account)))
        # Counted before the first wait, so that nobody removes the semaphore that this request waits at.
        own.requests += 1
        taken: list[asyncio.Semaphore] = []

        def give_back() -> None:
            # Only what was taken: after a timeout that may be the account's turn alone, or none.
            for semaphore in taken:
                semaphore.release()
            own.requests -= 1
            if not own.requests:
                del self._accounts[account_id]

        try:
            async with asyncio.timeout(self.wait_s):
                # The account's own turn first: who waits for that one takes nothing that others wait for.
                for semaphore in (own.semaphore, self._all):
                    await semaphore.acquire()
                    taken.append(semaphore)
        except TimeoutError:
            give_back()
            raise Overloaded(f"Too many {self._name} at once; ask again soon.", retry_after_s=1) from None
        # Cancelled, for example since the client has gone: the next one gets its turn.
        except BaseException:
            give_back()
            raise
        return give_back


def heavy_shares(name: str) -> AccountShares:
    """Return the shares of work that may hold a thread for seconds: after it an account rests for as long again."""
    return AccountShares(name, turns=HEAVY_TURNS, of_account=1, wait_s=HEAVY_WAIT_S, pause=1.0)


def page_shares() -> AccountShares:
    """Return the shares of what is made for people to look at: searches and reasons, all together.

    Each takes tens of milliseconds of the processor, which all requests share; after it its turn rests for as long.
    """
    return AccountShares(
        "pages and explanations are being made",
        turns=PAGE_TURNS,
        of_account=PAGES_OF_ACCOUNT,
        wait_s=HEAVY_WAIT_S,
        pause=1.0,
    )

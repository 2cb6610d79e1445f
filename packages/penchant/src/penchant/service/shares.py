"""Shares of accounts: what is scarce is given to a few requests at once, and to fewer of one account.

So that no account takes it all, however many requests it sends: they wait for each other, the others' do not.

Decoding of bodies: small ones at once, large ones in threads, few at a time, so that others are answered.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from penchant.errors import Overloaded
from penchant.live.database import AsyncStorage

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


Decoded = TypeVar("Decoded")

INLINE_BYTES = 64 * 1024
"""The largest body that is decoded on the event loop: a millisecond, ten for the worst that can be in it."""
MAX_DECODINGS = 2
"""Large bodies that a process decodes at once, of an account one: more would be no quicker, but hold up others."""
DECODING_WAIT_S = 10.0
"""How long one more waits for its turn: as long as for a change."""
PAUSE, FAILED_PAUSE = 1.0, 50.0
"""How long after a decoding the account's next one waits, for the time that it took; longer where it was in vain.

Who sends one body after the other notices nothing: to store one takes longer. To decode one of 30 MB holds up all
others for a twentieth of a second, which fewer than one of a hundred requests should meet.
"""
MOST_PAUSE_S = 5.0
"""No turn waits longer than this, so that who has mended a body can send it."""


class BodyDecoder:
    """Decodes the bodies of requests."""

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database
        self._shares = AccountShares(
            "large bodies are being read", turns=MAX_DECODINGS, of_account=1, wait_s=DECODING_WAIT_S
        )

    async def decode(self, account_id: int, function: Callable[[bytes], Decoded], body: bytes) -> Decoded:
        """Return ``function(body)``, and raise what it raises.

        Raises:
            Overloaded: too many large bodies are being decoded.
        """
        if len(body) <= INLINE_BYTES:
            return function(body)
        give_back = await self._shares.take(account_id)
        loop = asyncio.get_running_loop()
        began, pause = loop.time(), FAILED_PAUSE
        try:
            decoded = await self._database.in_thread(function, body)
            # The longer pause stays for bodies that cannot be decoded, and for cancelled requests.
            pause = PAUSE
            return decoded
        finally:
            # The account's next large body waits a little longer, so that others get their time between two.
            loop.call_later(min(MOST_PAUSE_S, (loop.time() - began) * pause), give_back)

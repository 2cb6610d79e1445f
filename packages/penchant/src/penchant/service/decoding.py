"""Decoding of bodies: small ones at once, large ones in threads, few at a time, so that others are answered."""

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from penchant.live.database import AsyncStorage
from penchant.service import Services
from penchant.service.shares import AccountShares

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

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what decodes bodies over the service."""
        return cls(services.database)

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

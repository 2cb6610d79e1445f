"""Who is asking, and may they? Keys, plans, rates and monthly quotas. Never the data of a source."""

import asyncio
import hashlib
import hmac
import secrets
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from penchant.errors import (
    FeatureNotInPlan,
    NotATenant,
    QuotaExceeded,
    StorageUnavailable,
    Unauthenticated,
)
from penchant.live.database import Database
from penchant.model import Feature, Plan
from penchant.settings import Settings
from penchant.storage import AddUsage, KeyRecord
from penchant.telemetry import logger

KEY_LIFE_S = 0.5
"""How long a looked-up key is believed: a revoked one must stop within a second on every process."""
USAGE_INTERVAL_S = 1.0
"""How often answers are counted into the database; a crash forgets at most this much."""
_ALPHABET = string.ascii_letters + string.digits
_KEY_ID_LENGTH = 12
_SECRET_LENGTH = 32
"""Characters of 62 kinds: 190 bits, above the 160 that the interface asks for."""
MAX_KEY_LENGTH = 200
"""Characters of a key that are looked at at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An authenticated caller: the key, the account it belongs to, and what its plan grants."""

    key_id: str
    account_id: int
    plan: Plan
    admin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RateState:
    """Where a key stands in the current second, for the RateLimit headers."""

    limit: int
    remaining: int
    reset_s: int
    exceeded: bool = False


def new_key() -> tuple[str, str, bytes]:
    """Return a fresh key: its id, the whole key to hand out once, and the hash to store."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_ID_LENGTH))
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    return key_id, f"pk_{key_id}_{secret}", hash_secret(secret)


def hash_secret(secret: str) -> bytes:
    """Return what is stored of a secret. A fast hash is enough for random ones of this length."""
    return hashlib.sha256(secret.encode()).digest()


class AccessControl:
    """Authenticates keys and holds their plans' features and limits."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._looked_up: dict[str, tuple[float, KeyRecord]] = {}
        self._rates = FixedWindowRateLimiter(MemoryStorage())

    async def authenticate(self, keys: list[str]) -> Access:
        """Return who sends these ``x-api-key`` headers.

        Raises:
            Unauthenticated: not exactly one key, or it is unknown, revoked or expired.
        """
        if len(keys) != 1:
            found = "is missing" if not keys else "is given more than once"
            raise Unauthenticated(f"The header x-api-key {found}; send it once, with a key.")
        parts = keys[0].split("_") if keys[0].isascii() and len(keys[0]) <= MAX_KEY_LENGTH else []
        if len(parts) != 3 or parts[0] != "pk" or not parts[1].isalnum():
            raise Unauthenticated("The API key does not look like one (pk_<id>_<secret>).")
        record = await self._find(parts[1])
        expected = record.secret_hash if record is not None else b"\0" * 32
        matches = hmac.compare_digest(hash_secret(parts[2]), expected)
        if record is None or not matches:
            raise Unauthenticated("The API key is not known.")
        if record.revoked_at is not None:
            raise Unauthenticated("The API key has been revoked.")
        if record.expires_at is not None and record.expires_at <= self._clock() * 1000:
            raise Unauthenticated("The API key has expired.")
        return Access(key_id=record.key_id, account_id=record.account_id, plan=self._plan(record), admin=record.admin)

    def count_request(self, access: Access) -> RateState | None:
        """Count a request of a key against its plan's rate; ``None`` where there is no limit."""
        limit = access.plan.requests_per_second
        if limit is None:
            return None
        item = RateLimitItemPerSecond(limit)
        allowed = self._rates.hit(item, access.key_id)
        window = self._rates.get_window_stats(item, access.key_id)
        return RateState(limit=limit, remaining=window.remaining, reset_s=1, exceeded=not allowed)

    @staticmethod
    def require(access: Access, feature: Feature) -> None:
        """Raise `FeatureNotInPlan` unless the key's plan includes a feature."""
        if feature not in access.plan.features:
            raise FeatureNotInPlan(
                f"The key's plan {access.plan.name!r} does not include the feature {feature.value!r}."
            )

    @staticmethod
    def require_tenant(access: Access) -> None:
        """Raise `NotATenant` for a key with the admin role."""
        if access.admin:
            raise NotATenant("A key with the admin role has no sources; use a key of the account.")

    async def _find(self, key_id: str) -> KeyRecord | None:
        now = self._monotonic()
        looked_up = self._looked_up.get(key_id)
        if looked_up is not None and now - looked_up[0] <= KEY_LIFE_S:
            return looked_up[1]
        try:
            record = await self._database.read(self._database.storage.find_key, key_id)
        except StorageUnavailable:
            if looked_up is not None and now - looked_up[0] <= self._settings.stale_reads_s:
                return looked_up[1]
            raise
        if record is None:
            self._looked_up.pop(key_id, None)
        else:
            self._looked_up[key_id] = (now, record)
        return record

    def _plan(self, record: KeyRecord) -> Plan:
        plan = self._settings.plan(record.plan)
        if plan is None:
            # A key outlives the settings file: without its plan it may do nothing rather than everything.
            raise FeatureNotInPlan(f"The key's plan {record.plan!r} is not configured on this server.")
        return plan


class Usage:
    """Counts recommendation answers per account and UTC month, and holds the monthly quota."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._pending: dict[tuple[int, str], int] = {}

    async def reserve(self, access: Access) -> Callable[[], None]:
        """Count one answer; call what is returned if it is not given after all.

        Raises:
            QuotaExceeded: the month's answers are used up.
        """
        month = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m")
        slot = (access.account_id, month)
        quota = access.plan.recommendations_per_month
        if quota is not None:
            stored = await self._database.read(self._database.storage.usage, access.account_id, month)
            if stored + self._pending.get(slot, 0) >= quota:
                raise QuotaExceeded(
                    f"The plan {access.plan.name!r} allows {quota} recommendation requests a month.",
                    retry_after_s=self._until_next_month(),
                )
        self._add(slot, 1)
        return lambda: self._add(slot, -1)

    async def flush(self) -> None:
        """Count what is pending into the database; what fails is kept for the next time."""
        pending, self._pending = self._pending, {}
        for (account_id, month), answers in pending.items():
            if not answers:
                continue
            try:
                await self._database.change(AddUsage(account_id=account_id, month=month, answers=answers))
            except Exception:  # noqa: BLE001  # the count must survive whatever the database does
                logger.exception("usage could not be counted yet")
                self._add((account_id, month), answers)

    async def run(self) -> None:
        """Flush for ever, until cancelled; flushes once more then."""
        try:
            while True:
                await asyncio.sleep(USAGE_INTERVAL_S)
                await self.flush()
        finally:
            await asyncio.shield(self.flush())

    def _add(self, slot: tuple[int, str], answers: int) -> None:
        self._pending[slot] = self._pending.get(slot, 0) + answers

    def _until_next_month(self) -> float:
        now = datetime.fromtimestamp(self._clock(), UTC)
        start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        following = start.replace(year=now.year + now.month // 12, month=now.month % 12 + 1)
        return (following - now).total_seconds()

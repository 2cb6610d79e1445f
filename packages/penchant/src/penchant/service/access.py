"""Access: whose key a request has, and what its plan, scopes and rates allow. Never the data of a source.

Sessions of signed-in browsers: each a row of the database, found by the hash of an id that the browser alone has.

A stolen database gives no session, since ids can't be found from their hashes, and a stolen id gives no key. A session
ends with its key, an hour after its last request, twelve hours after its beginning, or when its row is removed.
"""

import contextlib
import functools
import hashlib
import hmac
import secrets
import string
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import (
    FeatureNotInPlan,
    NotAnAdmin,
    NotATenant,
    NotSigned,
    OriginNotAllowed,
    OutsideScope,
    StorageUnavailable,
    Unauthenticated,
)
from penchant.hooks import packages
from penchant.live.database import AsyncStorage
from penchant.model import BROUGHT_FEATURES, VIEWER_SCOPES, Feature, Plan, Role, Scope
from penchant.service.rates import FailedKeys, NodeCounts, NodeRates, SharedRates
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import KeyRecord, SessionRecord, key_counter
from penchant.wire.signing import MAX_SIGNED_S, signed_user
from penchant_engine.bounded_cache import BoundedCache

KEY_LIFE_S = 0.5
"""How long a looked-up key is believed: a revoked one must stop within a second on every process."""
MAX_ACCEPTED = 10_000
"""Keys that are remembered together."""
MAX_SHOWN_ORIGIN = 200
"""Characters of a foreign origin that a refusal repeats."""
_ALL_SCOPES = frozenset(Scope)
_ALPHABET = string.ascii_letters + string.digits
_KEY_ID_LENGTH = 12
_SECRET_LENGTH = 32
"""Characters of 62 kinds: 190 bits, above the 160 that the interface asks for."""
_SIGNING_LENGTH = 43
"""Characters of 62 kinds: 256 bits, as many as the HMAC has."""
DEFAULT_ADDRESS_RATE = 20
"""Requests a second from one address with a browser key that names no rate of its own (interface, section 2)."""
DEFAULT_BROWSER_SHARE = 10
"""Of the answers that a plan allows an account in a month, a browser key has this part for itself: a tenth."""
MAX_KEY_LENGTH = 200
"""Characters of a key that are looked at at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An authenticated caller: the key, the account it belongs to, and what its plan and its scopes grant.

    ``key_id`` is what the audit log calls the caller: the id of a key or, at the dashboard, of a person whom a proxy
    names, with a ``grant`` (`penchant.service.grants`). ``name`` says who has the key, if that was said. Only a browser
    key has ``origins``, a rate by address, and answers a month of its own; ``signing_secret`` is the account's.
    """

    key_id: str
    account_id: int
    plan: Plan
    admin: bool
    scopes: frozenset[Scope] = _ALL_SCOPES
    origins: frozenset[str] = frozenset()
    signing_secret: str | None = field(default=None, repr=False)
    address_rate: int = DEFAULT_ADDRESS_RATE
    requests_per_month: int | None = None
    grant: "Grant | None" = None
    name: str | None = None
    leaves: set[Hashable] = field(default_factory=set, init=False, repr=False, compare=False)
    """What it was found to be allowed: a key that changes is another record."""
    is_browser: bool = field(init=False)
    """Whether this is a browser key: for pages of its origins, and for people who are signed."""
    has_rate: bool = field(init=False)
    """Whether its requests of a second are counted, those of the key or those of an address with it."""
    sees: tuple[bool, bool] = field(init=False)
    """Which of the rights it has that change what an answer says: pages see what is public, keys that read pieces."""

    counter: int = field(init=False)
    """The number under which recommendation answers are counted: a browser key's apart from its account's."""
    filters: bool = field(init=False)
    """Whether its plan lets it narrow lists."""
    quota: int | None = field(init=False)
    """How many recommendation answers a month may be counted there; ``None`` for any number."""

    def __post_init__(self) -> None:
        """Work out once what every request asks."""
        object.__setattr__(self, "is_browser", bool(self.origins))
        object.__setattr__(self, "has_rate", self.is_browser or self.plan.requests_per_second is not None)
        object.__setattr__(self, "filters", Feature.FILTERS in self.plan.features)
        object.__setattr__(self, "sees", (self.is_browser, Scope.READ in self.scopes))
        object.__setattr__(self, "counter", key_counter(self.key_id) if self.is_browser else self.account_id)
        object.__setattr__(self, "quota", self._quota())

    @property
    def bypasses_review(self) -> bool:
        """Whether the setting ``fourEyes`` does not hold the caller: the key of a program (D208)."""
        return self.grant is None and self.scopes == _ALL_SCOPES

    def command_of(self, source: str) -> dict[str, Any]:
        """Return what every change of a source says of whose it is and who asks."""
        return {
            "account_id": self.account_id,
            "source": source,
            "actor": self.key_id,
            "bypasses_review": self.bypasses_review,
        }

    @property
    def role(self) -> Role:
        """What the caller may do at the dashboard."""
        if self.admin:
            return Role.ADMIN
        return Role.EDITOR if Scope.WRITE in self.scopes else Role.VIEWER

    def _quota(self) -> int | None:
        whole = self.plan.recommendations_per_month
        if not self.is_browser:
            return whole
        if self.requests_per_month is not None or whole is None:
            return self.requests_per_month
        return max(1, whole // DEFAULT_BROWSER_SHARE)


AcceptedKey: TypeAlias = tuple[float, Access]
"""When a key was looked up, and what it grants."""


class RateState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a key, or an address with it, stands in the current second, for the RateLimit headers."""

    policy: str = "key"
    limit: int
    remaining: int
    reset_s: int
    exceeded: bool = False


def new_signing_secret() -> str:
    """Return a fresh secret with which an account signs people."""
    return "ps_" + "".join(secrets.choice(_ALPHABET) for _ in range(_SIGNING_LENGTH))


def new_key() -> tuple[str, str, bytes]:
    """Return a fresh key: its id, the whole key to hand out once, and the hash to store."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_ID_LENGTH))
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    return key_id, f"pk_{key_id}_{secret}", hash_secret(secret)


def hash_secret(secret: str) -> bytes:
    """Return the hash of a secret that is stored. A fast one is enough for random secrets of this length."""
    return hashlib.sha256(secret.encode()).digest()


def key_scopes(record: KeyRecord) -> frozenset[Scope]:
    """Return the scopes of a key: all where it is not limited."""
    return frozenset(map(Scope, record.scopes.split(","))) if record.scopes else frozenset(Scope)


@functools.lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """Return the network whose addresses one visitor may have: of IPv6 the first 64 bits, otherwise the address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address) or parsed.ipv4_mapped is not None:
        return address
    return str(IPv6Network((parsed, 64), strict=False))


class AccessControl:
    """Authenticates keys and holds their plans' features and limits.

    ``rates`` counts requests by second on this node, of keys and of addresses with browser keys, ``node_rates`` those
    on all nodes, where they have something to do that with. ``hits`` and ``misses`` count keys that were remembered and
    those that were looked up.
    """

    def __init__(
        self,
        database: AsyncStorage,
        settings: CurrentSettings,
        rates: NodeCounts,
        *,
        node_rates: NodeRates | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._accepted: BoundedCache[bytes, AcceptedKey] = BoundedCache(MAX_ACCEPTED)
        self._looked_up: BoundedCache[str, tuple[float, KeyRecord]] = BoundedCache(MAX_ACCEPTED)
        self.hits = 0
        self.misses = 0
        self.failed_keys = FailedKeys()
        self._rates = rates
        self._node_rates = node_rates
        self.tag_secret = database.storage.tag_secret()
        """The database's secret by which ETags are keyed."""

    @property
    def settings(self) -> NodeSettings:
        """The settings of the moment, by which plans and groups are judged."""
        return self._settings.now

    async def close(self) -> None:
        """Close the connections to what counts for all nodes."""
        if self._node_rates is not None:
            await self._node_rates.close()

    async def authenticate(self, keys: list[str]) -> Access:
        """Return who sends these ``x-api-key`` headers.

        Raises:
            Unauthenticated: not exactly one key, or it is unknown, revoked or expired.
        """
        if len(keys) == 1:
            access = self.still_accepted(self.accepted(keys[0]))
            if access is not None:
                return access
        else:
            fault = "is missing" if not keys else "is given more than once"
            raise Unauthenticated(f"The header x-api-key {fault}; send it once, with a key.")
        # Checked before storage is: what does not look like a key costs no read.
        parts = keys[0].split("_") if keys[0].isascii() and len(keys[0]) <= MAX_KEY_LENGTH else []
        if len(parts) != 3 or parts[0] != "pk" or not parts[1].isalnum():
            raise Unauthenticated("The API key does not look like one (pk_<id>_<secret>).")
        self.misses += 1
        looked_up = await self._look_up(parts[1])
        record = None if looked_up is None else looked_up[1]
        # Compared even where there is no such key, so that the time does not tell which ids exist.
        expected = record.secret_hash if record is not None else b"\0" * 32
        matches = hmac.compare_digest(hash_secret(parts[2]), expected)
        if looked_up is None or record is None or not matches:
            raise Unauthenticated("The API key is not known.")
        access, hashed = self._granted(record), hash_secret(keys[0])
        before = self._accepted.peek(hashed)
        if before is not None and before[1] == access:
            # The same object, as long as it grants the same.
            access = before[1]
        # From the moment at which the record was read, not from now: otherwise a revoked key could be believed for the
        # life of both memories, one after the other.
        self._accepted.put(hashed, (looked_up[0], access))
        return access

    def accepted(self, key: str) -> AcceptedKey | None:
        """Return what a key that was accepted before grants, be it longer ago; that gives no right by itself."""
        # By a hash, so that how long the look-up takes tells nothing of a key.
        return self._accepted.get(hash_secret(key)) if key else None

    def still_grants(self, hashed_key: bytes, access: Access) -> bool:
        """Return whether the key of this hash was accepted a moment ago, and grants what it granted."""
        accepted = self._accepted.peek(hashed_key)
        return accepted is not None and accepted[1] is access and self.still_accepted(accepted) is not None

    def still_accepted(self, accepted: AcceptedKey | None) -> Access | None:
        """Return what a key grants that was accepted a moment ago; ``None`` where it has to be looked up."""
        if accepted is None or self._clock.monotonic() - accepted[0] > KEY_LIFE_S:
            return None
        self.hits += 1
        return accepted[1]

    async def of_key(self, key_id: str) -> Access:
        """Return what a key grants to who has shown it before.

        Raises:
            Unauthenticated: it is revoked or expired, or there is none.
        """
        record = await self.find(key_id)
        if record is None:
            raise Unauthenticated("The API key is not known.")
        return self._granted(record)

    async def count_request(self, access: Access) -> RateState | None:
        """Count a request of a key against its plan's rate; ``None`` where there is no limit.

        From here on it is the account's: threads are shared by that.
        """
        self._database.serve(access.account_id)
        limit = access.plan.requests_per_second
        return None if limit is None else await self._counted(self._rates.keys, access.key_id, limit, "key")

    async def count_address(self, access: Access, address: str) -> RateState:
        """Count a request that came from an address with a browser key against what the key allows each address."""
        name = f"{access.key_id} {network_of(address)}"
        return await self._counted(self._rates.addresses, name, access.address_rate, "address")

    async def _counted(self, rates: SharedRates, name: str, limit: int, policy: str) -> RateState:
        count = None if self._node_rates is None else await self._node_rates.count(name)
        # While Redis is away this node counts alone; its own count begins at that moment.
        if count is None:
            count = rates.count(name)
        remaining = max(0, limit - count)
        return RateState(policy=policy, limit=limit, remaining=remaining, reset_s=1, exceeded=count > limit)

    @staticmethod
    def require(access: Access, feature: Feature) -> None:
        """Raise `FeatureNotInPlan` unless the key's plan includes a feature."""
        if feature not in access.plan.features:
            raise FeatureNotInPlan(
                f"The key's plan {access.plan.name!r} does not include the feature {feature.value!r}."
            )

    @staticmethod
    def require_scope(access: Access, scope: Scope) -> None:
        """Raise `OutsideScope` unless the key has a scope."""
        if scope not in access.scopes:
            raise OutsideScope(f"The key is limited to other scopes; this needs the scope {scope.value!r}.")

    @staticmethod
    def require_origin(access: Access, origin: str | None) -> None:
        """Raise `OriginNotAllowed` where a browser key is sent by a page of another origin, or by no page."""
        if access.is_browser and origin not in access.origins:
            given = "no Origin" if origin is None else f"the Origin {origin[:MAX_SHOWN_ORIGIN]}"
            raise OriginNotAllowed(
                f"The browser key {access.key_id} is for pages of the origins that it was made for; the request names "
                f"{given}, which is none of them."
            )

    def require_person(
        self,
        access: Access,
        signed: Sequence[str],
        people: Collection[str],
        *,
        mark: Callable[[str], str] = str,
    ) -> None:
        """Check that a browser key asks about the signed person alone; other keys may ask about all.

        ``people`` are ids, or whatever ``mark`` makes of an id.

        Raises:
            NotSigned: the person is not signed exactly once, with the account's secret, or it is over.
        """
        if not access.is_browser:
            return
        if len(signed) != 1:
            fault = "is missing" if not signed else "is given more than once"
            raise NotSigned(f"The header x-penchant-user {fault}; with a browser key it says for whom.")
        secret = access.signing_secret
        # An account that never made a secret has signed no person.
        person = None if secret is None else signed_user(signed[0], secret, self._clock.seconds())
        if person is None:
            raise NotSigned(
                "The header x-penchant-user is not signed with the account's secret, is over, or holds for more than "
                f"{MAX_SIGNED_S // 3600} hours."
            )
        if any(each != mark(person) for each in people):
            raise NotSigned("The header x-penchant-user signs another person than the one that this is about.")

    @staticmethod
    def require_tenant(access: Access) -> None:
        """Raise `NotATenant` for a key with the admin role."""
        if access.admin:
            raise NotATenant("A key with the admin role has no sources; use a key of the account.")

    @staticmethod
    def require_admin(access: Access) -> None:
        """Raise `NotAnAdmin` for a key without the admin role."""
        if not access.admin:
            raise NotAnAdmin("This is for keys with the admin role (`penchant keys create --admin`).")

    async def find(self, key_id: str) -> KeyRecord | None:
        """Return a key by its id as it was stored at most `KEY_LIFE_S` ago, revoked or not."""
        looked_up = await self._look_up(key_id)
        return None if looked_up is None else looked_up[1]

    async def _look_up(self, key_id: str) -> tuple[float, KeyRecord] | None:
        """Return a key as `find` does, with the moment at which it was read."""
        # Taken before the read: what is read may be as old as that.
        now = self._clock.monotonic()
        looked_up = self._looked_up.get(key_id)
        if looked_up is not None and now - looked_up[0] <= KEY_LIFE_S:
            return looked_up
        try:
            record = await self._database.read(self._database.storage.keys.find, key_id)
        except StorageUnavailable:
            # As it is by now: another request may have found out meanwhile that the key is gone.
            looked_up = self._looked_up.get(key_id)
            if looked_up is not None and now - looked_up[0] <= self._settings.now.stale_reads_s:
                return looked_up
            raise
        looked_up = self._looked_up.get(key_id)
        if looked_up is not None and looked_up[0] > now:
            return looked_up  # by a request that came later, and was answered sooner
        if record is None:
            # Unknown ids are not remembered: strangers could fill the memory with them.
            self._looked_up.pop(key_id)
            return None
        self._looked_up.put(key_id, (now, record))
        return now, record

    def _granted(self, record: KeyRecord) -> Access:
        """Return what a key grants, unless it is revoked or expired."""
        if record.revoked_at is not None:
            raise Unauthenticated("The API key has been revoked.")
        if record.expires_at is not None and record.expires_at <= self._clock.seconds() * 1000:
            raise Unauthenticated("The API key has expired.")
        secret = record.signing_secret
        return Access(
            key_id=record.key_id,
            account_id=record.account_id,
            plan=self._plan(record),
            address_rate=record.requests_per_second or DEFAULT_ADDRESS_RATE,
            requests_per_month=record.requests_per_month,
            admin=record.admin,
            scopes=key_scopes(record),
            origins=frozenset(record.origins.split()),
            signing_secret=None if secret is None else secret.decode(),
            name=record.name,
        )

    def _plan(self, record: KeyRecord) -> Plan:
        # A key outlives the settings file: without its plan it may do nothing rather than everything.
        return plan_in_force(self._settings.now, record.plan, "key's plan")


def plan_in_force(settings: NodeSettings, name: str, whose: str) -> Plan:
    """Return the plan of this name, without features of packages that are not installed.

    Raises:
        FeatureNotInPlan: it is not configured; ``whose`` it is says the message.
    """
    plan = settings.plan(name)
    if plan is None:
        raise FeatureNotInPlan(f"The {whose} {name!r} is not configured on this server.")
    return replace(plan, features=plan.features - _absent_features())


@functools.cache
def _absent_features() -> frozenset[Feature]:
    """Return the features that packages bring, but for those of packages that are installed."""
    return BROUGHT_FEATURES - {each.feature for each in packages().operations()}


SESSION_S = 12 * 3600
"""How long a browser stays signed in at most: a working day."""
IDLE_S = 3600
"""How long it stays signed in without a request."""
SEEN_AFTER_S = 300
"""How much later than noted a request is noted again: not each one, since that is a write."""
_ID_BYTES = 32
_PROOF = b"penchant form "


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A role that a group has with an account, which is "" for admins, and the plan by which that is served there."""

    account: str
    role: Role
    plan: str
    group: str

    @property
    def mark(self) -> str:
        """What stands for the account in a cookie or form, whatever characters its name has."""
        return hashlib.blake2b(self.account.encode(), digest_size=12).hexdigest()


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in: who it is, the id that it has, and the proof that its forms carry.

    Of a ``person`` whom a proxy names there is no id; ``account`` is the one of their ``grants`` that is worked in.
    Their proof is of the UTC day, and ``earlier_proof`` that of the day before, for forms that are open over midnight.
    """

    access: Access
    token: str
    proof: str
    earlier_proof: str = ""
    person: str | None = None
    account: str = ""
    grants: Sequence[Grant] = ()

    @property
    def role(self) -> Role:
        """What may be done in it."""
        return self.access.role


class Sessions:
    """Begins, finds and ends the sessions of browsers."""

    def __init__(self, database: AsyncStorage, access: AccessControl, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._stored = database.storage.sessions
        self._access = access
        self._clock = clock

    async def begin(self, key: str) -> Session:
        """Return a new session for the holder of a key.

        Raises:
            Unauthenticated: the key is unknown, revoked, expired, a browser key, or may not even look at the pages.
        """
        session = _session(await self._access.authenticate([key]), secrets.token_hex(_ID_BYTES))
        now = self._clock.now_ms()
        record = SessionRecord(hash_secret(session.token), session.access.key_id, now, now + SESSION_S * 1000)
        await self._database.in_thread(self._stored.begin, record)
        return session

    async def end(self, token: str) -> None:
        """End the session of an id, which, wherever it was copied to, is worth nothing from now on."""
        await self._database.in_thread(self._stored.end, hash_secret(token))

    async def read(self, token: str) -> Session:
        """Return the session of an id.

        Raises:
            Unauthenticated: there is none, or it is over, or its key is revoked or expired.
        """
        if not token:
            raise Unauthenticated("This browser is not signed in.")
        record = await self._database.read(self._stored.find, hash_secret(token))
        now = self._clock.now_ms()
        if record is None or min(record.ends_at, record.seen_at + IDLE_S * 1000) <= now:
            raise Unauthenticated("The session is over; sign in again.")
        session = _session(await self._access.of_key(record.key_id), token)
        if now - record.seen_at >= SEEN_AFTER_S * 1000:
            # A page that can be read is shown, though nothing can be written at the moment.
            with contextlib.suppress(StorageUnavailable):
                await self._database.in_thread(self._stored.see, record.session_hash, now)
        return session


def _session(access: Access, token: str) -> Session:
    if access.is_browser:
        raise Unauthenticated("This is a browser key, which all have who read its pages; sign in with another one.")
    if not access.scopes >= VIEWER_SCOPES:
        raise Unauthenticated("This key is limited to other scopes; to sign in one needs the scopes read and personal.")
    # Not the id itself, which no page may show; the hash that is stored does not lead to it.
    return Session(access=access, token=token, proof=hashlib.sha256(_PROOF + token.encode()).hexdigest()[:32])


def is_same(given: str, expected: str) -> bool:
    """Return whether two proofs are equal, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
